#pragma once
#include "../core/error.hpp"
#include "chat_template/known.hpp"
#include "segment.hpp"
#include <ctime>
#include <span>
#include <time.h>
#include <utility>

namespace l3::inline v0 {

/// One message of a conversation. Roles are "system", "user", "assistant", and what else the model's template takes.
struct Message {
    std::string role, content;
    friend bool operator==(const Message&, const Message&) = default;
};

/// Puts conversations into the prompt format of a model: ChatML, Llama 3, Llama 3.1 (3.2, 3.3) or Llama 2, chosen by
/// the text of the model's template. What comes out are segments: template text, which may hold special tokens, and
/// message text, which is only text. Immutable; all members may be called from any threads.
class ChatTemplate {
  public:
    /// The format that this template text writes; what another implementation makes of the text, to the letter.
    /// bos, eos: the texts of the start and end token; empty if there is none.
    /// Throws UnsupportedError, naming the choices, if the text writes none of the known formats.
    [[nodiscard]] static ChatTemplate from_text(std::string_view jinja, std::string bos, std::string eos) {
        auto format = tokenizer::recognise_chat_template(jinja);
        if (!format) {
            const std::string_view start = jinja.substr(0, 40), line = start.substr(0, start.find('\n'));
            fail<UnsupportedError>("the chat template '", line, line.size() < jinja.size() ? "..." : "",
                                   "' is none of those known: ", choices());
        }
        return ChatTemplate(std::move(*format), std::move(bos), std::move(eos));
    }

    /// A format by its name: "chatml", "llama3", "llama3.1" or "llama2". Throws ArgumentError for another one.
    [[nodiscard]] static ChatTemplate named(std::string_view name, std::string bos, std::string eos) {
        const auto& names = tokenizer::chat_format_names;
        const auto found = std::find(std::begin(names), std::end(names), name);
        require<ArgumentError>(found != std::end(names), "no chat format '", name, "'; expected one of: ", choices());
        return ChatTemplate({.kind = tokenizer::ChatFormat::Kind(found - std::begin(names))}, std::move(bos),
                            std::move(eos));
    }

    /// A sentence that names what from_text recognises and named takes.
    [[nodiscard]] static std::string choices() {
        return "ChatML (\"chatml\"), Llama 3 (\"llama3\"), Llama 3.1, 3.2 and 3.3 (\"llama3.1\"), Llama 2 (\"llama2\")";
    }

    [[nodiscard]] std::string_view name() const { return tokenizer::chat_format_names[format_.kind]; }
    /// The date that Llama 3.1's format states, as "26 Jul 2024": today's local date at construction if the template
    /// asks for the time, else this one.
    [[nodiscard]] const std::string& date() const { return date_; }
    void set_date(std::string date) { date_ = std::move(date); }
    /// Whether white space around messages goes, so that messages that differ only in it are the same.
    [[nodiscard]] bool trims() const { return format_.kind != Format::chatml; }

    /// The prompt for these messages, ending with what begins a reply if add_generation_prompt says so. Every message
    /// has exactly one segment of its own; an assistant's begins where the prompt for a reply ends, so it can be
    /// replaced by the ids the model wrote.
    /// Throws ArgumentError for roles, or an order of them, that the format does not have.
    [[nodiscard]] std::vector<Segment> render(std::span<const Message> messages, bool add_generation_prompt) const {
        for (const Message& message : messages) {
            const auto plain = [](char c) {
                return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_' || c == '-';
            };
            require<ArgumentError>(
                !message.role.empty() && std::all_of(message.role.begin(), message.role.end(), plain),
                "a message of role '", message.role, "'");
        }
        Segments out;
        switch (format_.kind) {
            case Format::chatml: chatml(out, messages, add_generation_prompt); break;
            case Format::llama3: llama3(out, messages, add_generation_prompt); break;
            case Format::llama3_1: llama3_1(out, messages, add_generation_prompt); break;
            case Format::llama2: llama2(out, messages); break;
        }
        return std::move(out.list);
    }

    /// The texts of the tokens that end a turn in this format.
    [[nodiscard]] std::vector<std::string> end_texts() const {
        switch (format_.kind) {
            case Format::chatml: return {"<|im_end|>"};
            case Format::llama2: return {eos_};
            default: return {"<|eot_id|>"};
        }
    }

    /// The text without white space at its ends: what Python's str.strip() takes as such.
    [[nodiscard]] static std::string_view trimmed(std::string_view text) { return right_trimmed(left_trimmed(text)); }

  private:
    using Format = tokenizer::ChatFormat;

    struct Segments {
        std::vector<Segment> list;
        void text(std::string_view s) {
            if (list.empty() || list.back().message != -1) list.push_back({});
            list.back().text += s;
        }
        void message(std::size_t n, std::string_view s) { list.push_back({std::string(s), int(n)}); }
    };

    ChatTemplate(Format format, std::string bos, std::string eos)
        : format_(std::move(format)), bos_(std::move(bos)), eos_(std::move(eos)),
          date_(format_.today ? today() : "26 Jul 2024") {}

