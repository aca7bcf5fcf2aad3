#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "data/time_text.h"
#include "env/terminal.h"
#include "env/user.h"
#include "ledger/edit.h"
#include "ledger/export.h"
#include "ledger/ledger.h"

namespace wrackline::cli {
namespace {

Result<ledger::Filter> filter_of(const LedgerCommand& command) {
  ledger::Filter filter;
  if (!command.view.empty()) filter.view = command.view;
  filter.seq = command.seq;
  filter.limit = command.limit;
  if (!command.window.empty()) {
    int64_t start_us = 0;
    if (parse_timestamp(command.window, TimeZone::utc(), start_us) != TimeParse::kOk) {
      return fail(ErrorCode::kUsage, format("--window \"{}\" is not a time", command.window), {},
                  "Give the start of a window: --window 2024-05-01T12:00:00Z");
    }
    filter.window_start_us = start_us;
  }
  if (!command.reason.empty()) {
    for (size_t i = 0; i < kReasonCount; ++i) {
      if (to_string(static_cast<Reason>(i)) == command.reason) filter.reason = static_cast<Reason>(i);
    }
    if (!filter.reason) {
      std::string known;
      for (size_t i = 0; i < kReasonCount; ++i) {
        known += format("{}{}", i == 0 ? "" : ", ", to_string(static_cast<Reason>(i)));
      }
      return fail(ErrorCode::kUsage, format("--reason \"{}\" is not a reason", command.reason), {},
                  format("The reasons are {}.", known));
    }
  }
  return filter;
}

std::string time_or_dash(const std::optional<int64_t>& time_us) {
  return time_us ? timestamp_text(*time_us) : "-";
}

// One line an entry. The columns are as wide as most entries need; a longer value pushes its line, never
// loses a part.
std::string entry_line(const ledger::Entry& entry) {
  const std::string window = entry.windows.empty() ? "-" : timestamp_text(entry.windows[0].start_us);
  const std::string late = entry.windows.empty() ? "-" : span_text(entry.windows[0].late_by_us);
  return format("{:>6}  {:<12}  {:<20}  {:<14}  {:<24}  {:<20}  {:>14}  {}:{}{}\n", entry.seq,
                to_string(entry.reason), printable(entry.view, 40), printable(entry.key, 40),
                time_or_dash(entry.event_time_us), window, late, printable(entry.file, 60), entry.line,
                (entry.state == "open" ? "" : "  [" + entry.state + "]") +
                    (entry.detail.empty() ? "" : "  " + printable(entry.detail, 200)));
}

std::string entry_page(const ledger::Entry& entry) {
  std::string text = format("entry {} ({})\n", entry.seq, entry.state);
  const auto line = [&](std::string_view name, std::string_view value) {
    text += format("  {:<10}{}\n", name, value);
  };
  line("reason", to_string(entry.reason));
  if (!entry.detail.empty()) line("detail", printable(entry.detail, 1000));
  line("view", entry.view);
  line("source", entry.source);
  line("partition", printable(entry.partition, 200));
  line("where", format("file {}, line {}, offset {}", printable(entry.file, 200), entry.line, entry.offset));
  line("key", printable(entry.key, 1000));
  line("event", time_or_dash(entry.event_time_us));
  line("arrival", time_or_dash(entry.arrival_time_us));
  for (const ledger::MissedWindow& window : entry.windows) {
    line("window", format("[{}, {}), late by {}", timestamp_text(window.start_us),
                          timestamp_text(window.end_us), span_text(window.late_by_us)));
  }
  line("watermark", format("{} in tick {}", timestamp_text(entry.watermark_us), entry.tick));
  switch (entry.payload_state) {
    case ledger::PayloadState::kWhole:
      line("payload", printable(entry.payload, 4096));
      break;
    case ledger::PayloadState::kMasked:
      line("payload", "(masked) " + printable(entry.payload, 4096));
      break;
    case ledger::PayloadState::kWithheld:
      line("payload", "(withheld: columns of its source are masked)");
      break;
    case ledger::PayloadState::kPurged:
      line("payload", "(purged)");
      break;
  }
  if (entry.audit) line("changed", format("see line {} of `wrackline ledger audit`", *entry.audit));
  return text;
}

Status list(ledger::Ledger& ledger, const ledger::Filter& filter, const LedgerCommand& command) {
  if (command.json) {
    std::string text = "[";
    WRACKLINE_TRY(ledger.scan(filter, [&](const ledger::Entry& entry) {
      text += text == "[" ? "\n" : ",\n";
      text += ledger::to_json(entry);
      if (text.size() > (1U << 20)) {
        print(text);
        text = " ";  // not "[": the first entry is out
      }
      return true;
    }));
    print(text + "]\n");
    return {};
  }
  WRACKLINE_ASSIGN(const ledger::RunInfo info, ledger.info());
  std::string text = format("ledger of {}, generation {} ({}): {} entries\n", info.job, info.generation,
                            info.status, with_thousands(info.entries));
  if (info.retired > 0)
    text += format("  {:>10}  more were removed by retention (wrackline ledger audit)\n",
                   with_thousands(info.retired));
  if (info.purged > 0)
    text += format("  {:>10}  more were purged (wrackline ledger audit)\n", with_thousands(info.purged));
  WRACKLINE_ASSIGN(const auto summary, ledger.summary());
  for (const auto& line : summary) {
    std::string states;
    if (line.waived > 0) states += format(", {} of them waived", with_thousands(line.waived));
    if (line.applied > 0) states += format(", {} of them applied", with_thousands(line.applied));
    text += format("  {:>10}  {:<16} in view {}{}\n", with_thousands(line.count), to_string(line.reason),
                   line.view, states);
  }
  if (info.entries > 0) {
    text += format("\n{:>6}  {:<12}  {:<20}  {:<14}  {:<24}  {:<20}  {:>14}  {}\n", "seq", "reason", "view",
                   "key", "event time", "window", "late by", "file:line");
  }
  ledger::Filter shown = filter;
  const bool all = filter.limit || !env::is_terminal(env::StandardStream::kOutput);
  if (!all) shown.limit = 50;
  int64_t lines = 0;
  WRACKLINE_TRY(ledger.scan(shown, [&](const ledger::Entry& entry) {
    text += entry_line(entry);
    ++lines;
    if (text.size() > (1U << 20)) {
      print(text);
      text.clear();
    }
    return true;
  }));
  if (!all && lines == 50)
    text += "        … the first 50; more with --limit N, all with --json or `ledger export`\n";
  print(text);
  return {};
}

Status show(ledger::Ledger& ledger, ledger::Filter filter, const LedgerCommand& command) {
  bool found = false;
  std::string text;
  WRACKLINE_TRY(ledger.scan(filter, [&](const ledger::Entry& entry) {
    found = true;
    text += command.json ? ledger::to_json(entry) + "\n" : entry_page(entry);
    return true;
  }));
  if (!found) {
    return fail(ErrorCode::kNotFound, format("the ledger has no entry {}", *filter.seq), {},
                "`wrackline ledger list` shows the numbers of entries.");
  }
  print(text);
  return {};
}

std::string_view action_in_words(ledger::EditAction action) {
  switch (action) {
    case ledger::EditAction::kWaive:
      return "waived";
    case ledger::EditAction::kPurgePayloads:
      return "emptied";
    case ledger::EditAction::kPurgeEntries:
      return "removed";
  }
  return {};
}

std::string change_text(const ledger::Edit& edit, const ledger::EditResult& result) {
  std::string text =
      format("{} {} {}{} ({})\n", with_thousands(result.entries), result.entries == 1 ? "entry" : "entries",
             edit.dry_run ? "would be " : "", action_in_words(edit.action), ledger::in_words(edit.filter));
  for (const ledger::AuditLine::Count& count : result.counts) {
    text += format("  {:>10}  {:<16} in view {}\n", with_thousands(count.entries), to_string(count.reason),
                   count.view);
  }
  if (result.left_alone > 0) {
    text += format("  {:>10}  left alone: {}\n", with_thousands(result.left_alone),
                   edit.action == ledger::EditAction::kWaive ? "not open any more" : "purged already");
  }
  if (result.audit) text += format("line {} of the audit trail, by {}\n", *result.audit, edit.who);
  return text;
}

std::string change_json(const ledger::Edit& edit, const ledger::EditResult& result) {
  std::string json = format(
      "{{\"action\":{},\"dry_run\":{},\"run\":{},\"audit\":{},\"who\":{},\"because\":{},\"chosen\":{},"
      "\"entries\":{},\"left_alone\":{},\"counts\":[",
      json_quoted(to_string(edit.action)), edit.dry_run, result.run,
      result.audit ? format("{}", *result.audit) : "null", json_quoted(edit.who), json_quoted(edit.because),
      json_quoted(ledger::in_words(edit.filter)), result.entries, result.left_alone);
  for (const ledger::AuditLine::Count& count : result.counts) {
    json += format("{}{{\"view\":{},\"reason\":\"{}\",\"entries\":{},\"payload_bytes\":{}}}",
                   json.ends_with('[') ? "" : ",", json_quoted(count.view), to_string(count.reason),
                   count.entries, count.payload_bytes);
  }
  return json + "]}\n";
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

Status change(const LedgerCommand& command, ledger::Filter filter) {
  const bool narrowed = filter.view || filter.window_start_us || filter.reason || filter.seq;
  if (is_blank(command.because)) {
    return fail(ErrorCode::kUsage, "--because is empty", {},
                "Say why in a sentence: it is what the audit trail shows to those who ask later.");
  }
  if (!narrowed && !command.all) {
    return fail(
        ErrorCode::kUsage, format("`ledger {}` needs to know which entries", command.action), {},
        "Choose with --view, --window, --reason or --seq; or take --all. --dry-run counts them first.");
  }
  if (narrowed && command.all) {
    return fail(ErrorCode::kUsage, "--all contradicts the filter beside it", {},
                "Leave out --all, or the filter.");
  }
  ledger::Edit edit;
  edit.action = command.action == "waive" ? ledger::EditAction::kWaive
                : command.entries         ? ledger::EditAction::kPurgeEntries
                                          : ledger::EditAction::kPurgePayloads;
  edit.filter = std::move(filter);
  edit.generation = command.generation;
  edit.who = env::user_name();
  edit.because = command.because;
  edit.dry_run = command.dry_run;
  WRACKLINE_ASSIGN(const ledger::EditResult result, ledger::edit_entries(command.state, edit));
  print(command.json ? change_json(edit, result) : change_text(edit, result));
  return {};
}

std::string audit_text(const ledger::AuditLine& line) {
  const bool span = line.ended_us != line.began_us;
  std::string text = format("{:>4}  {}{}  {}  run {}: {} {} ({})\n", line.id, timestamp_text(line.began_us),
                            span ? " to " + timestamp_text(line.ended_us) : "", line.action, line.run,
                            with_thousands(line.entries()), line.entries() == 1 ? "entry" : "entries",
                            printable(line.chosen, 400));
  for (const ledger::AuditLine::Count& count : line.counts) {
    text += format("{:>16}  {:<16} in view {}\n", with_thousands(count.entries), to_string(count.reason),
                   printable(count.view, 80));
  }
  return text + format("      by {}: {}\n", printable(line.who, 80), printable(line.because, 1000));
}

Status audit(ledger::Ledger& ledger, const LedgerCommand& command) {
  int64_t lines = 0;
  std::string text = command.json ? "[" : "";
  WRACKLINE_TRY(ledger.audit([&](const ledger::AuditLine& line) {
    if (command.json) text += lines == 0 ? "\n" : ",\n";
    text += command.json ? ledger::to_json(line) : audit_text(line);
    ++lines;
    return true;
  }));
  if (command.json) {
    text += "]\n";
  } else if (lines == 0) {
    text = "no entry was ever changed or removed\n";
  }
  print(text);
  return {};
}

}  // namespace

int ledger(const LedgerCommand& command) {
  auto filter = filter_of(command);
  if (!filter) return report(filter.error());
  if (command.action == "waive" || command.action == "purge") {
    const Status changed = change(command, std::move(*filter));
    return changed ? kDone : report(changed.error());
  }
  auto opened = ledger::Ledger::open_to_read(command.state, command.generation);
  if (!opened) return report(opened.error());
  Status status;
  if (command.action == "list") {
    status = list(**opened, *filter, command);
  } else if (command.action == "show") {
    status = show(**opened, *filter, command);
  } else if (command.action == "audit") {
    status = audit(**opened, command);
  } else {
    auto format = ledger::parse_export_format(command.format);
    if (!format) return report(format.error());
    status = ledger::export_entries(**opened, *filter, *format, [](std::string_view text) {
      print(text);
      return Status();
    });
  }
  return status ? kDone : report(status.error());
}

}  // namespace wrackline::cli
