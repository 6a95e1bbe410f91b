#pragma once
// JSON files, read so that every error names the file, the place or key, what was found and what was expected.
#include "../core/error.hpp"
#include "../core/math.hpp"
#include "mapped_file.hpp"
#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace l3::inline v0::io {

namespace detail {

/// Follows a JSON text and keeps nothing of it but where it goes wrong: what nlohmann::json::sax_parse takes.
struct JsonEvents {
    std::size_t error_at = 0;  // bytes read by then

    static bool null() { return true; }
    static bool boolean(bool) { return true; }
    static bool number_integer(nlohmann::json::number_integer_t) { return true; }
    static bool number_unsigned(nlohmann::json::number_unsigned_t) { return true; }
    static bool number_float(nlohmann::json::number_float_t, const std::string&) { return true; }
    static bool string(const std::string&) { return true; }
    static bool binary(const nlohmann::json::binary_t&) { return true; }
    static bool start_object(std::size_t) { return true; }
    static bool key(const std::string&) { return true; }
    static bool end_object() { return true; }
    static bool start_array(std::size_t) { return true; }
    static bool end_array() { return true; }
    bool parse_error(std::size_t at, const std::string&, const nlohmann::json::exception&) {
        error_at = at;
        return false;
    }
};

}  // namespace detail

/// Parses a JSON text; name (the file) begins every message. Json is nlohmann::json, or nlohmann::ordered_json where
/// the order of keys matters (whose objects are searched one by one: not for vocabularies).
/// Throws FormatError with line and column, also for a NUL byte, for invalid UTF-8 and for anything after the value.
template <class Json = nlohmann::json>
[[nodiscard]] Json parse_json(std::string_view text, std::string_view name) {
    const auto place = [&](std::size_t byte) {
        const std::string_view before = text.substr(0, byte);
        const std::size_t newline = before.rfind('\n');
        return message("line ", 1 + std::count(before.begin(), before.end(), '\n'), ", column ",
                       before.size() - (newline == before.npos ? 0 : newline + 1) + 1);
    };
    // The parser would take NUL for the end of the text, and never see what follows.
    if (const std::size_t nul = text.find('\0'); nul != text.npos)
        fail<FormatError>(name, ": not valid JSON at ", place(nul), ": a NUL byte");
    try {
        return Json::parse(text.begin(), text.end());
    } catch (const typename Json::parse_error& e) {
        std::string_view reason =
            e.what();  // "[json.exception.parse_error.101] parse error at line 1, column 2: reason"
        if (const std::size_t colon = reason.find(": "); colon != reason.npos) reason.remove_prefix(colon + 2);
        fail<FormatError>(name, ": not valid JSON at ", place(e.byte ? e.byte - 1 : 0), ": ", reason);
    } catch (const typename Json::out_of_range&) {  // which does not say where
        detail::JsonEvents events;
        (void)Json::sax_parse(text.begin(), text.end(), &events);
        const std::size_t begin = text.find_last_not_of("+-.0123456789Ee", events.error_at - 1) + 1;
        const std::string_view number = text.substr(begin, std::min<std::size_t>(events.error_at - begin, 40));
        fail<FormatError>(name, ": not valid JSON at ", place(begin), ": the number ", number,
                          " is beyond what there may be");
    }
}

/// Reads and parses a JSON file. Throws IoError and FormatError naming it.
template <class Json = nlohmann::json>
[[nodiscard]] Json read_json(const std::filesystem::path& path) {
    const auto file = MappedFile::open(path);
    return parse_json<Json>(file->text(), path.string());
}

namespace detail {

template <class V> struct IsVector : std::false_type {};
template <class E> struct IsVector<std::vector<E>> : std::true_type {};

/// The value as V, or what V would have been. Numbers: a whole number may be written as 8 or 8.0, if V holds it.
template <class V, class Json>
const char* read_value(const Json& j, V& out) {
    if constexpr (std::same_as<V, bool>) {
        if (!j.is_boolean()) return "true or false";
        out = j.template get<bool>();
    } else if constexpr (std::same_as<V, std::string>) {
        if (!j.is_string()) return "a string";
        out = j.template get<std::string>();
    } else if constexpr (std::floating_point<V>) {
        if (!j.is_number()) return "a number";
        const auto x = j.template get<double>();
        if (std::fabs(x) > static_cast<double>(std::numeric_limits<V>::max())) return "a number that fits its type";
        out = static_cast<V>(x);
    } else {
        static_assert(std::integral<V> && std::is_signed_v<V>,
                      "values are bool, int, Index, float, double, std::string or vectors of these");
        constexpr const char* expected = sizeof(V) == 4 ? "a whole number of 32 bits" : "a whole number of 64 bits";
        if (j.is_number_unsigned()) {
            const auto n = j.template get<std::uint64_t>();
            if (n > static_cast<std::uint64_t>(std::numeric_limits<V>::max())) return expected;
            out = static_cast<V>(n);
        } else if (j.is_number_integer()) {
            const auto n = j.template get<std::int64_t>();
            if (n < std::numeric_limits<V>::min()) return expected;
            out = static_cast<V>(n);
        } else if (j.is_number_float()) {
            const auto x = j.template get<double>();
            if (x != std::floor(x) || std::fabs(x) > 0x1p31 - 1) return expected;
            out = static_cast<V>(x);
        } else {
            return expected;
        }
    }
    return nullptr;
}

}  // namespace detail

