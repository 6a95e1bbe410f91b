#pragma once
// The components of tokenizer.json around the model: normalizer, pre_tokenizer, post_processor, decoder.
// Format: huggingface/tokenizers, tokenizers/src/{normalizers,pre_tokenizers,processors,decoders}.
#include "../../io/json.hpp"
#include "../pretokenize.hpp"
#include "pipeline.hpp"
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace l3::inline v0::tokenizer {

struct Components {
    bool byte_level = false;   ///< text becomes bytes in the byte alphabet; otherwise a space is written as `space`
    std::string space;
    bool metaspace = false;     ///< a pre_tokenizer writes spaces so
    std::vector<Normalization> normalizer;
    PreTokenizer pre_tokenizer;
    std::optional<Token> bos;   ///< what the post-processor puts in front
    bool strip_prefix = false;  ///< the decoder takes a space away at the beginning
};

namespace detail {

/// Calls use(component, type, key) for a component, or for each of a sequence of them; list is the key of those.
template <class F>
void for_each_component(const io::JsonObject& root, const char* key, const char* list, const F& use) {
    const auto component = root.find_object(key);
    if (!component) return;
    if (component->get<std::string>("type") != "Sequence") return use(*component, component->get<std::string>("type"));
    const auto members = component->json().find(list);
    if (members == component->json().end() || !members->is_array())
        fail<FormatError>(root.name(), ": no list '", component->path(list), "'");
    constexpr std::size_t most = 64;  // known files have a handful
    require<UnsupportedError>(members->size() <= most, root.name(), ": '", component->path(list), "' is a sequence of ",
                              members->size(), ", expected at most ", most);
    for (const auto& member : *members) {
        const io::JsonObject one(member, root.name());
        use(one, one.template get<std::string>("type"));
    }
}

[[noreturn]] inline void refuse(const io::JsonObject& root, std::string_view what, std::string_view type,
                                std::string_view known) {
    fail<UnsupportedError>(root.name(), ": the ", what, " type '", type, "' is not known; known are ", known);
}

/// "pattern": {"String": text} or {"Regex": pattern}. Throws as Pattern does, naming the file too.
inline Pattern read_pattern(const io::JsonObject& component) {
    const auto pattern = component.find_object("pattern");
    require<FormatError>(pattern.has_value(), component.name(), ": no '", component.path("pattern"), "'");
    const auto text = pattern->find<std::string>("String");
    const std::string regex = text ? Pattern::quote(*text) : pattern->get<std::string>("Regex");
    try {
        return Pattern(regex);
    } catch (const UnsupportedError& e) {
        fail<UnsupportedError>(component.name(), ": ", e.what());
    }
}

inline void read_normalizer(Components& c, const io::JsonObject& root) {
    for_each_component(root, "normalizer", "normalizers", [&](const io::JsonObject& n, const std::string& type) {
        if (type == "Prepend") {
            c.normalizer.push_back({"", n.get<std::string>("prepend")});
        } else if (type == "Replace") {
            const auto pattern = n.find_object("pattern");
            const auto text = pattern ? pattern->find<std::string>("String") : std::nullopt;
            require<UnsupportedError>(text && !text->empty(), root.name(), ": a Replace normalizer without a text ('pattern.String')");
            c.normalizer.push_back({*text, n.get<std::string>("content")});
        } else {
            refuse(root, "normalizer", type, "Prepend, Replace and Sequence");
        }
    });
}

inline void read_metaspace(Components& c, const io::JsonObject& step) {
    Metaspace metaspace;
    metaspace.split = step.get_or("split", true);
    const auto scheme = step.get_or<std::string>("prepend_scheme", step.get_or("add_prefix_space", true) ? "always" : "never");
    if (scheme == "first") metaspace.prepend = Metaspace::first;
    else if (scheme == "never") metaspace.prepend = Metaspace::never;
    else require<UnsupportedError>(scheme == "always", step.name(), ": prepend_scheme '", scheme,
                                   "' of Metaspace is not known; known are always, first and never");
    c.space = step.get<std::string>("replacement");
    c.metaspace = true;
    c.pre_tokenizer.add(metaspace);
}

inline void read_split(Components& c, const io::JsonObject& step) {
    Split split{read_pattern(step)};
    const auto behavior = step.get_or<std::string>("behavior", "Isolated");
    if (behavior == "Removed") split.behavior = Split::removed;
    else if (behavior == "MergedWithPrevious") split.behavior = Split::merged_with_previous;
    else if (behavior == "MergedWithNext") split.behavior = Split::merged_with_next;
    else if (behavior == "Contiguous") split.behavior = Split::contiguous;
    else require<UnsupportedError>(behavior == "Isolated", step.name(), ": behavior '", behavior, "' of Split is not known");
    split.invert = step.get_or("invert", false);
    c.pre_tokenizer.add(std::move(split));
}

inline void read_pre_tokenizer(Components& c, const io::JsonObject& root) {
    for_each_component(root, "pre_tokenizer", "pretokenizers", [&](const io::JsonObject& step, const std::string& type) {
        require<UnsupportedError>(!c.byte_level, root.name(), ": the pre_tokenizer '", type, "' behind ByteLevel is not known");
        if (type == "ByteLevel") {
            c.byte_level = true;
            if (step.get_or("add_prefix_space", true)) c.pre_tokenizer.add(PrefixSpace{});
            if (step.get_or("use_regex", true)) c.pre_tokenizer.add(Split{Pattern(gpt2_pattern)});
        } else if (type == "Split") {
            read_split(c, step);
        } else if (type == "Digits") {
            c.pre_tokenizer.add(Split{Pattern(step.get_or("individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)")});
        } else if (type == "Metaspace") {
            read_metaspace(c, step);
        } else {
            refuse(root, "pre_tokenizer", type, "ByteLevel, Split, Digits, Metaspace and Sequence");
        }
    });
}

inline void read_decoder(Components& c, const io::JsonObject& root) {
    bool byte_level = false, any = false;
    for_each_component(root, "decoder", "decoders", [&](const io::JsonObject& step, const std::string& type) {
        any = true;
        if (type == "ByteLevel") {
            byte_level = true;
        } else if (type == "Metaspace") {
            c.space = step.get<std::string>("replacement");
            c.strip_prefix = step.get_or<std::string>("prepend_scheme", step.get_or("add_prefix_space", true) ? "always" : "never") != "never";
        } else if (type == "Replace") {
            const auto pattern = step.find_object("pattern");
            const auto text = pattern ? pattern->find<std::string>("String") : std::nullopt;
            require<UnsupportedError>(text && step.get<std::string>("content") == " ", root.name(),
                                      ": a Replace decoder that does not replace a text by a space");
            c.space = *text;
        } else if (type == "Strip") {
            require<UnsupportedError>(step.get<std::string>("content") == " " && step.get<int>("start") <= 1 && step.get<int>("stop") == 0,
                                      root.name(), ": a Strip decoder for anything but one space at the beginning");
            c.strip_prefix = step.get<int>("start") == 1;
        } else if (type != "ByteFallback" && type != "Fuse") {
            refuse(root, "decoder", type, "ByteLevel, Metaspace, Replace, Strip, ByteFallback, Fuse and Sequence");
        }
    });
    require<UnsupportedError>(byte_level == c.byte_level || (c.byte_level && !any), root.name(), ": of pre_tokenizer and decoder one is ByteLevel, the other not");
}

inline void read_post_processor(Components& c, const io::JsonObject& root) {
    for_each_component(root, "post_processor", "processors", [&](const io::JsonObject& step, const std::string& type) {
        if (type == "ByteLevel") return;  // concerns offsets
        if (type != "TemplateProcessing") refuse(root, "post_processor", type, "ByteLevel, TemplateProcessing and Sequence");
        const auto single = step.json().find("single");
        if (single == step.json().end() || !single->is_array()) fail<FormatError>(root.name(), ": no list '", step.path("single"), "'");
        if (single->empty() || !single->front().contains("SpecialToken")) return;
        const auto name = io::JsonObject(single->front().at("SpecialToken"), root.name()).get<std::string>("id");
        const auto tokens = step.find_object("special_tokens");
        const auto token = tokens ? tokens->find_object(name) : std::nullopt;
        const auto ids = token ? token->get<std::vector<int>>("ids") : std::vector<int>();
        require<UnsupportedError>(ids.size() == 1, root.name(), ": the post_processor puts \"", name, "\" in front, which is ", ids.size(), " tokens, expected one");
        c.bos = ids[0];
    });
}

}  // namespace detail

/// Reads all of them. Throws UnsupportedError quoting the type of one that is not known, FormatError naming keys.
[[nodiscard]] inline Components read_components(const io::JsonObject& root) {
    Components c;
    detail::read_normalizer(c, root);
    detail::read_pre_tokenizer(c, root);
    detail::read_decoder(c, root);
    detail::read_post_processor(c, root);
    if (c.byte_level) return c;
    require<UnsupportedError>(!c.space.empty(), root.name(), ": neither ByteLevel nor a space written as another character "
                              "(Metaspace, or Replace by a space in the decoder), so it is no kind of tokenizer that is known");
    // From here on spaces are spaces: what the file writes for them becomes one, in the vocabulary and in the text.
    const bool replaced = !c.normalizer.empty() && c.normalizer.back().from == " " && c.normalizer.back().to == c.space;
    require<UnsupportedError>(replaced || c.metaspace, root.name(), ": the decoder makes spaces of \"", c.space,
                              "\", but neither the last normalizer nor a pre_tokenizer writes them so");
    if (replaced) c.normalizer.pop_back();
    c.normalizer.push_back({c.space, " "});
    return c;
}

}  // namespace l3::inline v0::tokenizer
