// Reads one JSON object strictly: the slow, certain path beside the templates, and the rule that they are
// measured by.
//
// Strict: the whole line is one object by RFC 8259, in valid UTF-8 (no surrogates, also as escapes), with
// nothing after it and nested at most kJsonDepthMax deep. Numbers keep their text, so none is ever too large
// to be looked at. A duplicate key keeps its last value.
//
// Built on simdjson's On-Demand interface, which by itself checks only what is read: this reader reads all.
// Threads: one reader belongs to one thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/convert.h"

namespace wrackline::formats {

inline constexpr int kJsonDepthMax = 1000;
inline constexpr size_t kJsonPaddingBytes = 64;  // what simdjson reads beyond a text

class JsonReader {
 public:
  // `names` are the keys whose values are wanted.
  explicit JsonReader(std::vector<std::string> names);
  ~JsonReader();
  JsonReader(JsonReader&&) noexcept;
  JsonReader& operator=(JsonReader&&) noexcept;

  // Reads `line`; false if it is not one valid object, and fault() says why.
  // Requires: kJsonPaddingBytes readable bytes after `line`.
  // Cost: some 200 ns for a line of 140 bytes with six fields, all of them checked.
  bool read(std::string_view line);
  // One per name, of the last line read. Views into the line, except escaped content, which lives until the
  // next read.
  std::span<const JsonValue> values() const;
  // A fragment: "not valid JSON at byte 17: a string is not closed".
  const std::string& fault() const;

  // Returns true if `text` is one valid JSON value of any kind. Copies it, so no padding is needed.
  bool is_valid(std::string_view text);

  // Keys seen in the first records that are no wanted names, for hints.
  const std::vector<std::string>& unknown_names() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads the escapes of strings, as JsonReader does.
class JsonUnescaper {
 public:
  JsonUnescaper();
  ~JsonUnescaper();
  JsonUnescaper(JsonUnescaper&&) noexcept;
  JsonUnescaper& operator=(JsonUnescaper&&) noexcept;

  // What a string says whose text, a quote behind it, stands between quotes; valid until the next call.
  // False: an escape is not valid. Requires: kJsonPaddingBytes readable bytes after `text`.
  bool unescape(std::string_view text, std::string_view& content);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns true if `text` is valid UTF-8. As is_valid_utf8, at the speed of the machine's vectors.
bool is_utf8(std::string_view text);

}  // namespace wrackline::formats
