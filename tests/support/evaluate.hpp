#pragma once
// Logits of a model at every position, evaluated in whatever pieces a test likes.
#include "golden.hpp"
#include "tolerance.hpp"
#include <l3/model/model.hpp>
#include <l3/ops/cpu/ops.hpp>
#include <numeric>

// Compiled in tests/models.cpp.
extern template void l3::forward<l3::f32, l3::CPU>(l3::Context<l3::CPU>&, const l3::LlamaConfig&,
                                                   const l3::LlamaWeights<l3::f32, l3::CPU>&,
                                                   l3::KVCache<l3::f32, l3::CPU>&, l3::Activations<l3::f32, l3::CPU>&,
                                                   std::span<const l3::Token>, std::span<const int>);
extern template void l3::forward<l3::bf16, l3::CPU>(l3::Context<l3::CPU>&, const l3::LlamaConfig&,
                                                    const l3::LlamaWeights<l3::bf16, l3::CPU>&,
                                                    l3::KVCache<l3::bf16, l3::CPU>&,
                                                    l3::Activations<l3::bf16, l3::CPU>&, std::span<const l3::Token>,
                                                    std::span<const int>);

namespace support {

/// Where tests and scripts/get-model keep the demo model; absent: a test says so loudly and returns.
inline std::optional<std::filesystem::path> smollm2() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    std::filesystem::path path = cache && *cache ? cache : std::filesystem::path(home ? home : ".") / ".cache";
    path = path / "l3" / "SmolLM2-135M-Instruct.Q4_1.gguf";
    return std::filesystem::exists(path) ? std::optional(path) : std::nullopt;
}

/// True where everything takes many times as long: big models are then tried with fewer cases.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

/// Options of a model with so many threads.
inline l3::ModelOptions with_threads(int threads) {
    l3::ModelOptions options;
    options.threads = threads;
    return options;
}

/// Opens a model. Defined in tests/models.cpp: loaders and kernels take long to compile, there once for all tests.
template <class T>
l3::Model<T, CPU> open(const std::filesystem::path& path, const l3::ModelOptions& options);
template <class T>
l3::Model<T, CPU> open(const std::filesystem::path& path, int threads = 2) {
    return open<T>(path, with_threads(threads));
}

/// Evaluates ids after what the sequence holds, in chunks of these sizes (the last one repeats), and appends the logits
/// of every position: [M, V].
template <class S>
std::vector<f32> evaluate(S& sequence, std::span<const Token> ids, std::vector<int> chunks = {1 << 20}) {
    std::vector<f32> all;
    for (std::size_t i = 0; !ids.empty(); ++i) {
        const auto n = std::min(ids.size(), std::size_t(chunks[std::min(i, chunks.size() - 1)]));
        std::vector<int> rows(n);
        std::iota(rows.begin(), rows.end(), 0);
        sequence.evaluate(ids.first(n), rows);
        for (int row : rows) {
            const std::span<const f32> logits = sequence.logits(row);
            all.insert(all.end(), logits.begin(), logits.end());
        }
        ids = ids.subspan(n);
    }
    return all;
}

/// Logits of a fresh sequence at every position.
template <class M>
std::vector<f32> cold(const M& model, std::span<const Token> ids, std::vector<int> chunks = {1 << 20}) {
    auto sequence = model.new_sequence(Index(ids.size()));
    return evaluate(sequence, ids, std::move(chunks));
}

inline reference::Matrix as_matrix(std::span<const f32> logits, Index rows) {
    return {rows, Index(logits.size()) / rows, logits};
}

/// The logits from a position on.
inline std::span<const f32> from(std::span<const f32> logits, Index position, Index vocab_size) {
    return logits.subspan(std::size_t(position * vocab_size));
}

}  // namespace support
