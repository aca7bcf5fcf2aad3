// Named time zones (IANA), read from the system's zoneinfo (Debian's package tzdata), and fixed offsets.
//
// Threads: find() locks; a zone is immutable and may be used from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace wrackline {

class TimeZone {
 public:
  // "UTC", "Europe/Vienna", "+02:00", "-0530" (ISO 8601: east is positive). The pointer lives as long as the
  // process. Errors: kNotFound naming the nearest zone; kUnavailable if the system has no zone data (UTC and
  // fixed offsets work without); kData for a damaged file. Cost: some 50 microseconds, once per zone.
  static Result<const TimeZone*> find(std::string_view name);
  static const TimeZone* utc();

  virtual ~TimeZone() = default;
  virtual std::string_view name() const = 0;
  // UTC offset in microseconds in force at the instant. Cost: 2 ns near the last look-up, else a binary
  // search.
  virtual int64_t offset_at(int64_t instant_us) const = 0;
  // The instant of a local time. Ambiguous (autumn): the earlier one. Not existing (spring gap): as
  // PostgreSQL, the offset before the gap is used.
  virtual int64_t instant_of_local(int64_t local_us) const = 0;
};

}  // namespace wrackline
