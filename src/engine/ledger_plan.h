// What the ledger is told about a job: what it hides and how long it keeps entries.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "ledger/ledger.h"
#include "sql/job.h"

namespace wrackline::engine {

// Reads the keys of hashes: the files that sources name, relative to `folder`, or the environment's
// WRACKLINE_LEDGER_KEY. Errors: a key that is not there, too short, or stands in the state directory.
Result<std::vector<ledger::MaskRule>> mask_rules(const sql::Job& job, const std::string& folder,
                                                 const std::string& state_directory);

std::vector<ledger::Retention> retention_rules(const sql::Job& job);

}  // namespace wrackline::engine
