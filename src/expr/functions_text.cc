// The functions of text. Positions and lengths count characters, not bytes.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "expr/functions.h"
#include "expr/like.h"
#include "expr/md5.h"
#include "expr/text_input.h"
#include "expr/unicode_case.h"
#include "expr/utf8.h"

namespace wrackline::expr {
namespace {

using enum TypeId;

// No value grows beyond this: repeat('x', 2000000000) must not eat the machine.
constexpr size_t kResultBytesMax = size_t{16} << 20;

// Room for a result, or null with an error.
char* room_for(Row& row, size_t bytes) {
  if (bytes <= kResultBytesMax) return row.arena().allocate(bytes);
  row.fail(Reason::kOutOfRange,
           format("requested length too large: {} bytes, at most {}", bytes, kResultBytesMax));
  return nullptr;
}

char* append(char* at, std::string_view text) {
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

// Length and case
// -------------------------------------------------------------------------------------------------------

int64_t length(std::string_view text) {
  return static_cast<int64_t>(utf8_length(text));
}
int64_t octet_length(std::string_view text) {
  return static_cast<int64_t>(text.size());
}
int64_t bit_length(std::string_view text) {
  return static_cast<int64_t>(text.size()) * 8;
}
std::string_view lower(Row& row, std::string_view text) {
  return lower_text(text, row.arena());
}
std::string_view upper(Row& row, std::string_view text) {
  return upper_text(text, row.arena());
}

// Letters and digits. Beyond ASCII: everything but the blocks of punctuation and symbols.
bool is_word_character(char32_t c) {
  if (c < 0x80) return (c >= U'0' && c <= U'9') || (c >= U'A' && c <= U'Z') || (c >= U'a' && c <= U'z');
  if (c < 0xC0) return c == 0xAA || c == 0xB5 || c == 0xBA;
  return c != 0xD7 && c != 0xF7 && !(c >= 0x2000 && c <= 0x206F) && !(c >= 0x20A0 && c <= 0x20CF) &&
         !(c >= 0x2190 && c <= 0x245F) && !(c >= 0x2500 && c <= 0x2BFF) && !(c >= 0x3000 && c <= 0x3004) &&
         !(c >= 0x3008 && c <= 0x3020) && !(c >= 0xFF00 && c <= 0xFF0F);
}

// The first letter of each word in upper case, the others in lower case.
std::string_view initcap(Row& row, std::string_view text) {
  char* const out = row.arena().allocate(text.size() * 2);
  size_t size = 0;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = utf8_size(text, at);
    const char32_t c = utf8_decode(text.substr(at, bytes));
    if (bytes == 1 && c >= 0x80) {
      out[size++] = text[at];
    } else {
      size += utf8_encode(inside ? to_lower(c) : to_upper(c), out + size);
    }
    inside = is_word_character(c);
    at += bytes;
  }
  return {out, size};
}

// Parts
// -----------------------------------------------------------------------------------------------------------------

// The characters from position `from` (counted from 1) up to but not including position `to`.
std::string_view between(std::string_view text, int64_t from, int64_t to) {
  from = std::max<int64_t>(from, 1);
  if (to <= from) return {};
  const std::string_view rest = utf8_suffix(text, static_cast<size_t>(from - 1));
  return utf8_prefix(rest, static_cast<size_t>(to - from));
}
std::string_view substring_from(std::string_view text, int64_t from) {
  return between(text, from, std::numeric_limits<int64_t>::max());
}
std::string_view substring(Row& row, std::string_view text, int64_t from, int64_t count) {
  if (count >= 0) return between(text, from, from + count);  // both are integers: the sum fits a bigint
  row.fail(Reason::kOutOfRange, "negative substring length not allowed");
  return {};
}

// A negative count means all but that many.
size_t kept_of(std::string_view text, int64_t count) {
  if (count >= 0) return static_cast<size_t>(count);
  return static_cast<size_t>(std::max<int64_t>(length(text) + count, 0));
}
std::string_view left(std::string_view text, int64_t count) {
  return utf8_prefix(text, kept_of(text, count));
}
std::string_view right(std::string_view text, int64_t count) {
  const size_t kept = kept_of(text, count);
  const size_t all = utf8_length(text);
  return kept >= all ? text : utf8_suffix(text, all - kept);
}

// Position in characters of `part`, from 1; 0 if it is not there.
int64_t position(std::string_view text, std::string_view part) {
  const size_t at = text.find(part);
  return at == std::string_view::npos ? 0 : length(text.substr(0, at)) + 1;
}
bool starts_with(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix);
}

// The field number `n`, counted from the end if negative; empty if there is none.
std::string_view split_part(Row& row, std::string_view text, std::string_view delimiter, int64_t n) {
  if (n == 0) {
    row.fail(Reason::kOutOfRange, "field position must not be zero");
    return {};
  }
  if (delimiter.empty()) return n == 1 || n == -1 ? text : std::string_view();
  if (n < 0) {
    int64_t fields = 1;
    for (size_t at = text.find(delimiter); at != std::string_view::npos;
         at = text.find(delimiter, at + delimiter.size()))
      ++fields;
    n += fields + 1;
    if (n <= 0) return {};
  }
  size_t start = 0;
  for (; n > 1; --n) {
    const size_t at = text.find(delimiter, start);
    if (at == std::string_view::npos) return {};
    start = at + delimiter.size();
  }
  return text.substr(start, text.find(delimiter, start) - start);
}

// Trimming
// --------------------------------------------------------------------------------------------------------------

bool contains_character(std::string_view set, std::string_view character) {
  for (size_t at = 0; at < set.size();) {
    const size_t size = utf8_size(set, at);
    if (set.substr(at, size) == character) return true;
    at += size;
  }
  return false;
}

std::string_view trim_left(std::string_view text, std::string_view set) {
  while (!text.empty() && contains_character(set, text.substr(0, utf8_size(text, 0))))
    text.remove_prefix(utf8_size(text, 0));
  return text;
}

// The last character: one that starts at most four bytes before the end and ends there.
std::string_view last_character(std::string_view text) {
  for (size_t size = std::min<size_t>(4, text.size()); size > 1; --size) {
    if (utf8_size(text, text.size() - size) == size) return text.substr(text.size() - size);
  }
  return text.substr(text.size() - 1);
}
std::string_view trim_right(std::string_view text, std::string_view set) {
  while (!text.empty()) {
    const std::string_view last = last_character(text);
    if (!contains_character(set, last)) break;
    text.remove_suffix(last.size());
  }
  return text;
}
std::string_view trim_both(std::string_view text, std::string_view set) {
  return trim_right(trim_left(text, set), set);
}

std::string_view trim_left_blanks(std::string_view text) {
  return trim_left(text, " ");
}
std::string_view trim_right_blanks(std::string_view text) {
  return trim_right(text, " ");
}
std::string_view trim_both_blanks(std::string_view text) {
  return trim_both(text, " ");
}

// Building
// --------------------------------------------------------------------------------------------------------------

std::string_view join(Row& row, std::string_view a, std::string_view b) {
  char* const out = room_for(row, a.size() + b.size());
  if (out == nullptr) return {};
  append(append(out, a), b);
  return {out, a.size() + b.size()};
}

std::string_view repeat(Row& row, std::string_view text, int64_t count) {
  if (count <= 0 || text.empty()) return {};
  const size_t size = text.size() * static_cast<size_t>(count);  // at most 2^24 times 2^31
  char* const out = room_for(row, size);
  if (out == nullptr) return {};
  char* at = out;
  for (int64_t i = 0; i < count; ++i) at = append(at, text);
  return {out, size};
}

std::string_view replace(Row& row, std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty() || text.find(from) == std::string_view::npos) return text;
  size_t found = 0;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, at + from.size()))
    ++found;
  const size_t size = text.size() - found * from.size() + found * to.size();
  char* const out = room_for(row, size);
  if (out == nullptr) return {};
  char* end = out;
  size_t start = 0;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, start)) {
    end = append(append(end, text.substr(start, at - start)), to);
    start = at + from.size();
  }
  append(end, text.substr(start));
  return {out, size};
}

