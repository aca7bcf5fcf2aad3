// The options that say what the ledger keeps: masks of a source, retention of a view.
#pragma once

#include <span>

#include "sql/binder.h"

namespace wrackline::sql {

// ledger_mask, ledger_hash, ledger_key_file. Errors: a column that is not there, is named twice, or is kept
// in other places of the state directory, too: the times and the partition.
Status bind_ledger_masks(const Options& options, SourceSpec& source);

// ledger_retention, ledger_max_entries, ledger_max_bytes.
Status bind_ledger_retention(const Options& options, ViewSpec& view);

// How the value of an expression over the source's columns is hidden: as the most hidden column that it
// reads.
ledger::Hide hide_of(const expr::Expr& expression, const SourceSpec& source);

// Rows of views that other views read hide what was computed from hidden columns. Warns where a view computes
// with hidden columns: its results and checkpoints hold what the ledger does not.
void derive_ledger_masks(std::span<BoundSource> sources, std::span<const BoundView> views);

}  // namespace wrackline::sql
