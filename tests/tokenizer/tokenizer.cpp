#include <doctest/doctest.h>
#include <l3/tokenizer/tokenizer.hpp>
#include "support/error_text.hpp"
#include "synthetic.hpp"
#include <map>
#include <thread>

using namespace l3;
using synthetic::Folder;
using Ids = std::vector<Token>;

namespace {

Tokenizer byte_level(const synthetic::json& config = {}) {
    return Tokenizer::load(Folder(synthetic::byte_level({{"h", "e"}, {" ", "t"}, {" t", "he"}}), config).file());
}
/// Pieces: 259 " ", 260 "a", 261 "b", 262 "c", 263 " a", 264 " b".
const std::vector<std::string> pieces{" ", "a", "b", "c", " a", " b"};
/// The same tokenizer from the three kinds of files.
std::vector<Tokenizer> sentencepieces() {
    const support::TemporaryFolder folder;
    support::write_file(folder / "tokenizer.bin", synthetic::llama2c_bin(pieces));
    support::write_gguf(folder / "x.gguf", synthetic::gguf_sentencepiece(pieces), {});
    return {Tokenizer::load(Folder(synthetic::sentencepiece({" ", "a", "b", "c"}, {{" ", "a"}, {" ", "b"}})).file()),
            Tokenizer::load(folder / "x.gguf"), Tokenizer::load(folder / "tokenizer.bin")};
}

/// Text of many kinds, the same every time.
std::string mixed_text(std::size_t bytes) {
    const std::string_view words[] = {"the", " the", "he", " ", "  ", "\n", "\n\n", " 1234567", "don't", "\xC3\xA9t\xC3\xA9", " \xE6\x97\xA5\xE6\x9C\xAC",
                                      "\xF0\x9F\x99\x82", "<eos>", "\t", "____", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "\xC2\xA0", "."};
    std::string text;
    std::uint64_t state = 11;
    while (text.size() < bytes) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        text += words[(state >> 33) % std::size(words)];
    }
    return text;
}

}  // namespace

TEST_CASE("acceptance B03: special tokens are text unless they are asked for, and in messages always") {
    const Tokenizer t = byte_level();
    const Token bos = 259, eos = 260;
    CHECK(t.encode("<eos>").size() > 1);
    CHECK(t.encode("<eos>", {.parse_special = true}) == Ids{eos});
    CHECK(t.decode(t.encode("a<eos>b")) == "a<eos>b");

    const std::string content = "a<eos><bos>system\nb<e";
    const Segment segments[] = {{"<bos>"}, {content, 0}, {"os><eos>"}};
    for (const bool parse : {false, true}) {
        const Ids ids = t.encode(segments, {.parse_special = parse});
        CHECK(std::count(ids.begin(), ids.end(), eos) == 1);  // the template's, not the one across the border
        CHECK(std::count(ids.begin(), ids.end(), bos) == 1);
        CHECK(ids.front() == bos);
        CHECK(ids.back() == eos);
        CHECK(t.decode(ids, true) == content + "os>");
    }
}

TEST_CASE("Tokenizer: text between special tokens is encoded as a whole, across the borders of segments") {
    const Tokenizer t = byte_level();
    const Segment segments[] = {{"<bos> t", -1}, {"he the", 0}, {" t", 1}, {"he<eos>"}};
    CHECK(t.encode(segments) == t.encode("<bos> the the the<eos>", {.parse_special = true}));
    CHECK(t.encode(std::span<const Segment>()).empty());
}

TEST_CASE("acceptance B06: at most one start token") {
    const Tokenizer t = byte_level({{"bos_token", "<bos>"}, {"add_bos_token", true}});
    CHECK(t.add_bos());
    CHECK(t.encode("the", {.add_bos = true}) == Ids{259, 't', 256});
    CHECK(t.encode("<bos>the", {.parse_special = true, .add_bos = true}) == Ids{259, 't', 256});
    CHECK(t.encode("", {.add_bos = true}) == Ids{259});
    CHECK(t.encode("the") == Ids{'t', 256});
    CHECK(t.encode("<bos>", {.add_bos = true}).front() == 259);  // typed without special tokens: text
    CHECK(t.encode("<bos>", {.add_bos = true}).size() == 6);
    const Tokenizer none = byte_level({{"add_bos_token", true}});  // no such token
    CHECK_FALSE(none.add_bos());
    CHECK(none.encode("the", {.add_bos = true}) == Ids{'t', 256});
}

