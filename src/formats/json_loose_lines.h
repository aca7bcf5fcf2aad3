// Lines that fit no template but are flat: their keys in any order, some of them absent, strings with
// escapes.
//
// A flat object is a walk over its marks (json_template.h): between two quotes is a key, behind it a colon,
// then either a string between the next two quotes or a bare value up to the next mark. The walk finds every
// value's place; the values are then converted side by side, as those of templates are.
//
// Invariant: the walk takes only what is valid JSON if each of the bare values and escaped strings that it
// found
//            turns out to be valid.
// Threads:   one object belongs to one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/batch.h"
#include "formats/line_kernels.h"
#include "formats/slot_reader.h"

namespace wrackline::formats {

class LooseLines {
 public:
  static constexpr size_t kFieldsMax = 64;

  struct FieldValues {
    PlacedValues strings;
    PlacedValues escaped;  // strings with a backslash
    PlacedValues bare;
  };

  explicit LooseLines(const std::vector<Field>& fields);

  // Forgets the lines of the last chunk.
  void clear();
  // Walks the line that starts at `start` and ends at its line feed, marks[line_feed_mark], and keeps the
  // places of its values as those of line number `line`. False: it is not flat, or has a needed key twice;
  // nothing is kept.
  bool add_line(const char* chunk, std::span<const uint16_t> marks, LineStart start, size_t line_feed_mark,
                size_t line);

  // The lines added, and per line which needed columns it has no value for, as bits.
  std::span<const uint16_t> lines() const { return lines_; }
  std::span<const uint64_t> absent() const { return absent_; }
  const FieldValues& values(size_t field) const { return values_[field]; }
  // Values of other keys that still have to be valid.
  const PlacedValues& unwanted_bare() const { return unwanted_bare_; }
  const PlacedValues& unwanted_escaped() const { return unwanted_escaped_; }

 private:
  // A value of the line being walked.
  struct Found {
    int field = -1;
    bool is_string = false;
    bool is_escaped = false;
    size_t begin = 0;
    size_t end = 0;
  };
  class Walk;
  // A name that is looked for, by its length and first bytes.
  struct Name {
    uint64_t head = 0;
    std::string_view text;
    int field = -1;
  };
  static uint64_t head_of(std::string_view key);
  size_t slot_of(uint64_t head, size_t size) const;
  int find_field(std::string_view key) const;
  bool find_values(Walk& walk);
  PlacedValues* values_for(const Found& found);

  std::vector<Name> names_;  // open addressing, a power of two
  uint64_t needed_ = 0;      // bits of the needed columns
  bool usable_ = true;       // false: too many columns
  std::vector<Found> found_;
  uint64_t found_fields_ = 0;

  std::vector<uint16_t> lines_;
  std::vector<uint64_t> absent_;
  std::vector<FieldValues> values_;
  PlacedValues unwanted_bare_;
  PlacedValues unwanted_escaped_;
};

}  // namespace wrackline::formats
