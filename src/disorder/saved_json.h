// Reads the JSON of files that we wrote ourselves: objects, arrays, strings, whole numbers, true, false,
// null.
//
// Strict, and bounded: at most 16 levels deep, no numbers beyond int64, nothing after the document.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace wrackline::disorder {

class SavedValue {
 public:
  using Object = std::vector<std::pair<std::string, SavedValue>>;
  using Array = std::vector<SavedValue>;
  std::variant<std::monostate, bool, int64_t, std::string, Array, Object> value;

  // The member of an object; null value when this is none, or has none of that name.
  const SavedValue& at(std::string_view name) const;
  std::optional<int64_t> integer() const {
    const auto* found = std::get_if<int64_t>(&value);
    return found ? std::optional(*found) : std::nullopt;
  }
  const std::string* text() const { return std::get_if<std::string>(&value); }
  const Array* array() const { return std::get_if<Array>(&value); }
  bool is_null() const { return std::holds_alternative<std::monostate>(value); }
};

// The error says where: "at byte 17: a string is not closed".
std::expected<SavedValue, std::string> read_saved_json(std::string_view text);

}  // namespace wrackline::disorder
