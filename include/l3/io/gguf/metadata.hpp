#pragma once
// The metadata of a GGUF file: values of any type by key, converted on demand and never guessed.
#include "../../core/error.hpp"
#include "../../core/math.hpp"
#include "cursor.hpp"
#include <array>
#include <cmath>
#include <concepts>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace l3::inline v0::io {

/// The types of metadata values, by their numbers in the file.
enum class GgufType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

inline constexpr std::array<std::string_view, 13> gguf_type_names = {
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};
inline constexpr std::array<std::uint8_t, 13> gguf_type_bytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/// One value: its type, and its bytes where they lie in the file. Of an array: the type of its elements, and how many.
struct GgufValue {
    GgufType type = GgufType::u8;  // of the elements, if is_array
    bool is_array = false;
    std::uint64_t count = 1;
    std::span<const std::byte> data;         // of numbers and bools; of a single string, its characters
    std::vector<std::string_view> elements;  // of an array of strings

    /// As in messages: "u32", "array of 3 string".
    [[nodiscard]] std::string type_name() const {
        const std::string_view name = gguf_type_names[static_cast<std::size_t>(type)];
        return is_array ? message("array of ", count, " ", name) : std::string(name);
    }
};

/// All metadata of a file. Holds views of the file, which its owner keeps open. Const access is thread-safe.
///
/// get, get_or and find read a value as V: bool, int, Index or another integer (from any integer type that fits), float
/// or double (from any number), std::string or std::string_view, or std::vector of one of these (from an array; of
/// std::string_view: views of the file).
class GgufMetadata {
  public:
    GgufMetadata() = default;
    /// name: the file, for messages.
    explicit GgufMetadata(std::string name) : name_(std::move(name)) {}

    /// Throws FormatError for a key that is there already.
    void add(std::string_view key, GgufValue value) {
        if (!values_.try_emplace(std::string(key), std::move(value)).second)
            fail<FormatError>(name_, ": metadata '", key, "' is there twice");
    }

    [[nodiscard]] bool contains(std::string_view key) const { return value(key) != nullptr; }
    /// The value of a key as it is stored, or null.
    [[nodiscard]] const GgufValue* value(std::string_view key) const {
        const auto found = values_.find(key);
        return found == values_.end() ? nullptr : &found->second;
    }

    /// The value of a key, or nothing if it is absent. Throws FormatError naming file, key, type found and expected.
    template <class V>
    [[nodiscard]] std::optional<V> find(std::string_view key) const {
        const GgufValue* const found = value(key);
        if (found == nullptr) return std::nullopt;
        V out{};
        if (const char* expected = convert(*found, out))
            fail<FormatError>(name_, ": metadata '", key, "' is ", found->type_name(), written(*found), ", expected ",
                              expected);
        return out;
    }
    /// The value of a key, or this one if it is absent. Throws as find.
    template <class V>
    [[nodiscard]] V get_or(std::string_view key, V otherwise) const {
        std::optional<V> found = find<V>(key);
        return found ? *std::move(found) : std::move(otherwise);
    }
    /// The value of a key. Throws as find, and FormatError naming file and key if it is absent.
    template <class V>
    [[nodiscard]] V get(std::string_view key) const {
        std::optional<V> found = find<V>(key);
        if (!found) fail<FormatError>(name_, ": no metadata '", key, "'");
        return *std::move(found);
    }

    [[nodiscard]] auto begin() const { return values_.begin(); }
    [[nodiscard]] auto end() const { return values_.end(); }
    [[nodiscard]] std::size_t size() const { return values_.size(); }

  private:
    template <class N>
    static N load(const std::byte* at) {
        N n{};
        std::memcpy(&n, at, sizeof n);
        return n;
    }

    /// Calls f with the number at this place, as int64, uint64 or double. False if the type is no number.
    template <class F>
    static bool with_number(GgufType type, const std::byte* at, const F& f) {
        switch (type) {
            case GgufType::u8: f(std::uint64_t{load<std::uint8_t>(at)}); return true;
            case GgufType::i8: f(std::int64_t{load<std::int8_t>(at)}); return true;
            case GgufType::u16: f(std::uint64_t{load<std::uint16_t>(at)}); return true;
            case GgufType::i16: f(std::int64_t{load<std::int16_t>(at)}); return true;
            case GgufType::u32: f(std::uint64_t{load<std::uint32_t>(at)}); return true;
            case GgufType::i32: f(std::int64_t{load<std::int32_t>(at)}); return true;
            case GgufType::u64: f(load<std::uint64_t>(at)); return true;
            case GgufType::i64: f(load<std::int64_t>(at)); return true;
            case GgufType::f32: f(double{load<float>(at)}); return true;
            case GgufType::f64: f(load<double>(at)); return true;
            default: return false;
        }
    }

