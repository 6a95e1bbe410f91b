// A small trained model, where the shared data is at hand: what another implementation prints for it.
#include "l3/session/generate.hpp"
#include "support/evaluate.hpp"
#include <doctest/doctest.h>
#include <l3/model/any_model.hpp>

using namespace l3;

TEST_CASE("stories260K, greedy from the start token: the text of llama2.c's program, byte for byte") {
    const auto data = support::shared_data();
    if (!data) {
        MESSAGE("no shared data: skipped");
        return;
    }
    std::string expected = support::read_file(*data / "llama2c" / "greedy.txt");
    REQUIRE(expected.ends_with('\n'));
    expected.pop_back();
    ModelOptions options = support::with_threads(2);
    options.tokenizer = *data / "llama2c" / "tok512.bin";
    const Model<f32, CPU> model(*data / "llama2c" / "stories260K.bin", options);
    Session session(model);
    CHECK(session.context() == 512);
    const std::vector<Token> start = {model.tokenizer().bos().value()};
    const GenerateOptions greedy{.max_tokens = 257, .sampling = {.temperature = 0}};
    auto generation = generate(session, start, greedy);
    std::string text;
    for (std::string_view piece : generation) text += piece;
    CHECK(text == expected);
    CHECK(generation.result().text == expected);
    MESSAGE(generation.result().generated_tokens << " tokens");

    // the same again, by AnyModel, in odd chunks, from the middle
    Session any(AnyModel(model), {.chunk = 3});
    std::vector<Token> ids = start;
    ids.insert(ids.end(), generation.result().ids.begin(), generation.result().ids.begin() + 100);
    CHECK(generate(any, ids, {.max_tokens = 156, .sampling = {.temperature = 0}}).run().ids ==
          std::vector<Token>(generation.result().ids.begin() + 100, generation.result().ids.begin() + 256));
}