// Each character of `from` becomes the one at its place in `to`, or vanishes if there is none.
std::string_view translate(Row& row, std::string_view text, std::string_view from, std::string_view to) {
  char* const out = room_for(row, text.size() * 4);
  if (out == nullptr) return {};
  char* end = out;
  for (size_t at = 0; at < text.size();) {
    const std::string_view c = text.substr(at, utf8_size(text, at));
    at += c.size();
    size_t place = 0;
    size_t place_to = 0;
    while (place < from.size() && from.substr(place, utf8_size(from, place)) != c) {
      place += utf8_size(from, place);
      if (place_to < to.size()) place_to += utf8_size(to, place_to);
    }
    if (place >= from.size()) {
      end = append(end, c);
    } else if (place_to < to.size()) {
      end = append(end, to.substr(place_to, utf8_size(to, place_to)));
    }
  }
  return {out, static_cast<size_t>(end - out)};
}

std::string_view reverse(Row& row, std::string_view text) {
  char* const out = row.arena().allocate(text.size());
  char* at = out + text.size();
  for (size_t i = 0; i < text.size();) {
    const std::string_view c = text.substr(i, utf8_size(text, i));
    at -= c.size();
    append(at, c);
    i += c.size();
  }
  return {out, text.size()};
}

// `missing` characters of `fill`, over and over.
char* append_fill(char* at, std::string_view fill, size_t missing) {
  size_t from = 0;
  for (; missing > 0; --missing) {
    const size_t size = utf8_size(fill, from);
    at = append(at, fill.substr(from, size));
    from = from + size == fill.size() ? 0 : from + size;
  }
  return at;
}