    /// Converts one number or bool; says what was expected if that is impossible.
    template <class V>
    static const char* convert_one(GgufType type, const std::byte* at, V& out) {
        if constexpr (std::same_as<V, bool>) {
            if (type != GgufType::boolean) return "bool";
            out = load<std::uint8_t>(at) != 0;
            return nullptr;
        } else {
            constexpr const char* expected = std::is_floating_point_v<V> ? "a number that fits its type"
                                             : sizeof(V) == 8            ? "an integer of 64 bits"
                                             : sizeof(V) == 4            ? "an integer of 32 bits"
                                                                         : "a small integer";
            bool fits = false;
            with_number(type, at, [&]<class N>(N n) {
                if constexpr (std::is_floating_point_v<V>) {
                    const auto x = static_cast<double>(n);
                    fits = !(std::fabs(x) > static_cast<double>(std::numeric_limits<V>::max())) || std::isinf(x);
                    if (fits) out = static_cast<V>(x);
                } else if constexpr (!std::is_floating_point_v<N>) {
                    fits = std::in_range<V>(n);
                    if (fits) out = static_cast<V>(n);
                }
            });
            return fits ? nullptr : expected;
        }
    }

    template <class V>
    static const char* convert(const GgufValue& value, V& out) {
        if constexpr (std::same_as<V, std::string> || std::same_as<V, std::string_view>) {
            if (value.is_array || value.type != GgufType::string) return "string";
            out = V(reinterpret_cast<const char*>(value.data.data()), value.data.size());
            return nullptr;
        } else if constexpr (std::is_arithmetic_v<V>) {
            if (value.is_array) return std::same_as<V, bool> ? "bool" : "one number";
            return convert_one(value.type, value.data.data(), out);
        } else {
            using E = typename V::value_type;  // V is a std::vector
            if (!value.is_array) return "an array";
            if constexpr (std::same_as<E, std::string> || std::same_as<E, std::string_view>) {
                if (value.type != GgufType::string) return "an array of strings";
                out.assign(value.elements.begin(), value.elements.end());
            } else {
                out.reserve(value.count);
                const std::size_t step = gguf_type_bytes[static_cast<std::size_t>(value.type)];
                for (std::size_t i = 0; i < value.count; ++i) {
                    E element{};
                    if (const char* expected = convert_one(value.type, value.data.data() + i * step, element))
                        return expected;
                    out.push_back(element);
                }
            }
            return nullptr;
        }
    }

    /// " 70000": the value itself, where it is short.
    static std::string written(const GgufValue& value) {
        std::string text;
        if (value.is_array) return text;
        if (value.type == GgufType::string && value.data.size() <= 60)
            text = message(" '", std::string_view(reinterpret_cast<const char*>(value.data.data()), value.data.size()),
                           "'");
        with_number(value.type, value.data.data(), [&](auto n) { text = message(" ", n); });
        return text;
    }

    std::string name_;
    std::map<std::string, GgufValue, std::less<>> values_;
};

/// Reads one value, type first; what: for messages. Throws FormatError, and UnsupportedError for arrays of arrays.
inline GgufValue read_gguf_value(Cursor& cursor, std::string_view file, std::string_view what) {
    const auto type = [&] {
        const auto number = cursor.number<std::uint32_t>(what);
        if (number >= gguf_type_names.size()) fail<FormatError>(file, ": ", what, " has the unknown type ", number);
        return static_cast<GgufType>(number);
    };
    GgufValue value;
    value.type = type();
    if (value.type == GgufType::array) {
        value.is_array = true;
        value.type = type();
        if (value.type == GgufType::array) fail<UnsupportedError>(file, ": ", what, " is an array of arrays");
        const std::size_t element_bytes = gguf_type_bytes[static_cast<std::size_t>(value.type)];
        value.count = cursor.count(value.type == GgufType::string ? sizeof(std::uint64_t) : element_bytes, what);
        if (value.type == GgufType::string) {
            value.elements.reserve(value.count);
            for (std::uint64_t i = 0; i < value.count; ++i) value.elements.push_back(cursor.text(what));
        } else {
            value.data = cursor.take(value.count * element_bytes, what);
        }
    } else if (value.type == GgufType::string) {
        const std::string_view text = cursor.text(what);
        value.data = std::as_bytes(std::span(text));
    } else {
        value.data = cursor.take(gguf_type_bytes[static_cast<std::size_t>(value.type)], what);
    }
    return value;
}

}  // namespace l3::inline v0::io
