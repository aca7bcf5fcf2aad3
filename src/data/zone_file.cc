// How a zone file becomes a zone.
//
// A file holds a table of transitions and, as its last line, a POSIX rule for every later time
// ("CET-1CEST,M3.5.0, M10.5.0/3"). Distributions are free to end the table in 2007 or in 2037 and leave the
// rest to the rule, so a reader that ignores the rule is an hour off every summer after that; the library we
// first meant to use is such a one. Here the rule is unrolled once, when the zone is loaded, for 400 years:
// then the Gregorian calendar, weekdays included, repeats, and any later time is looked up as the same time
// some cycles earlier. So a look-up is one binary search, or less: each zone remembers where the last one
// ended, because times in a stream lie close together.
//
// Local times use a second table of the same shape. A transition at instant t from offset a to b begins to
// hold, on the wall, at t + max(a, b): in a gap (a < b) the times up to t + b do not exist and are read with
// a; in an overlap (a > b) the times up to t + a occur twice and the first occurrence, still with a, is
// meant. One formula, both rules.
#include "data/zone_file.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/time_text.h"
#include "wrackline/time.h"

namespace wrackline {
namespace {

constexpr int64_t kMicro = 1'000'000;  // in a second
constexpr int64_t kDaySeconds = 86400;
constexpr int64_t kCycleSeconds = 146097 * kDaySeconds;  // 400 Gregorian years, whole weeks
constexpr int64_t kCycleYears = 400;
constexpr int64_t kTableStartSeconds = -62'135'596'800;  // the year 1
constexpr int64_t kTableEndSeconds = 253'402'300'800;    // the year 10000
constexpr int64_t kOffsetMaxSeconds = 26 * 3600;         // RFC 8536 section 3.2

struct Transition {
  int64_t at_s = 0;      // the first second, UTC, of the new offset
  int64_t offset_s = 0;  // from then on
};

// ---- the POSIX rule ----

// One of the two switches of a year: in `month`, the `week`th `weekday` (5 is the last), at `second` of that
// day. Or by day: kind 'J' counts 1..365 without 29 February, kind 'D' counts 0..365 with it.
struct SwitchRule {
  char kind = 'M';
  int64_t month = 1;
  int64_t week = 1;
  int64_t weekday = 0;
  int64_t day = 0;
  int64_t second = 7200;
};

struct PosixRule {
  int64_t standard_s = 0;
  bool has_summer = false;
  int64_t summer_s = 0;
  SwitchRule to_summer;
  SwitchRule to_standard;
};

class RuleParser {
 public:
  explicit RuleParser(std::string_view text) : rest_(text) {}

  std::optional<PosixRule> parse() {
    PosixRule rule;
    if (!name() || !offset(rule.standard_s)) return std::nullopt;
    if (rest_.empty()) return rule;
    rule.has_summer = true;
    rule.summer_s = rule.standard_s + 3600;
    if (!name()) return std::nullopt;
    if (!rest_.starts_with(',') && !offset(rule.summer_s)) return std::nullopt;
    if (!switch_rule(rule.to_summer) || !switch_rule(rule.to_standard) || !rest_.empty()) return std::nullopt;
    return rule;
  }

