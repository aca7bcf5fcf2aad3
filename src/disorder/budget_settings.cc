// A budget in the words of other systems.
//
// Our watermark is exclusive: W = G - delay, G the minimum over partitions of their greatest event time, and
// a window [s, e) closes when W >= e, takes corrections until W >= e + lateness. In terms of the greatest
// event time m of one partition that is m >= e + delay, and m >= e + delay + lateness.
//   Flink            emits m - B - 1 ms and fires at >= e - 1 ms: the same with B = delay
//   Flink SQL        the watermark is the expression itself and fires at >= e - 1 ms: one millisecond early,
//   so
//                    the delay is one millisecond longer
//   Spark            one maximum over all partitions: skew between partitions becomes lateness, so the delay
//   is
//                    taken from disorder against that maximum; there is no lateness after it
//   Kafka Streams    stream time is the maximum with no delay; a window takes records while m < e + grace:
//   the
//                    grace is delay + lateness, and suppress() publishes at its end
//   Beam             fires at W >= e, drops at W >= e + lateness, like here
#include <algorithm>

#include "base/text.h"
#include "disorder/profile_scan.h"
#include "disorder/report_text.h"
#include "wrackline/lateness_budget.h"

namespace wrackline {
namespace {

int64_t millis_up(int64_t micros) {
  return micros / 1000 + (micros % 1000 > 0 ? 1 : 0);
}

// The disorder against the greatest event time over all partitions that leaves the target share late.
int64_t delay_against_maximum(const BudgetReport& report, Share late) {
  const DelayHistogram& lag = report.profile.all.disorder;
  if (lag.empty()) return report.watermark_delay_us;
  const auto count = static_cast<int64_t>(lag.count());
  const int64_t rank = std::clamp<int64_t>(count - late.floor_of(count), 1, count);
  return std::max(report.watermark_delay_us,
                  std::max<int64_t>(0, lag.rank_upper(static_cast<uint64_t>(rank))));
}

std::string settings_flink(int64_t delay_ms, int64_t lateness_ms) {
  return format(
      "// Flink emits a watermark of the greatest time - {0} ms - 1 ms: its watermark is ours minus 1 ms, "
      "and\n"
      "// windows fire and close at the same records.\n"
      "WatermarkStrategy.<Event>forBoundedOutOfOrderness(Duration.ofMillis({0}))\n"
      "    .withTimestampAssigner((event, previous) -> event.timestamp)\n"
      "    .withIdleness(Duration.ofMinutes(1));\n\n"
      "stream.keyBy(...).window(...)\n"
      "    .allowedLateness(Duration.ofMillis({1}))\n"
      "    .sideOutputLateData(lateTag)   // without it later records are dropped and only counted\n"
      "    ...\n",
      delay_ms, lateness_ms);
}

std::string settings_flink_sql(int64_t delay_ms, int64_t lateness_ms) {
  std::string out = format(
      "-- A record at exactly the watermark is late in Flink SQL, so the delay is 1 ms longer than ours.\n"
      "WATERMARK FOR event_time AS event_time - INTERVAL '{}.{:03}' SECOND({}, 3)\n",
      (delay_ms + 1) / 1000, (delay_ms + 1) % 1000, std::to_string((delay_ms + 1) / 1000).size());
  if (lateness_ms > 0) {
    out += format(
        "-- Window functions take no allowed lateness: records up to {} ms later would be dropped. To keep "
        "them,\n"
        "-- use {} ms as the delay, and every result waits for that long.\n",
        lateness_ms, delay_ms + 1 + lateness_ms);
  }
  return out;
}

std::string settings_spark(const BudgetReport& report, int64_t horizon_ms) {
  const int64_t delay_ms = millis_up(delay_against_maximum(report, report.options.target_late));
  const int64_t tail_ms =
      std::max(horizon_ms, millis_up(delay_against_maximum(report, report.options.tail.complement())));
  return format(
      "# Spark takes the greatest event time over all partitions, so skew between partitions counts as "
      "lateness:\n"
      "# the delay comes from disorder against that maximum. Later records are dropped; there is no "
      "lateness.\n"
      "df.withWatermark(\"event_time\", \"{} milliseconds\")\n"
      "# For {} % of the records to count, and results that wait as long: \"{} milliseconds\"\n",
      delay_ms, report.options.tail.percent_text(), tail_ms);
}

std::string settings_kafka_streams(const BudgetReport& report, int64_t delay_ms, int64_t horizon_ms) {
  return format(
      "// Kafka Streams has no watermark delay (stream time is the greatest time seen by a task): its grace "
      "is\n"
      "// delay + lateness. Without suppress() every record publishes; with it each window publishes once, "
      "at the\n"
      "// end of the grace. A result after {} ms and corrections until {} ms cannot be had together.\n"
      "TimeWindows.ofSizeAndGrace(Duration.ofMillis({}), Duration.ofMillis({}))\n"
      "// .suppress(Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded()))\n",
      delay_ms, horizon_ms, report.options.window ? millis_up(report.options.window->micros()) : 60'000,
      horizon_ms);
}

std::string settings_beam(const BudgetReport& report, int64_t delay_ms, int64_t lateness_ms) {
  return format(
      "// Beam's boundaries are ours. The delay belongs to the source's watermark:\n"
      "KafkaIO.<K, V>read()\n"
      "    .withCreateTime(Duration.millis({}))   // CustomTimestampPolicyWithLimitedDelay\n"
      "    ...\n"
      "Window.<Event>into(FixedWindows.of(Duration.millis({})))\n"
      "    .triggering(AfterWatermark.pastEndOfWindow()\n"
      "        .withLateFirings(AfterPane.elementCountAtLeast(1)))\n"
      "    .withAllowedLateness(Duration.millis({}))\n"
      "    .accumulatingFiredPanes();\n",
      delay_ms, report.options.window ? millis_up(report.options.window->micros()) : 60'000, lateness_ms);
}

std::string settings_wrackline(const BudgetReport& report) {
  return format("-- source\nwatermark_delay = '{}'\n-- view\nallowed_lateness = '{}'\n",
                span_literal(report.watermark_delay_us), span_literal(report.allowed_lateness_us));
}

}  // namespace

std::optional<SettingsTarget> parse_settings_target(std::string_view name) {
  if (name == "wrackline") return SettingsTarget::kWrackline;
  if (name == "flink") return SettingsTarget::kFlink;
  if (name == "flink-sql") return SettingsTarget::kFlinkSql;
  if (name == "spark") return SettingsTarget::kSpark;
  if (name == "kafka-streams") return SettingsTarget::kKafkaStreams;
  if (name == "beam") return SettingsTarget::kBeam;
  return std::nullopt;
}

std::string budget_settings(const BudgetReport& report, SettingsTarget target) {
  const int64_t delay_ms = millis_up(report.watermark_delay_us);
  const int64_t horizon_ms = millis_up(saturating_add(report.watermark_delay_us, report.allowed_lateness_us));
  const int64_t lateness_ms = horizon_ms - delay_ms;
  switch (target) {
    case SettingsTarget::kWrackline:
      return settings_wrackline(report);
    case SettingsTarget::kFlink:
      return settings_flink(delay_ms, lateness_ms);
    case SettingsTarget::kFlinkSql:
      return settings_flink_sql(delay_ms, lateness_ms);
    case SettingsTarget::kSpark:
      return settings_spark(report, horizon_ms);
    case SettingsTarget::kKafkaStreams:
      return settings_kafka_streams(report, delay_ms, horizon_ms);
    case SettingsTarget::kBeam:
      return settings_beam(report, delay_ms, lateness_ms);
  }
  return {};
}

std::string_view to_string(BudgetBacktest::Verdict verdict) {
  switch (verdict) {
    case BudgetBacktest::Verdict::kInsufficient:
      return "insufficient";
    case BudgetBacktest::Verdict::kHeld:
      return "held";
    case BudgetBacktest::Verdict::kExceeded:
      return "exceeded";
  }
  return "insufficient";
}

}  // namespace wrackline
