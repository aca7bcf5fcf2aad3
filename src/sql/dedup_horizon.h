// For how long a source must know the ids of its records: as long as a view, or its ledger, can take one.
#pragma once

#include <optional>
#include <span>

#include "sql/binder.h"

namespace wrackline::sql {

// The greatest distance from an event time to the watermark at which the view still takes the record, into a
// result or into its ledger: the length of its window and, beyond its end, the allowed lateness or the
// ledger's horizon. nullopt: there is none, because the ledger has no horizon or sessions have no greatest
// length.
std::optional<Duration> longest_acceptance(const ViewSpec& view);

// Sets the horizon of each source that dedups and was not given one. Warns where one that was given is
// shorter than a view takes records, and where live input makes ids pile up without end.
void derive_dedup_horizons(std::span<BoundSource> sources, std::span<const BoundView> views);

}  // namespace wrackline::sql
