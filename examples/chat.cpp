// l3-chat: a conversation, line by line.
#include "support/generation.hpp"
#include "support/interrupt.hpp"

namespace {

constexpr const char* commands =
    "A line is a message. Commands:\n"
    "  /edit N TEXT   replaces your N-th message (from 1), drops what follows, and answers it\n"
    "  /undo          removes your last message and its reply\n"
    "  /regenerate    answers your last message again\n"
    "  /quit          ends, as the end of input does\n"
    "A message that begins with a slash is written with two. Where input is no terminal, the first error ends the program.";

struct Options {
    programs::CommonOptions common;
    programs::GenerationOptions generation;
    std::optional<std::string> system;
    bool jsonl = false;
};

class Conversation {
  public:
    Conversation(const Options& options, programs::Interrupt& interrupt)
        : options_(options), interrupt_(interrupt), model_(programs::open_model(options.common)),
          chat_(model_, {.system = options.system, .session = {.context = options.common.context}}) {}

    /// Does what a line says: false if it says to end.
    bool line(std::string_view line) {
        const std::string_view command = line.substr(0, line.find_last_not_of(" \t") + 1), word = line.substr(0, line.find(' '));
        if (line.starts_with("//")) answer([&](auto o) { return chat_.reply(line.substr(1), std::move(o)); });
        else if (command == "/quit") return false;
        else if (command == "/undo") chat_.undo();
        else if (command == "/regenerate") answer([&](auto o) { return chat_.regenerate(std::move(o)); });
        else if (word == "/edit") edit(line.substr(word.size()));
        else if (line.starts_with("/")) l3::fail<l3::ArgumentError>("there is no command ", word, "; there are /edit, /undo, /regenerate and /quit");
        else answer([&](auto o) { return chat_.reply(line, std::move(o)); });
        return true;
    }

  private:
    void edit(std::string_view arguments) {  // " N TEXT"
        arguments.remove_prefix(std::min(arguments.find_first_not_of(' '), arguments.size()));
        int n = 0;
        const auto [end, ec] = std::from_chars(arguments.data(), arguments.data() + arguments.size(), n);
        const auto digits = std::size_t(end - arguments.data());
        l3::require<l3::ArgumentError>(ec == std::errc() && digits + 1 < arguments.size() && arguments[digits] == ' ',
                                       "expected /edit N TEXT");
        answer([&](auto o) { return chat_.edit(n, arguments.substr(digits + 1), std::move(o)); });
    }

    /// Shows a reply while it comes, and its statistics afterwards.
    template <class Begin>
    void answer(const Begin& begin) {
        const programs::Interrupt::Reply reply(interrupt_);
        auto pieces = begin(options_.generation.generate_options(reply.stop_token()));
        for (const std::string_view piece : pieces)
            if (!options_.jsonl) programs::show(piece);

        const l3::GenerateResult& result = pieces.result();
        nlohmann::ordered_json row = {{"reply", result.text}, {"ids", result.ids}};
        const nlohmann::ordered_json statistics = programs::statistics(result, model_.load_ms());
        row.update(statistics);
        programs::show(options_.jsonl ? to_line(row) : "\n");
        if (options_.common.verbose) std::cerr << programs::statistics_line(result) << '\n';
        if (options_.common.stats.empty()) return;
        if (!stats_) stats_.emplace(options_.common.stats);
        stats_->write(to_line(statistics));
        stats_->commit();
    }

    static std::string to_line(const nlohmann::ordered_json& row) {
        return row.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    }

    const Options& options_;
    programs::Interrupt& interrupt_;
    l3::AnyModel model_;
    l3::Chat<l3::AnyModel> chat_;
    std::optional<programs::OutputFile> stats_;  // made when the first line is there
};

void chat(const Options& options) {
    programs::Interrupt interrupt;
    if (!options.common.stats.empty()) programs::check_output(options.common.stats, options.common.inputs());
    Conversation conversation(options, interrupt);
    const bool terminal = programs::on_terminal(STDIN_FILENO) && programs::on_terminal(STDOUT_FILENO);
    for (std::string line;;) {
        if (terminal) programs::show("> ");
        if (!std::getline(std::cin, line)) break;
        if (line.ends_with('\r')) line.pop_back();
        if (line.empty()) continue;
        try {
            if (!conversation.line(line)) return;
        } catch (const l3::Error& e) {
            if (!terminal) throw;  // what follows would be said to another conversation
            std::cerr << "l3-chat: error: " << e.what() << std::endl;
        }
    }
    programs::require_input_read();
    if (terminal) programs::show("\n");
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Answers messages from standard input in the model's chat format.", "l3-chat");
    app.footer(commands);
    Options options;
    options.common.add(app, "Tokens of the whole conversation (default: the smaller of 4096 and the model's)");
    app.add_option("--system", options.system, "The system message (default: what the model's template states)")->option_text("TEXT");
    options.generation.add(app);
    app.add_flag("--jsonl", options.jsonl, "One JSON object per reply: reply, ids, and the statistics");
    options.common.add_stats(app, "Writes the statistics as JSON, one line a reply");
    return programs::run(app, argc, argv, [&] { chat(options); });
}
