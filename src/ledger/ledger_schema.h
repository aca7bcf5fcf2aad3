// The tables of DIR/ledger.sqlite, as docs/formats/ledger.md describes them.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "sqlite/database.h"

namespace wrackline::ledger {

// Stored in the database header as PRAGMA user_version. A change that an older program would misread raises
// it.
inline constexpr int64_t kFormatVersion = 1;
// Stored as PRAGMA application_id: "Wrkl".
inline constexpr int64_t kApplicationId = 0x57726b6c;

std::string ledger_path(const std::string& directory);

// Makes the tables in an empty database; in another one only checks them.
// Errors: kData when the database is not a ledger or of a newer format, naming both versions.
Status make_schema(sqlite::Database& database);
Status check_schema(sqlite::Database& database);

}  // namespace wrackline::ledger
