// Ledger entries as text: JSON lines for programs, CSV for spreadsheets.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "ledger/ledger.h"

namespace wrackline::ledger {

enum class ExportFormat : uint8_t { kJsonl, kCsv };
Result<ExportFormat> parse_export_format(std::string_view name);  // jsonl | csv

// The CSV columns are the JSON keys of to_json in the same order, without payload_base64: CSV fields hold any
// byte. Times are RFC 3339, an absent time is empty, `key` and `windows` are JSON.
std::string entry_csv_header();  // with its line end, as every row
std::string entry_csv(const Entry& entry);

// Gives the chosen entries to `write` in seq order, in pieces of about 64 KiB that end with whole rows.
// Errors: those of the scan, and the first error that `write` returns.
Status export_entries(Ledger& ledger, const Filter& filter, ExportFormat format,
                      const std::function<Status(std::string_view)>& write);

}  // namespace wrackline::ledger
