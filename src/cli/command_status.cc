#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/monitor_file.h"
#include "data/time_text.h"
#include "env/clock.h"
#include "ledger/ledger.h"
#include "runtime/tick_log.h"

namespace wrackline::cli {
namespace {

using runtime::TickLogSummary;

struct StateOfRun {
  TickLogSummary log;
  ledger::RunInfo run;
  std::vector<ledger::Ledger::Summary> ledgered;
  std::optional<MonitorFigures> monitor;  // of this generation
  int64_t monitor_age_us = 0;
};

Result<StateOfRun> read_state(const std::string& directory) {
  StateOfRun state;
  WRACKLINE_ASSIGN(state.log, runtime::summarize_tick_log(directory));
  WRACKLINE_ASSIGN(auto ledger, ledger::Ledger::open_to_read(directory, state.log.header.run));
  WRACKLINE_ASSIGN(state.run, ledger->info());
  WRACKLINE_ASSIGN(state.ledgered, ledger->summary());
  // Without them there is still much to say.
  auto monitor = read_monitor_figures(directory);
  if (!monitor) state.log.notices.push_back("no figures of the monitor: " + monitor.error().to_string());
  if (monitor && *monitor && (*monitor)->generation == state.run.generation) {
    state.monitor = std::move(**monitor);
    state.monitor_age_us = std::max<int64_t>(
        0, saturating_subtract(env::process_clock().now().micros(), state.monitor->wall_us));
  }
  return state;
}

// To the second when it is some: nobody reads microseconds of an age.
std::string age_text(int64_t age_us) {
  constexpr int64_t kSecondUs = 1'000'000;
  return age_us < kSecondUs ? "just now" : span_text(age_us / kSecondUs * kSecondUs) + " ago";
}

std::string monitor_page(const MonitorFigures& figures, int64_t age_us) {
  std::string text;
  for (const runtime::MonitorReport& source : figures.sources) {
    text += monitor_text(source);
    text += format("  {:<11}{}\n", "measured", age_text(age_us));
    for (const runtime::MonitorReport::Completeness& one : source.completeness)
      text += format("  {:<11}{}\n", &one == &source.completeness.front() ? "arrived" : "",
                     completeness_text(one));
  }
  return text;
}

// Names of sources are not in the log: the first splits tell what is meant.
std::string splits_text(const TickLogSummary::Source& source) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(source.splits.size(), 3); ++i)
    text += format("{}\"{}\"", i == 0 ? "" : ", ", printable(source.splits[i], 60));
  if (source.splits.size() > 3) text += format(" and {} more", source.splits.size() - 3);
  return text;
}

int64_t count_of(const TickLogSummary::Source& source, runtime::TickEvent::What what) {
  return std::ranges::count(source.states, static_cast<uint8_t>(what));
}

std::string holder_text(const TickLogSummary::Source& source) {
  if (!source.holder || *source.holder >= source.partitions.size())
    return source.ended ? "nobody: the input has ended" : "nobody: no partition is active";
  return format("partition \"{}\"{}", printable(source.partitions[*source.holder].name, 80),
                source.progress_us == kMicrosMin ? ", which has not spoken" : "");
}

std::string monitor_document(const MonitorFigures& figures, int64_t age_us) {
  std::string json =
      format("{{\"at\":{},\"age_us\":{},\"sources\":[", json_quoted(timestamp_text(figures.wall_us)), age_us);
  for (const runtime::MonitorReport& source : figures.sources)
    json += (json.ends_with('[') ? "" : ",") + monitor_json(source);
  return json + "]}";
}

