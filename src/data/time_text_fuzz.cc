// Every text form of data: reads arbitrary bytes and checks that what was read survives being written and
// read again.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "data/decimal.h"
#include "data/time_text.h"
#include "data/time_zone.h"
#include "data/zone_file.h"
#include "wrackline/time.h"

namespace wrackline {
namespace {

void check_timestamp(std::string_view text) {
  int64_t micros = 0;
  if (parse_timestamp(text, TimeZone::utc(), micros) != TimeParse::kOk) return;
  WRACKLINE_CHECK(micros != kMicrosMin && micros != kMicrosMax, "infinity");
  int64_t again = 0;
  const std::string written = timestamp_text(micros);
  WRACKLINE_CHECK(parse_timestamp(written, nullptr, again) == TimeParse::kOk && again == micros, written);
  int64_t local = 0;
  WRACKLINE_CHECK(parse_local_timestamp(text, local) != TimeParse::kNoZone, written);
}

void check_date(std::string_view text) {
  int64_t days = 0;
  if (parse_date(text, days) != TimeParse::kOk) return;
  std::string written;
  append_date(written, days);
  int64_t again = 0;
  WRACKLINE_CHECK(parse_date(written, again) == TimeParse::kOk && again == days, written);
}

void check_interval(std::string_view text) {
  const auto span = parse_span_micros(text);
  if (span) WRACKLINE_CHECK(!span_text(*span).empty(), "span");
  const auto interval = parse_interval(text);
  if (!interval) return;
  std::string written;
  append_interval(written, *interval);
  const auto again = parse_interval(written);
  WRACKLINE_CHECK(again.has_value() && *again == *interval, written);
}

void check_decimal(std::string_view text) {
  const auto value = parse_decimal(text);
  if (!value) return;
  const std::string written = to_string(*value);
  const auto again = parse_decimal(written);
  WRACKLINE_CHECK(again.has_value() && again->scale == value->scale && compare(*again, *value) == 0, written);
  WRACKLINE_CHECK(hash(*again) == hash(*value), written);
  // Two numbers from one text: arithmetic must not trip over its own checks, and what it says must be
  // consistent.
  const Decimal other{value->unscaled / 7 + 1, value->scale / 2};
  if (const auto sum = add(*value, other)) {
    const auto back = subtract(*sum, other);
    WRACKLINE_CHECK(!back || compare(*back, *value) == 0, written);
  }
  if (other.unscaled == 0) return;
  const auto rest = remainder(*value, other);
  WRACKLINE_CHECK(rest.has_value(), written);
  divide(*value, other);
  multiply(*value, other);
  epoch_to_micros(*value, TimeUnit::kSeconds);
  epoch_to_micros(*value, TimeUnit::kNanos);
}

}  // namespace
}  // namespace wrackline

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  wrackline::check_timestamp(text);
  wrackline::check_date(text);
  wrackline::check_interval(text);
  wrackline::check_decimal(text);
  if (const auto zone = wrackline::parse_zone_file("fuzz", text)) zone->instant_of_local(zone->offset_at(0));
  return 0;
}