 private:
  bool eat(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool number(int64_t& value, int64_t most) {
    size_t size = 0;
    value = 0;
    for (; size < rest_.size() && rest_[size] >= '0' && rest_[size] <= '9' && value <= most; ++size) {
      value = value * 10 + (rest_[size] - '0');
    }
    rest_.remove_prefix(size);
    return size > 0 && value <= most;
  }
  // "CET" or "<+0330>"
  bool name() {
    const bool quoted = eat('<');
    size_t size = 0;
    const auto inside = [&](char c) {
      const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
      return letter || (quoted && ((c >= '0' && c <= '9') || c == '+' || c == '-'));
    };
    while (size < rest_.size() && inside(rest_[size])) ++size;
    rest_.remove_prefix(size);
    return size > 0 && (!quoted || eat('>'));
  }
  // "-1", "+5:30", "2:00:00": hours may reach 167.
  bool clock(int64_t& seconds) {
    const bool negative = rest_.starts_with('-');
    if (negative || rest_.starts_with('+')) rest_.remove_prefix(1);
    int64_t hours = 0;
    int64_t minutes = 0;
    int64_t rest = 0;
    if (!number(hours, 167)) return false;
    if (eat(':') && !number(minutes, 59)) return false;
    if (eat(':') && !number(rest, 59)) return false;
    seconds = hours * 3600 + minutes * 60 + rest;
    if (negative) seconds = -seconds;
    return true;
  }
  // POSIX counts west of Greenwich.
  bool offset(int64_t& seconds) {
    if (!clock(seconds)) return false;
    seconds = -seconds;
    return true;
  }
  // ",M3.5.0/2"
  bool switch_rule(SwitchRule& rule) {
    if (!eat(',')) return false;
    if (eat('M')) {
      const bool whole =
          number(rule.month, 12) && eat('.') && number(rule.week, 5) && eat('.') && number(rule.weekday, 6);
      if (!whole || rule.month == 0 || rule.week == 0) return false;
    } else {
      rule.kind = eat('J') ? 'J' : 'D';
      if (!number(rule.day, 365) || (rule.kind == 'J' && rule.day == 0)) return false;
    }
    return !eat('/') || clock(rule.second);
  }

  std::string_view rest_;
};

// The day, since 1970, of a switch in a year.
int64_t switch_day(const SwitchRule& rule, int64_t year) {
  const int64_t new_year = days_from_civil(year, 1, 1);
  if (rule.kind == 'D') return new_year + rule.day;
  if (rule.kind == 'J') {
    const bool after_february = rule.day >= 60 && days_from_civil(year + 1, 1, 1) - new_year == 366;
    return new_year + rule.day - 1 + (after_february ? 1 : 0);
  }
  const auto month = static_cast<int32_t>(rule.month);
  const int64_t first = days_from_civil(year, month, 1);
  const int64_t next = month == 12 ? days_from_civil(year + 1, 1, 1) : days_from_civil(year, month + 1, 1);
  const int64_t weekday = (first + 4) - floor_divide(first + 4, 7) * 7;  // 1970-01-01 was a Thursday
  int64_t day = first + (rule.weekday - weekday + 7) % 7 + (rule.week - 1) * 7;
  if (day >= next) day -= 7;
  return day;
}

// ---- the zone ----

// Finds the last entry whose start is not after `value`, or -1. `hint` is where the search before ended.
ptrdiff_t find_entry(const std::vector<int64_t>& starts, int64_t value, std::atomic<ptrdiff_t>& hint) {
  const auto size = static_cast<ptrdiff_t>(starts.size());
  const ptrdiff_t guess = hint.load(std::memory_order_relaxed);
  const auto start = [&](ptrdiff_t i) { return starts[static_cast<size_t>(i)]; };
  const bool after = guess < 0 || start(guess) <= value;
  if (after && (guess + 1 == size || value < start(guess + 1))) return guess;
  const ptrdiff_t found = std::upper_bound(starts.begin(), starts.end(), value) - starts.begin() - 1;
  hint.store(found, std::memory_order_relaxed);
  return found;
}

class TableZone final : public TimeZone {
 public:
  // Requires: transitions sorted by time; if `repeats`, the last 400 years of them stand for all that follow.
  TableZone(std::string name, int64_t first_offset_s, const std::vector<Transition>& transitions,
            bool repeats)
      : name_(std::move(name)), repeats_(repeats) {
    offsets_.push_back(first_offset_s * kMicro);
    for (const Transition& transition : transitions) {
      const int64_t before = offsets_.back();
      const int64_t after = transition.offset_s * kMicro;
      if (before == after) continue;
      instants_.push_back(transition.at_s * kMicro);
      walls_.push_back(instants_.back() + std::max(before, after));
      offsets_.push_back(after);
    }
    // Two switches within hours of each other could cross on the wall; the earlier one then never shows
    // there.
    for (size_t i = walls_.size(); i-- > 1;) walls_[i - 1] = std::min(walls_[i - 1], walls_[i]);
    instant_end_ = repeats ? instants_.back() : kMicrosMax;
    wall_end_ = repeats ? walls_.back() : kMicrosMax;
  }

  std::string_view name() const override { return name_; }

  int64_t offset_at(int64_t instant_us) const override {
    return offset_of(find_entry(instants_, folded(instant_us, instant_end_), instant_hint_));
  }
  int64_t instant_of_local(int64_t local_us) const override {
    return saturating_subtract(local_us,
                               offset_of(find_entry(walls_, folded(local_us, wall_end_), wall_hint_)));
  }

 private:
  int64_t offset_of(ptrdiff_t entry) const { return offsets_[static_cast<size_t>(entry + 1)]; }
  // The same moment of the calendar within the table.
  static int64_t folded(int64_t time_us, int64_t end_us) {
    if (time_us < end_us) [[likely]]
      return time_us;
    constexpr int64_t kCycle = kCycleSeconds * kMicro;
    return end_us == kMicrosMax ? time_us : time_us - ((time_us - end_us) / kCycle + 1) * kCycle;
  }

  std::string name_;
  bool repeats_;
  std::vector<int64_t> instants_;  // when the offset changes, UTC
  std::vector<int64_t> walls_;     // the same on the wall
  std::vector<int64_t> offsets_;   // one more: before the first change, then after each
  int64_t instant_end_ = kMicrosMax;
  int64_t wall_end_ = kMicrosMax;
  mutable std::atomic<ptrdiff_t> instant_hint_ = -1;
  mutable std::atomic<ptrdiff_t> wall_hint_ = -1;
};

// ---- TZif ----

class ZoneFile {
 public:
  explicit ZoneFile(std::string_view bytes) : rest_(bytes) {}