    const std::string& start_token() const {
        require<UnsupportedError>(!bos_.empty(), "the chat format ", name(),
                                  " begins with the start token, and the tokenizer has none");
        return bos_;
    }

    void chatml(Segments& out, std::span<const Message> messages, bool prompt) const {
        if (format_.start_token) out.text(bos_);
        if (!format_.default_system.empty() && !messages.empty() && messages[0].role != "system")
            out.text("<|im_start|>system\n" + format_.default_system + "<|im_end|>\n");
        for (std::size_t i = 0; i < messages.size(); ++i) {
            out.text("<|im_start|>" + messages[i].role + "\n");
            out.message(i, messages[i].content);
            out.text("<|im_end|>\n");
        }
        if (prompt) out.text("<|im_start|>assistant\n");
    }

    void llama3(Segments& out, std::span<const Message> messages, bool prompt) const {
        if (!messages.empty()) out.text(start_token());
        for (std::size_t i = 0; i < messages.size(); ++i) llama3_message(out, messages[i].role, i, messages[i].content);
        if (prompt || format_.always_prompts_reply) out.text(tokenizer::known::llama3_reply);
    }

    void llama3_1(Segments& out, std::span<const Message> messages, bool prompt) const {
        require<ArgumentError>(!messages.empty(), "the chat format llama3.1 needs a message");
        out.text(bos_ +
                 "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\nToday Date: " +
                 date_ + "\n\n");
        const bool system = messages[0].role == "system";
        if (system) out.message(0, trimmed(messages[0].content));
        out.text("<|eot_id|>");
        for (std::size_t i = system; i < messages.size(); ++i) {
            require<UnsupportedError>(messages[i].role != "tool" && messages[i].role != "ipython", "messages of role '",
                                      messages[i].role, "': tools are not known to l3");
            llama3_message(out, messages[i].role, i, messages[i].content);
        }
        if (prompt) out.text(tokenizer::known::llama3_reply);
    }

    static void llama3_message(Segments& out, const std::string& role, std::size_t n, std::string_view content) {
        out.text("<|start_header_id|>" + role + "<|end_header_id|>\n\n");
        out.message(n, trimmed(content));
        out.text("<|eot_id|>");
    }

    /// A reply follows [/INST] at once: no text asks for it.
    void llama2(Segments& out, std::span<const Message> messages) const {
        const bool system = !messages.empty() && messages[0].role == "system";
        for (std::size_t i = system; i < messages.size(); ++i) {
            const bool user = (i - system) % 2 == 0;
            require<ArgumentError>(messages[i].role == (user ? "user" : "assistant"),
                                   "Conversation roles must alternate user/assistant/user/assistant/... (message ",
                                   i + 1, " is of role '", messages[i].role, "')");
            if (!user) {
                out.message(i, message(" ", trimmed(messages[i].content)));
                out.text(" " + eos_);
                continue;
            }
            out.text(start_token() + "[INST] ");
            std::string_view content = trimmed(messages[i].content);
            if (system && i == 1) {  // the two messages are trimmed as one text
                const std::string_view s = messages[0].content;
                content = right_trimmed(messages[1].content);
                out.text("<<SYS>>\n");
                out.message(0, format_.trims_system ? trimmed(s) : s);
                out.text(content.empty() ? "\n<</SYS>>" : "\n<</SYS>>\n\n");
            }
            out.message(i, content);
            out.text(" [/INST]");
        }
    }

    static bool is_space(std::string_view c) {
        constexpr std::string_view spaces[] = {"\u0085", "\u00A0", "\u1680", "\u2028",
                                               "\u2029", "\u202F", "\u205F", "\u3000"};
        if (c.size() == 1) return (c[0] >= '\t' && c[0] <= '\r') || (c[0] >= '\x1C' && c[0] <= ' ');
        if (c.size() == 3 && c >= "\u2000" && c <= "\u200A") return true;
        return std::find(std::begin(spaces), std::end(spaces), c) != std::end(spaces);
    }
    static bool continues(char c) { return (c & 0xC0) == 0x80; }

    static std::string_view left_trimmed(std::string_view text) {
        while (!text.empty()) {
            std::size_t n = 1;
            while (n < text.size() && continues(text[n])) ++n;
            if (!is_space(text.substr(0, n))) break;
            text.remove_prefix(n);
        }
        return text;
    }
    static std::string_view right_trimmed(std::string_view text) {
        while (!text.empty()) {
            std::size_t at = text.size() - 1;
            while (at > 0 && continues(text[at])) --at;
            if (!is_space(text.substr(at))) break;
            text.remove_suffix(text.size() - at);
        }
        return text;
    }

    static std::string today() {
        constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        const std::time_t now = std::time(nullptr);
        std::tm t{};
        ::localtime_r(&now, &t);
        return message(t.tm_mday < 10 ? "0" : "", t.tm_mday, ' ', months[t.tm_mon], ' ', t.tm_year + 1900);
    }

    Format format_;
    std::string bos_, eos_, date_;
};

}  // namespace l3::inline v0
