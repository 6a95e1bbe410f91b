#pragma once
// What l3-generate and l3-chat share: options of generating, statistics, and words for them.
#include "open_model.hpp"
#include <nlohmann/json.hpp>

namespace programs {

/// The options of sampling and of where a text ends.
struct GenerationOptions {
    std::optional<l3::Index> max_tokens;
    l3::SamplingOptions sampling;
    std::vector<std::string> stop;

    void add(CLI::App& app) {
        app.add_option("-n,--max-tokens", max_tokens, "Tokens to generate at most (default: as many as the context holds)")
            ->transform(whole_number(0))->option_text("N");
        const auto add_number = [&app](const char* name, std::optional<double>& value, const std::string& description,
                                       const char* expected, bool (*good)(double)) {
            app.add_option(name, value, description)->check(number(expected, good))->option_text("X");
        };
        const std::string otherwise = " (default: the model's generation_config, else ";
        add_number("--temperature", sampling.temperature, "0 takes the likeliest token" + otherwise + "0)",
                   "a number of at least 0", [](double x) { return x >= 0; });
        app.add_option("--top-k", sampling.top_k, "Only the K likeliest tokens; 0: all" + otherwise + "0)")
            ->transform(whole_number(0))->option_text("K");
        add_number("--top-p", sampling.top_p, "Only the likeliest tokens that make up this share" + otherwise + "1)",
                   "a number from 0 to 1", [](double x) { return 0 <= x && x <= 1; });
        add_number("--min-p", sampling.min_p, "Only tokens with this share of the likeliest one's probability" + otherwise + "0)",
                   "a number from 0 to 1", [](double x) { return 0 <= x && x <= 1; });
        add_number("--repetition-penalty", sampling.repetition_penalty,
                   "Makes tokens that were there less likely" + otherwise + "1)", "a number above 0",
                   [](double x) { return x > 0; });
        app.add_option("--seed", sampling.seed, "Gives the same text again (default: a random one; --stats has it)")
            ->transform(CLI::Validator([](std::string& text) { return check_seed(text); }, ""))->option_text("N");
        app.add_option("--stop", stop, "Ends the text before this one; may be given several times")
            ->allow_extra_args(false)->option_text("TEXT");
    }

    [[nodiscard]] l3::GenerateOptions generate_options(std::stop_token stop_token) const {
        l3::GenerateOptions o;
        o.max_tokens = max_tokens;
        o.sampling = sampling;
        o.stop = stop;
        o.stop_token = std::move(stop_token);
        return o;
    }

  private:
    static std::string check_seed(std::string& text) {
        std::uint64_t value = 0;
        const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (ec != std::errc() || end != text.data() + text.size())
            return "'" + text + "', expected a whole number from 0 to 2^64 - 1";
        text = std::to_string(value);  // CLI11 takes 010 for eight
        return {};
    }
};

/// What --stats writes.
inline nlohmann::ordered_json statistics(const l3::GenerateResult& r, double load_ms) {
    const auto per_second = [](l3::Index tokens, double ms) { return ms > 0 ? double(tokens) / ms * 1000 : 0.0; };
    const l3::Index decoded = std::max<l3::Index>(0, r.generated_tokens - 1);  // the first comes with the prompt
    return {{"prompt_tokens", r.prompt_tokens},
            {"reused_tokens", r.reused_tokens},
            {"evaluated_tokens", r.evaluated_tokens},
            {"generated_tokens", r.generated_tokens},
            {"finish_reason", r.finish_reason},
            {"seed", r.seed},
            {"load_ms", load_ms},
            {"prefill_ms", r.prefill_ms},
            {"decode_ms", r.decode_ms},
            {"prefill_tok_per_s", per_second(r.evaluated_tokens, r.prefill_ms)},
            {"decode_tok_per_s", per_second(decoded, r.decode_ms)}};
}

/// The statistics in a line of words, for -v.
inline std::string statistics_line(const l3::GenerateResult& r) {
    const nlohmann::ordered_json s = statistics(r, 0);
    const auto rounded = [&s](const char* key) { return std::llround(s[key].get<double>()); };
    return l3::message("prompt ", r.prompt_tokens, " tokens (", r.reused_tokens, " reused, ", r.evaluated_tokens,
                       " evaluated) in ", rounded("prefill_ms"), " ms, ", rounded("prefill_tok_per_s"), " tok/s; generated ",
                       r.generated_tokens, " in ", rounded("decode_ms"), " ms, ", rounded("decode_tok_per_s"),
                       " tok/s; finish reason ", r.finish_reason, "; seed ", r.seed);
}

/// Shows a piece at once. Throws IoError if nobody can read it any more.
inline void show(std::string_view text) {
    l3::require<l3::IoError>(bool(std::cout << text << std::flush), "cannot write to standard output");
}

}  // namespace programs
