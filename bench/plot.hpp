#pragma once
// The drawings of l3-bench: the roofline, and where the time of a token goes.
#include "measure.hpp"
#include "svg.hpp"
#include <cmath>
#include <numeric>

namespace bench {

/// What the title says, besides what was drawn.
struct Caption {
    std::string shape, dtype, processor, compiler;
};

namespace plot {

// Okabe and Ito's colours, which the colour-blind can tell apart.
inline constexpr const char* colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999"};
inline const char* colour(std::size_t i) { return colours[i % std::size(colours)]; }

inline constexpr std::string_view style =
    "text{font-size:13px;fill:#333}.title{font-size:18px;font-weight:bold}.small{font-size:12px;fill:#666}"
    ".grid{stroke:#e4e4e4}.frame{fill:none;stroke:#999}.roof{stroke-width:2.5}.thin{stroke:#bbb}"
    ".share{font-size:12px;fill:white;font-weight:bold}";

inline std::string fill(const char* colour) { return std::string("fill=\"") + colour + '"'; }

inline std::string counted(Index n, std::string_view what) {
    return std::to_string(n) + ' ' + std::string(what) + (n == 1 ? "" : "s");
}

inline void title(Svg& svg, std::string_view what, const Caption& caption) {
    svg.text(40, 34, caption.shape + ", " + caption.dtype + ": " + std::string(what), "class=\"title\"");
    svg.text(40, 54, caption.processor + ", " + caption.compiler, "class=\"small\"");
}

/// 1, 2 or 5 times a power of ten: the greatest that is at most x, or the least that is at least x.
inline double round_125(double x, bool up) {
    const double decade = std::pow(10, std::floor(std::log10(x)));
    double best = up ? 10 * decade : decade;
    for (const double step : {2.0, 5.0})
        if (up ? step * decade >= x && step * decade < best : step * decade <= x) best = step * decade;
    return up && decade >= x ? decade : best;
}

/// A logarithmic axis that covers [least, most], at these places of the picture.
class Axis {
  public:
    Axis(double least, double most, double from, double to)
        : least_(round_125(least, false)), most_(round_125(most, true)), from_(from), to_(to) {}

    [[nodiscard]] double least() const { return least_; }
    [[nodiscard]] double most() const { return most_; }
    [[nodiscard]] double at(double x) const {
        return from_ + (to_ - from_) * std::log(x / least_) / std::log(most_ / least_);
    }
    /// 1, 2 and 5 times the powers of ten.
    [[nodiscard]] std::vector<double> ticks() const {
        std::vector<double> all;
        for (double x = least_; x <= most_ * 1.001; x = round_125(x * 1.5, true)) all.push_back(x);
        return all;
    }

