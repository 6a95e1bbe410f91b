#pragma once
// tokenizer.json, as the library tokenizers of Hugging Face writes it, and tokenizer_config.json beside it. What a file
// says decides, never the name of a class; components that are not known are refused by their type.
#include "../../io/json.hpp"
#include "../byte_alphabet.hpp"
#include "components.hpp"
#include "pipeline.hpp"
#include "tables.hpp"
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace l3::inline v0::tokenizer {

namespace detail {

/// Ids are below this: memory is taken for every id up to the largest. As many as there are tokens, and room for the
/// gaps that files have, which are of some hundred ids.
inline std::uint64_t id_limit(const io::JsonObject& root, const io::JsonObject& model) {
    constexpr std::uint64_t gaps = 65536;
    const auto entries = [](const io::JsonObject& object, const char* key) -> std::uint64_t {
        const auto found = object.json().find(key);
        return found == object.json().end() ? 0 : found->size();
    };
    return entries(model, "vocab") + entries(root, "added_tokens") + gaps;
}

/// "added_tokens", by id.
inline std::map<Token, AddedToken> read_added_tokens(const io::JsonObject& root, std::uint64_t limit,
                                                     std::vector<AddedToken>& normalized) {
    std::map<Token, AddedToken> by_id;
    const auto list = root.json().find("added_tokens");
    if (list == root.json().end() || list->is_null()) return by_id;
    if (!list->is_array()) root.fail_type("added_tokens", *list, "an array");
    for (const auto& entry : *list) {
        const io::JsonObject token(entry, root.name());
        AddedToken t{token.get<std::string>("content"), token.get<int>("id"), token.get_or("special", false),
                     token.get_or("lstrip", false), token.get_or("rstrip", false)};
        require<FormatError>(!t.text.empty(), root.name(), ": the added token ", t.id, " has no text");
        require<FormatError>(t.id >= 0 && static_cast<std::uint64_t>(t.id) < limit, root.name(), ": the added token \"",
                             t.text, "\" has the id ", t.id, ", expected one from 0 to ", limit - 1,
                             " for so many tokens");
        require<UnsupportedError>(!token.get_or("single_word", false), root.name(), ": the added token \"", t.text,
                                  "\" has single_word, which is not known");
        // Special tokens are looked for in the text itself whatever "normalized" says: that is where users write them.
        if (!t.special && token.get_or("normalized", true)) normalized.push_back(t);
        const Token id = t.id;
        require<FormatError>(by_id.emplace(id, std::move(t)).second, root.name(), ": two added tokens have the id ", id);
    }
    return by_id;
}

/// The texts of "model.vocab" by id: views of the document.
inline std::vector<std::string_view> read_vocab(const io::JsonObject& model, std::uint64_t limit) {
    const auto vocab = model.find_object("vocab");
    require<FormatError>(vocab.has_value(), model.name(), ": no '", model.path("vocab"), "'");
    std::vector<std::string_view> texts(vocab->json().size());
    for (const auto& [text, id] : vocab->json().items()) {
        const auto at = id.is_number_unsigned() ? id.template get<std::uint64_t>() : ~std::uint64_t{0};
        if (at >= limit) vocab->fail_type(text, id, message("an id from 0 to ", limit - 1, " for so many tokens"));
        if (at >= texts.size()) texts.resize(at + 1);
        require<FormatError>(texts[at].empty(), model.name(), ": two tokens have the id ", at, ": \"", texts[at], "\" and \"",
                             text, "\"");
        texts[at] = text;
    }
    return texts;
}

inline MergeTable read_merges(const io::JsonObject& model, const WrittenTokens& written, int vocabulary) {
    const auto merges = model.json().find("merges");
    require<FormatError>(merges != model.json().end() && merges->is_array(), model.name(), ": no list '", model.path("merges"), "'");
    MergeReader reader(model.name(), written, merges->size());
    for (const auto& merge : *merges) {
        if (merge.is_string())
            reader.add(merge.template get_ref<const std::string&>());
        else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
            reader.add(merge[0].template get_ref<const std::string&>(), merge[1].template get_ref<const std::string&>());
        else
            model.fail_type("merges", merge, "entries of two texts: \"a b\" or [\"a\", \"b\"]");
    }
    return std::move(reader).take(vocabulary);
}

/// "model", into the pipeline's vocabulary and model.
inline void read_model(Pipeline& p, const io::JsonObject& model, std::uint64_t limit, const Components& components,
                       std::map<Token, AddedToken> added) {
    if (const auto dropout = model.find<double>("dropout"); dropout && *dropout != 0)
        fail<UnsupportedError>(p.name, ": '", model.path("dropout"), "' is ", *dropout, ", expected none");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
        if (const std::string text = model.get_or<std::string>(key, ""); !text.empty())
            fail<UnsupportedError>(p.name, ": '", model.path(key), "' is \"", text, "\", which is not known");
    const std::vector<std::string_view> texts = read_vocab(model, limit);
    const bool byte_fallback = !components.byte_level && model.get_or("byte_fallback", false);
    std::array<Token, 256> byte_tokens;
    byte_tokens.fill(-1);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto id = static_cast<Token>(i);
        const auto also = added.find(id);
        if (texts[i].empty()) continue;  // no token has this id, or an added one
        TokenKind kind = TokenKind::normal;
        std::string bytes(texts[i]);
        bool mergeable = true;
        if (also != added.end()) {
            require<FormatError>(also->second.text == texts[i], p.name, ": the id ", id, " is that of the token \"", texts[i],
                                 "\" and of the added token \"", also->second.text, "\"");
            kind = also->second.special ? TokenKind::special : TokenKind::added;
            mergeable = !also->second.special;
            added.erase(also);
        } else if (const int byte = byte_fallback ? byte_of_token(texts[i]) : -1; byte >= 0) {
            kind = TokenKind::byte;
            mergeable = false;
            bytes.assign(1, static_cast<char>(static_cast<unsigned char>(byte)));
            byte_tokens[static_cast<std::size_t>(byte)] = id;
        } else if (components.byte_level) {
            std::optional<std::string> read = bytes_of(texts[i]);
            mergeable = read.has_value();
            if (mergeable) bytes = *std::move(read);
        } else {
            bytes = replace_all(bytes, components.space, " ");
        }
        p.vocabulary.add(id, std::move(bytes), kind, mergeable);
    }
    const WrittenTokens written(texts);
    for (const auto& [id, token] : added) {
        require<FormatError>(written.find(token.text) < 0, p.name, ": the added token \"", token.text, "\" has the id ", id, " and, in '",
                             model.path("vocab"), "', the id ", written.find(token.text));
        p.vocabulary.add(id, token.text, token.special ? TokenKind::special : TokenKind::added);
    }
    const auto read_into = [&](auto& m) {
        m.merges = read_merges(model, written, static_cast<int>(texts.size()));
        m.ignore_merges = model.get_or("ignore_merges", false);
        m.fuse_unknown = model.get_or("fuse_unk", false);
        if (const auto unknown = model.find<std::string>("unk_token")) {
            m.unknown = written.find(*unknown);
            require<FormatError>(m.unknown >= 0, p.name, ": '", model.path("unk_token"), "' is \"", *unknown, "\", which is no token");
        }
    };
    if (components.byte_level) {
        ByteLevelBpe m;
        read_into(m);
        m.set_bytes(p.vocabulary);
        p.model = std::move(m);
    } else {
        SentencePieceBpe m;
        read_into(m);
        m.byte_tokens = byte_tokens;
        m.set_separate_words(p.vocabulary);
        p.model = std::move(m);
    }
}

/// A token in tokenizer_config.json: its text, or an object with it.
inline std::optional<std::string> read_config_token(const io::JsonObject& config, std::string_view key) {
    if (!config.contains(key)) return std::nullopt;
    if (config.json().find(std::string(key))->is_object()) return config.find_object(key)->get<std::string>("content");
    return config.get<std::string>(key);
}

/// "chat_template" of tokenizer_config.json: a text, or a list of named ones, of which "default" counts.
inline std::string read_config_template(const io::JsonObject& config) {
    if (!config.contains("chat_template")) return {};
    const auto& value = *config.json().find("chat_template");
    if (value.is_string()) return value.template get<std::string>();
    if (!value.is_array()) config.fail_type("chat_template", value, "a text or a list of named texts");
    for (const auto& entry : value) {
        const io::JsonObject named(entry, config.name());
        if (named.get<std::string>("name") == "default") return named.get<std::string>("template");
    }
    return {};
}

/// What tokenizer_config.json and chat_template.jinja say, if they are there.
inline void read_beside(Pipeline& p, const std::filesystem::path& folder) {
    const auto token = [&](const std::string& file, std::string_view key, std::string_view text) {
        const AddedToken* const found = p.added.find(text);
        const Token id = found != nullptr ? found->id : p.vocabulary.find(text);
        require<FormatError>(id >= 0, file, ": '", key, "' is \"", text, "\", which is no token of ", p.name);
        return id;
    };
    std::error_code ignored;
    if (const auto path = folder / "tokenizer_config.json"; std::filesystem::exists(path, ignored)) {
        const nlohmann::json json = io::read_json(path);
        const io::JsonObject config(json, path.string());
        if (const auto bos = read_config_token(config, "bos_token"); bos && !p.bos) p.bos = token(path.string(), "bos_token", *bos);
        if (const auto eos = read_config_token(config, "eos_token")) p.add_end(token(path.string(), "eos_token", *eos));
        p.add_bos = config.get_or("add_bos_token", p.add_bos) && p.bos;
        p.chat_template = read_config_template(config);
    }
    if (const auto path = folder / "chat_template.jinja"; std::filesystem::exists(path, ignored))
        p.chat_template = io::MappedFile::open(path)->text();
}

}  // namespace detail

