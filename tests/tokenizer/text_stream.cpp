#include <doctest/doctest.h>
#include <l3/tokenizer/text_stream.hpp>
#include "synthetic.hpp"

using namespace l3;

namespace {

std::string stream(const Tokenizer& tokenizer, std::span<const Token> ids, std::optional<Token> before = {}) {
    TextStream text(tokenizer, before);
    std::string out;
    for (const Token id : ids) out += text.push(id);
    return out += text.finish();
}

}  // namespace

TEST_CASE("acceptance B04: the stream is the decoded text, for any ids, in whole characters") {
    const Tokenizer tokenizers[] = {
        Tokenizer::load(synthetic::Folder(synthetic::byte_level({{"\x9F", "\x98"}, {"\xC3", "\xA9"}, {"a", "\xF0"}})).file()),
        Tokenizer::load(synthetic::Folder(synthetic::sentencepiece({" ", "a", "\xC3\xA9"}, {{" ", "a"}})).file())};
    std::uint64_t state = 9;
    for (const Tokenizer& tokenizer : tokenizers) {
        for (int round = 0; round < 1000; ++round) {
            std::vector<Token> ids(static_cast<std::size_t>(round % 50));
            for (Token& id : ids) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                id = static_cast<Token>((state >> 33) % static_cast<std::uint64_t>(tokenizer.vocab_size()));
            }
            REQUIRE(stream(tokenizer, ids) == valid_utf8(tokenizer.decode(ids, true)));
        }
    }
    TextStream smile(tokenizers[0]);
    CHECK(smile.push(0xF0) == "");
    CHECK(smile.push(256) == "");
    CHECK(smile.push(0x80) == "\xF0\x9F\x98\x80");
    CHECK(smile.push(0xE6) == "");
    CHECK(smile.push(0xAD) == "");
    CHECK(smile.push('a') == "\xEF\xBF\xBD" "a");
}

TEST_CASE("acceptance C09: special tokens show nothing, nor do ids without a token") {
    const Tokenizer tokenizer = Tokenizer::load(synthetic::Folder(synthetic::byte_level({{"a", "b"}})).file());
    CHECK(tokenizer.is_special(257));
    CHECK(stream(tokenizer, std::vector<Token>{'x', 257, 'y', 258, 5000, 256}) == "xyab");
    CHECK(stream(tokenizer, std::vector<Token>{0xC3, 257, 0xA9}) == "\xC3\xA9");
}

TEST_CASE("acceptance B07: the space of the first token is the text's own unless the text begins with it") {
    const Tokenizer tokenizer = Tokenizer::load(synthetic::Folder(synthetic::sentencepiece({" ", "a", "b", "c"}, {{" ", "a"}, {" ", "b"}})).file());
    const std::vector<Token> ids = tokenizer.encode("a b  c");
    CHECK(stream(tokenizer, ids) == "a b  c");
    CHECK(stream(tokenizer, ids, 1) == "a b  c");     // behind the start token
    CHECK(stream(tokenizer, ids, 260) == " a b  c");  // behind other text
    std::vector<Token> with_bos = ids;
    with_bos.insert(with_bos.begin(), 1);
    CHECK(stream(tokenizer, with_bos) == "a b  c");
}