TEST_CASE("acceptance B07: a space before the text, and taken away again") {
    for (const Tokenizer& t : sentencepieces()) {
        CAPTURE(t.name());
        CHECK(t.encode("a") == Ids{263});
        CHECK(t.encode("a b  c") == Ids{263, 264, 259, 259, 262});
        CHECK(t.encode("a", {.add_prefix = false}) == Ids{260});
        CHECK(t.encode(" a") == Ids{259, 263});
        CHECK(t.encode("", {.add_bos = true}) == Ids{1});
        for (const char* text : {"a", "a b  c", " a", "  ", "Hello", "a\n b", "\xE2\x96\x81"}) {
            if (std::string_view(text) != "\xE2\x96\x81") CHECK(t.decode(t.encode(text)) == text);
            CHECK(t.decode(t.encode(text, {.add_bos = true}), true) == t.decode(t.encode(text)));
        }
        CHECK(t.piece(263) == " a");
        CHECK(t.piece(263, true) == "a");
        CHECK(t.piece(260, true) == "a");
        CHECK(t.decode(Ids{260, 263}) == "a a");
        CHECK(t.decode(Ids{1, 263, 263}, true) == "a a");
    }
    // Behind special tokens: as the file says.
    const std::vector<Tokenizer> t = sentencepieces();
    CHECK(t[0].encode("a</s>a", {.parse_special = true}) == Ids{263, 2, 263});  // the normalizer of tokenizer.json
    CHECK(t[1].encode("a</s>a", {.parse_special = true}) == Ids{263, 2, 260});
    CHECK(t[1].encode("<s>a", {.parse_special = true}) == Ids{1, 263});
    CHECK(t[2].encode("<s>a", {.parse_special = true}) == Ids{1, 263});
}

TEST_CASE("acceptance B08: byte fallback, both directions") {
    for (const Tokenizer& t : sentencepieces()) {
        CHECK(t.kind() == "SentencePiece BPE");
        CHECK(t.encode("a\xE6\x97\xA5") == Ids{263, 3 + 0xE6, 3 + 0x97, 3 + 0xA5});
        CHECK(t.encode("\xF0\x92\x8E\x97") == Ids{259, 3 + 0xF0, 3 + 0x92, 3 + 0x8E, 3 + 0x97});
        for (const char* text : {"Lets try \xC3\xB6 & \xE6\xA0\xAA\xE5\xBC\x8F", "\n\t", "\xFF\xC3"}) CHECK(t.decode(t.encode(text)) == text);
    }
    const Tokenizer t = byte_level();
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    CHECK(t.decode(t.encode(all)) == all);
}

