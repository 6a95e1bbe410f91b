#pragma once
#include "../../core/config.hpp"
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace l3::inline v0::tokenizer {

/// Reduces a chat template (Jinja, with trim_blocks and lstrip_blocks) to an outline that does not depend on how it is
/// written: comments gone, white space as it would be printed, {{ 'a' + x['b'] }} as a{{x.b}}, statements without
/// optional spaces, texts inside them in single quotes. Two templates of one outline render alike.
class TemplateOutline {
  public:
    /// Nothing for a text that is not a well-formed sequence of Jinja tags.
    [[nodiscard]] static std::optional<std::string> of(std::string_view jinja) {
        TemplateOutline outline(jinja);
        return outline.run() ? std::optional(std::move(outline.out_)) : std::nullopt;
    }

  private:
    struct Lexeme {
        enum Kind { word, text, sign } kind;
        std::string value;
        bool operator==(std::string_view other) const { return kind != text && value == other; }
    };

    explicit TemplateOutline(std::string_view jinja) {
        for (std::size_t i = 0; i < jinja.size(); ++i)
            if (jinja[i] != '\r') in_ += jinja[i];
            else if (i + 1 == jinja.size() || jinja[i + 1] != '\n') in_ += '\n';
        if (in_.ends_with('\n')) in_.pop_back();
    }

    bool run() {
        bool strip = false, trim = false, line_start = true;  // what the tag before does to the text that follows
        while (true) {
            std::size_t tag = at_;
            while (tag < in_.size() && !(in_[tag] == '{' && tag + 1 < in_.size() && is_tag(in_[tag + 1]))) ++tag;
            std::string text = in_.substr(at_, tag - at_);
            if (strip) text.erase(0, std::min(text.find_first_not_of(" \t\n"), text.size()));
            else if (trim && text.starts_with('\n')) text.erase(0, 1), line_start = true;
            if (tag == in_.size()) return out_ += text, true;

            const char type = in_[tag + 1];
            at_ = tag + 2;
            const char mark = at_ < in_.size() ? in_[at_] : ' ';
            if (mark == '-') {
                text.erase(text.find_last_not_of(" \t\n") + 1);
            } else if (mark != '+' && type != '{') {
                const std::size_t line = text.rfind('\n') + 1;  // 0 if there is none
                if ((line > 0 || line_start) && text.find_first_not_of(" \t", line) == text.npos) text.erase(line);
            }
            if (mark == '-' || mark == '+') ++at_;
            out_ += text;

            char last = ' ';
            if (type == '#') {
                const std::size_t end = in_.find("#}", at_);
                if (end == in_.npos) return false;
                if (end > at_) last = in_[end - 1];
                at_ = end + 2;
            } else {
                std::vector<Lexeme> lexemes;
                if (!lex(type == '{' ? "}}" : "%}", lexemes, last)) return false;
                type == '{' ? print(lexemes) : state(lexemes);
            }
            strip = last == '-';
            trim = type != '{' && last != '+';
            line_start = false;
        }
    }

    static bool is_tag(char c) { return c == '{' || c == '%' || c == '#'; }
    static bool is_word(char c) {
        return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_';
    }

    /// What stands up to the end of the tag; `last` is the mark before it.
    bool lex(std::string_view end, std::vector<Lexeme>& lexemes, char& last) {
        while (at_ < in_.size()) {
            const std::string_view rest = std::string_view(in_).substr(at_);
            if (rest.starts_with(end)) return at_ += 2, true;
            if ((rest[0] == '-' || rest[0] == '+') && rest.substr(1).starts_with(end))
                return last = rest[0], at_ += 3, true;
            if (rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\n') {
                ++at_;
            } else if (rest[0] == '\'' || rest[0] == '"') {
                if (!lex_text(lexemes)) return false;
            } else if (is_word(rest[0])) {
                const auto n = std::size_t(std::find_if_not(rest.begin(), rest.end(), is_word) - rest.begin());
                lexemes.push_back({Lexeme::word, std::string(rest.substr(0, n))});
                at_ += n;
            } else {
                constexpr std::array<std::string_view, 6> two = {"==", "!=", "<=", ">=", "//", "**"};
                const bool is_two = std::find(two.begin(), two.end(), rest.substr(0, 2)) != two.end();
                lexemes.push_back({Lexeme::sign, std::string(rest.substr(0, is_two ? 2 : 1))});
                at_ += is_two ? 2 : 1;
            }
        }
        return false;
    }

    bool lex_text(std::vector<Lexeme>& lexemes) {
        const char quote = in_[at_++];
        std::string value;
        for (; at_ < in_.size() && in_[at_] != quote; ++at_) {
            if (in_[at_] != '\\') {
                value += in_[at_];
                continue;
            }
            if (++at_ == in_.size()) return false;
            switch (in_[at_]) {
                case 'n': value += '\n'; break;
                case 't': value += '\t'; break;
                case '\\':
                case '\'':
                case '"': value += in_[at_]; break;
                default: return false;  // nothing that the known templates hold
            }
        }
        if (at_++ >= in_.size()) return false;
        // x['name'] is x.name
        const std::size_t n = lexemes.size();
        const auto keyed = [](const Lexeme& x) {
            constexpr std::array<std::string_view, 6> keywords = {"in", "and", "or", "not", "if", "else"};
            return x.kind == Lexeme::word ? std::find(keywords.begin(), keywords.end(), x.value) == keywords.end()
                                          : x == "]" || x == ")";
        };
        const bool key = n >= 2 && lexemes[n - 1] == "[" && keyed(lexemes[n - 2]) && !value.empty() &&
                         std::all_of(value.begin(), value.end(), is_word) && at_ < in_.size() && in_[at_] == ']';
        if (key) {
            ++at_;
            lexemes.back() = {Lexeme::sign, "."};
            lexemes.push_back({Lexeme::word, std::move(value)});
        } else {
            lexemes.push_back({Lexeme::text, std::move(value)});
        }
        return true;
    }

    /// {{ a + b }}: texts as they are, other terms in braces of their own.
    void print(const std::vector<Lexeme>& lexemes) {
        constexpr std::array<std::string_view, 17> others = {
            "if", "else", "and", "or", "not", "in", "is", "==", "!=", "<", ">", "<=", ">=", "-", "*", "/", "%"};
        int depth = 0;
        bool sum = true;
        std::vector<std::vector<Lexeme>> terms(1);
        for (const Lexeme& lexeme : lexemes) {
            if (lexeme == "(" || lexeme == "[" || lexeme == "{") ++depth;
            if (lexeme == ")" || lexeme == "]" || lexeme == "}") --depth;
            if (depth == 0 && lexeme.kind != Lexeme::text &&
                std::find(others.begin(), others.end(), lexeme.value) != others.end())
                sum = false;
            if (depth == 0 && (lexeme == "+" || lexeme == "~")) terms.emplace_back();
            else terms.back().push_back(lexeme);
        }
        if (!sum) terms.assign(1, lexemes);
        for (const std::vector<Lexeme>& term : terms)
            if (term.size() == 1 && term[0].kind == Lexeme::text) out_ += term[0].value;
            else out_ += "{{" + joined(term) + "}}";
    }

    void state(const std::vector<Lexeme>& lexemes) { out_ += "{%" + joined(lexemes) + "%}"; }

    static std::string joined(const std::vector<Lexeme>& lexemes) {
        std::string out;
        bool space = false;
        for (const Lexeme& lexeme : lexemes) {
            if (lexeme.kind == Lexeme::sign) {
                out += lexeme.value;
                space = false;
                continue;
            }
            if (space) out += ' ';
            if (lexeme.kind == Lexeme::word) out += lexeme.value;
            else out += quoted(lexeme.value);
            space = true;
        }
        return out;
    }

    static std::string quoted(std::string_view text) {
        std::string out = "'";
        for (char c : text)
            if (c == '\n') out += "\\n";
            else if (c == '\'' || c == '\\') (out += '\\') += c;
            else out += c;
        return out += "'";
    }

    std::string in_, out_;
    std::size_t at_ = 0;
};

}  // namespace l3::inline v0::tokenizer