template <bool kLeft>
std::string_view pad(Row& row, std::string_view text, int64_t count, std::string_view fill) {
  const auto wanted = static_cast<size_t>(std::max<int64_t>(count, 0));
  const std::string_view kept = utf8_prefix(text, wanted);
  const size_t missing = wanted - utf8_length(kept);
  if (missing == 0 || fill.empty()) return kept;
  const size_t bytes_max = kept.size() + missing * std::min<size_t>(fill.size(), 4);
  char* const out = room_for(row, bytes_max);
  if (out == nullptr) return {};
  char* end = kLeft ? append_fill(out, fill, missing) : append(out, kept);
  end = kLeft ? append(end, kept) : append_fill(end, fill, missing);
  return {out, static_cast<size_t>(end - out)};
}
template <bool kLeft>
std::string_view pad_blanks(Row& row, std::string_view text, int64_t count) {
  return pad<kLeft>(row, text, count, " ");
}

// concat passes over nulls; concat_ws too, but not over a null separator.
std::string_view join_row(Row& row, std::span<const Column* const> parts, std::string_view separator) {
  size_t size = 0;
  size_t count = 0;
  for (const Column* part : parts) {
    if (part->is_null(row.index)) continue;
    size += part->values<std::string_view>()[row.index].size();
    ++count;
  }
  size += separator.size() * (count > 0 ? count - 1 : 0);
  char* const out = room_for(row, size);
  if (out == nullptr) return {};
  char* at = out;
  bool first = true;
  for (const Column* part : parts) {
    if (part->is_null(row.index)) continue;
    if (!first) at = append(at, separator);
    at = append(at, part->values<std::string_view>()[row.index]);
    first = false;
  }
  return {out, static_cast<size_t>(at - out)};
}

void concat(Call& call) {
  const auto out = call.out.values<std::string_view>();
  Row row(call);
  for (; row.index < call.rows; ++row.index) out[row.index] = join_row(row, call.args, {});
}
void concat_ws(Call& call) {
  const auto out = call.out.values<std::string_view>();
  const auto separators = call.args[0]->values<std::string_view>();
  Row row(call);
  for (; row.index < call.rows; ++row.index) {
    if (call.args[0]->is_null(row.index)) {
      row.null();
    } else {
      out[row.index] = join_row(row, call.args.subspan(1), separators[row.index]);
    }
  }
}