  private:
    double least_, most_, from_, to_;
};

/// A tick in as few letters as say it: 0.5, 20, 1000.
inline std::string tick(double x) {
    std::ostringstream out;
    out << std::setprecision(6) << x;
    return out.str();
}

/// Moves heights down until none is nearer than `distance` to the next, and back up if that goes below `lowest`.
inline void spread(std::vector<double*> heights, double distance, double lowest) {
    std::ranges::sort(heights, {}, [](const double* y) { return *y; });
    for (std::size_t i = 1; i < heights.size(); ++i) *heights[i] = std::max(*heights[i], *heights[i - 1] + distance);
    for (std::size_t i = heights.size(); i-- > 0; lowest = *heights[i] - distance)
        *heights[i] = std::min(*heights[i], lowest);
}

}  // namespace plot

/// The speed of each run over the flops that it has for each byte of memory, below what memory and arithmetic allow.
template <DType T>
std::string roofline(const Caption& caption, const std::vector<Limits>& limits, const std::vector<Run>& runs) {
    constexpr double width = 960, height = 620, left = 80, right = 930, top = 80, bottom = 550;
    double x_least = 1, x_most = 1, y_least = HUGE_VAL, y_most = 0;
    for (const Limits& l : limits) {
        x_most = std::max(x_most, 4 * l.peak_gflop_per_s<T>() / l.stream_gb_per_s);
        y_most = std::max(y_most, 1.5 * l.peak_gflop_per_s<T>());
    }
    for (const Run& r : runs) {
        x_least = std::min(x_least, r.gflop_per_s / r.gb_per_s / 2);
        x_most = std::max(x_most, r.gflop_per_s / r.gb_per_s * 2);
        y_least = std::min(y_least, r.gflop_per_s / 2);
    }
    for (const Limits& l : limits) y_least = std::min(y_least, x_least * l.stream_gb_per_s);
    const plot::Axis x(x_least, x_most, left, right), y(y_least, y_most, bottom, top);

    Svg svg(width, height, plot::style);
    plot::title(svg, "roofline", caption);
    for (const double t : x.ticks()) {
        svg.line(x.at(t), top, x.at(t), bottom, "class=\"grid\"");
        svg.text(x.at(t), bottom + 18, plot::tick(t), "text-anchor=\"middle\"");
    }
    for (const double t : y.ticks()) {
        svg.line(left, y.at(t), right, y.at(t), "class=\"grid\"");
        svg.text(left - 8, y.at(t) + 4, plot::tick(t), "text-anchor=\"end\"");
    }
    svg.rectangle(left, top, right - left, bottom - top, "class=\"frame\"");
    svg.text((left + right) / 2, bottom + 46, "flop per byte of memory traffic", "text-anchor=\"middle\"");
    svg.text(24, (top + bottom) / 2, "GFLOP/s", "text-anchor=\"middle\" transform=\"rotate(-90 24 315)\"");

    double legend = top + 24 + 20 * double(limits.size());  // where no roof comes
    for (std::size_t i = 0; i < limits.size(); ++i) {
        const double slope = limits[i].stream_gb_per_s, peak = limits[i].peak_gflop_per_s<T>(), ridge = peak / slope;
        const double begin = std::max(x.least(), y.least() / slope);
        const std::string roof = std::string("class=\"roof\" stroke=\"") + plot::colour(i) + '"';
        svg.line(x.at(begin), y.at(begin * slope), x.at(ridge), y.at(peak), roof);
        svg.line(x.at(ridge), y.at(peak), right, y.at(peak), roof);
        legend -= 20;
        svg.line(left + 14, legend - 4, left + 38, legend - 4, roof);
        svg.text(left + 46, legend, plot::counted(limits[i].threads, "thread") + ": " + fixed(slope, 1) + " GB/s, " +
                 fixed(peak, 0) + " GFLOP/s", "");
    }

    // Labels stand in columns right of decode and left of prompts, where the roof leaves room.
    std::vector<double> heights;
    double decode_right = left, prompt_left = right;
    for (const Run& r : runs) {
        const double at_x = x.at(r.gflop_per_s / r.gb_per_s);
        heights.push_back(y.at(r.gflop_per_s));
        if (r.phase == "decode") decode_right = std::max(decode_right, at_x);
        else prompt_left = std::min(prompt_left, at_x);
    }
    for (const bool decode : {false, true}) {
        std::vector<double*> column;
        for (std::size_t i = 0; i < runs.size(); ++i)
            if ((runs[i].phase == "decode") == decode) column.push_back(&heights[i]);
        plot::spread(column, 16, bottom - 10);
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const Run& r = runs[i];
        const auto same_threads = std::ranges::find(limits, r.threads, &Limits::threads);
        const std::string fill = plot::fill(plot::colour(std::size_t(same_threads - limits.begin())));
        const bool decode = r.phase == "decode";
        const double at_x = x.at(r.gflop_per_s / r.gb_per_s), at_y = y.at(r.gflop_per_s);
        const double label = decode ? decode_right + 22 : prompt_left - 22;
        svg.line(at_x, at_y, decode ? label - 4 : label + 4, heights[i], "class=\"thin\"");
        if (decode) svg.circle(at_x, at_y, 5, fill);
        else svg.rectangle(at_x - 4.5, at_y - 4.5, 9, 9, fill);
        svg.text(label, heights[i] + 4,
                 std::string(r.phase) + ", " + plot::counted(r.tokens, "token") +
                     (r.context > 0 ? " after " + std::to_string(r.context) : "") + ", " +
                     plot::counted(r.threads, "thread") + ", " + fixed(r.percent_of_limit, 0) + " %",
                 decode ? "" : "text-anchor=\"end\"");
    }
    return svg.str();
}

/// A bar for each decode: the share of each operation in the time of a token.
inline std::string stacked_parts(const Caption& caption, const std::vector<Run>& runs) {
    constexpr double width = 960, left = 190, right = 800, top = 80, row = 44;
    std::vector<const Run*> bars;
    for (const Run& r : runs)
        if (r.parts) bars.push_back(&r);
    const double bottom = top + row * double(bars.size());

    Svg svg(width, bottom + 70, plot::style);
    plot::title(svg, "where the time of a token goes", caption);
    for (std::size_t i = 0; i < bars.size(); ++i) {
        const Run& r = *bars[i];
        const double at_y = top + row * double(i), sum = std::accumulate(r.parts->begin(), r.parts->end(), 0.0);
        svg.text(left - 12, at_y + 20,
                 plot::counted(r.threads, "thread") + (r.context > 0 ? ", after " + std::to_string(r.context) : ""),
                 "text-anchor=\"end\"");
        double at_x = left;
        for (std::size_t part = 0; part < part_count; ++part) {
            const double share = (*r.parts)[part] / sum, w = (right - left) * share;
            svg.rectangle(at_x, at_y, w, row - 14, plot::fill(plot::colour(part)));
            const std::string percent = fixed(100 * share, 0) + " %";
            if (w >= 30) svg.text(at_x + w / 2, at_y + 20, percent, "class=\"share\" text-anchor=\"middle\"");
            at_x += w;
        }
        svg.text(right + 12, at_y + 20, fixed(sum, 2) + " ms a token", "");
    }
    double at_x = 40;
    for (std::size_t part = 0; part < part_count; ++part) {
        svg.rectangle(at_x, bottom + 20, 12, 12, plot::fill(plot::colour(part)));
        svg.text(at_x + 17, bottom + 30, part_names[part], "class=\"small\"");
        at_x += 36 + 6.8 * double(std::string_view(part_names[part]).size());
    }
    return svg.str();
}

}  // namespace bench
