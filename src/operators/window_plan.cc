#include "operators/window_plan.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/text.h"
#include "data/time_text.h"

namespace wrackline {
namespace {

constexpr int64_t kDayUs = 86'400'000'000;
constexpr int64_t kMonthUs = 30 * kDayUs;  // about, for sizing
constexpr int64_t kMondayUs = 4 * kDayUs;  // 1970-01-05, the first Monday
constexpr int64_t kSlicesMax = 100'000;    // of one window; beyond it is a slip of units

int64_t floor_mod(int64_t value, int64_t modulus) {
  return value - floor_divide(value, modulus) * modulus;
}

// Months since January 1970 of a local time.
int64_t month_of(int64_t local_us) {
  const CivilDate date = civil_from_days(floor_divide(local_us, kDayUs));
  return (date.year - 1970) * 12 + date.month - 1;
}

int64_t local_of_month(int64_t month) {
  const auto month_number = static_cast<int32_t>(floor_mod(month, 12) + 1);
  return days_from_civil(1970 + floor_divide(month, 12), month_number, 1) * kDayUs;
}

bool is_length(const WindowLength& length) {
  return (length.months > 0) != (length.micros > 0) && length.months >= 0 && length.micros >= 0;
}

}  // namespace

std::string WindowPlan::impossible(const Options& options) {
  if (!is_length(options.size))
    return "the size must be more than nothing, and months cannot be mixed with days";
  const bool sliding = options.kind != WindowKind::kTumble;
  if (sliding && !is_length(options.slide))
    return "the slide must be more than nothing, and months cannot be mixed with days";
  if (sliding && (options.size.months > 0) != (options.slide.months > 0))
    return "size and slide must both be in months or neither: months differ in length";
  const int64_t size = options.size.months > 0 ? options.size.months : options.size.micros;
  const int64_t slide = options.size.months > 0 ? options.slide.months : options.slide.micros;
  if (options.kind == WindowKind::kCumulate && size % slide != 0)
    return "the size of cumulative windows must be a multiple of their step";
  if (sliding && std::max(size, slide) / std::gcd(size, slide) > kSlicesMax)
    return format(
        "size and slide have so small a common measure that a window is cut into more than {} slices",
        with_thousands(kSlicesMax));
  const bool calendar = options.zone != nullptr && options.zone != TimeZone::utc();
  if (calendar && sliding && options.size.months == 0 && std::gcd(size, slide) % kDayUs != 0)
    return "in a time zone, windows of parts of days can only tumble: where clocks change, such days have no "
           "even parts";
  if (options.size.months > 0 && options.offset != Duration())
    return "windows of months begin with a month; they have no offset";
  return {};
}

WindowPlan::WindowPlan(Options options) : options_(options) {
  WRACKLINE_CHECK(impossible(options).empty());
  const bool months = options.size.months > 0;
  const int64_t size = months ? options.size.months : options.size.micros;
  const int64_t slide = options.kind == WindowKind::kTumble ? size
                        : months                            ? options.slide.months
                                                            : options.slide.micros;
  const int64_t unit = options.kind == WindowKind::kHop ? std::gcd(size, slide) : slide;
  slices_per_window_ = size / unit;
  slices_per_slide_ = options.kind == WindowKind::kCumulate ? slices_per_window_ : slide / unit;
  // In UTC parts of days are uniform; days and weeks follow the calendar once a zone is named.
  const bool zoned = options.zone != nullptr && (options.zone != TimeZone::utc() || unit % kDayUs == 0);
  uniform_ = !months && !zoned;
  unit_us_ = months ? unit * kMonthUs : unit;
  offset_us_ = options.offset.micros();
  if (months) {
    unit_months_ = unit;
  } else if (zoned && unit % kDayUs == 0) {
    unit_days_ = unit / kDayUs;
  } else {
    offset_us_ = floor_mod(offset_us_, unit * slices_per_slide_);
  }
  if (options_.zone == nullptr) options_.zone = TimeZone::utc();
  // Weeks begin on Monday by the calendar, as in ISO 8601 and date_trunc.
  if (unit_days_ > 0 && unit_days_ % 7 == 0) offset_us_ += kMondayUs;
}

int64_t WindowPlan::index_of(int64_t event_us) const {
  if (uniform_) return floor_divide(event_us - offset_us_, unit_us_);
  const int64_t at = event_us;
  const int64_t local = at + options_.zone->offset_at(at) - offset_us_;
  int64_t index = unit_months_ > 0 ? floor_divide(month_of(local), unit_months_)
                                   : floor_divide(local, unit_days_ * kDayUs);
  // Where the clock is turned back over an edge, it shows the time before the edge once more.
  while (edge(index) > at) --index;
  while (edge(index + 1) <= at) ++index;
  return index;
}

int64_t WindowPlan::edge(int64_t index) const {
  if (uniform_) return index * unit_us_ + offset_us_;
  const int64_t local =
      unit_months_ > 0 ? local_of_month(index * unit_months_) : index * unit_days_ * kDayUs + offset_us_;
  return options_.zone->instant_of_local(local);
}

Window WindowPlan::slice_at(int64_t index) const {
  return {EventTime(edge(index)), EventTime(edge(index + 1))};
}

Window WindowPlan::slice_of(int64_t event_us) const {
  if (uniform_) {
    const int64_t start = edge(index_of(event_us));
    return {EventTime(start), EventTime(start + unit_us_)};
  }
  if (!is_indexed()) return local_slice_of(event_us);
  return slice_at(index_of(event_us));
}

// Slices of parts of days in a zone. Between two changes of the zone's clock they are uniform; a change is an
// edge itself if the clock skips a multiple of the unit or stands at one.
Window WindowPlan::local_slice_of(int64_t event_us) const {
  const TimeZone& zone = *options_.zone;
  const int64_t at = event_us;
  const int64_t offset = zone.offset_at(at);
  const auto floor_in = [&](int64_t time, int64_t utc_offset) {
    const int64_t shift = utc_offset - offset_us_;
    return floor_divide(time + shift, unit_us_) * unit_us_ - shift;
  };
  // The first moment in (from, to] at which `to`'s offset is in force; there is one change at most, since a
  // unit is shorter than a day.
  const auto change_between = [&](int64_t from, int64_t to) {
    const int64_t after = zone.offset_at(to);
    while (to - from > 1) {
      const int64_t middle = from + (to - from) / 2;
      (zone.offset_at(middle) == after ? to : from) = middle;
    }
    return to;
  };
  const auto change_is_edge = [&](int64_t change) {
    const int64_t before = zone.offset_at(change - 1);
    const int64_t after = zone.offset_at(change);
    if (floor_in(change, after) == change) return true;
    return after > before && floor_divide(change - 1 + before - offset_us_, unit_us_) !=
                                 floor_divide(change + after - offset_us_, unit_us_);
  };
  int64_t start = floor_in(at, offset);
  if (zone.offset_at(start) != offset) {
    const int64_t change = change_between(start, at);
    start = change_is_edge(change) ? change : floor_in(change - 1, zone.offset_at(change - 1));
  }
  int64_t end = floor_in(at, offset) + unit_us_;
  if (zone.offset_at(end) != offset) {
    const int64_t change = change_between(at, end);
    const int64_t after = zone.offset_at(change);
    end = change_is_edge(change) ? change : floor_in(change - 1, after) + unit_us_;
  }
  return {EventTime(start), EventTime(end)};
}

Window WindowPlan::window_at(int64_t first, int64_t count) const {
  return {EventTime(edge(first)), EventTime(edge(first + count))};
}

std::optional<Window> WindowPlan::first_window(const Window& slice) const {
  if (window_is_slice()) return slice;
  const int64_t index = index_of(slice.start.micros());
  if (options_.kind == WindowKind::kCumulate) {
    const int64_t base = floor_divide(index, slices_per_window_) * slices_per_window_;
    return window_at(base, index - base + 1);
  }
  const int64_t slide = first_slide_of(index);
  if (slide * slices_per_slide_ > index) return std::nullopt;
  return window_at(slide * slices_per_slide_, slices_per_window_);
}

// The first of the hopping windows that end after slice `index`.
int64_t WindowPlan::first_slide_of(int64_t index) const {
  return floor_divide(index - slices_per_window_, slices_per_slide_) + 1;
}

Window WindowPlan::first_window_after(int64_t edge_us) const {
  if (!is_indexed()) return local_slice_of(edge_us);
  const int64_t index = index_of(edge_us);
  if (options_.kind == WindowKind::kHop)
    return window_at(first_slide_of(index) * slices_per_slide_, slices_per_window_);
  return *first_window(slice_at(index));
}

Window WindowPlan::next_window(const Window& window) const {
  if (window_is_slice()) return slice_of(window.end.micros());
  const int64_t first = index_of(window.start.micros());
  if (options_.kind == WindowKind::kHop) return window_at(first + slices_per_slide_, slices_per_window_);
  const int64_t count = index_of(window.end.micros()) - first;
  return count < slices_per_window_ ? window_at(first, count + 1) : window_at(first + slices_per_window_, 1);
}

void WindowPlan::windows_of(int64_t event_us, std::vector<Window>& windows) const {
  const Window slice = slice_of(event_us);
  const std::optional<Window> first = first_window(slice);
  if (!first) return;
  if (window_is_slice()) {
    windows.push_back(*first);
    return;
  }
  for (Window window = *first; window.start <= slice.start; window = next_window(window))
    windows.push_back(window);
}

int64_t WindowPlan::last_end(const Window& slice) const {
  if (window_is_slice()) return slice.end.micros();
  const int64_t index = index_of(slice.start.micros());
  if (options_.kind == WindowKind::kCumulate)
    return edge((floor_divide(index, slices_per_window_) + 1) * slices_per_window_);
  const int64_t slide = floor_divide(index, slices_per_slide_);
  const int64_t end = slide * slices_per_slide_ + slices_per_window_;
  return end > index ? edge(end) : slice.end.micros();
}

int64_t WindowPlan::edge_at_or_before(int64_t watermark_us) const {
  if (watermark_us == kMicrosMin || watermark_us == kMicrosMax) return watermark_us;
  if (watermark_us < -kEventMicrosLimit) return kMicrosMin;
  const int64_t at = std::min(watermark_us, kEventMicrosLimit);
  if (!is_indexed()) return local_slice_of(at).start.micros();
  const int64_t index = index_of(at);
  if (options_.kind != WindowKind::kHop || window_is_slice()) return edge(index);
  const int64_t slide = floor_divide(index - slices_per_window_, slices_per_slide_);
  return edge(slide * slices_per_slide_ + slices_per_window_);
}

int64_t WindowPlan::next_edge(int64_t edge_us) const {
  if (edge_us == kMicrosMin) return kMicrosMin + 1;
  if (edge_us == kMicrosMax) return kMicrosMax;
  if (!is_indexed()) return local_slice_of(edge_us).end.micros();
  if (uniform_)
    return saturating_add(edge_us, slices_per_slide_ == 1 || options_.kind == WindowKind::kCumulate
                                       ? unit_us_
                                       : unit_us_ * slices_per_slide_);
  const int64_t step = options_.kind == WindowKind::kHop ? slices_per_slide_ : 1;
  return edge(index_of(edge_us) + step);
}

}  // namespace wrackline
