// forward() itself, without Model: a caller's own context, cache and activations.
#include <doctest/doctest.h>
#include <l3/model/llama.hpp>
#include <l3/model/llama_load.hpp>
#include <l3/ops/cpu/ops.hpp>
#include "support/tiny_model.hpp"
#include "support/tolerance.hpp"
#include "support/evaluate.hpp"

using namespace l3;
using support::TemporaryFolder;

namespace {

template <class T>
struct Loaded {
    LlamaConfig config;
    LlamaWeights<T, CPU> weights;

    explicit Loaded(const support::TinyModel& model) {
        const TemporaryFolder folder;
        model.write_directory(folder / "hf");
        Context<CPU> ctx(2);
        const Checkpoint checkpoint = open_checkpoint(folder / "hf");
        config = checkpoint.config;
        weights = llama_load<T>(ctx, checkpoint);
    }
};

const int all_rows[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

}  // namespace

TEST_CASE_TEMPLATE("forward gives the logits of the double reference, whatever the activations held before", T, f32,
                   bf16) {
    const support::TinyModel tiny = support::t1();
    const Loaded<T> model(tiny);
    Context<CPU> ctx(2);
    Activations<T, CPU> a;
    const auto ids = support::random_ids(10, 256);
    std::vector<f32> first;
    for (int round = 0; round < 2; ++round) {
        KVCache<T, CPU> cache(model.config, 10);
        forward<T, CPU>(ctx, model.config, model.weights, cache, a, ids, all_rows);
        CHECK(cache.size() == 10);
        REQUIRE(a.logits.shape() == Shape{10, 256});
        const std::vector<f32> logits(a.logits.data(), a.logits.data() + a.logits.numel());
        CHECK(support::relative_error(support::as_matrix(logits, 10), tiny.logits(ids)) <=
              support::logits_tolerance<T>);
        if (round == 0) first = logits;
        CHECK(support::different_bits(logits, first) == 0);
        KVCache<T, CPU> other(model.config, 300);  // fills the activations with something else
        forward<T, CPU>(ctx, model.config, model.weights, other, a, support::random_ids(300, 256, 2), {});
    }
}

TEST_CASE("forward: a full cache throws before any work") {
    const Loaded<f32> model(support::t0());
    Context<CPU> ctx(1);
    Activations<f32, CPU> a;
    KVCache<f32, CPU> cache(model.config, 9);
    CHECK_THROWS_AS((forward<f32, CPU>(ctx, model.config, model.weights, cache, a, support::random_ids(10, 256), {})),
                    ContextFullError);
    CHECK(cache.size() == 0);
    CHECK_FALSE(a.x);
}
