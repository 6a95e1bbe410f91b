#pragma once
// Unicode regular expressions by PCRE2, compiled to machine code where the system allows it.
#ifndef PCRE2_CODE_UNIT_WIDTH
#define PCRE2_CODE_UNIT_WIDTH 8
#endif
#include "../../core/error.hpp"
#include "translate.hpp"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <pcre2.h>
#include <string>
#include <string_view>

namespace l3::inline v0::tokenizer {

/// A compiled pattern of a tokenizer file: immutable, shared by all threads; matching goes through a Matcher.
class Pattern {
  public:
    /// Throws UnsupportedError naming the pattern if PCRE2 cannot compile it, or as translate_pattern does.
    explicit Pattern(std::string_view source) : source_(source) {
        const std::string pattern = translate_pattern(source);
        const std::unique_ptr<pcre2_compile_context_8, Free> context(pcre2_compile_context_create_8(nullptr));
        if (context == nullptr) throw std::bad_alloc();
        pcre2_set_newline_8(context.get(), PCRE2_NEWLINE_LF);
        int error = 0;
        PCRE2_SIZE at = 0;
        code_.reset(pcre2_compile_8(reinterpret_cast<PCRE2_SPTR8>(pattern.data()), pattern.size(),
                                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &at, context.get()),
                    Free());
        if (code_ == nullptr) fail<UnsupportedError>("the pattern \"", source, "\" does not compile: ", error_text(error));
        jit_ = pcre2_jit_compile_8(code_.get(), PCRE2_JIT_COMPLETE) == 0;
    }

    [[nodiscard]] const std::string& source() const { return source_; }

    /// The pattern that matches this text and nothing else.
    [[nodiscard]] static std::string quote(std::string_view text) {
        std::string out;
        for (const char c : text) {
            if (std::string_view(R"(\^$.[]|()?*+{}-#&)").find(c) != std::string_view::npos) out += '\\';
            out += c;
        }
        return out;
    }

  private:
    friend class Matcher;
    struct Free {
        void operator()(pcre2_code_8* p) const { pcre2_code_free_8(p); }
        void operator()(pcre2_compile_context_8* p) const { pcre2_compile_context_free_8(p); }
        void operator()(pcre2_match_data_8* p) const { pcre2_match_data_free_8(p); }
        void operator()(pcre2_match_context_8* p) const { pcre2_match_context_free_8(p); }
    };
    static std::string error_text(int error) {
        PCRE2_UCHAR8 text[256] = {};
        pcre2_get_error_message_8(error, text, sizeof text);
        return reinterpret_cast<const char*>(text);
    }

    std::string source_;
    std::shared_ptr<pcre2_code_8> code_;
    bool jit_ = false;
};

/// Finds the matches of a pattern; has the memory that this needs, so one belongs to one call or thread.
class Matcher {
  public:
    explicit Matcher(const Pattern& pattern)
        : pattern_(&pattern),
          data_(pcre2_match_data_create_8(1, nullptr)),
          context_(pcre2_match_context_create_8(nullptr)) {
        if (data_ == nullptr || context_ == nullptr) throw std::bad_alloc();
    }

    /// Calls found(begin, end) for every match that is not empty, from left to right, each beginning at the end of the
    /// one before or later. The text must be valid UTF-8.
    /// Throws UnsupportedError if the pattern needs more steps than a text of this length should take: patterns of
    /// tokenizers take a few for each character.
    template <class Found>
    void for_each(std::string_view text, Found found) {
        limit(text.size());
        std::size_t from = 0;
        while (from < text.size()) {
            if (!next(text, from)) return;
            const PCRE2_SIZE* const place = pcre2_get_ovector_pointer_8(data_.get());
            const std::size_t begin = place[0], end = place[1];
            if (begin < end) {
                found(begin, end);
                from = end;
            } else {  // an empty match separates nothing; go on behind the next character
                from = begin + 1;
                while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
            }
        }
    }

  private:
    void limit(std::size_t bytes) {
        constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
        const std::uint64_t steps = std::min<std::uint64_t>(most, 10'000 + 64 * std::uint64_t{bytes});
        pcre2_set_match_limit_8(context_.get(), static_cast<std::uint32_t>(steps));
        pcre2_set_depth_limit_8(context_.get(), static_cast<std::uint32_t>(steps));
        pcre2_set_heap_limit_8(context_.get(), static_cast<std::uint32_t>(std::min<std::uint64_t>(most, 20'000 + bytes)));  // KiB
    }

    bool next(std::string_view text, std::size_t from) {
        const auto subject = reinterpret_cast<PCRE2_SPTR8>(text.data());
        int found = PCRE2_ERROR_JIT_STACKLIMIT;
        if (pattern_->jit_)
            found = pcre2_jit_match_8(pattern_->code_.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK, data_.get(),
                                      context_.get());
        if (found == PCRE2_ERROR_JIT_STACKLIMIT)  // the interpreter takes its memory from the heap
            found = pcre2_match_8(pattern_->code_.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                                  data_.get(), context_.get());
        if (found == PCRE2_ERROR_NOMATCH) return false;
        if (found == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
        require<UnsupportedError>(found >= 0, "the pattern \"", pattern_->source_, "\" takes too many steps on a text of ",
                                  text.size(), " bytes: ", found < 0 ? Pattern::error_text(found) : std::string());
        return true;
    }

    const Pattern* pattern_;
    std::unique_ptr<pcre2_match_data_8, Pattern::Free> data_;
    std::unique_ptr<pcre2_match_context_8, Pattern::Free> context_;
};

}  // namespace l3::inline v0::tokenizer