/// An object of a JSON document and where it stands, for reading values by key. A view: the document must outlive it.
/// V is bool, int, Index, float, double, std::string, or a std::vector of these.
template <class Json>
class BasicJsonObject {
  public:
    /// name: the file, for messages. Throws FormatError if the value is no object.
    BasicJsonObject(const Json& value, std::string name) : BasicJsonObject(value, std::move(name), {}) {}

    [[nodiscard]] const Json& json() const { return *value_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    /// The full name of a key of this object: "rope_scaling.factor".
    [[nodiscard]] std::string path(std::string_view key) const { return message(prefix_, key); }

    /// True if the key is there and not null.
    [[nodiscard]] bool contains(std::string_view key) const { return look(key) != nullptr; }

    /// The value of a key, or nothing if it is absent or null. Throws FormatError if it is of another type.
    template <class V>
    [[nodiscard]] std::optional<V> find(std::string_view key) const {
        const Json* const found = look(key);
        if (found == nullptr) return std::nullopt;
        V out{};
        if constexpr (detail::IsVector<V>::value) {
            if (!found->is_array()) fail_type(key, *found, "an array");
            for (const Json& element : *found)
                if (const char* expected = detail::read_value(element, out.emplace_back()))
                    fail_type(message(key, '[', out.size() - 1, ']'), element, expected);
        } else if (const char* expected = detail::read_value(*found, out)) {
            fail_type(key, *found, expected);
        }
        return out;
    }
    /// The value of a key, or this one if it is absent or null. Throws FormatError if it is of another type.
    template <class V>
    [[nodiscard]] V get_or(std::string_view key, V otherwise) const {
        std::optional<V> found = find<V>(key);
        return found ? *std::move(found) : std::move(otherwise);
    }
    /// The value of a key. Throws FormatError if it is absent, null or of another type.
    template <class V>
    [[nodiscard]] V get(std::string_view key) const {
        std::optional<V> found = find<V>(key);
        if (!found) fail<FormatError>(name_, ": no '", path(key), "'");
        return *std::move(found);
    }
    /// The object of a key, or nothing if it is absent or null. Throws FormatError if it is no object.
    [[nodiscard]] std::optional<BasicJsonObject> find_object(std::string_view key) const {
        const Json* const found = look(key);
        if (found == nullptr) return std::nullopt;
        if (!found->is_object()) fail_type(key, *found, "an object");
        return BasicJsonObject(*found, name_, path(key) + ".");
    }
    /// Refuses the value of a key: throws E naming file and key, the value found, and what was expected.
    template <class E = FormatError>
    [[noreturn]] void fail_type(std::string_view key, const Json& found, std::string_view expected) const {
        std::string text = found.is_structured() ? message("an ", found.type_name(), " of ", found.size())
                                                 : found.dump();  // not of nested values: dump() recurses
        if (text.size() > 60) text = text.substr(0, 57) + "...";
        fail<E>(name_, ": '", path(key), "' is ", text, ", expected ", expected);
    }

  private:
    BasicJsonObject(const Json& value, std::string name, std::string prefix)
        : value_(&value), name_(std::move(name)), prefix_(std::move(prefix)) {
        require<FormatError>(value.is_object(), name_, " holds no JSON object, but ", value.type_name());
    }
    const Json* look(std::string_view key) const {
        const auto found = value_->find(std::string(key));
        return found == value_->end() || found->is_null() ? nullptr : &*found;
    }

    const Json* value_;
    std::string name_;
    std::string prefix_;
};

using JsonObject = BasicJsonObject<nlohmann::json>;
using OrderedJsonObject = BasicJsonObject<nlohmann::ordered_json>;

}  // namespace l3::inline v0::io
