#include "formats/slot_reader.h"

#include <algorithm>

#include "data/time_text.h"

namespace wrackline::formats {

std::span<const uint16_t> all_indexes(size_t count) {
  static constexpr auto kAll = [] {
    std::array<uint16_t, LineTable::kLinesMax> all{};
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    return all;
  }();
  return {kAll.data(), count};
}

// The places stand for marks, two a value.
Slot PlacedValues::slot(const char* chunk, size_t first) const {
  static constexpr auto kEven = [] {
    std::array<uint16_t, LineTable::kLinesMax> even{};
    for (size_t i = 0; i < even.size(); ++i) even[i] = static_cast<uint16_t>(2 * i);
    return even;
  }();
  const size_t count = std::min(lines.size() - first, kEven.size());
  const SlotRows rows{chunk, places.data() + 2 * first, {kEven.data(), count}, {0, 0}, {1, 0}};
  return {rows, {lines.data() + first, count}};
}

std::span<const uint16_t> SlotReader::read_integers(const Slot& slot, size_t line_count, size_t row,
                                                    Column& column) {
  int64_t* const values = values_of(slot, line_count, row, column);
  const size_t misses = kernels_.read_integers(slot.rows, column.type().bits, values, missed_.data());
  place_values(slot, line_count, row, column);
  return {missed_.data(), misses};
}

std::span<const uint16_t> SlotReader::read_times(const Slot& slot, size_t field, size_t line_count,
                                                 size_t row, Column& column) {
  if (!slot.lines.empty()) remember_date_of(slot.text(0), field);
  int64_t* const values = values_of(slot, line_count, row, column);
  const size_t misses = kernels_.read_times(slot.rows, dates_[field], values, missed_.data());
  place_values(slot, line_count, row, column);
  if (misses > 0) remember_date_of(slot.text(missed_[misses - 1]), field);
  return {missed_.data(), misses};
}

std::span<const uint16_t> SlotReader::find_others(const Slot& slot) {
  return {missed_.data(), kernels_.read_integers(slot.rows, 64, values_.data(), missed_.data())};
}

// Where the loops write: straight into the column if the slot has a value of every line.
int64_t* SlotReader::values_of(const Slot& slot, size_t line_count, size_t row, Column& column) {
  return slot.lines.size() == line_count ? column.values<int64_t>().data() + row : values_.data();
}

void SlotReader::place_values(const Slot& slot, size_t line_count, size_t row, Column& column) const {
  if (slot.lines.size() == line_count) return;
  int64_t* const values = column.values<int64_t>().data() + row;
  for (size_t i = 0; i < slot.lines.size(); ++i) values[slot.lines[i]] = values_[i];
}

// Only a plain date is remembered, so that what the quick way takes for one is one.
void SlotReader::remember_date_of(std::string_view text, size_t field) {
  constexpr size_t kDateBytes = 10;
  constexpr int64_t kDayMicros = 86'400'000'000;
  int64_t days = 0;
  if (text.size() <= kDateBytes || text.front() == '+' || text.front() == '-') return;
  if (is_remembered(text, dates_[field])) return;
  const char separator = text[kDateBytes];
  if (separator != 'T' && separator != ' ' && separator != 't') return;
  if (parse_date(text.substr(0, kDateBytes), days) != TimeParse::kOk) return;
  remember_date(text, days * kDayMicros, dates_[field]);
}

}  // namespace wrackline::formats