// Codes
// -----------------------------------------------------------------------------------------------------------------

int64_t ascii(std::string_view text) {
  return text.empty() ? 0 : static_cast<int64_t>(utf8_decode(text.substr(0, utf8_size(text, 0))));
}
std::string_view chr(Row& row, int64_t code) {
  if (code <= 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
    row.fail(Reason::kOutOfRange,
             code == 0 ? "null character not permitted" : "requested character not valid for encoding");
    return {};
  }
  char* const out = row.arena().allocate(4);
  return {out, utf8_encode(static_cast<char32_t>(code), out)};
}
std::string_view md5(Row& row, std::string_view text) {
  const auto hex = md5_hex(text);
  return row.arena().copy({hex.data(), hex.size()});
}
template <int kBits>
std::string_view to_hex(Row& row, int64_t value) {
  const uint64_t bits = kBits == 64 ? static_cast<uint64_t>(value) : static_cast<uint32_t>(value);
  char* const out = row.arena().allocate(16);
  return {out, static_cast<size_t>(std::to_chars(out, out + 16, bits, 16).ptr - out)};
}
std::string_view boolean_letter(bool value) {
  return value ? "t" : "f";
}

// LIKE
// ------------------------------------------------------------------------------------------------------------------

bool like(Row& row, std::string_view text, std::string_view pattern) {
  const LikeResult result = match_like(text, pattern);
  if (result == LikeResult::kBadPattern) {
    row.fail(Reason::kOutOfRange, "LIKE pattern must not end with escape character");
  }
  return result == LikeResult::kYes;
}
bool not_like(Row& row, std::string_view text, std::string_view pattern) {
  return !like(row, text, pattern);
}
bool ilike(Row& row, std::string_view text, std::string_view pattern) {
  return like(row, lower(row, text), lower(row, pattern));
}
bool not_ilike(Row& row, std::string_view text, std::string_view pattern) {
  return !ilike(row, text, pattern);
}

// The pattern with backslash in the place of `escape`; an empty escape makes backslashes plain.
std::string_view like_escape(Row& row, std::string_view pattern, std::string_view escape) {
  if (escape == "\\") return pattern;
  if (!escape.empty() && utf8_size(escape, 0) != escape.size()) {
    row.fail(Reason::kUnparseable, "invalid escape string: it must be empty or one character");
    return {};
  }
  char* const out = row.arena().allocate(pattern.size() * 2);
  char* at = out;
  bool after_escape = false;
  for (size_t i = 0; i < pattern.size();) {
    const std::string_view c = pattern.substr(i, utf8_size(pattern, i));
    i += c.size();
    if (!escape.empty() && c == escape && !after_escape) {
      *at++ = '\\';
      after_escape = true;
      continue;
    }
    if (c == "\\" && !after_escape) *at++ = '\\';
    at = append(at, c);
    after_escape = false;
  }
  return {out, static_cast<size_t>(at - out)};
}

Status refuse_regex(std::span<const ExprPtr>) {
  return fail(ErrorCode::kUnsupported, "regular expressions are not offered", {},
              "LIKE, starts_with, position, split_part and substring(text, from, count) are.");
}

