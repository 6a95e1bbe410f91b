#include <doctest/doctest.h>
#include <l3/tokenizer/pretokenize.hpp>

using namespace l3;
using namespace l3::tokenizer;

namespace {

using Texts = std::vector<std::string>;
Texts pieces(const PreTokenizer& steps, std::string_view text, Place place = Place::start) {
    PreTokenizer::Scratch scratch(steps);
    Texts out;
    steps.run(text, place, scratch, [&](std::string_view piece) { out.emplace_back(piece); });
    return out;
}
PreTokenizer split_at_commas(Split::Behavior behavior, bool invert = false) {
    PreTokenizer steps;
    steps.add(Split{Pattern(invert ? "[^,]+" : ","), behavior, invert});
    return steps;
}

}  // namespace

TEST_CASE("PreTokenizer: the behaviours of Split") {
    for (const bool invert : {false, true}) {  // commas are matched, or all but commas
        CAPTURE(invert);
        CHECK(pieces(split_at_commas(Split::removed, invert), ",ab,,c,") == Texts{"ab", "c"});
        CHECK(pieces(split_at_commas(Split::contiguous, invert), ",ab,,c,") == Texts{",", "ab", ",,", "c", ","});
    }
    // What the library tokenizers gives for these.
    CHECK(pieces(split_at_commas(Split::isolated), ",ab,,c,") == Texts{",", "ab", ",", ",", "c", ","});
    CHECK(pieces(split_at_commas(Split::merged_with_previous), ",ab,,c,") == Texts{",", "ab,", ",", "c,"});
    CHECK(pieces(split_at_commas(Split::merged_with_next), ",ab,,c,") == Texts{",ab", ",", ",c", ","});
    CHECK(pieces(split_at_commas(Split::removed), ",,").empty());
    CHECK(pieces(split_at_commas(Split::isolated), "").empty());
}

TEST_CASE("PreTokenizer: each step divides what the one before it left") {
    PreTokenizer steps;
    steps.add(Split{Pattern(R"(\p{N})")});
    steps.add(Split{Pattern(gpt2_pattern)});
    CHECK(pieces(steps, "ab 12 c!") == Texts{"ab", " ", "1", "2", " c", "!"});
    CHECK(pieces(PreTokenizer(), "ab 12") == Texts{"ab 12"});
}

TEST_CASE("PreTokenizer: a space before the text, unless one is there or the text goes on") {
    PreTokenizer steps;
    steps.add(PrefixSpace{});
    CHECK(pieces(steps, "ab") == Texts{" ab"});
    CHECK(pieces(steps, " ab") == Texts{" ab"});
    CHECK(pieces(steps, "ab", Place::inside) == Texts{" ab"});
    CHECK(pieces(steps, "ab", Place::continued) == Texts{"ab"});
}

TEST_CASE("acceptance B07: Metaspace puts a space where its scheme says") {
    const auto metaspace = [](Metaspace::Prepend prepend, std::string_view text, Place place, bool split = true) {
        PreTokenizer steps;
        steps.add(Metaspace{prepend, split});
        return pieces(steps, text, place);
    };
    CHECK(metaspace(Metaspace::always, "a b  c", Place::start) == Texts{" a", " b", " ", " c"});
    CHECK(metaspace(Metaspace::always, "a", Place::inside) == Texts{" a"});
    CHECK(metaspace(Metaspace::always, "a", Place::continued) == Texts{"a"});
    CHECK(metaspace(Metaspace::first, "a", Place::start) == Texts{" a"});
    CHECK(metaspace(Metaspace::first, "a", Place::inside) == Texts{"a"});
    CHECK(metaspace(Metaspace::never, "a b", Place::start) == Texts{"a", " b"});
    CHECK(metaspace(Metaspace::always, " a", Place::start) == Texts{" a"});
    CHECK(metaspace(Metaspace::always, "a b", Place::start, false) == Texts{" a b"});
}
