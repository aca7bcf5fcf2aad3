// Named time zones (IANA), read from the system's zoneinfo. The one file that knows the library behind it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace wrackline {

class TimeZone {
 public:
  // "UTC", "Europe/Vienna", "+02:00". Errors: kNotFound naming the nearest zone. The pointer lives as long as
  // the process.
  static Result<const TimeZone*> find(std::string_view name);
  static const TimeZone* utc();

  virtual ~TimeZone() = default;
  virtual std::string_view name() const = 0;
  // UTC offset in microseconds in force at the instant.
  virtual int64_t offset_at(int64_t instant_us) const = 0;
  // The instant of a local time. Ambiguous (autumn): the earlier one. Not existing (spring gap): as
  // PostgreSQL, the offset before the gap is used.
  virtual int64_t instant_of_local(int64_t local_us) const = 0;
};

}  // namespace wrackline