/// Reads a tokenizer.json, and tokenizer_config.json and chat_template.jinja beside it.
/// Throws IoError, FormatError, UnsupportedError, naming file, key and type.
[[nodiscard]] inline std::shared_ptr<const Pipeline> read_json(const std::filesystem::path& path) {
    const nlohmann::json json = io::read_json(path);
    const io::JsonObject root(json, path.string());
    const auto pipeline = std::make_shared<Pipeline>();
    Pipeline& p = *pipeline;
    p.name = path.string();
    const Components components = read_components(root);
    p.kind = components.byte_level ? "byte-level BPE" : "SentencePiece BPE";
    p.normalizer = components.normalizer;
    p.pre_tokenizer = components.pre_tokenizer;
    p.strip_prefix = components.strip_prefix;

    const auto model = root.find_object("model");
    require<FormatError>(model.has_value(), p.name, ": no 'model'");
    const auto type = model->get_or<std::string>("type", model->contains("merges") ? "BPE" : "");
    require<UnsupportedError>(type == "BPE", p.name, ": the model type '", type, "' is not known; known is BPE");
    std::vector<AddedToken> normalized, others;
    const std::uint64_t limit = detail::id_limit(root, *model);
    std::map<Token, AddedToken> added = detail::read_added_tokens(root, limit, normalized);
    for (const auto& [id, token] : added)
        if (std::none_of(normalized.begin(), normalized.end(), [id = id](const AddedToken& t) { return t.id == id; }))
            others.push_back(token);
    for (AddedToken& token : normalized) {
        std::string memory;
        constexpr std::size_t most = AddedTokens::most_bytes;
        token.text = std::string(normalize(p.normalizer, token.text, true, most, memory, p.name));
    }
    p.added = AddedTokens(std::move(others), p.name);
    p.added_normalized = AddedTokens(std::move(normalized), p.name);
    detail::read_model(p, *model, limit, components, std::move(added));
    if (components.bos) {
        p.require_token(*components.bos, "the token that the post-processor puts in front");
        p.bos = components.bos;
        p.add_bos = true;
    }
    detail::read_beside(p, path.parent_path());
    return pipeline;
}

}  // namespace l3::inline v0::tokenizer
