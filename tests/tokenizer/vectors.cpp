// The tokenizers of Llama 2 and Llama 3.1 on texts with ids by other implementations.
#include <doctest/doctest.h>
#include <l3/tokenizer/tokenizer.hpp>
#include "support/paths.hpp"
#include <sstream>

using namespace l3;
using Ids = std::vector<Token>;

namespace {

std::optional<Tokenizer> shared_tokenizer(const char* file) {
    const auto data = support::shared_data();
    if (data && std::filesystem::exists(*data / "tokenizers" / file)) return Tokenizer::load(*data / "tokenizers" / file);
    MESSAGE("NOT TESTED: tokenizers/" << file << " is not among the shared data");
    return std::nullopt;
}

/// Every text of vectors.inp against its line of vectors.out.
void check_vectors(const Tokenizer& tokenizer, const std::filesystem::path& folder) {
    constexpr std::string_view separator = "\n__ggml_vocab_test__\n";
    const std::string texts = support::read_file(folder / "vectors.inp");
    std::istringstream lines(support::read_file(folder / "vectors.out"));
    std::string line;
    std::size_t at = 0, count = 0;
    while (std::getline(lines, line)) {
        const std::size_t end = texts.find(separator, at);
        const std::string text = texts.substr(at, end - at);
        Ids expected;
        std::istringstream numbers(line);
        for (Token id = 0; numbers >> id;) expected.push_back(id);
        CAPTURE(text);
        CHECK(tokenizer.encode(text) == expected);
        CHECK(tokenizer.decode(expected) == text);
        ++count;
        if (end == texts.npos) break;
        at = end + separator.size();
    }
    CHECK(count > 40);
}

}  // namespace

TEST_CASE("vectors of Llama 3.1") {
    const auto t = shared_tokenizer("llama-3.1/tokenizer.json");
    if (!t) return;
    check_vectors(*t, *support::shared_data() / "tokenizers/llama-3.1");
    CHECK(t->encode(" Vi\xE1\xBB\x87t") == Ids{101798});  // acceptance B02
    CHECK(t->encode("<|eot_id|>", {.parse_special = true}) == Ids{128009});
    CHECK(t->encode("<|eot_id|>").size() > 1);
}

TEST_CASE("vectors of Llama 2") {
    const auto t = shared_tokenizer("llama-2/vocab.gguf");
    if (!t) return;
    check_vectors(*t, *support::shared_data() / "tokenizers/llama-2");
    // acceptance B08
    const std::string lets = "Lets try \xC3\xB6 & \xE6\xA0\xAA\xE5\xBC\x8F\xE4\xBC\x9A\xE7\xA4\xBE";
    CHECK(t->encode(lets) == Ids{365, 1691, 1018, 3963, 669, 29871, 31409, 30607, 30437, 30564});
    const std::string old = "\xF0\x92\x8E\x97\xF0\x93\x90\x8D";
    CHECK(t->encode(old) == Ids{29871, 243, 149, 145, 154, 243, 150, 147, 144});
    for (const std::string& text : {lets, old, std::string("a b  c"), std::string("Hello")}) CHECK(t->decode(t->encode(text)) == text);
}
