// The one place where the programs compile the library for every dtype: AnyModel is the interface to all of it.
#include "support/open_model.hpp"

namespace programs {

namespace {

/// A bar on standard error, after a second and only on a terminal.
class ProgressBar {
  public:
    bool operator()(double done) {
        using namespace std::chrono;
        if (!terminal_ || steady_clock::now() - start_ < seconds(1)) return true;
        constexpr int width = 40;
        const auto full = std::size_t(done * width);
        std::cerr << "\rloading [" << std::string(full, '#') << std::string(width - full, ' ') << "] " << int(done * 100)
                  << " %" << std::flush;
        if (done >= 1) std::cerr << "\r\033[K" << std::flush;
        return true;
    }

  private:
    bool terminal_ = on_terminal(STDERR_FILENO);
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

l3::AnyModel open_model(const CommonOptions& options) {
    options.require_device();
    l3::ModelOptions model_options;
    model_options.threads = options.threads;
    model_options.tokenizer = options.tokenizer;
    model_options.progress = ProgressBar();
    l3::AnyModel model(options.model, l3::parse_dtype(options.dtype), l3::parse_device(options.device), model_options);
    if (options.verbose)
        std::cerr << options.model.string() << ": " << l3::format_name(model.format()) << ", " << model.dtype() << " on "
                  << model.device() << ", " << model.threads() << (model.threads() == 1 ? " thread" : " threads")
                  << ", loaded in " << std::llround(model.load_ms()) << " ms\n";
    return model;
}

}  // namespace programs
