#include <string>
#include <string_view>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "data/time_text.h"
#include "engine/explanation.h"

namespace wrackline::cli {
namespace {

using engine::Explanation;
using Judgement = Explanation::Window::Judgement;
using MoverKind = Explanation::Mover::Kind;

std::string_view judgement_text(Judgement judgement) {
  switch (judgement) {
    case Judgement::kOnTime:
      return "on_time";
    case Judgement::kCorrects:
      return "corrects";
    case Judgement::kMissed:
      return "missed";
  }
  return {};
}

// "8 s behind it", "at it", "3 s ahead of it".
std::string distance_text(int64_t event_us, int64_t watermark_us) {
  if (watermark_us == kMicrosMin) return "nothing was late yet";
  if (event_us == watermark_us) return "the record's own time is exactly there, which is on time";
  const bool behind = event_us < watermark_us;
  const int64_t span =
      behind ? saturating_subtract(watermark_us, event_us) : saturating_subtract(event_us, watermark_us);
  return format("the record's own time is {} {} it", span_text(span), behind ? "behind" : "ahead of");
}

std::string mover_text(const Explanation::Mover& mover) {
  const std::string partition = printable(mover.partition, 80);
  switch (mover.kind) {
    case MoverKind::kNothing:
      return "nothing: no record had moved time before it";
    case MoverKind::kRecord:
      return format("{}:{} (partition \"{}\", offset {}) with event time {}, in tick {}",
                    printable(mover.file, 80), mover.line, partition, mover.offset,
                    timestamp_text(mover.event_us), mover.tick);
    case MoverKind::kIdle:
      return format("partition \"{}\" falling idle, after tick {}", partition, mover.tick);
    case MoverKind::kEnded:
      return format("the end of partition \"{}\", after tick {}", partition, mover.tick);
    case MoverKind::kWallClock:
      return format("the wall clock (idle_close), after tick {}", mover.tick);
  }
  return {};
}

std::string view_text(const Explanation::View& view, const std::string& state) {
  std::string text = format("view \"{}\": {}", view.name, view.fate);
  if (view.reason) text += format(", {}", to_string(*view.reason));
  if (view.corrects) text += ", corrects a published result";
  text += '\n';
  const auto line = [&](std::string_view name, std::string_view value) {
    text += format("  {:<11}{}\n", name, value);
  };
  if (!view.detail.empty()) line("detail", printable(view.detail, 1000));
  for (const Explanation::Window& window : view.windows) {
    std::string late;
    if (window.judgement != Judgement::kOnTime) late = format(": late by {}", span_text(window.late_by_us));
    line("window", format("[{}, {}) {}{}", timestamp_text(window.start_us), timestamp_text(window.end_us),
                          judgement_text(window.judgement), late));
  }
  if (view.session && view.windows.empty()) line("window", "a session: its edges depend on other records");
  if (view.entry)
    line("entry", format("{} (wrackline ledger show {} --state {})", *view.entry, *view.entry, state));
  return text;
}

std::string page(const Explanation& made, const std::string& state) {
  std::string text = format("record at offset {} of partition \"{}\" of source \"{}\"\n", made.offset,
                            printable(made.partition, 200), made.source);
  const auto line = [&](std::string_view name, std::string_view value) {
    text += format("  {:<11}{}\n", name, value);
  };
  line("where", format("{}:{}", printable(made.file, 200), made.line));
  line("payload", printable(made.payload, 1000));
  line("event", made.event_us ? timestamp_text(*made.event_us) : "none could be read");
  if (made.arrival_us) {
    std::string arrival = timestamp_text(*made.arrival_us);
    if (made.arrival_is_reading) arrival += " (when it was read: it has no arrival time of its own)";
    line("arrival", arrival);
  }
  line("tick", format("{} of generation {}", made.tick, made.generation));
  std::string watermark = timestamp_text(made.watermark_us);
  if (made.watermark_us != kMicrosMin) {
    watermark += format(" = {} - {} of delay", timestamp_text(made.progress_us), span_text(made.delay_us));
  }
  if (made.event_us) watermark += "; " + distance_text(*made.event_us, made.watermark_us);
  line("watermark", watermark);
  if (!made.holder) {
    line("held by", "nobody: no partition was active");
  } else if (made.holder_progress_us == kMicrosMin) {
    line("held by", format("partition \"{}\", which had not spoken", printable(*made.holder, 80)));
  } else {
    line("held by", format("partition \"{}\", whose newest event was {}", printable(*made.holder, 80),
                           timestamp_text(made.holder_progress_us)));
  }
  line("moved by", mover_text(made.mover));
  if (made.moved_progress) line("moves", "the watermark itself, for the records after it");
  for (const Explanation::View& view : made.views) text += view_text(view, state);
  return text;
}

std::string time_json(std::optional<int64_t> time_us) {
  return time_us ? json_quoted(timestamp_text(*time_us)) : "null";
}

std::string mover_json(const Explanation::Mover& mover) {
  static constexpr std::string_view kKinds[] = {"nothing", "record", "idle", "ended", "wall_clock"};
  std::string json = format("{{\"kind\":\"{}\"", kKinds[static_cast<size_t>(mover.kind)]);
  if (!mover.partition.empty()) json += format(",\"partition\":{}", json_quoted(mover.partition));
  if (mover.kind == MoverKind::kRecord) {
    json += format(",\"file\":{},\"offset\":{},\"line\":{},\"event_time\":{}", json_quoted(mover.file),
                   mover.offset, mover.line, time_json(mover.event_us));
  }
  if (mover.kind != MoverKind::kNothing) json += format(",\"tick\":{}", mover.tick);
  return json + "}";
}

std::string view_json(const Explanation::View& view) {
  std::string json = format(
      "{{\"view\":{},\"fate\":\"{}\",\"reason\":{},\"detail\":{},\"corrects\":{},"
      "\"entry\":{},\"windows\":[",
      json_quoted(view.name), view.fate, view.reason ? json_quoted(to_string(*view.reason)) : "null",
      json_quoted(view.detail), view.corrects, view.entry ? format("{}", *view.entry) : "null");
  for (const Explanation::Window& window : view.windows) {
    json += format("{}{{\"start\":{},\"end\":{},\"judgement\":\"{}\",\"late_by_us\":{}}}",
                   json.ends_with('[') ? "" : ",", time_json(window.start_us), time_json(window.end_us),
                   judgement_text(window.judgement), window.late_by_us);
  }
  return json + "]}";
}

std::string document(const Explanation& made) {
  std::string json = format(
      "{{\"source\":{},\"partition\":{},\"file\":{},\"offset\":{},\"line\":{},\"payload\":{},\"event_time\":{"
      "},"
      "\"arrival_time\":{},\"arrival_is_reading\":{},\"generation\":{},\"tick\":{},\"read_at\":{},"
      "\"watermark\":{},\"progress\":{},\"watermark_delay_us\":{},\"held_by\":{},\"moved_by\":{},\"moves\":{}"
      ","
      "\"views\":[",
      json_quoted(made.source), json_quoted(made.partition), json_quoted(made.file), made.offset, made.line,
      json_quoted(made.payload), time_json(made.event_us), time_json(made.arrival_us),
      made.arrival_is_reading, made.generation, made.tick, time_json(made.wall_us),
      time_json(made.watermark_us), time_json(made.progress_us), made.delay_us,
      made.holder ? format("{{\"partition\":{},\"progress\":{}}}", json_quoted(*made.holder),
                           time_json(made.holder_progress_us))
                  : "null",
      mover_json(made.mover), made.moved_progress);
  for (const Explanation::View& view : made.views) json += (json.ends_with('[') ? "" : ",") + view_json(view);
  return json + "]}\n";
}

}  // namespace

int explain(const ExplainCommand& command) {
  engine::RecordPlace place{command.source, command.partition, command.file, command.offset.value_or(0)};
  if (command.entry) {
    auto found = engine::place_of_entry(command.state, *command.entry);
    if (!found) return report(found.error());
    place = std::move(*found);
  } else if (command.partition.empty() || !command.offset) {
    return report({.code = ErrorCode::kUsage,
                   .message = "no record is named",
                   .hint = "Give --partition and --offset, or --entry with a number of the ledger."});
  }
  const auto made = engine::explain_record(command.state, place);
  if (!made) return report(made.error());
  for (const std::string& text : made->notices) notice(text);
  print(command.json ? document(*made) : page(*made, command.state));
  return kDone;
}

}  // namespace wrackline::cli
