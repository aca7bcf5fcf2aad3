// Templates: what lines of one stream have in common, learned from a line and then only compared.
//
//   {"auction":1234,"channel":"ch-7","at":"2024-05-01T12:00:00Z"}⏎
//   ~~~~~~~~~~~    ~~~~~~~~~~~~    ~~~~~~                    ~~~~    literals: the same in every line
//              ^^^^            ^^^^      ^^^^^^^^^^^^^^^^^^^^        slots: the values
//
// A *mark* is a byte that cannot stand inside a plain string: a quote, a backslash or a control character, so
// the line feed too. All marks of a line that fits a template stand in its literals, at known places, and
// each literal holds at least one. So once the marks of a piece of input are known (one pass of wide
// compares), every literal and every slot of a line is a fixed distance from the n-th mark of the line:
// nothing has to be searched, and no step waits for the one before it. A value with an escape, or a line of
// another shape, has other marks and does not compare equal.
//
// Why a line that compares equal is valid JSON: its literals are those of a line that was valid, and nothing
// stands between them but slots. For each literal is compared as a whole (all its pieces are seen from one
// mark; two marks could drift apart with anything between them), all marks of the line are accounted for, and
// slots begin and end where literals do. A string slot holds no mark, and the input's UTF-8 is checked apart.
// A bare slot is converted by code that takes valid values only.
//
// Source: the idea of speculating on the structure of earlier records is that of Li et al., "Mison: A Fast
//         JSON Parser for Data Analytics", VLDB 2017, section 5, and of Bonetta, Brantner, "FAD.js: Fast JSON
//         Data Access Using JIT-based Speculative Optimizations", VLDB 2017. The index of marks is stage 1 of
//         Langdale, Lemire, "Parsing Gigabytes of JSON per Second", VLDB Journal 2019, section 3.1.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "data/batch.h"

namespace wrackline::formats {

// A byte of the line, as a distance from one of the line's marks.
struct MarkPlace {
  uint16_t mark = 0;   // of the line, from 0
  int16_t offset = 0;  // |offset| <= kMarkOffsetMax
  friend bool operator==(const MarkPlace&, const MarkPlace&) = default;
};
inline constexpr int kMarkOffsetMax = 112;  // with a piece behind it: kKernelReachBytes

// A part of a literal: where `mask` has ones, `bytes` stand at `place` in every line.
struct LiteralPiece {
  static constexpr size_t kBytes = 16;
  alignas(kBytes) std::array<char, kBytes> bytes{};
  alignas(kBytes) std::array<char, kBytes> mask{};
  MarkPlace place;
  friend bool operator==(const LiteralPiece&, const LiteralPiece&) = default;
};

// A value.
struct TemplateSlot {
  MarkPlace begin;
  MarkPlace end;
  bool is_string = false;  // between quotes; else bare: a number, a word, a container without any string
  bool is_checked = true;  // false: a container whose inner values are slots of their own
  int field = -1;          // index of the declared column, or none
  friend bool operator==(const TemplateSlot&, const TemplateSlot&) = default;
};

struct JsonTemplate {
  size_t marks = 0;           // of a line, its line feed included
  MarkPlace begin;            // the first byte of the line
  size_t line_end_bytes = 1;  // 2 with a carriage return
  std::vector<LiteralPiece> pieces;
  std::vector<TemplateSlot> slots;
  std::vector<size_t> absent_fields;  // needed columns that the line has no value for
  friend bool operator==(const JsonTemplate&, const JsonTemplate&) = default;
};

// Returns true if `byte` is a mark.
constexpr bool is_mark(char byte) {
  return byte == '"' || byte == '\\' || static_cast<unsigned char>(byte) < 0x20;
}

// The template of `line`, or nullopt if it has none: a backslash in it, a declared key twice, a literal
// without a mark or longer than a mark reaches.
// Requires: `line` ends with its line feed, and is valid: a JsonReader accepted it.
// Cost:     about a microsecond.
std::optional<JsonTemplate> learn_template(std::string_view line, const std::vector<Field>& fields);

}  // namespace wrackline::formats
