#pragma once
// What all programs have in common: how they end, and the options that they share.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <l3/core/error.hpp>
#include <l3/core/math.hpp>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace programs {

/// Options that contradict each other, or a value that is none: exit status 2.
struct UsageError : std::runtime_error { using std::runtime_error::runtime_error; };

/// Parses the options, runs the program, and says in one line on standard error what went wrong.
/// Returns the exit status: 0; 1 for an error; 2 for wrong options.
template <class Body>
int run(CLI::App& app, int argc, char** argv, const Body& body) {
    const auto error = [&app](std::string text, int status) {
        std::replace(text.begin(), text.end(), '\n', ' ');
        std::cout << std::flush;
        std::cerr << app.get_name() << ": error: " << text << std::endl;
        return status;
    };
    try {
        app.parse(argc, argv);
        body();
        if (!std::cout.flush()) return error("cannot write to standard output", 1);
        return 0;
    } catch (const CLI::CallForHelp&) {
        std::cout << app.help() << std::flush;
        return 0;
    } catch (const CLI::ParseError& e) {
        std::string unknown;  // first of all what is misspelt: the option that is missing may be that one
        for (const std::string& argument : app.remaining()) unknown += " " + argument;
        return error(unknown.empty() ? e.what() : "not expected:" + unknown, 2);
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

/// The options that all programs with a model have.
struct CommonOptions {
    std::filesystem::path model, tokenizer, stats;
    std::string dtype = "bf16", device = "cpu";
    std::optional<int> threads;
    std::optional<l3::Index> context;
    bool verbose = false;

    CLI::Option* add_model(CLI::App& app) {
        return app.add_option("-m,--model", model, "The model: a directory of Hugging Face, a .gguf, or a llama2.c .bin")
            ->option_text("PATH");
    }
    void add_tokenizer(CLI::App& app) {
        app.add_option("--tokenizer", tokenizer, "The tokenizer (default: in the model's file, or beside it)")
            ->option_text("PATH");
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

/// Writes or continues a file of text. Throws IoError naming it.
inline void write_text(const std::filesystem::path& path, const std::string& text, std::ios::openmode mode = std::ios::trunc) {
    std::ofstream out(path, std::ios::binary | std::ios::out | mode);
    l3::require<l3::IoError>(bool(out.write(text.data(), std::streamsize(text.size())).flush()), path.string(), ": cannot write");
}
inline void append_text(const std::filesystem::path& path, const std::string& text) { write_text(path, text, std::ios::app); }

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