  // nullptr: not a TZif file that we understand.
  std::unique_ptr<TimeZone> parse(std::string name) {
    Counts counts;
    if (!header(counts)) return nullptr;
    int width = 4;
    if (version_ >= '2') {  // the first block repeats the table in 32 bits
      if (!skip(block_bytes(counts, 4)) || !header(counts)) return nullptr;
      width = 8;
    }
    if (rest_.size() < block_bytes(counts, width) || counts.types == 0) return nullptr;
    if (!table(counts, width)) return nullptr;
    return build(std::move(name));
  }

 private:
  struct Counts {
    size_t utc = 0;
    size_t standard = 0;
    size_t leaps = 0;
    size_t times = 0;
    size_t types = 0;
    size_t letters = 0;
  };

  static size_t block_bytes(const Counts& counts, size_t width) {
    return counts.times * (width + 1) + counts.types * 6 + counts.letters + counts.leaps * (width + 4) +
           counts.standard + counts.utc;
  }

  bool skip(size_t size) {
    if (size > rest_.size()) return false;
    rest_.remove_prefix(size);
    return true;
  }

  // A big-endian number with its sign. Requires: enough bytes.
  int64_t number(size_t at, size_t width) const {
    uint64_t value = 0;
    for (size_t i = 0; i < width; ++i) value = value << 8 | static_cast<unsigned char>(rest_[at + i]);
    const auto unused = static_cast<int>(64 - 8 * width);
    return static_cast<int64_t>(value << unused) >> unused;
  }

  bool header(Counts& counts) {
    constexpr size_t kBytes = 44;
    if (rest_.size() < kBytes || !rest_.starts_with("TZif")) return false;
    version_ = rest_[4];
    size_t* const fields[] = {&counts.utc,   &counts.standard, &counts.leaps,
                              &counts.times, &counts.types,    &counts.letters};
    for (size_t i = 0; i < std::size(fields); ++i) {
      const int64_t value = number(20 + 4 * i, 4);
      if (value < 0 || value > 1'000'000) return false;
      *fields[i] = static_cast<size_t>(value);
    }
    return skip(kBytes);
  }

  bool table(const Counts& counts, size_t width) {
    const size_t kinds = counts.times * width;
    const size_t types = kinds + counts.times;
    const auto offset_of = [&](size_t type) { return number(types + 6 * type, 4); };
    for (size_t i = 0; i < counts.types; ++i) {
      if (offset_of(i) > kOffsetMaxSeconds || offset_of(i) < -kOffsetMaxSeconds) return false;
    }
    first_offset_s_ = offset_of(0);
    for (size_t i = 0; i < counts.times; ++i) {
      const auto type = static_cast<unsigned char>(rest_[kinds + i]);
      if (type >= counts.types) return false;
      const int64_t at = number(i * width, width);
      if (at > kTableEndSeconds || (i > 0 && at <= number((i - 1) * width, width))) return false;
      // A table may open with "since ever"; the year 1 is as good.
      transitions_.push_back({std::max(at, kTableStartSeconds), offset_of(type)});
    }
    return skip(block_bytes(counts, width));
  }

  std::unique_ptr<TimeZone> build(std::string name) {
    bool repeats = false;
    if (version_ >= '2') {
      if (!rest_.starts_with('\n') || !rest_.ends_with('\n') || rest_.size() < 2) return nullptr;
      const std::string_view text = rest_.substr(1, rest_.size() - 2);
      if (!text.empty()) {
        const auto rule = RuleParser(text).parse();
        if (!rule) return nullptr;
        if (rule->has_summer) unroll(*rule);
        repeats = rule->has_summer;
      }
    }
    return std::make_unique<TableZone>(std::move(name), first_offset_s_, transitions_, repeats);
  }

  // Appends what the rule says from the table's end on, for one cycle of the calendar and a year.
  void unroll(const PosixRule& rule) {
    const int64_t last =
        transitions_.empty() ? std::numeric_limits<int64_t>::min() : transitions_.back().at_s;
    const int64_t first_year =
        transitions_.empty() ? 1800 : civil_from_days(floor_divide(last, kDaySeconds)).year;
    const int64_t last_year = std::max<int64_t>(first_year, 1970) + kCycleYears + 1;  // so it ends after 1970
    for (int64_t year = first_year; year <= last_year; ++year) {
      const auto at = [&](const SwitchRule& change, int64_t offset_before) {
        return switch_day(change, year) * kDaySeconds + change.second - offset_before;
      };
      Transition summer{at(rule.to_summer, rule.standard_s), rule.summer_s};
      Transition standard{at(rule.to_standard, rule.summer_s), rule.standard_s};
      if (standard.at_s < summer.at_s) std::swap(summer, standard);
      for (const Transition& transition : {summer, standard}) {
        if (transition.at_s > last) transitions_.push_back(transition);
      }
    }
  }

  std::string_view rest_;
  char version_ = 0;
  int64_t first_offset_s_ = 0;
  std::vector<Transition> transitions_;
};

}  // namespace

std::unique_ptr<TimeZone> parse_zone_file(std::string name, std::string_view bytes) {
  return ZoneFile(bytes).parse(std::move(name));
}

}  // namespace wrackline
