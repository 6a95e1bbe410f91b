// l3-tokenize: text to token ids and back.
#include "support/program.hpp"
#include <l3/model/model_tokenizer.hpp>
#include <l3/tokenizer/utf8_stream.hpp>
#include <nlohmann/json.hpp>

namespace {

struct Options {
    programs::CommonOptions common;
    bool jsonl = false, decode = false, special = false, bos = false;
};

l3::Tokenizer open_tokenizer(const programs::CommonOptions& options) {
    if (options.model.empty()) return l3::Tokenizer::load(options.tokenizer);
    return l3::ModelTokenizer(l3::open_checkpoint(options.model), options.tokenizer).get();
}

void print_ids(const std::vector<l3::Token>& ids) {
    for (std::size_t i = 0; i < ids.size(); ++i) std::cout << (i ? " " : "") << ids[i];
    std::cout << '\n';
}

/// A line of standard input as JSON that passes a test.
template <class Test>
nlohmann::json parse_line(const std::string& line, std::size_t number, const char* expected, const Test& test) {
    nlohmann::json json = nlohmann::json::parse(line, nullptr, false);  // discarded if it is not JSON
    l3::require<l3::FormatError>(test(json), "standard input, line ", number, ": expected ", expected, ", found ",
                                 line.substr(0, 60));
    return json;
}

bool is_string(const nlohmann::json& json) { return json.is_string(); }
bool is_ids(const nlohmann::json& json) {
    return json.is_array() && std::all_of(json.begin(), json.end(), [](const nlohmann::json& id) {
               return id.is_number_integer() && id == id.get<l3::Token>();
           });
}

void tokenize(const Options& options) {
    options.common.require_device();
    const l3::Tokenizer tokenizer = open_tokenizer(options.common);
    if (options.common.verbose)
        std::cerr << tokenizer.name() << ": " << tokenizer.kind() << ", " << tokenizer.vocab_size() << " ids\n";
    const l3::EncodeOptions encode{.parse_special = options.special, .add_bos = options.bos && tokenizer.add_bos()};
    if (!options.jsonl) {
        const std::string text = programs::read_input();
        if (options.decode) std::cout << tokenizer.decode(programs::parse_ids<l3::FormatError>(text, "standard input"));
        else print_ids(tokenizer.encode(text, encode));
        return;
    }
    std::size_t number = 0;
    for (std::string line; std::getline(std::cin, line);) {
        ++number;
        if (options.decode) {
            const auto json = parse_line(line, number, "a JSON array of ids", is_ids);
            std::cout << nlohmann::json(l3::valid_utf8(tokenizer.decode(json.get<std::vector<l3::Token>>()))).dump() << '\n';
        } else {
            const auto json = parse_line(line, number, "a JSON string", is_string);
            std::cout << nlohmann::json(tokenizer.encode(json.get_ref<const std::string&>(), encode)).dump() << '\n';
        }
    }
    programs::require_input_read();
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Reads text from standard input and prints its token ids, separated by spaces.", "l3-tokenize");
    Options options;
    options.common.add_model(app);
    options.common.add_tokenizer(app);
    options.common.add_device(app);
    app.add_flag("--jsonl", options.jsonl, "Every line is a JSON string, and becomes a JSON array of ids");
    CLI::Option* const decode = app.add_flag("--decode", options.decode, "The reverse: reads ids, prints their text");
    app.add_flag("--special", options.special, "Special tokens written in the text become their ids")->excludes(decode);
    app.add_flag("--bos", options.bos, "The start token first, if the model has text begin with it")->excludes(decode);
    options.common.add_verbose(app, "What the tokenizer is, on standard error");
    return programs::run(app, argc, argv, [&] {
        if (options.common.model.empty() && options.common.tokenizer.empty())
            throw programs::UsageError("--tokenizer or --model is required");
        tokenize(options);
    });
}
