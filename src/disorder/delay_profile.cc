#include "wrackline/delay_profile.h"

#include "disorder/profile_core.h"

namespace wrackline {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kInsufficient:
      return "insufficient";
    case Verdict::kBounded:
      return "bounded";
    case Verdict::kEstimated:
      return "estimated";
    case Verdict::kPrecise:
      return "precise";
  }
  return "insufficient";
}

std::string_view to_string(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::kWrongUnit:
      return "wrong_unit";
    case Finding::Kind::kTimeZone:
      return "time_zone";
    case Finding::Kind::kClockAhead:
      return "clock_ahead";
    case Finding::Kind::kFuture:
      return "future";
    case Finding::Kind::kFarBehind:
      return "far_behind";
    case Finding::Kind::kLostCentury:
      return "lost_century";
    case Finding::Kind::kStuckClock:
      return "stuck_clock";
    case Finding::Kind::kClockDrift:
      return "clock_drift";
    case Finding::Kind::kOfflineMode:
      return "offline_mode";
    case Finding::Kind::kRegimeChange:
      return "regime_change";
    case Finding::Kind::kRepeats:
      return "repeats";
    case Finding::Kind::kNoArrival:
      return "no_arrival";
    case Finding::Kind::kUnsortedArrival:
      return "unsorted_arrival";
    case Finding::Kind::kMixedUnits:
      return "mixed_units";
    case Finding::Kind::kConstantTimes:
      return "constant_times";
  }
  return "future";
}

struct DelayProfile::State {
  explicit State(ProfileOptions options) : core(std::move(options)) {}
  disorder::ProfileCore core;
};

DelayProfile::DelayProfile(ProfileOptions options) : state_(std::make_unique<State>(std::move(options))) {}
DelayProfile::~DelayProfile() = default;
DelayProfile::DelayProfile(DelayProfile&&) noexcept = default;
DelayProfile& DelayProfile::operator=(DelayProfile&&) noexcept = default;

PartitionId DelayProfile::partition(std::string_view name) {
  return state_->core.partition(name);
}

std::expected<void, std::string> DelayProfile::add(const DelayBatch& batch) {
  return state_->core.add(batch);
}

std::expected<ProfileReport, std::string> DelayProfile::finish() {
  auto finished = state_->core.finish({});
  if (!finished) return std::unexpected(std::move(finished).error());
  return std::move(finished->report);
}

}  // namespace wrackline
