#include "sql/dedup_horizon.h"

#include <algorithm>

#include "base/text.h"
#include "data/time_text.h"

namespace wrackline::sql {
namespace {

constexpr int64_t kDayUs = 86'400'000'000;
constexpr int64_t kMonthDaysMax = 31;

// No window of the view is longer. Longer than needed is safe: ids are then known for longer.
std::optional<Duration> longest_window(const ViewSpec& view) {
  if (view.session) {
    if (!view.session->max_length) return std::nullopt;
    return *view.session->max_length + view.session->gap;
  }
  const WindowLength& size = view.windows.size;
  int64_t length_us = saturating_add(size.micros, int64_t{size.months} * kMonthDaysMax * kDayUs);
  // A zone's clock may skip a whole day, or show an hour twice.
  if (view.windows.zone != nullptr || size.months > 0) length_us = saturating_add(length_us, kDayUs);
  return Duration(length_us);
}

bool is_dropped(const ViewSpec& view, Reason reason) {
  const auto found = view.drop.find(reason);
  return found != view.drop.end() && found->second;
}

std::string text_of(const std::optional<Duration>& span) {
  return span ? span_text(span->micros()) : std::string("without end");
}

}  // namespace

std::optional<Duration> longest_acceptance(const ViewSpec& view) {
  const std::optional<Duration> window = longest_window(view);
  if (!window) return std::nullopt;
  const Duration corrects = view.late == LatePolicy::kCorrect ? view.allowed_lateness : Duration();
  const bool ledgers = view.late != LatePolicy::kDrop &&
                       !(is_dropped(view, Reason::kLate) && is_dropped(view, Reason::kLateAfterIdle));
  if (!ledgers) return *window + corrects;
  if (!view.ledger_horizon) return std::nullopt;
  return *window + std::max(corrects, *view.ledger_horizon);
}

void derive_dedup_horizons(std::span<BoundSource> sources, std::span<const BoundView> views) {
  for (size_t i = 0; i < sources.size(); ++i) {
    BoundSource& source = sources[i];
    if (!source.spec.dedup) continue;
    const bool given = source.options.has("dedup_horizon");
    std::optional<Duration>& horizon = source.spec.dedup->horizon;
    if (!given) horizon = Duration();
    for (const BoundView& view : views) {
      if (view.spec.source != i) continue;
      const std::optional<Duration> needed = longest_acceptance(view.spec);
      if (!given) {
        horizon = horizon && needed ? std::optional(std::max(*horizon, *needed)) : std::nullopt;
      } else if (horizon && needed && *horizon < *needed) {
        source.warnings.push_back(format(
            "option \"dedup_horizon\" of source \"{}\" ({}) is shorter than view \"{}\" takes records ({}): "
            "older ones are dropped as past_horizon",
            source.spec.name, text_of(horizon), view.spec.name, text_of(needed)));
      }
    }
    if (!given && !horizon && source.spec.follow) {
      source.warnings.push_back(
          format("source \"{}\" keeps the ids of dedup_key for ever, and its input has no end: set "
                 "dedup_horizon, or "
                 "ledger_horizon in its views, to bound the memory",
                 source.spec.name));
    }
  }
}

}  // namespace wrackline::sql
