#include <doctest/doctest.h>
#include <l3/tokenizer/tokenizer/read_llama2c.hpp>
#include "tokenizer/synthetic.hpp"

using namespace l3;
using namespace l3::tokenizer;

TEST_CASE("read_llama2c: special tokens, bytes, pieces with scores") {
    const support::TemporaryFolder folder;
    support::write_file(folder / "tokenizer.bin", synthetic::llama2c_bin({" ", "a", " a", "", "b"}));
    const auto p = read_llama2c(folder / "tokenizer.bin");
    CHECK(p->kind == "SentencePiece BPE");
    CHECK(p->name == (folder / "tokenizer.bin").string());
    CHECK(p->vocabulary.size() == 264);
    CHECK(p->vocabulary.kind(1) == TokenKind::special);
    CHECK(p->vocabulary.bytes(1) == "<s>");
    CHECK(p->vocabulary.kind(3 + 'A') == TokenKind::byte);
    CHECK(p->vocabulary.bytes(3 + 'A') == "A");
    CHECK(p->vocabulary.find(" a") == 261);
    CHECK(p->vocabulary.kind(262) == TokenKind::unused);  // empty
    CHECK(p->bos == 1);
    CHECK(p->add_bos);
    CHECK(p->end_ids == std::vector<Token>{2, 1});
    CHECK(p->one_token_a_row);
    CHECK(p->chat_template.empty());
}

TEST_CASE("read_llama2c: files that are none") {
    const support::TemporaryFolder folder;
    const auto path = folder / "tokenizer.bin";
    const auto read = [&](const std::string& bytes) {
        support::write_file(path, bytes);
        (void)read_llama2c(path);
    };
    const std::string good = synthetic::llama2c_bin({"a"});
    CHECK_NOTHROW(read(good));
    CHECK_THROWS_WITH_AS(read(good.substr(0, good.size() - 1)), doctest::Contains("token 259"), FormatError);
    CHECK_THROWS_WITH_AS(read(""), doctest::Contains(path.string().c_str()), FormatError);
    CHECK_THROWS_WITH_AS(read(good.substr(0, 4 + 36)), doctest::Contains(": 3 tokens, expected at least 259"), FormatError);
    std::string length = good;
    length[8] = 17;  // of the first token; the longest has 16
    CHECK_THROWS_WITH_AS(read(length), doctest::Contains("token 0 has 17 bytes, expected 0 to 16"), FormatError);
    // llama3.c: no byte tokens
    support::GgufBytes other;
    other.number(std::uint32_t(8));
    for (int i = 0; i < 300; ++i) other.number(0.0f).number(std::int32_t(1)), other.bytes += 'x';
    CHECK_THROWS_WITH_AS(read(other.bytes), doctest::Contains("token 3 is \"x\", expected a byte like \"<0x0A>\""), UnsupportedError);
}
