#include <doctest/doctest.h>
#include <l3/tokenizer/tokenizer.hpp>
#include "support/error_text.hpp"
#include "tokenizer/synthetic.hpp"

using namespace l3;
using synthetic::Folder;
using synthetic::json;

namespace {

const synthetic::Merges merges{{"h", "e"}, {" ", "t"}, {" t", "he"}, {"\xC3", "\xA9"}};
const json byte_level = synthetic::byte_level(merges);

Tokenizer load(const json& tokenizer, const json& config = {}) { return Tokenizer::load(Folder(tokenizer, config).file()); }
template <class E>
std::string error(const json& tokenizer, const json& config = {}) {
    return support::error_text<E>([&] { (void)load(tokenizer, config); });
}
json with(json root, const char* pointer, const json& value) {
    root[json::json_pointer(pointer)] = value;
    return root;
}

}  // namespace

TEST_CASE("read_json: what tokenizer_config.json and chat_template.jinja beside it say") {
    const json config{{"bos_token", "<bos>"}, {"eos_token", {{"content", "<eos>"}}}, {"add_bos_token", true}, {"chat_template", "one"}};
    const Tokenizer tokenizer = load(byte_level, config);
    CHECK(tokenizer.kind() == "byte-level BPE");
    CHECK(tokenizer.vocab_size() == 262);
    CHECK(tokenizer.bos() == 260);
    CHECK(tokenizer.add_bos());
    CHECK(tokenizer.end_ids()[0] == 261);
    CHECK(tokenizer.chat_template() == "one");
    CHECK_FALSE(load(byte_level).bos());
    CHECK_FALSE(load(byte_level).add_bos());
    CHECK_FALSE(load(byte_level, with(config, "/add_bos_token", false)).add_bos());
    CHECK_FALSE(load(byte_level, with(config, "/bos_token", nullptr)).add_bos());
    const json named = {{{"name", "tool_use"}, {"template", "t"}}, {{"name", "default"}, {"template", "d"}}};
    CHECK(load(byte_level, with(config, "/chat_template", named)).chat_template() == "d");
    const Folder folder(byte_level, config);
    folder.write("chat_template.jinja", "two");
    CHECK(Tokenizer::load(folder.file()).chat_template() == "two");
    CHECK(support::mentions(error<FormatError>(byte_level, with(config, "/eos_token", "<end>")),
                            {"tokenizer_config.json: 'eos_token' is \"<end>\", which is no token of "}));
    CHECK(support::mentions(error<FormatError>(byte_level, with(config, "/chat_template", 3)), {"chat_template"}));
}

TEST_CASE("acceptance B14: what the file says counts, not the name of a class") {
    const auto with_class = [](const char* name) { return load(byte_level, {{"tokenizer_class", name}}).encode(" \xC3\xA9 the"); };
    CHECK(with_class("LlamaTokenizerFast") == std::vector<Token>{' ', 259, 258});
    CHECK(with_class("LlamaTokenizerFast") == with_class("PreTrainedTokenizerFast"));
    CHECK(support::mentions(error<UnsupportedError>(with(byte_level, "/pre_tokenizer/type", "Foo")), {"tokenizer.json", "'Foo'"}));
    CHECK(support::mentions(error<UnsupportedError>(with(byte_level, "/model/type", "Unigram")),
                            {"the model type 'Unigram' is not known; known is BPE"}));
    CHECK_NOTHROW((void)load(with(byte_level, "/model/type", nullptr)));  // old files do not say; merges do
}

TEST_CASE("acceptance B15: merges as strings and as pairs give equal ids; other shapes are errors") {
    json pairs = byte_level;
    pairs["model"]["merges"] = json::array();
    for (const auto& [left, right] : merges)
        pairs["model"]["merges"].push_back(json::array({synthetic::written(left), synthetic::written(right)}));
    const Tokenizer a = load(byte_level), b = load(pairs);
    std::string text;
    std::uint64_t state = 5;
    while (text.size() < 1'000'000) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const std::string_view words[] = {" the", "he", "\xC3\xA9t\xC3\xA9", " 12", "\n", "\xFF", " t"};
        text += words[(state >> 33) % std::size(words)];
    }
    CHECK(a.encode(text) == b.encode(text));
    CHECK(a.decode(a.encode(text)) == text);

    json spaces = pairs;  // tokens with a space in them
    for (const char* token : {"a ", "b", "a b"}) spaces["model"]["vocab"].emplace(token, 300 + static_cast<int>(spaces["model"]["vocab"].size()));
    spaces["model"]["merges"].push_back(json::array({"a ", "b"}));
    CHECK(load(spaces).encode(" the") == std::vector<Token>{258});

    for (const json& wrong : {json(3), json::array({"a"}), json::array({"a", "b", "c"}), json::array({"a", 1}), json::object()})
        CHECK(support::mentions(error<FormatError>(with(byte_level, "/model/merges/1", wrong)), {"tokenizer.json", "merges", "\"a b\" or [\"a\", \"b\"]"}));
    CHECK(support::mentions(error<FormatError>(with(byte_level, "/model/merges", "x")), {"no list 'model.merges'"}));
    json many = with(byte_level, "/model/merges", json::array());
    CHECK_NOTHROW((void)load(many));
    for (int i = 0; i < 300; ++i) many["model"]["vocab"]["token" + std::to_string(i)] = 262 + i;
    CHECK(support::mentions(error<FormatError>(many), {"no merges for a vocabulary of 562 tokens"}));
}

