#pragma once
// What all programs have in common: how they end, and the options that they share.
#include "output_file.hpp"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <l3/core/error.hpp>
#include <l3/core/math.hpp>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace programs {

/// Options that contradict each other, or a value that is none: exit status 2.
struct UsageError : std::runtime_error { using std::runtime_error::runtime_error; };

namespace detail {

/// A text of any origin as one line that a terminal can show: bounded, and without control characters.
inline std::string one_line(std::string text) {
    constexpr std::size_t most_bytes = 1000;
    if (text.size() > most_bytes) {
        const std::size_t end = text.size() - most_bytes / 2;  // what was expected stands at the end
        text = text.substr(0, most_bytes / 2) + " ... " + text.substr(end);
    }
    for (char& c : text)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7F') c = c == '\n' || c == '\t' ? ' ' : '?';
    return text;
}

/// The first option that takes one value and was given more often, or nullptr.
inline const CLI::Option* given_twice(const CLI::App& app) {
    for (const CLI::Option* option : app.get_options())
        if (option->get_expected_max() == 1 && option->results().size() > 1) return option;
    for (const CLI::App* group : app.get_subcommands([](const CLI::App*) { return true; }))
        if (const CLI::Option* const option = given_twice(*group)) return option;
    return nullptr;
}

/// Where a standard stream is closed, takes its place with what can neither be read nor written there, so that no file
/// that is opened later becomes that stream.
inline void reserve_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(stream, F_GETFD) < 0) (void)!::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

}  // namespace detail

/// Parses the options, runs the program, and says in one line on standard error what went wrong.
/// Returns the exit status: 0; 1 for an error; 2 for wrong options.
template <class Body>
int run(CLI::App& app, int argc, char** argv, const Body& body) {
    const auto error = [&app](std::string text, int status) {
        std::cout << std::flush;
        std::cerr << app.get_name() << ": error: " << detail::one_line(std::move(text)) << std::endl;
        return status;
    };
    constexpr const char* unwritable = "cannot write to standard output";
    detail::reserve_streams();
    try {
        app.parse(argc, argv);
        body();
        return std::cout.flush() ? 0 : error(unwritable, 1);
    } catch (const CLI::CallForHelp&) {
        return std::cout << app.help() << std::flush ? 0 : error(unwritable, 1);
    } catch (const CLI::ParseError& e) {
        std::string unknown;  // first of all what is misspelt: the option that is missing may be that one
        for (const std::string& argument : app.remaining()) unknown += " " + argument;
        if (const CLI::Option* const twice = unknown.empty() ? detail::given_twice(app) : nullptr)
            return error(twice->get_name() + " is given more than once", 2);
        return error(unknown.empty() ? e.what() : "not expected:" + unknown + " (--help lists the options)", 2);
    } catch (const UsageError& e) {
        return error(e.what(), 2);
    } catch (const std::bad_alloc&) {
        return error("out of memory", 1);
    } catch (const std::exception& e) {
        return error(e.what(), 1);
    }
}

/// A number that option values must be: a validator whose message names what was found and expected.
inline CLI::Validator number(std::string expected, bool (*good)(double)) {
    return CLI::Validator(
        [expected, good](std::string& text) {
            double value = 0;
            const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool whole = ec == std::errc() && end == text.data() + text.size();
            return whole && std::isfinite(value) && good(value) ? std::string()
                                                                : "'" + text + "', expected " + expected;
        },
        "");
}
/// A whole number of at least this.
inline CLI::Validator whole_number(std::int64_t least, std::int64_t most = INT32_MAX) {
    return CLI::Validator(
        [least, most](std::string& text) {
            std::int64_t value = 0;
            const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (ec == std::errc() && end == text.data() + text.size() && least <= value && value <= most) {
                text = std::to_string(value);  // CLI11 takes 010 for eight
                return std::string();
            }
            return "'" + text + "', expected a whole number of at least " + std::to_string(least) +
                   (most < INT32_MAX ? " and at most " + std::to_string(most) : "");
        },
        "");
}

/// The path of a file or folder.
inline CLI::Validator a_path() {
    return CLI::Validator([](std::string& text) { return text.empty() ? "'', expected a path" : std::string(); }, "");
}

/// The options that all programs with a model have.
struct CommonOptions {
    std::filesystem::path model, tokenizer, stats;
    std::string dtype = "bf16", device = "cpu";
    std::optional<int> threads;
    std::optional<l3::Index> context;
    bool verbose = false;

