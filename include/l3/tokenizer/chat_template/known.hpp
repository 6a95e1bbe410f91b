#pragma once
#include "outline.hpp"

namespace l3::inline v0::tokenizer {

/// The prompt formats that are known, and what a template text chooses within them.
struct ChatFormat {
    enum Kind { chatml, llama3, llama3_1, llama2 } kind = chatml;
    bool start_token = false;           // chatml: the prompt begins with the start token
    std::string default_system{};       // chatml: the system message of a conversation that has none of its own
    bool trims_system = false;          // llama2: white space around the system message goes
    bool today = false;                 // llama3.1: dated today, else 26 Jul 2024
    bool always_prompts_reply = false;  // llama3: the header of a reply ends every prompt
};

inline constexpr std::string_view chat_format_names[] = {"chatml", "llama3", "llama3.1", "llama2"};  // by Kind

namespace known {

inline constexpr std::string_view
    add_generation_prompt_default =
        "{%if not add_generation_prompt is defined%}{%set add_generation_prompt=false%}{%endif%}",
    chatml_default_before = "{%if loop.first and messages[0].role!='system'%}<|im_start|>system\n",
    chatml_default_after = "<|im_end|>\n{%endif%}",
    chatml_message =
        "<|im_start|>{{message.role}}\n{{message.content}}<|im_end|>\n{%endfor%}"
        "{%if add_generation_prompt%}<|im_start|>assistant\n{%endif%}",

    llama3_messages =
        "{%set loop_messages=messages%}{%for message in loop_messages%}"
        "{%set content='<|start_header_id|>'+message.role+'<|end_header_id|>\\n\\n'+message.content|trim+'<|eot_id|>'%}"
        "{%if loop.index0==0%}{%set content=bos_token+content%}{%endif%}{{content}}{%endfor%}",
    llama3_reply = "<|start_header_id|>assistant<|end_header_id|>\n\n",

    llama2_alternate =
        "{%for message in loop_messages%}{%if(message.role=='user')!=(loop.index0%2==0)%}"
        "{{raise_exception('Conversation roles must alternate user/assistant/user/assistant/...')}}",
    llama2_content =
        "{%set content='<<SYS>>\\n'+system_message+'\\n<</SYS>>\\n\\n'+message.content%}"
        "{%else%}{%set content=message.content%}{%endif%}"
        "{%if message.role=='user'%}{{bos_token}}[INST] {{content.strip()}} [/INST]"
        "{%elif message.role=='assistant'%} {{content.strip()}} {{eos_token}}{%endif%}{%endfor%}";

/// In this order, with nothing but branches for tools in between.
inline constexpr std::string_view llama3_1[] = {
    "{{bos_token}}",
    "{%if messages[0].role=='system'%}{%set system_message=messages[0].content|trim%}{%set messages=messages[1:]%}"
    "{%else%}{%set system_message=''%}{%endif%}",
    "<|start_header_id|>system<|end_header_id|>\n\n",
    "Cutting Knowledge Date: December 2023\nToday Date: {{date_string}}\n\n",
    "{{system_message}}<|eot_id|>",
    "{%for message in messages%}{%if not(message.role=='ipython' or message.role=='tool' or 'tool_calls' in message)%}"
    "<|start_header_id|>{{message.role}}<|end_header_id|>\n\n{{message.content|trim}}<|eot_id|>",
    "{%endfor%}{%if add_generation_prompt%}<|start_header_id|>assistant<|end_header_id|>\n\n{%endif%}"};

inline bool drop(std::string_view& text, std::string_view front) {
    return text.starts_with(front) ? (text.remove_prefix(front.size()), true) : false;
}

inline std::optional<ChatFormat> chatml(std::string_view outline) {
    ChatFormat format{.kind = ChatFormat::chatml};
    drop(outline, add_generation_prompt_default);
    format.start_token = drop(outline, "{{bos_token}}");
    if (!drop(outline, "{%for message in messages%}")) return std::nullopt;
    if (drop(outline, chatml_default_before)) {
        const std::size_t end = outline.find(chatml_default_after);
        if (end == outline.npos) return std::nullopt;
        format.default_system = outline.substr(0, end);
        if (format.default_system.find("{{") != std::string::npos ||
            format.default_system.find("{%") != std::string::npos)
            return std::nullopt;
        outline.remove_prefix(end + chatml_default_after.size());
    }
    return outline == chatml_message ? std::optional(format) : std::nullopt;
}

inline std::optional<ChatFormat> llama3(std::string_view outline) {
    ChatFormat format{.kind = ChatFormat::llama3};
    if (!drop(outline, llama3_messages)) return std::nullopt;
    const bool asks = drop(outline, "{%if add_generation_prompt%}");
    if (!drop(outline, llama3_reply) || outline != (asks ? "{%endif%}" : "")) return std::nullopt;
    format.always_prompts_reply = !asks;
    return format;
}

inline std::optional<ChatFormat> llama3_1_format(std::string_view outline) {
    const ChatFormat format{.kind = ChatFormat::llama3_1, .today = outline.find("strftime_now(") != outline.npos};
    if (!outline.starts_with(llama3_1[0])) return std::nullopt;
    std::size_t at = 0;
    for (const std::string_view part : llama3_1) {
        at = outline.find(part, at);
        if (at == outline.npos) return std::nullopt;
        at += part.size();
    }
    return at == outline.size() ? std::optional(format) : std::nullopt;
}

inline std::optional<ChatFormat> llama2(std::string_view outline) {
    ChatFormat format{.kind = ChatFormat::llama2};
    constexpr std::string_view rest = "{%set loop_messages=messages%}";
    if (drop(outline,
             "{%if messages and messages[0].role=='system'%}{%set system_message=messages[0].content|trim%}"
             "{%set loop_messages=messages[1:]%}{%else%}{%set system_message=none%}")) {
        format.trims_system = true;
        if (!drop(outline, rest) || !drop(outline, "{%endif%}") || !drop(outline, llama2_alternate))
            return std::nullopt;
        drop(outline, "\n");
        if (!drop(outline, "{%endif%}{%if loop.first and system_message is not none%}")) return std::nullopt;
    } else {  // as in the model's own files
        if (!drop(outline,
                  "{%if messages[0].role=='system'%}{%set loop_messages=messages[1:]%}"
                  "{%set system_message=messages[0].content%}{%else%}") ||
            !drop(outline, rest) || !drop(outline, "{%set system_message=false%}{%endif%}") ||
            !drop(outline, llama2_alternate) ||
            !drop(outline, "{%endif%}{%if loop.index0==0 and system_message!=false%}"))
            return std::nullopt;
    }
    return outline == llama2_content ? std::optional(format) : std::nullopt;
}

}  // namespace known

/// The format that a chat template writes, or nothing if it is none of the known ones to the letter.
[[nodiscard]] inline std::optional<ChatFormat> recognise_chat_template(std::string_view jinja) {
    const std::optional<std::string> outline = TemplateOutline::of(jinja);
    if (!outline) return std::nullopt;
    for (const auto read : {known::chatml, known::llama3, known::llama3_1_format, known::llama2})
        if (auto format = read(*outline)) return format;
    return std::nullopt;
}

}  // namespace l3::inline v0::tokenizer
