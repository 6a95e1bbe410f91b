// l3-logits: the logits of every position, in a safetensors file.
#include "support/open_model.hpp"
#include <nlohmann/json.hpp>

namespace {

struct Options {
    programs::CommonOptions common;
    std::optional<std::string> ids, prompt, warm_ids;
    std::filesystem::path ids_file, out;
    l3::Index chunk = 512;
    std::optional<l3::Index> decode_from;
};

/// A safetensors file that is written row by row.
class LogitsFile {
  public:
    LogitsFile(const std::filesystem::path& path, const std::vector<l3::Token>& ids, std::int32_t first, l3::Index vocab_size)
        : file_(path) {
        const auto ids_end = ids.size() * sizeof(l3::Token), first_end = ids_end + sizeof first;
        const l3::Index rows = l3::Index(ids.size()) - first;
        const auto end = first_end + std::uint64_t(rows * vocab_size) * sizeof(float);
        std::string header = nlohmann::ordered_json{
            {"ids", {{"dtype", "I32"}, {"shape", {ids.size()}}, {"data_offsets", {0, ids_end}}}},
            {"first_position", {{"dtype", "I32"}, {"shape", {1}}, {"data_offsets", {ids_end, first_end}}}},
            {"logits", {{"dtype", "F32"}, {"shape", {rows, vocab_size}}, {"data_offsets", {first_end, end}}}}}.dump();
        header.resize(l3::align_up<std::size_t>(header.size(), 8), ' ');
        const std::uint64_t header_bytes = header.size();
        write(&header_bytes, sizeof header_bytes);
        file_.write(header);
        write(ids.data(), ids_end);
        write(&first, sizeof first);
    }

    void row(std::span<const float> logits) { write(logits.data(), logits.size_bytes()); }
    void close() { file_.commit(); }

  private:
    void write(const void* data, std::size_t bytes) { file_.write({static_cast<const char*>(data), bytes}); }

    programs::OutputFile file_;
};

std::vector<l3::Token> read_ids(const Options& options, const l3::AnyModel& model) {
    if (options.ids) return programs::parse_ids<programs::UsageError>(*options.ids, "--ids");
    if (options.prompt) return model.tokenizer().encode(*options.prompt, {.add_bos = model.tokenizer().add_bos()});
    return programs::parse_ids<l3::FormatError>(programs::read_file(options.ids_file), options.ids_file.string());
}

void logits(const Options& options) {
    std::vector<std::filesystem::path> inputs = options.common.inputs();
    inputs.push_back(options.ids_file);
    programs::check_output(options.out, inputs);
    const l3::AnyModel model = programs::open_model(options.common);
    const std::vector<l3::Token> ids = read_ids(options, model);
    const std::vector<l3::Token> warm = programs::parse_ids<programs::UsageError>(options.warm_ids.value_or(""), "--warm-ids");
    const auto count = l3::Index(ids.size());
    l3::require<l3::ArgumentError>(count > 0, "no token ids, so no logits");
    if (options.decode_from && *options.decode_from > count)
        throw programs::UsageError(l3::message("--decode-from is ", *options.decode_from, ", expected at most ", count, ", the number of ids"));

    l3::Session session(model, {.context = options.common.context.value_or(std::max(count, l3::Index(warm.size()))),
                                .chunk = options.chunk});
    // Before any work, for ids that are there already are not looked at again.
    l3::require<l3::ContextFullError>(count <= session.context(), count, " tokens do not fit the context of ", session.context());
    if (!warm.empty()) session.prefill(warm);
    session.truncate(std::min(session.reusable(ids), count - 1));

    std::optional<LogitsFile> file;  // made when the first logits are there: the ids were good
    const l3::Index first = session.size();
    const auto evaluate = [&](l3::Index end) {
        std::vector<l3::Index> positions;
        for (l3::Index p = session.size(); p < end; ++p) positions.push_back(p);
        session.prefill(std::span(ids).subspan(std::size_t(session.size()), positions.size()), positions,
                        [&](l3::Index, std::span<const float> row) {
                            if (!file) file.emplace(options.out, ids, std::int32_t(first), model.config().vocab_size);
                            file->row(row);
                        });
    };
    if (const l3::Index prefilled = std::min(count, options.decode_from.value_or(count)); prefilled > first) evaluate(prefilled);
    while (session.size() < count) evaluate(session.size() + 1);
    file->close();
    if (options.common.verbose) std::cerr << count << " tokens, " << count - first << " evaluated\n";
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Evaluates token ids and writes the logits of every position to a safetensors file.", "l3-logits");
    Options options;
    options.common.add(app, "Tokens that fit (default: the number of ids)");
    CLI::Option_group* const input = app.add_option_group("input", "What to evaluate: one of these");
    input->add_option("--ids", options.ids, "Token ids: \"1 2 3\"")->option_text("IDS");
    input->add_option("--ids-file", options.ids_file, "A file with token ids")->check(programs::a_path())->option_text("FILE");
    input->add_option("--prompt", options.prompt, "A text, with the start token if the tokenizer says so")->option_text("TEXT");
    input->require_option(1);
    app.add_option("--chunk", options.chunk, "Tokens evaluated at once (default: 512)")
        ->transform(programs::whole_number(1))->option_text("N");
    app.add_option("--decode-from", options.decode_from, "Positions from this one on are evaluated one at a time")
        ->transform(programs::whole_number(0))->option_text("P");
    app.add_option("--warm-ids", options.warm_ids, "Evaluates these ids first, and goes on where the others differ")
        ->option_text("IDS");
    app.add_option("--out", options.out, "The file: ids I32 [M], first_position I32 [1], logits F32 [M - first_position, V]")
        ->required()->check(programs::a_path())->option_text("FILE");
    return programs::run(app, argc, argv, [&] { logits(options); });
}