std::string page(const StateOfRun& state) {
  std::string text =
      format("{}, generation {} ({})\n", state.log.header.job_path, state.run.generation, state.run.status);
  const auto line = [&](std::string_view name, std::string_view value) {
    text += format("  {:<11}{}\n", name, value);
  };
  line("ticks", format("{}; tick log of {} entries, {} bytes", with_thousands(state.log.ticks),
                       with_thousands(static_cast<int64_t>(state.log.entries)),
                       with_thousands(static_cast<int64_t>(state.log.bytes))));
  line("last tick", timestamp_text(state.log.last_wall_us));
  for (const TickLogSummary::Source& source : state.log.sources) {
    text += format("source of {}\n", splits_text(source));
    line("records", with_thousands(source.records));
    std::string watermark = timestamp_text(source.watermark_us);
    if (source.progress_us != kMicrosMin && source.progress_us != kMicrosMax)
      watermark +=
          format(" = {} - {} of delay", timestamp_text(source.progress_us), span_text(source.delay_us));
    line("watermark", watermark + (source.flushed ? "; its end closed every window" : ""));
    line("held by", holder_text(source));
    const int64_t idle = count_of(source, runtime::TickEvent::What::kIdle);
    const int64_t ended = count_of(source, runtime::TickEvent::What::kEnded);
    const int64_t paused = std::ranges::count(source.paused, true);
    std::string partitions = with_thousands(static_cast<int64_t>(source.partitions.size()));
    if (idle > 0) partitions += format(", {} fell idle", with_thousands(idle));
    if (ended > 0) partitions += format(", {} ended", with_thousands(ended));
    if (paused > 0) partitions += format(", {} files paused (max_drift)", with_thousands(paused));
    line("partitions", partitions);
  }
  if (state.monitor) text += monitor_page(*state.monitor, state.monitor_age_us);
  text += format("ledger\n");
  line("entries", with_thousands(state.run.entries));
  for (const auto& count : state.ledgered)
    line("",
         format("{} {} in view \"{}\"", with_thousands(count.count), to_string(count.reason), count.view));
  return text;
}

std::string document(const StateOfRun& state) {
  std::string json = format(
      "{{\"job\":{},\"generation\":{},\"status\":{},\"ticks\":{},\"log_entries\":{},\"log_bytes\":{},"
      "\"last_tick\":{},\"sources\":[",
      json_quoted(state.log.header.job_path), state.run.generation, json_quoted(state.run.status),
      state.log.ticks, state.log.entries, state.log.bytes,
      json_quoted(timestamp_text(state.log.last_wall_us)));
  for (const TickLogSummary::Source& source : state.log.sources) {
    json += json.ends_with('[') ? "{\"splits\":[" : ",{\"splits\":[";
    for (const std::string& split : source.splits)
      json += format("{}{}", json.ends_with('[') ? "" : ",", json_quoted(split));
    json += format(
        "],\"records\":{},\"watermark\":{},\"progress\":{},\"watermark_delay_us\":{},\"held_by\":{},"
        "\"partitions\":{},\"idle\":{},\"ended\":{},\"paused\":{},\"flushed\":{}}}",
        source.records, json_quoted(timestamp_text(source.watermark_us)),
        json_quoted(timestamp_text(source.progress_us)), source.delay_us,
        source.holder && *source.holder < source.partitions.size()
            ? json_quoted(source.partitions[*source.holder].name)
            : "null",
        source.partitions.size(), count_of(source, runtime::TickEvent::What::kIdle),
        count_of(source, runtime::TickEvent::What::kEnded), std::ranges::count(source.paused, true),
        source.flushed);
  }
  json += "],\"monitor\":";
  json += state.monitor ? monitor_document(*state.monitor, state.monitor_age_us) : "null";
  json += format(",\"ledger\":{{\"entries\":{},\"by_reason\":[", state.run.entries);
  for (const auto& count : state.ledgered) {
    json += format("{}{{\"view\":{},\"reason\":\"{}\",\"count\":{}}}", json.ends_with('[') ? "" : ",",
                   json_quoted(count.view), to_string(count.reason), count.count);
  }
  return json + "]}}\n";
}

}  // namespace

int status(const StatusCommand& command) {
  const auto state = read_state(command.state);
  if (!state) return report(state.error());
  for (const std::string& text : state->log.notices) notice(text);
  print(command.json ? document(*state) : page(*state));
  return kDone;
}

}  // namespace wrackline::cli
