// Conversations on a real model of random weights: what is reused changes nothing.
#include "l3/chat/chat.hpp"
#include "support/chat_templates.hpp"
#include "support/evaluate.hpp"
#include "support/fake_model.hpp"
#include <doctest/doctest.h>
#include <l3/model/any_model.hpp>
#include <thread>

using namespace l3;

namespace {

template <DType T>
Model<T, CPU> tiny(const std::filesystem::path& folder, const char* chat_template) {
    support::FakeTokenizer tokenizer;
    tokenizer.chat_template = chat_template;
    support::TinyModel model = support::t0(std::same_as<T, bf16> ? "BF16" : "F32");
    model.config.vocab_size = tokenizer.make().vocab_size() + 3;  // rows without a token, as models have them
    model.config.max_position_embeddings = 2048;
    model.write_directory(folder);
    tokenizer.write(folder);
    return Model<T, CPU>(folder, support::with_threads(2));
}

const GenerateOptions few{.max_tokens = 8};

}  // namespace

TEST_CASE_TEMPLATE("exactness: after every verb a chat answers, bit for bit, as a session that knows nothing", T, f32,
                   bf16) {
    for (const char* chat_template : {support::chatml_template, support::llama3_template}) {
        const support::TemporaryFolder folder;
        const Model<T, CPU> model = tiny<T>(folder / "model", chat_template);
        Chat chat(model, {.session = {.chunk = 13}});
        std::vector<Token> before;
        const auto check = [&](auto reply) {
            const GenerateResult& result = reply.run();
            const std::span<const Token> held = chat.session().ids();
            const std::vector<Token> prompt(held.begin(), held.begin() + std::ptrdiff_t(result.prompt_tokens));
            const auto common =
                std::mismatch(prompt.begin(), prompt.end(), before.begin(), before.end()).first - prompt.begin();
            CHECK(result.reused_tokens == std::min<Index>(common, Index(prompt.size()) - 1));
            CHECK(result.evaluated_tokens == result.prompt_tokens - result.reused_tokens);
            Session cold(model);
            GenerateOptions options = few;
            for (const std::string& end : chat.chat_template().end_texts())
                options.end_ids.push_back(model.tokenizer().token_id(end).value());
            CHECK(generate(cold, prompt, options).run().ids == result.ids);
            CHECK(std::equal(held.begin(), held.end(), cold.ids().begin(), cold.ids().end()));
            const std::span<const f32> a = chat.session().logits(), b = cold.logits();
            CHECK(std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
            before.assign(held.begin(), held.end());
        };
        check(chat.reply("Hello", few));
        check(chat.reply("What is it?", few));
        check(chat.reply("And what else could it be?", few));
        check(chat.regenerate(few));
        CHECK(Index(before.size()) > 0);
        check(chat.edit(2, "What was it?", few));
        check(chat.reply("More.", few));
        chat.undo();
        check(chat.reply("Less.", few));
        chat.replace(2, "I said nothing.");
        check(chat.regenerate(few));
        std::vector<Message> messages = chat.messages();
        messages.erase(messages.begin() + 2, messages.begin() + 4);
        chat.sync(messages);
        check(chat.regenerate(few));
        check(chat.edit(1, "Goodbye", few));
    }
}

TEST_CASE("the program of the README, on a real model and on AnyModel") {
    const support::TemporaryFolder folder;
    const Model<bf16, CPU> model = tiny<bf16>(folder / "model", support::chatml_template);
    std::string text, other;
    Chat chat(model);
    auto reply = chat.reply("Hello", few);
    for (std::string_view piece : reply) text += piece;
    CHECK(reply.result().text == text);
    Chat any{AnyModel(model)};
    for (std::string_view piece : any.reply("Hello", few)) other += piece;
    CHECK(other == text);
}

TEST_CASE("eight chats on one model in eight threads") {
    const support::TemporaryFolder folder;
    const Model<bf16, CPU> model = tiny<bf16>(folder / "model", support::chatml_template);
    const auto run = [&](int i) {
        Chat chat(model);
        chat.reply("Hello " + std::to_string(i), few).run();
        chat.reply("And?", few).run();
        chat.edit(1, "Hi " + std::to_string(i), few).run();
        chat.reply("So?", few).run();
        return chat.messages();
    };
    std::vector<std::vector<Message>> alone, together(8);
    for (int i = 0; i < 8; ++i) alone.push_back(run(i));
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i) threads.emplace_back([&, i] { together[std::size_t(i)] = run(i); });
    }
    CHECK(together == alone);
}
