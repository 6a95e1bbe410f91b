#pragma once
// Logits of a model at every position, evaluated in whatever pieces a test likes.
#include "golden.hpp"
#include "tolerance.hpp"
#include <l3/model/model.hpp>
#include <l3/ops/cpu/ops.hpp>
#include <numeric>

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