TEST_CASE("read_json: added tokens, special and not, in the vocabulary or beside it") {
    json root = byte_level;
    json& added = root["added_tokens"];
    added.push_back({{"id", 300}, {"content", "the"}, {"normalized", false}});
    added.push_back({{"id", 301}, {"content", "<x>"}, {"special", true}, {"lstrip", true}, {"normalized", false}});
    added.push_back({{"id", 'Q'}, {"content", "Q"}, {"special", true}});
    const Tokenizer t = load(root);
    CHECK(t.vocab_size() == 302);
    CHECK(t.encode(" thehe") == std::vector<Token>{' ', 300, 256});  // found first, and always
    CHECK(t.encode("e <x>", {.parse_special = true}) == std::vector<Token>{'e', 301});
    CHECK(t.encode("<x>").size() == 3);
    CHECK(t.is_special('Q'));
    CHECK_FALSE(t.is_special(300));
    CHECK(t.token_id("<x>") == 301);
    CHECK(t.token_id("the") == 300);
    CHECK(t.token_id(" the") == 258);
    CHECK(t.token_id("none") == std::nullopt);

    const auto wrong = [&](const json& token) {
        json other = byte_level;
        other["added_tokens"].push_back(token);
        return other;
    };
    CHECK(support::mentions(error<FormatError>(wrong({{"id", 260}, {"content", "x"}})), {"two added tokens have the id 260"}));
    CHECK(support::mentions(error<FormatError>(wrong({{"id", 300}, {"content", ""}})), {"the added token 300 has no text"}));
    CHECK(support::mentions(error<FormatError>(wrong({{"id", 65}, {"content", "x"}})), {"the id 65 is that of the token \"A\" and of the added token \"x\""}));
    CHECK(support::mentions(error<FormatError>(wrong({{"id", 300}, {"content", "A"}})), {"the added token \"A\" has the id 300", "the id 65"}));
    CHECK(support::mentions(error<UnsupportedError>(wrong({{"id", 300}, {"content", "x"}, {"single_word", true}})), {"\"x\" has single_word"}));
    CHECK(support::mentions(error<FormatError>(wrong({{"content", "x"}})), {"tokenizer.json", "id"}));
}

TEST_CASE("read_json: ids far beyond the number of tokens are refused, gaps are not") {
    // 260 tokens in the vocabulary, two added ones, and room for 65536 ids that are none.
    const auto with_added = [](int id) {
        json root = byte_level;
        root["added_tokens"].push_back({{"id", id}, {"content", "zz"}});
        return root;
    };
    CHECK(load(with(byte_level, "/model/vocab/zz", 65798)).vocab_size() == 65799);
    CHECK(load(with_added(65798)).vocab_size() == 65799);
    for (const std::int64_t id : {std::int64_t{65799}, std::int64_t{10'000'000}, std::int64_t{1} << 40})
        CHECK(support::mentions(error<FormatError>(with(byte_level, "/model/vocab/zz", id)),
                                {"tokenizer.json: 'model.vocab.zz' is " + std::to_string(id) + ", expected an id from 0 to 65798"}));
    for (const int id : {65799, 10'000'000, -1})
        CHECK(support::mentions(error<FormatError>(with_added(id)),
                                {"tokenizer.json: the added token \"zz\" has the id " + std::to_string(id) + ", expected one from 0 to 65798"}));
}

TEST_CASE("read_json: what is wrong with a model is named") {
    CHECK(support::mentions(error<FormatError>(with(byte_level, "/model", nullptr)), {"tokenizer.json: no 'model'"}));
    CHECK(support::mentions(error<FormatError>(with(byte_level, "/model/vocab", nullptr)), {"no 'model.vocab'"}));
    CHECK(support::mentions(error<FormatError>(with(byte_level, "/model/vocab/A", "x")), {"vocab.A"}));
    CHECK(support::mentions(error<FormatError>(with(byte_level, "/model/vocab/A", -1)), {"vocab.A"}));
    CHECK(support::mentions(error<FormatError>(with(byte_level, "/model/vocab/A", 66)), {"two tokens have the id 66", "\"A\"", "\"B\""}));
    CHECK(support::mentions(error<FormatError>(with(byte_level, "/model/unk_token", "<unk>")), {"'model.unk_token' is \"<unk>\", which is no token"}));
    CHECK(support::mentions(error<UnsupportedError>(with(byte_level, "/model/dropout", 0.1)), {"'model.dropout'"}));
    CHECK(support::mentions(error<UnsupportedError>(with(byte_level, "/model/end_of_word_suffix", "</w>")), {"'model.end_of_word_suffix' is \"</w>\""}));
    CHECK(support::mentions(error<FormatError>(with(byte_level, "/added_tokens", 3)), {"added_tokens", "an array"}));
    const Folder folder(byte_level);
    folder.write("tokenizer.json", "{\"model\": ");
    CHECK(support::mentions(support::error_text<FormatError>([&] { (void)Tokenizer::load(folder.file()); }), {"tokenizer.json: not valid JSON at line 1"}));
}

TEST_CASE("acceptance B08: a byte without a token is the unknown one, or left out as the reference does") {
    json root = byte_level;
    root["model"]["vocab"].erase(synthetic::written("z"));
    CHECK(load(root).encode("zaz") == std::vector<Token>{'a'});
    CHECK(load(with(root, "/model/unk_token", "u")).encode("zza") == std::vector<Token>{'u', 'u', 'a'});
    json fused = with(with(root, "/model/unk_token", "u"), "/model/fuse_unk", true);
    CHECK(load(fused).encode("zza") == std::vector<Token>{'u', 'a'});
    // Whatever byte_fallback says.
    CHECK(load(with(byte_level, "/model/byte_fallback", true)).encode("\xC3\xA9\xFF") == std::vector<Token>{259, 0xFF});
}
