#pragma once
#include "../ops/cpu/ops.hpp"
#include "model.hpp"

namespace l3::inline v0 {

/// A dtype and a device as values, for choices at run time.
enum class DTypeId { bfloat16, float32 };
enum class DeviceId { cpu, cuda };

/// By its name, "bf16" or "f32". Throws ArgumentError naming what was found and the choices.
[[nodiscard]] inline DTypeId parse_dtype(std::string_view name) {
    if (name == "bf16") return DTypeId::bfloat16;
    if (name == "f32") return DTypeId::float32;
    fail<ArgumentError>("dtype '", name, "', expected bf16 or f32");
}
/// By its name, "cpu" or "cuda"; "auto" is the best that this build has. Throws ArgumentError.
[[nodiscard]] inline DeviceId parse_device(std::string_view name) {
    if (name == "cpu" || name == "auto") return DeviceId::cpu;
    if (name == "cuda") return DeviceId::cuda;
    fail<ArgumentError>("device '", name, "', expected auto, cpu or cuda");
}

/// A model whose dtype and device are chosen at run time, for programs that should not be templates: the interface of
/// Model, with one virtual call per step. A handle like Model. Instantiates the whole library for every dtype.
class AnyModel {
    struct Steps {
        virtual ~Steps() = default;
        virtual Index size() const = 0;
        virtual Index capacity() const = 0;
        virtual void evaluate(std::span<const Token> tokens, std::span<const int> rows, std::stop_token stop) = 0;
        virtual std::span<const f32> logits(int i) const = 0;
        virtual void truncate(Index n) = 0;
        virtual std::unique_ptr<Steps> clone() const = 0;
    };

  public:
    /// As l3::Sequence.
    class Sequence {
      public:
        [[nodiscard]] Index size() const { return steps_->size(); }
        [[nodiscard]] Index capacity() const { return steps_->capacity(); }
        void evaluate(std::span<const Token> tokens, std::span<const int> rows_with_logits, std::stop_token stop = {}) {
            steps_->evaluate(tokens, rows_with_logits, std::move(stop));
        }
        [[nodiscard]] std::span<const f32> logits(int i) const { return steps_->logits(i); }
        void truncate(Index n) { steps_->truncate(n); }
        [[nodiscard]] Sequence clone() const { return Sequence(steps_->clone()); }

      private:
        friend class AnyModel;
        explicit Sequence(std::unique_ptr<Steps> steps) : steps_(std::move(steps)) {}
        std::unique_ptr<Steps> steps_;
    };

    /// Opens a model as Model<T, D>(path, options) does. Throws DeviceError for a device that this build has not.
    /// A template, so that only those who call it compile the library for every dtype.
    template <std::convertible_to<std::filesystem::path> Path>
    explicit AnyModel(const Path& path, DTypeId dtype = DTypeId::bfloat16, DeviceId device = DeviceId::cpu,
                      const ModelOptions& options = {}) {
        require<DeviceError>(device != DeviceId::cuda, "this build has no CUDA");
        if (dtype == DTypeId::bfloat16) any_ = std::make_shared<Held<bf16, CPU>>(Model<bf16, CPU>(path, options));
        else any_ = std::make_shared<Held<f32, CPU>>(Model<f32, CPU>(path, options));
    }
    template <DType T, Device D>
    AnyModel(Model<T, D> model) : any_(std::make_shared<Held<T, D>>(std::move(model))) {}

    [[nodiscard]] Sequence new_sequence(Index context) const { return Sequence(any_->new_steps(context)); }
    [[nodiscard]] const LlamaConfig& config() const { return any_->facts().config; }
    [[nodiscard]] std::uint64_t weights_bytes() const { return any_->facts().weights_bytes; }
    [[nodiscard]] std::uint64_t cache_bytes(Index context) const { return any_->cache_bytes(context); }
    [[nodiscard]] const Tokenizer& tokenizer() const { return any_->tokenizer(); }
    [[nodiscard]] bool has_tokenizer() const { return any_->facts().has_tokenizer; }
    [[nodiscard]] const GenerationConfig& generation_config() const { return any_->facts().generation_config; }
    [[nodiscard]] std::span<const Token> end_ids() const { return any_->end_ids(); }
    [[nodiscard]] const std::filesystem::path& path() const { return any_->facts().path; }
    [[nodiscard]] CheckpointFormat format() const { return any_->facts().format; }
    [[nodiscard]] std::string_view dtype() const { return any_->facts().dtype; }
    [[nodiscard]] std::string_view device() const { return any_->facts().device; }
    [[nodiscard]] int threads() const { return any_->facts().threads; }
    [[nodiscard]] double load_ms() const { return any_->facts().load_ms; }

  private:
    /// What does not change, so that it needs no virtual functions. References into the model that is held.
    struct Facts {
        const LlamaConfig& config;
        const GenerationConfig& generation_config;
        const std::filesystem::path& path;
        std::uint64_t weights_bytes;
        CheckpointFormat format;
        std::string_view dtype, device;
        bool has_tokenizer;
        int threads;
        double load_ms;
    };
    struct Any {
        virtual ~Any() = default;
        virtual const Facts& facts() const = 0;
        virtual const Tokenizer& tokenizer() const = 0;
        virtual std::span<const Token> end_ids() const = 0;
        virtual std::uint64_t cache_bytes(Index context) const = 0;
        virtual std::unique_ptr<Steps> new_steps(Index context) const = 0;
    };

    template <DType T, Device D>
    struct HeldSteps final : Steps {
        explicit HeldSteps(l3::Sequence<T, D> s) : sequence(std::move(s)) {}
        Index size() const override { return sequence.size(); }
        Index capacity() const override { return sequence.capacity(); }
        void evaluate(std::span<const Token> tokens, std::span<const int> rows, std::stop_token stop) override {
            sequence.evaluate(tokens, rows, std::move(stop));
        }
        std::span<const f32> logits(int i) const override { return sequence.logits(i); }
        void truncate(Index n) override { sequence.truncate(n); }
        std::unique_ptr<Steps> clone() const override { return std::make_unique<HeldSteps>(sequence.clone()); }
        l3::Sequence<T, D> sequence;
    };
    template <DType T, Device D>
    struct Held final : Any {
        explicit Held(Model<T, D> m)
            : model(std::move(m)), known{model.config(),  model.generation_config(),
                                         model.path(),    model.weights_bytes(),
                                         model.format(),  model.dtype(),
                                         model.device(),  model.has_tokenizer(),
                                         model.threads(), model.load_ms()} {}
        const Facts& facts() const override { return known; }
        const Tokenizer& tokenizer() const override { return model.tokenizer(); }
        std::span<const Token> end_ids() const override { return model.end_ids(); }
        std::uint64_t cache_bytes(Index context) const override { return model.cache_bytes(context); }
        std::unique_ptr<Steps> new_steps(Index context) const override {
            return std::make_unique<HeldSteps<T, D>>(model.new_sequence(context));
        }
        Model<T, D> model;
        Facts known;
    };
    std::shared_ptr<const Any> any_;
};

}  // namespace l3::inline v0
