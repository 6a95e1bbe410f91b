// l3-generate: goes on after a text, or after token ids.
#include "support/generation.hpp"
#include "support/interrupt.hpp"

namespace {

struct Options {
    programs::CommonOptions common;
    programs::GenerationOptions generation;
    std::optional<std::string> prompt, ids;
    std::filesystem::path file;
    bool ignore_eos = false, print_ids = false, echo = false;
};

void generate(const Options& options) {
    programs::Interrupt interrupt;
    std::vector<l3::Token> prompt;
    if (options.ids) prompt = programs::parse_ids<programs::UsageError>(*options.ids, "--ids");
    std::vector<std::filesystem::path> inputs = options.common.inputs();
    inputs.push_back(options.file);
    if (!options.common.stats.empty()) programs::check_output(options.common.stats, inputs);
    const l3::AnyModel model = programs::open_model(options.common);
    std::string text;
    if (!options.ids) {
        text = options.prompt ? *options.prompt
               : !options.file.empty() ? programs::read_file(options.file) : programs::read_input();
        prompt = model.tokenizer().encode(text, {.add_bos = model.tokenizer().add_bos()});
    } else if (options.echo && !options.print_ids) {
        text = model.tokenizer().decode(prompt);
    }

    const programs::Interrupt::Reply reply(interrupt);
    l3::GenerateOptions generate_options = options.generation.generate_options(reply.stop_token());
    generate_options.ignore_eos = options.ignore_eos;
    l3::Session session(model, {.context = options.common.context});
    auto generation = l3::generate(session, prompt, std::move(generate_options));

    std::size_t shown = 0;  // ids
    const auto show_ids = [&shown](const std::vector<l3::Token>& ids, const char* before) {
        for (; shown < ids.size(); ++shown) programs::show(l3::message(shown ? " " : before, ids[shown]));
    };
    if (options.echo && !options.print_ids) programs::show(text);
    if (options.echo && options.print_ids) show_ids(prompt, "");
    const char* const before = std::exchange(shown, 0) ? " " : "";
    for (const std::string_view piece : generation) {
        if (options.print_ids) show_ids(generation.result().ids, before);
        else programs::show(piece);
    }
    if (options.print_ids) show_ids(generation.result().ids, before);
    if (options.print_ids || programs::on_terminal(STDOUT_FILENO)) programs::show("\n");

    if (options.common.verbose) std::cerr << programs::statistics_line(generation.result()) << '\n';
    if (!options.common.stats.empty())
        programs::write_text(options.common.stats, programs::statistics(generation.result(), model.load_ms()).dump(4) + "\n");
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Goes on after a text: no chat format, only the start token if the tokenizer says so.", "l3-generate");
    Options options;
    options.common.add(app, "Tokens of prompt and text together (default: the smaller of 4096 and the model's)");
    CLI::Option* const prompt = app.add_option("-p,--prompt", options.prompt, "The text (default: standard input, to its end, its last newline included)");
    CLI::Option* const file = app.add_option("-f,--file", options.file, "A file with the text")->check(programs::a_path());
    CLI::Option* const ids = app.add_option("--ids", options.ids, "Token ids, as they are: \"1 2 3\"");
    prompt->excludes(file)->excludes(ids)->option_text("TEXT");
    file->excludes(ids)->option_text("FILE");
    ids->option_text("IDS");
    options.generation.add(app);
    app.add_flag("--ignore-eos", options.ignore_eos, "Goes on after tokens that end a text");
    app.add_flag("--print-ids", options.print_ids, "Token ids, separated by spaces, instead of text");
    app.add_flag("--echo", options.echo, "The prompt first");
    options.common.add_stats(app, "Writes the statistics as JSON");
    return programs::run(app, argc, argv, [&] { generate(options); });
}
