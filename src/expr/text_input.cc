#include "expr/text_input.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "data/decimal.h"
#include "data/time_text.h"
#include "data/time_zone.h"
#include "expr/integer_math.h"
#include "wrackline/time.h"

namespace wrackline::expr {
namespace {

constexpr char lower_ascii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (lower_ascii(text[i]) != lower[i]) return false;
  }
  return true;
}

bool is_start_of(std::string_view text, std::string_view word, size_t size_min) {
  return text.size() >= size_min && text.size() <= word.size() &&
         equals_ignoring_case(text, word.substr(0, text.size()));
}

Input from_code(ErrorCode code) {
  return code == ErrorCode::kOutOfRange ? Input::kOutOfRange : Input::kMalformed;
}

Input from_parse(TimeParse parse) {
  if (parse == TimeParse::kOk) return Input::kOk;
  return parse == TimeParse::kOutOfRange ? Input::kOutOfRange : Input::kMalformed;
}

// The names that stand for a float that digits cannot write.
bool read_named_float(std::string_view text, double& value) {
  const bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.remove_prefix(1);
  if (equals_ignoring_case(text, "infinity") || equals_ignoring_case(text, "inf")) {
    value = minus ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    return true;
  }
  if (!equals_ignoring_case(text, "nan")) return false;
  value = std::numeric_limits<double>::quiet_NaN();
  return true;
}

template <class T>
Input read_float_as(std::string_view text, double& value) {
  T parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return Input::kMalformed;
  if (error == std::errc::result_out_of_range) return Input::kOutOfRange;
  value = static_cast<double>(parsed);
  return Input::kOk;
}

}  // namespace

std::string_view trim_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

Input read_boolean(std::string_view text, bool& value) {
  text = trim_blanks(text);
  struct Word {
    std::string_view word;
    size_t size_min;
    bool value;
  };
  static constexpr std::array<Word, 8> kWords = {{{"true", 1, true},
                                                  {"false", 1, false},
                                                  {"yes", 1, true},
                                                  {"no", 1, false},
                                                  {"on", 2, true},
                                                  {"off", 2, false},
                                                  {"1", 1, true},
                                                  {"0", 1, false}}};
  for (const Word& candidate : kWords) {
    if (!is_start_of(text, candidate.word, candidate.size_min)) continue;
    value = candidate.value;
    return Input::kOk;
  }
  return Input::kMalformed;
}

Input read_integer(std::string_view text, int bits, int64_t& value) {
  text = trim_blanks(text);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return Input::kMalformed;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return Input::kMalformed;
  if (error == std::errc::result_out_of_range) return Input::kOutOfRange;
  const bool in_range = bits == 64 || (bits == 32 ? fits<32>(value) : fits<16>(value));
  return in_range ? Input::kOk : Input::kOutOfRange;
}

Input read_float(std::string_view text, int bits, double& value) {
  text = trim_blanks(text);
  if (read_named_float(text, value)) return Input::kOk;
  if (text.starts_with('+')) text.remove_prefix(1);
  // from_chars also reads "inf" and "nan(...)": only digits may come this far.
  if (text.empty() || (text[0] != '-' && text[0] != '.' && (text[0] < '0' || text[0] > '9')))
    return Input::kMalformed;
  if (text[0] == '-' && (text.size() == 1 || (text[1] != '.' && (text[1] < '0' || text[1] > '9')))) {
    return Input::kMalformed;
  }
  return bits == 32 ? read_float_as<float>(text, value) : read_float_as<double>(text, value);
}

Input read_decimal(std::string_view text, Decimal& value) {
  auto parsed = parse_decimal(trim_blanks(text));
  if (!parsed) return from_code(parsed.error().code);
  value = *parsed;
  return Input::kOk;
}

Input read_timestamp(std::string_view text, bool with_zone, int64_t& micros) {
  text = trim_blanks(text);
  if (equals_ignoring_case(text, "infinity") || equals_ignoring_case(text, "-infinity")) {
    micros = text.starts_with('-') ? kMicrosMin : kMicrosMax;
    return Input::kOk;
  }
  if (equals_ignoring_case(text, "epoch")) {
    micros = 0;
    return Input::kOk;
  }
  return from_parse(with_zone ? parse_timestamp(text, TimeZone::utc(), micros)
                              : parse_local_timestamp(text, micros));
}

Input read_date(std::string_view text, int64_t& days) {
  text = trim_blanks(text);
  if (const TimeParse parse = parse_date(text, days); parse != TimeParse::kMalformed)
    return from_parse(parse);
  // A timestamp reads as its date, as in PostgreSQL.
  int64_t micros = 0;
  if (const TimeParse parse = parse_local_timestamp(text, micros); parse != TimeParse::kOk)
    return from_parse(parse);
  days = floor_divide(micros, int64_t{86400} * 1000000);
  return Input::kOk;
}

Input read_interval(std::string_view text, Interval& value) {
  auto parsed = parse_interval(trim_blanks(text));
  if (!parsed) return from_code(parsed.error().code);
  value = *parsed;
  return Input::kOk;
}

}  // namespace wrackline::expr
