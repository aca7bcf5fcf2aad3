// Entries as JSON and CSV.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "data/time_text.h"
#include "ledger/export.h"
#include "ledger/ledger.h"

namespace wrackline::ledger {
namespace {

constexpr size_t kPieceBytes = size_t{64} << 10;

void append_number(std::string& out, int64_t value) {
  fmt::format_to(std::back_inserter(out), "{}", value);
}

void append_json_time(std::string& out, std::optional<int64_t> micros) {
  if (!micros) {
    out += "null";
    return;
  }
  out += '"';
  append_timestamp(out, *micros);
  out += '"';
}

void append_windows(std::string& out, const std::vector<MissedWindow>& windows) {
  out += '[';
  for (const MissedWindow& window : windows) {
    if (&window != windows.data()) out += ',';
    out += "{\"start\":";
    append_json_time(out, window.start_us);
    out += ",\"end\":";
    append_json_time(out, window.end_us);
    out += ",\"late_by_us\":";
    append_number(out, window.late_by_us);
    out += '}';
  }
  out += ']';
}

// RFC 4648, with padding.
void append_base64(std::string& out, std::string_view bytes) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (size_t i = 0; i < 4; ++i) out += i <= count ? kAlphabet[group >> (18 - 6 * i) & 63] : '=';
  }
}

void append_csv_text(std::string& out, std::string_view text) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  if (text.empty()) return;
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void append_csv_time(std::string& out, std::optional<int64_t> micros) {
  if (micros) append_timestamp(out, *micros);
}

void append_csv(std::string& out, const Entry& entry) {
  const auto text = [&out](std::string_view value) { append_csv_text(out, value), out += ','; };
  const auto number = [&out](int64_t value) { append_number(out, value), out += ','; };
  const auto time = [&out](std::optional<int64_t> micros) { append_csv_time(out, micros), out += ','; };
  number(entry.seq);
  text(entry.view);
  text(entry.source);
  text(entry.partition);
  number(entry.offset);
  text(entry.key.empty() ? "null" : entry.key);
  time(entry.event_time_us);
  time(entry.arrival_time_us);
  text(to_string(entry.reason));
  std::string windows;
  append_windows(windows, entry.windows);
  text(windows);
  time(entry.watermark_us);
  number(entry.tick);
  text(entry.state);
  text(entry.payload);
  text(entry.file);
  number(entry.line);
  text(entry.detail);
  text(to_string(entry.payload_state));
  if (entry.audit) append_number(out, *entry.audit);
  out += '\n';
}

}  // namespace

std::string to_json(const Entry& entry) {
  std::string out;
  out.reserve(320 + entry.payload.size());
  const auto name = [&out](std::string_view key) {
    out += out.empty() ? "{\"" : ",\"";
    out += key;
    out += "\":";
  };
  const auto text = [&](std::string_view key, std::string_view value) {
    name(key), append_json_quoted(out, value);
  };
  const auto number = [&](std::string_view key, int64_t value) { name(key), append_number(out, value); };
  const auto time = [&](std::string_view key, std::optional<int64_t> micros) {
    name(key), append_json_time(out, micros);
  };
  number("seq", entry.seq);
  text("view", entry.view);
  text("source", entry.source);
  text("partition", entry.partition);
  number("offset", entry.offset);
  name("key");
  out += entry.key.empty() ? "null" : entry.key;
  time("event_time", entry.event_time_us);
  time("arrival_time", entry.arrival_time_us);
  text("reason", to_string(entry.reason));
  name("windows");
  append_windows(out, entry.windows);
  time("watermark", entry.watermark_us);
  number("tick", entry.tick);
  text("state", entry.state);
  text("payload", entry.payload);
  if (!is_valid_utf8(
          entry.payload)) {  // the text above shows U+FFFD for what is no UTF-8: here is every byte
    name("payload_base64");
    out += '"';
    append_base64(out, entry.payload);
    out += '"';
  }
  text("file", entry.file);
  number("line", entry.line);
  text("detail", entry.detail);
  text("payload_state", to_string(entry.payload_state));
  name("audit");
  if (entry.audit) {
    append_number(out, *entry.audit);
  } else {
    out += "null";
  }
  if (entry.applied_version) number("applied_version", *entry.applied_version);
  return out += '}';
}

Result<ExportFormat> parse_export_format(std::string_view name) {
  if (name == "jsonl") return ExportFormat::kJsonl;
  if (name == "csv") return ExportFormat::kCsv;
  return fail(ErrorCode::kInvalid, format("unknown export format \"{}\"", printable(name)), {},
              "The ledger exports as \"jsonl\" or \"csv\".");
}

std::string entry_csv_header() {
  return "seq,view,source,partition,offset,key,event_time,arrival_time,reason,windows,watermark,tick,state,"
         "payload,file,"
         "line,detail,payload_state,audit\n";
}

std::string entry_csv(const Entry& entry) {
  std::string out;
  append_csv(out, entry);
  return out;
}

Status export_entries(Ledger& ledger, const Filter& filter, ExportFormat format,
                      const std::function<Status(std::string_view)>& write) {
  std::string piece = format == ExportFormat::kCsv ? entry_csv_header() : std::string();
  Status written;
  WRACKLINE_TRY(ledger.scan(filter, [&](const Entry& entry) {
    if (format == ExportFormat::kCsv) {
      append_csv(piece, entry);
    } else {
      piece += to_json(entry);
      piece += '\n';
    }
    if (piece.size() < kPieceBytes) return true;
    written = write(piece);
    piece.clear();
    return written.has_value();
  }));
  WRACKLINE_TRY(std::move(written));
  if (!piece.empty()) return write(piece);
  return {};
}

}  // namespace wrackline::ledger
