#pragma once
#include "../core/error.hpp"
#include "../tokenizer/utf8.hpp"
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace l3::inline v0 {

/// Finds stop strings in a text that arrives in pieces, and lets through what cannot belong to one any more: held back
/// is exactly the longest end of the text that is a proper beginning of some stop string. The text stops as soon as any
/// stop string is complete (the longest, if several end there), and is cut before it, however it was divided into
/// pieces.
class StopStrings {
  public:
    /// Throws ArgumentError for one that is empty or no UTF-8, in which all text comes.
    explicit StopStrings(std::vector<std::string> stops = {}) : stops_(std::move(stops)) {
        for (const std::string& stop : stops_) {
            require<ArgumentError>(!stop.empty(), "a stop string is empty, expected a text");
            require<ArgumentError>(utf8_prefix(stop) == stop.size(), "the stop string '", stop,
                                   "' is not UTF-8, which all text is");
        }
    }

    /// Takes the next piece and appends to `out` what is let through. True if a stop string is complete; then nothing
    /// more may follow.
    [[nodiscard]] bool push(std::string_view piece, std::string& out) {
        const std::size_t before = held_.size();
        held_ += piece;
        const std::string_view text = held_;
        for (std::size_t end = before + 1; end <= text.size() && !stops_.empty(); ++end) {
            std::size_t length = 0;
            for (const std::string& stop : stops_)
                if (stop.size() > length && text.substr(0, end).ends_with(stop)) length = stop.size();
            if (length > 0) {
                out += text.substr(0, end - length);
                held_.clear();
                return true;
            }
        }
        std::size_t hold = 0;
        for (const std::string& stop : stops_)
            for (std::size_t n = std::min(stop.size() - 1, text.size()); n > hold; --n)
                if (text.ends_with(std::string_view(stop).substr(0, n))) hold = n;
        out += text.substr(0, text.size() - hold);
        held_.erase(0, text.size() - hold);
        return false;
    }

    /// What is held back, for the end of the text.
    [[nodiscard]] std::string finish() { return std::exchange(held_, {}); }

  private:
    std::vector<std::string> stops_;
    std::string held_;
};

}  // namespace l3::inline v0
