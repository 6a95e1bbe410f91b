#pragma once
// tokenizer.bin of llama2.c: a SentencePiece vocabulary with scores, spaces written as spaces.
// Format: https://github.com/karpathy/llama2.c, tokenizer.py (export) and run.c (build_tokenizer).
#include "../../io/gguf/cursor.hpp"
#include "../../io/mapped_file.hpp"
#include "pipeline.hpp"
#include "tables.hpp"
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace l3::inline v0::tokenizer {

/// Reads a tokenizer.bin. The file says neither how many tokens it has nor what they are: ids 0 to 2 are unknown, start
/// and end, the next 256 the bytes.
/// Throws IoError, FormatError, and UnsupportedError for vocabularies of another kind (llama3.c), naming the file.
[[nodiscard]] inline std::shared_ptr<const Pipeline> read_llama2c(const std::filesystem::path& path) {
    constexpr Token first_byte = 3, first_text = first_byte + 256;
    constexpr std::string_view special[] = {"<unk>", "<s>", "</s>"};
    const auto file = io::MappedFile::open(path);
    const auto pipeline = std::make_shared<Pipeline>();
    Pipeline& p = *pipeline;
    p.name = path.string();
    p.kind = "SentencePiece BPE";

    io::Cursor cursor(file->bytes(), p.name);
    const auto longest = cursor.number<std::uint32_t>("the length of the longest token");
    std::vector<float> scores;
    std::vector<AddedToken> added;
    while (cursor.remaining() > 0) {
        const auto id = static_cast<Token>(scores.size());
        const std::string what = message("token ", id);
        scores.push_back(cursor.number<float>(what));
        const auto length = cursor.number<std::int32_t>(what);
        require<FormatError>(length >= 0 && static_cast<std::uint32_t>(length) <= longest, p.name, ": token ", id, " has ", length,
                             " bytes, expected 0 to ", longest, ", the length of the longest: no tokenizer.bin of llama2.c");
        const auto bytes = cursor.take(static_cast<std::uint64_t>(length), what);
        const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        if (id < first_byte) {
            const auto name = special[static_cast<std::size_t>(id)];
            p.vocabulary.add(id, std::string(name), TokenKind::special);
            added.push_back({std::string(name), id, true});
        } else if (id < first_text) {
            require<UnsupportedError>(byte_of_token(text) == id - first_byte, p.name, ": token ", id, " is \"", text,
                                      "\", expected a byte like \"<0x0A>\": no tokenizer.bin of llama2.c (of llama3.c, perhaps)");
            const char byte = static_cast<char>(static_cast<unsigned char>(id - first_byte));
            p.vocabulary.add(id, std::string(1, byte), TokenKind::byte);
        } else {
            p.vocabulary.add(id, std::string(text), text.empty() ? TokenKind::unused : TokenKind::normal);
        }
    }
    require<FormatError>(p.vocabulary.size() >= first_text, p.name, ": ", p.vocabulary.size(),
                         " tokens, expected at least ", first_text, ": no tokenizer.bin of llama2.c");
    set_scores(p, scores);
    p.added = AddedTokens(std::move(added), p.name);
    p.normalizer.push_back({"", " "});
    p.strip_prefix = true;
    p.prefix_everywhere = false;
    p.bos_begins_text = true;
    p.one_token_a_row = true;
    p.bos = 1;
    p.add_bos = true;
    p.add_end(2);
    p.add_end(1);  // its models were trained on texts with only a start token between them
    return pipeline;
}

}  // namespace l3::inline v0::tokenizer
