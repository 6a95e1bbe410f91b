#include <doctest/doctest.h>
#include <l3/device/cpu/memory.hpp>
#include <l3/model/activations.hpp>

using namespace l3;

TEST_CASE_TEMPLATE("Activations have the shapes of the call, and keep the memory of the largest", T, bf16, f32) {
    LlamaConfig c;
    c.hidden_size = 40;
    c.intermediate_size = 70;
    c.num_attention_heads = 3;
    c.head_dim = 8;
    c.vocab_size = 50;
    Activations<T, CPU> a;
    a.prepare(c, 7, 2);
    CHECK(a.x.shape() == Shape{7, 40});
    CHECK(a.cos.shape() == Shape{7, 4});
    CHECK(a.sin.shape() == Shape{7, 4});
    CHECK(a.q.shape() == Shape{7, 24});
    CHECK(a.attn.shape() == Shape{7, 24});
    CHECK(a.h.shape() == Shape{7, 70});
    CHECK(a.logits.shape() == Shape{2, 50});
    CHECK(Activations<T, CPU>::bytes_needed(c, 7, 2) ==
          a.x.nbytes() + a.cos.nbytes() + a.sin.nbytes() + a.q.nbytes() + a.attn.nbytes() + a.h.nbytes() + a.logits.nbytes());
    const f32* const x = a.x.data();
    a.prepare(c, 1, 0);
    CHECK(a.x.shape() == Shape{1, 40});
    CHECK(a.logits.shape() == Shape{0, 50});
    CHECK(a.x.data() == x);
    a.prepare(c, 100, 1);
    CHECK(a.x.shape() == Shape{100, 40});
    a.x.row(99)[39] = 1;
}
