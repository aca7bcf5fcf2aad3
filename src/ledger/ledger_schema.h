// The tables of DIR/ledger.sqlite, as docs/formats/ledger.md describes them.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "sqlite/database.h"

namespace wrackline::ledger {

// Stored in the database header as PRAGMA user_version. A change that an older program would misread raises
// it.
inline constexpr int64_t kFormatVersion = 2;
// Stored as PRAGMA application_id: "Wrkl".
inline constexpr int64_t kApplicationId = 0x57726b6c;

std::string ledger_path(const std::string& directory);

// Makes the tables in an empty database, and brings those of an older format up to this one, in one
// transaction.
// Errors: kData when the database is not a ledger or of a newer format, naming both versions.
Status make_schema(sqlite::Database& database);
// Only looks. Returns the version that is there, at most kFormatVersion. Errors: as above.
Result<int64_t> check_schema(sqlite::Database& database);
// For a reader that may not write: views of the same names in the connection's own space, over tables that
// stay as version 1 made them. Nothing in the file changes.
Status show_version_1(sqlite::Database& database);

}  // namespace wrackline::ledger
