#include "disorder/producer_findings.h"

#include "base/text.h"

namespace wrackline {
namespace {

constexpr size_t kNamed = 5;

void add_of_kind(const ProducersReport& report, ClockFault fault, Finding::Kind kind, std::string_view what,
                 std::vector<Finding>& findings) {
  size_t named = 0;
  int64_t unnamed = 0;
  for (const ProducerSummary& producer : report.list) {
    if (producer.fault != fault) continue;
    if (named++ >= kNamed) {
      ++unnamed;
      continue;
    }
    findings.push_back(
        {kind,
         producer.producer,
         producer.fault_records,
         producer.offset_proven_us.value_or(0),
         {},
         format("{} \"{}\": {}.", report.column, printable(producer.producer), producer.text)});
  }
  if (unnamed > 0) {
    findings.push_back(
        {kind, {}, unnamed, 0, {}, format("{} more producers {}.", with_thousands(unnamed), what)});
  }
}

}  // namespace

void add_producer_findings(const ProducersReport& report, std::vector<Finding>& findings) {
  add_of_kind(report, ClockFault::kStuck, Finding::Kind::kStuckClock, "have a clock that stood still",
              findings);
  add_of_kind(report, ClockFault::kDrift, Finding::Kind::kClockDrift, "have a clock that runs fast or slow",
              findings);
}

}  // namespace wrackline
