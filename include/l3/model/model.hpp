#pragma once
#include "generation_config.hpp"
#include "llama_load.hpp"
#include "model_tokenizer.hpp"
#include "sequence.hpp"
#include <chrono>

namespace l3::inline v0 {

/// How a model is opened.
struct ModelOptions {
    std::optional<int> threads{};               ///< default: cpu::default_threads(), the physical cores it may use
    std::shared_ptr<cpu::Executor> executor{};  ///< the host's threads instead of a pool of the model's own
    std::filesystem::path tokenizer{};          ///< default: inside the model's file, or beside it
    io::FileAccess access = io::FileAccess::map;  ///< read: into memory of its own, in huge pages
    bool prefault = true;                       ///< bring mapped weights into memory now, not when they are used first
    Progress progress{};                        ///< called with 0 to 1 while loading; false cancels
};

/// A model of dtype T on device D: a handle to immutable shared state, cheap to copy; all members may be called from
/// any threads at once. Sequences keep what they need of it alive.
template <DType T, Device D>
class Model {
    static_assert(device_is_included<D>,
                  "no models for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)");

  public:
    // So that this sentence is all the compiler says.
    explicit Model(const std::filesystem::path&, const ModelOptions& = {}) {}
};

template <DType T, Device D>
    requires device_is_included<D>
class Model<T, D> {
  public:
    using Sequence = l3::Sequence<T, D>;

    /// Opens a directory of Hugging Face, a GGUF file, or a llama2.c checkpoint, and brings its weights into memory.
    /// Throws IoError, FormatError, UnsupportedError, naming file, tensor or key, found and expected; OutOfMemoryError;
    /// CancelledError if options.progress returns false; ArgumentError for fewer threads than one.
    explicit Model(const std::filesystem::path& path, const ModelOptions& options = {}) {
        const auto start = std::chrono::steady_clock::now();
        auto executor = options.executor;
        if (!executor) executor = std::make_shared<cpu::ThreadPool>(options.threads.value_or(cpu::default_threads()));
        Context<D> ctx(executor);
        const Checkpoint checkpoint = open_checkpoint(path, options.access);
        auto state = std::make_shared<State>(checkpoint, options, std::move(executor));
        state->weights = llama_load<T>(ctx, checkpoint, {options.progress, options.prefault});
        state->load_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        state_ = std::move(state);
    }

    /// A sequence with room for so many tokens. Throws ArgumentError for fewer than one, OutOfMemoryError.
    [[nodiscard]] Sequence new_sequence(Index context) const {
        return Sequence({state_, &state_->config}, {state_, &state_->weights}, Context<D>(state_->executor), context);
    }

    [[nodiscard]] const LlamaConfig& config() const { return state_->config; }
    [[nodiscard]] const LlamaWeights<T, D>& weights() const { return state_->weights; }
    [[nodiscard]] std::uint64_t weights_bytes() const { return state_->weights.nbytes(); }
    /// The bytes that a sequence's cache takes once so many tokens are in it.
    [[nodiscard]] std::uint64_t cache_bytes(Index context) const {
        return KVCache<T, D>::bytes_needed(state_->config, context);
    }

    /// The tokenizer, read at the first call. Throws IoError listing what was looked for if the model has none, and
    /// FormatError naming both numbers if it has more tokens than the model.
    [[nodiscard]] const Tokenizer& tokenizer() const { return state_->tokenizer.get(); }
    [[nodiscard]] bool has_tokenizer() const { return state_->tokenizer.found(); }
    /// What generation_config.json says, of a directory that has one.
    [[nodiscard]] const GenerationConfig& generation_config() const { return state_->generation_config; }
    /// The ids that end a text or a turn: those of generation_config.json, of the config and of the tokenizer together,
    /// ascending. Reads the tokenizer if there is one, and throws what that throws.
    [[nodiscard]] std::span<const Token> end_ids() const {
        std::call_once(state_->end_ids_once, [this] {
            std::vector<Token> ids = config().eos_token_id;
            const auto add = [&ids](std::span<const Token> more) { ids.insert(ids.end(), more.begin(), more.end()); };
            add(generation_config().eos_token_id);
            if (has_tokenizer()) add(tokenizer().end_ids());
            std::ranges::sort(ids);
            ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
            state_->end_ids = std::move(ids);
        });
        return state_->end_ids;
    }

    [[nodiscard]] const std::filesystem::path& path() const { return state_->path; }
    [[nodiscard]] CheckpointFormat format() const { return state_->format; }
    [[nodiscard]] std::string_view dtype() const { return dtype_name<T>; }
    [[nodiscard]] std::string_view device() const { return D::name; }
    [[nodiscard]] int threads() const { return state_->executor->threads(); }
    [[nodiscard]] double load_ms() const { return state_->load_ms; }

  private:
    struct State {
        State(const Checkpoint& checkpoint, const ModelOptions& options, std::shared_ptr<cpu::Executor> threads)
            : path(checkpoint.path), format(checkpoint.format), config(checkpoint.config), executor(std::move(threads)),
              tokenizer(checkpoint, options.tokenizer) {
            if (format == CheckpointFormat::hugging_face) generation_config = read_generation_config(path);
        }

        std::filesystem::path path;
        CheckpointFormat format;
        LlamaConfig config;
        std::shared_ptr<cpu::Executor> executor;
        ModelTokenizer tokenizer;
        GenerationConfig generation_config;
        LlamaWeights<T, D> weights;
        double load_ms = 0;
        mutable std::once_flag end_ids_once;
        mutable std::vector<Token> end_ids;  // written once
    };
    std::shared_ptr<const State> state_;
};

}  // namespace l3::inline v0
