// What people may do to entries after a run: waive them, or take away what the records said. Each change is
// one transaction with a line in the audit trail, which stays.
//
// Only while no run holds the state directory: a change takes the same lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ledger/ledger.h"

namespace wrackline::ledger {

enum class EditAction : uint8_t {
  kWaive,          // open entries become waived: looked at, and left out of the result on purpose
  kPurgePayloads,  // payload, key and detail are emptied; where, when and why stay
  kPurgeEntries,   // the entries go; their number stays in the trail
};
std::string_view to_string(EditAction action);  // waive | purge_payloads | purge_entries

struct Edit {
  EditAction action = EditAction::kWaive;
  Filter filter;                                     // `limit` is not looked at
  std::optional<int64_t> generation = std::nullopt;  // of the run; default: the newest
  std::string who;
  std::string because;
  bool dry_run = false;  // counts only; needs no lock, so it works while a run goes on
};

struct EditResult {
  int64_t run = 0;
  std::optional<int64_t> audit;  // the line in the trail; none for a dry run, or when nothing was to be done
  int64_t entries = 0;           // that were changed, or would be
  int64_t left_alone = 0;        // chosen by the filter, but not open any more, or purged already
  std::vector<AuditLine::Count> counts;
};

// Errors: kNotFound when there is no ledger, run, view or entry of that name or number; kUnavailable while
// another process holds the directory (names its pid); those of the database.
// Cost: reads the run's entries once. What is purged is overwritten in the file.
Result<EditResult> edit_entries(const std::string& directory, const Edit& edit);

// The filter in words: 'view "clicks", reason late'; "all entries".
std::string in_words(const Filter& filter);

}  // namespace wrackline::ledger
