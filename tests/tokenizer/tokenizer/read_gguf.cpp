#include <doctest/doctest.h>
#include <l3/tokenizer/tokenizer/read_gguf.hpp>
#include "support/error_text.hpp"
#include "tokenizer/synthetic.hpp"

using namespace l3;
using namespace l3::tokenizer;
using Metadata = std::vector<support::GgufMetadata>;

namespace {

/// The metadata with a value changed or added.
Metadata with(Metadata metadata, const std::string& key, const support::GgufValue& value) {
    for (auto& entry : metadata)
        if (entry.key == key) return entry.value = value, metadata;
    metadata.push_back({key, value});
    return metadata;
}
Metadata without(Metadata metadata, const std::string& key) {
    std::erase_if(metadata, [&](const auto& entry) { return entry.key == key; });
    return metadata;
}
std::shared_ptr<const Pipeline> read(const Metadata& metadata) {
    const support::TemporaryFolder folder;
    support::write_gguf(folder / "x.gguf", metadata, {});
    return read_gguf(io::open_gguf(folder / "x.gguf"));
}
template <class E>
std::string error(const Metadata& metadata) {
    return support::error_text<E>([&] { (void)read(metadata); });
}

}  // namespace

TEST_CASE("read_gguf: byte-level BPE, as the name of its pre-tokenizer says") {
    const Metadata metadata = synthetic::gguf_byte_level({{"a", "b"}, {" ", "ab"}});
    const auto p = read(metadata);
    CHECK(p->kind == "byte-level BPE");
    CHECK(p->vocabulary.size() == 260);
    CHECK(p->vocabulary.bytes(257) == " ab");
    CHECK(p->vocabulary.kind(258) == TokenKind::special);
    CHECK(p->bos == 258);
    CHECK(p->add_bos);  // llama-bpe
    CHECK(p->end_ids == std::vector<Token>{259});
    CHECK(std::get<ByteLevelBpe>(p->model).ignore_merges);
    CHECK_FALSE(std::get<ByteLevelBpe>(read(synthetic::gguf_byte_level({{"a", "b"}}, "smollm"))->model).ignore_merges);
    CHECK_FALSE(read(synthetic::gguf_byte_level({{"a", "b"}}, "smollm"))->add_bos);
    CHECK_FALSE(read(with(metadata, "tokenizer.ggml.add_bos_token", false))->add_bos);
    CHECK_FALSE(read(without(metadata, "tokenizer.ggml.bos_token_id"))->add_bos);
    CHECK(read(with(metadata, "tokenizer.chat_template", std::string("{{x}}")))->chat_template == "{{x}}");
    Metadata ends = with(metadata, "tokenizer.ggml.eot_token_id", std::uint32_t(258));
    ends = with(ends, "tokenizer.ggml.eom_token_id", std::uint32_t(259));
    CHECK(read(ends)->end_ids == std::vector<Token>{259, 258});
}

TEST_CASE("read_gguf: SentencePiece BPE") {
    const Metadata metadata = synthetic::gguf_sentencepiece({" ", "a", " a"});
    const auto p = read(metadata);
    CHECK(p->kind == "SentencePiece BPE");
    CHECK(p->vocabulary.find(" a") == 261);
    CHECK(p->vocabulary.kind(3) == TokenKind::byte);
    CHECK(p->vocabulary.kind(0) == TokenKind::special);
    CHECK(p->add_bos);
    CHECK(p->strip_prefix);
    CHECK(std::get<SentencePieceBpe>(p->model).unknown == 0);
    CHECK_FALSE(read(with(metadata, "tokenizer.ggml.add_space_prefix", false))->strip_prefix);
}

TEST_CASE("read_gguf: errors name file, key and what was found") {
    const Metadata good = synthetic::gguf_byte_level({{"a", "b"}}), spm = synthetic::gguf_sentencepiece({"a"});
    CHECK(support::mentions(error<UnsupportedError>(with(good, "tokenizer.ggml.model", std::string("bert"))),
                            {"x.gguf: the tokenizer model 'bert' (metadata 'tokenizer.ggml.model') is not known; known are gpt2 and llama"}));
    CHECK(support::mentions(error<UnsupportedError>(with(good, "tokenizer.ggml.pre", std::string("foo"))), {"x.gguf", "'foo'", "llama-bpe"}));
    CHECK(support::mentions(error<UnsupportedError>(with(good, "tokenizer.ggml.add_space_prefix", true)), {"tokenizer.ggml.add_space_prefix"}));
    for (const char* key : {"tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "tokenizer.ggml.merges"})
        CHECK(support::mentions(error<FormatError>(without(good, key)), {"x.gguf", key}));
    CHECK(support::mentions(error<FormatError>(without(spm, "tokenizer.ggml.scores")), {"x.gguf", "tokenizer.ggml.scores"}));
    CHECK(support::mentions(error<FormatError>(with(spm, "tokenizer.ggml.scores", std::vector<float>{1, 2})), {"2 scores", "260 tokens"}));
    CHECK(support::mentions(error<FormatError>(with(good, "tokenizer.ggml.token_type", std::vector<std::int32_t>{1})), {"1 types", "259 tokens"}));
    CHECK(support::mentions(error<FormatError>(with(good, "tokenizer.ggml.token_type", std::vector<std::int32_t>(259, 7))),
                            {"token 0 is of type 7 ('tokenizer.ggml.token_type'), expected 1 to 6"}));
    CHECK(support::mentions(error<FormatError>(with(spm, "tokenizer.ggml.token_type", std::vector<std::int32_t>(260, 6))),
                            {"token 0 is \"<unk>\", expected a byte like"}));
    CHECK(support::mentions(error<FormatError>(with(good, "tokenizer.ggml.bos_token_id", std::uint32_t(259))),
                            {"tokenizer.ggml.bos_token_id", "is 259", "(259 ids)"}));
    CHECK(support::mentions(error<FormatError>(with(good, "tokenizer.ggml.merges", std::vector<std::string>{"a c"})), {"merge 0", "\"ac\""}));
}

TEST_CASE("acceptance B15: a byte-level GGUF with many tokens and no merges is refused") {
    synthetic::Merges merges;
    for (char a = 'a'; a <= 'z'; ++a)
        for (char b = 'a'; b <= 'z'; ++b) merges.push_back({std::string(1, a), std::string(1, b)});
    const Metadata many = synthetic::gguf_byte_level(merges);
    CHECK_NOTHROW((void)read(many));
    CHECK(support::mentions(error<FormatError>(with(many, "tokenizer.ggml.merges", std::vector<std::string>{})),
                            {"no merges for a vocabulary of 934 tokens"}));
}