void add_parts(FunctionTable& table) {
  for (const std::string_view name : {"length", "char_length", "character_length"}) {
    table.push_back({name, {kText}, kInt4, map<length>, kTotal});
  }
  table.push_back({"octet_length", {kText}, kInt4, map<octet_length>, kTotal});
  table.push_back({"bit_length", {kText}, kInt4, map<bit_length>, kTotal});
  table.push_back({"lower", {kText}, kText, map<lower>, kTotal});
  table.push_back({"upper", {kText}, kText, map<upper>, kTotal});
  table.push_back({"initcap", {kText}, kText, map<initcap>, kTotal});
  for (const std::string_view name : {"substr", "substring"}) {
    table.push_back({name, {kText, kInt4}, kText, map<substring_from>, kTotal});
    table.push_back({name, {kText, kInt4, kInt4}, kText, map<substring>});
  }
  // Stands in the table so that a literal pattern is not read as a number.
  table.push_back({"substring", {kText, kText}, kText, nullptr, kRefused, refuse_regex});
  table.push_back({"left", {kText, kInt4}, kText, map<left>, kTotal});
  table.push_back({"right", {kText, kInt4}, kText, map<right>, kTotal});
  table.push_back({"position", {kText, kText}, kInt4, map<position>, kTotal});
  table.push_back({"strpos", {kText, kText}, kInt4, map<position>, kTotal});
  table.push_back({"starts_with", {kText, kText}, kBoolean, map<starts_with>, kTotal});
  table.push_back({"^@", {kText, kText}, kBoolean, map<starts_with>, kTotal});
  table.push_back({"split_part", {kText, kText, kInt4}, kText, map<split_part>});
  table.push_back({"ltrim", {kText}, kText, map<trim_left_blanks>, kTotal});
  table.push_back({"ltrim", {kText, kText}, kText, map<trim_left>, kTotal});
  table.push_back({"rtrim", {kText}, kText, map<trim_right_blanks>, kTotal});
  table.push_back({"rtrim", {kText, kText}, kText, map<trim_right>, kTotal});
  for (const std::string_view name : {"btrim", "trim"}) {
    table.push_back({name, {kText}, kText, map<trim_both_blanks>, kTotal});
    table.push_back({name, {kText, kText}, kText, map<trim_both>, kTotal});
  }
}

void add_building(FunctionTable& table) {
  table.push_back({"||", {kText, kText}, kText, map<join>});
  table.push_back({"concat", {kText}, kText, concat, kNotStrict | kVariadic});
  table.push_back({"concat_ws", {kText, kText}, kText, concat_ws, kNotStrict | kVariadic});
  table.push_back({"repeat", {kText, kInt4}, kText, map<repeat>});
  table.push_back({"replace", {kText, kText, kText}, kText, map<replace>});
  table.push_back({"translate", {kText, kText, kText}, kText, map<translate>});
  table.push_back({"reverse", {kText}, kText, map<reverse>, kTotal});
  table.push_back({"lpad", {kText, kInt4}, kText, map<pad_blanks<true>>});
  table.push_back({"lpad", {kText, kInt4, kText}, kText, map<pad<true>>});
  table.push_back({"rpad", {kText, kInt4}, kText, map<pad_blanks<false>>});
  table.push_back({"rpad", {kText, kInt4, kText}, kText, map<pad<false>>});
  table.push_back({"ascii", {kText}, kInt4, map<ascii>, kTotal});
  table.push_back({"chr", {kInt4}, kText, map<chr>});
  table.push_back({"md5", {kText}, kText, map<md5>, kTotal});
  table.push_back({"to_hex", {kInt4}, kText, map<to_hex<32>>, kTotal});
  table.push_back({"to_hex", {kInt8}, kText, map<to_hex<64>>, kTotal});
  table.push_back({"boolout", {kBoolean}, kText, map<boolean_letter>, kTotal});
}

void add_like(FunctionTable& table) {
  const auto add = [&](std::string_view name, Kernel kernel) {
    table.push_back({name, {kText, kText}, kBoolean, kernel});
  };
  for (const std::string_view name : {"~~", "like"}) add(name, map<like>);
  for (const std::string_view name : {"!~~", "notlike"}) add(name, map<not_like>);
  for (const std::string_view name : {"~~*", "ilike"}) add(name, map<ilike>);
  for (const std::string_view name : {"!~~*", "notilike"}) add(name, map<not_ilike>);
  table.push_back({"like_escape", {kText, kText}, kText, map<like_escape>});
  for (const std::string_view name : {"~", "~*", "!~", "!~*"}) {
    table.push_back({name, {kText, kText}, kBoolean, nullptr, kRefused, refuse_regex});
  }
}

}  // namespace

void add_text_functions(FunctionTable& table) {
  add_parts(table);
  add_building(table);
  add_like(table);
}

}  // namespace wrackline::expr
