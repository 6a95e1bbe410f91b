#pragma once
// Pictures as text.
#include <iomanip>
#include <sstream>
#include <string>
#include <string_view>

namespace bench {

/// A number with so many digits after the point.
inline std::string fixed(double value, int digits) {
    std::ostringstream out;
    out << std::fixed << std::setprecision(digits) << value;
    return out.str();
}

/// Text as it may stand in XML.
inline std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            default: out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
        }
    return out;
}

/// A picture that grows element by element. attributes: as they stand in XML, classes of the style among them.
class Svg {
  public:
    Svg(double width, double height, std::string_view style) {
        out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height
             << "\" viewBox=\"0 0 " << width << ' ' << height << "\" font-family=\"Helvetica, Arial, sans-serif\">\n"
             << "<style>" << style << "</style>\n";
        rectangle(0, 0, width, height, "fill=\"white\"");
    }

    void rectangle(double x, double y, double width, double height, std::string_view attributes) {
        out_ << "<rect x=\"" << at(x) << "\" y=\"" << at(y) << "\" width=\"" << at(width) << "\" height=\""
             << at(height) << "\" " << attributes << "/>\n";
    }
    void circle(double x, double y, double r, std::string_view attributes) {
        out_ << "<circle cx=\"" << at(x) << "\" cy=\"" << at(y) << "\" r=\"" << at(r) << "\" " << attributes << "/>\n";
    }
    void line(double x1, double y1, double x2, double y2, std::string_view attributes) {
        out_ << "<line x1=\"" << at(x1) << "\" y1=\"" << at(y1) << "\" x2=\"" << at(x2) << "\" y2=\"" << at(y2) << "\" "
             << attributes << "/>\n";
    }
    void text(double x, double y, std::string_view words, std::string_view attributes) {
        out_ << "<text x=\"" << at(x) << "\" y=\"" << at(y) << "\" " << attributes << '>' << escaped(words)
             << "</text>\n";
    }

    [[nodiscard]] std::string str() const { return out_.str() + "</svg>\n"; }

  private:
    static std::string at(double value) { return fixed(value, 1); }

    std::ostringstream out_;
};

}  // namespace bench