    CLI::Option* add_model(CLI::App& app) {
        return app.add_option("-m,--model", model, "The model: a directory of Hugging Face, a .gguf, or a llama2.c .bin")
            ->check(a_path())->option_text("PATH");
    }
    void add_tokenizer(CLI::App& app) {
        app.add_option("--tokenizer", tokenizer, "The tokenizer (default: in the model's file, or beside it)")
            ->check(a_path())->option_text("PATH");
    }
    void add_dtype(CLI::App& app) {
        app.add_option("--dtype", dtype, "What to compute in: bf16 or f32 (default: bf16)")
            ->check(CLI::IsMember({"bf16", "f32"}))->option_text("DTYPE");
    }
    void add_device(CLI::App& app) {
        app.add_option("--device", device, "Where to compute: auto, cpu or cuda (default: cpu)")
            ->check(CLI::IsMember({"auto", "cpu", "cuda"}))->option_text("DEVICE");
    }
    void add_context(CLI::App& app, const char* description) {
        app.add_option("-c,--context", context, description)->transform(whole_number(1))->option_text("N");
    }
    void add_stats(CLI::App& app, const char* description) {
        app.add_option("--stats", stats, description)->check(a_path())->option_text("FILE");
    }
    void add_verbose(CLI::App& app, const char* description) { app.add_flag("-v", verbose, description); }

    /// All of them.
    void add(CLI::App& app, const char* context_description) {
        add_model(app)->required();
        add_tokenizer(app);
        add_dtype(app);
        add_device(app);
        app.add_option("-t,--threads", threads, "Threads (default: the physical cores that this process may use)")
            ->transform(whole_number(1, 1024))->option_text("N");
        add_context(app, context_description);
        add_verbose(app, "Statistics on standard error");
    }

    /// The files that these options make a program read, standard input among them, for check_output; some may not be
    /// there.
    [[nodiscard]] std::vector<std::filesystem::path> inputs() const {
        namespace fs = std::filesystem;
        std::error_code none;
        std::vector<fs::path> files{"/dev/stdin", model, tokenizer};
        for (const fs::path& given : {model, tokenizer}) {
            if (given.empty()) continue;
            const fs::path folder = fs::is_directory(given, none) ? given : given.parent_path();
            for (const char* name : {"config.json", "generation_config.json", "model.safetensors",
                                     "model.safetensors.index.json", "tokenizer.json", "tokenizer.bin",
                                     "tokenizer_config.json", "chat_template.jinja"})
                files.push_back(folder / name);
            std::ifstream index(folder / "model.safetensors.index.json");
            const auto json = nlohmann::json::parse(index, nullptr, false);
            if (!json.is_object() || !json.contains("weight_map")) continue;
            for (const auto& shard : json["weight_map"])
                if (shard.is_string()) files.push_back(folder / shard.get<std::string>());
        }
        return files;
    }

    /// Throws if the device is not in this build.
    void require_device() const {
        l3::require<l3::DeviceError>(device != "cuda", "--device cuda: this build has no CUDA");
    }
};

/// What is left of a stream, and the bytes of a file.
inline std::string read_all(std::istream& in) { return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()}; }
inline std::string read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    l3::require<l3::IoError>(in.is_open() && !std::filesystem::is_directory(path), path.string(), ": cannot open");
    std::string text = read_all(in);
    l3::require<l3::IoError>(!in.bad(), path.string(), ": cannot read");
    return text;
}

/// To be called at the end of standard input: throws IoError if it ended because it cannot be read.
inline void require_input_read() {
    // The stream itself takes an error of C's stdin, which it reads from, for the end.
    l3::require<l3::IoError>(!std::cin.bad() && std::ferror(stdin) == 0, "standard input: cannot read");
}
/// Standard input, to its end. Throws IoError if it cannot be read.
inline std::string read_input() {
    std::string text = read_all(std::cin);
    require_input_read();
    return text;
}

/// Token ids separated by white space; where: the option or file, for messages. Throws E for anything else.
template <class E>
std::vector<l3::Token> parse_ids(std::string_view text, const std::string& where) {
    constexpr std::string_view space = " \t\r\n";
    std::vector<l3::Token> ids;
    for (std::size_t at = text.find_first_not_of(space); at < text.size(); at = text.find_first_not_of(space, at)) {
        const std::string_view word = text.substr(at, text.find_first_of(space, at) - at);
        l3::Token id = 0;
        const auto [end, ec] = std::from_chars(word.data(), word.data() + word.size(), id);
        if (ec != std::errc() || end != word.data() + word.size())
            throw E(l3::message(where, ": '", word.substr(0, 40), "' is no token id"));
        ids.push_back(id);
        at += word.size();
    }
    return ids;
}

inline bool on_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

}  // namespace programs