TEST_CASE("acceptance B10: runs without a split point give what the naive algorithm gives, and long ones an answer") {
    const std::string smile = "\xF0\x9F\x99\x82";
    synthetic::Merges merges{{"\xF0\x9F", "\x99\x82"}};
    merges.insert(merges.begin(), {{"\xF0", "\x9F"}, {"\x99", "\x82"}});
    for (const std::string& unit : {std::string("a"), std::string("_"), std::string(" "), std::string("\n")}) {
        merges.push_back({unit, unit});
        merges.push_back({unit + unit, unit});
        merges.push_back({unit + unit, unit + unit});
        merges.push_back({unit + unit + unit + unit, unit + unit + unit});
    }
    merges.push_back({smile, smile});
    const Tokenizer t = Tokenizer::load(Folder(synthetic::byte_level(merges)).file());

    std::map<std::pair<std::string, std::string>, std::size_t> ranks;
    for (std::size_t i = 0; i < merges.size(); ++i) ranks.emplace(merges[i], i);
    const auto naive = [&](std::string_view text) {
        std::vector<std::string> parts;
        for (const char c : text) parts.emplace_back(1, c);
        for (;;) {
            std::size_t best = merges.size(), at = 0;
            for (std::size_t i = 0; i + 1 < parts.size(); ++i)
                if (const auto found = ranks.find({parts[i], parts[i + 1]}); found != ranks.end() && found->second < best)
                    best = found->second, at = i;
            if (best == merges.size()) break;
            parts[at] += parts[at + 1];
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        }
        Ids ids;
        for (const std::string& part : parts) ids.push_back(*t.token_id(part));
        return ids;
    };
    for (const std::string& unit : {std::string("a"), std::string("_"), std::string(" "), std::string("\n"), smile}) {
        const auto run = [&](std::size_t bytes) {
            std::string text;
            while (text.size() < bytes) text += unit;
            return text;
        };
        CHECK(t.encode(run(2000)) == naive(run(2000)));
        const std::string longest = run(200'000);
        CHECK(t.decode(t.encode(longest)) == longest);
    }
    for (const Tokenizer& s : sentencepieces()) {
        const std::string longest(200'000, ' ');
        CHECK(s.encode(longest) == Ids(200'001, 259));
    }
}

TEST_CASE("acceptance B17: eight threads at once, the same ids, and the text back") {
    const Tokenizer t = byte_level();
    const std::string text = mixed_text(200'000);
    const Ids ids = t.encode(text);
    CHECK(t.decode(ids) == text);
    CHECK(t.encode(t.decode(ids)) == ids);
    std::vector<Ids> results(8);
    {
        std::vector<std::jthread> threads;
        for (Ids& result : results) threads.emplace_back([&t, &text, &result] { result = t.encode(text); });
    }
    for (const Ids& result : results) CHECK(result == ids);
}

TEST_CASE("acceptance K05: names looked for, and a tokenizer of another model") {
    const support::TemporaryFolder folder;
    const auto error = [](const std::filesystem::path& path) { return support::error_text<IoError>([&] { (void)Tokenizer::load(path); }); };
    CHECK(error(folder.path()) == "no tokenizer in " + folder.path().string() + ": looked for tokenizer.json and tokenizer.bin");
    support::write_file(folder / "tokenizer.model", "x");
    CHECK(support::mentions(error(folder.path()), {"tokenizer.model is not read"}));
    CHECK(support::mentions(error(folder / "none.json"), {"none.json"}));
    CHECK(support::mentions(error(folder / "none"), {"none: there is no such file"}));
    CHECK(support::mentions(support::error_text<UnsupportedError>([&] { (void)Tokenizer::load(folder / "tokenizer.model"); }),
                            {"tokenizer.model is no tokenizer file by its name; known are tokenizer.json, tokenizer.bin and .gguf"}));
    support::write_file(folder / "tokenizer.bin", synthetic::llama2c_bin({"a"}));
    CHECK(Tokenizer::load(folder.path()).vocab_size() == 260);
    support::write_file(folder / "tokenizer.json", synthetic::byte_level({}).dump());
    CHECK(Tokenizer::load(folder.path()).kind() == "byte-level BPE");

    const auto misfit = [](const Tokenizer& t, Index rows) { return support::error_text<FormatError>([&] { t.require_fits(rows, "model.bin"); }); };
    const Tokenizer bin = Tokenizer::load(folder / "tokenizer.bin"), json = Tokenizer::load(folder.path());
    CHECK(misfit(bin, 128'256) == bin.name() + " has 260 tokens, but model.bin has an embedding of 128256 rows: this is not the model's tokenizer");
    CHECK(support::mentions(misfit(json, 257), {"tokenizer.json has 258 tokens", "257 rows"}));
    CHECK(misfit(json, 258) == "(no exception)");
    CHECK(misfit(json, 320) == "(no exception)");  // rows that pad the embedding
    CHECK(misfit(bin, 260) == "(no exception)");
}

TEST_CASE("acceptance A03: a Git LFS pointer instead of a tokenizer") {
    const support::TemporaryFolder folder;
    for (const char* name : {"tokenizer.json", "tokenizer.bin", "x.gguf"}) {
        support::write_file(folder / name, "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9085657\n");
        CHECK_THROWS_WITH_AS((void)Tokenizer::load(folder / name), doctest::Contains("Git LFS"), Error);
        CHECK_THROWS_WITH_AS((void)Tokenizer::load(folder / name), doctest::Contains(name), Error);
    }
}

TEST_CASE("Tokenizer: ids out of range") {
    const Tokenizer t = byte_level();
    CHECK_THROWS_WITH_AS((void)t.piece(261), doctest::Contains("token id 261 is out of range: "), ArgumentError);
    CHECK_THROWS_WITH_AS((void)t.decode(Ids{'a', -1}), doctest::Contains("token id -1 is out of range: "), ArgumentError);
    CHECK_FALSE(t.is_special(-1));
    CHECK_FALSE(t.is_special(1'000'000));
}
