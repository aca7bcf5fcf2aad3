// Routes three records against a watermark with the installed kit, and measures their delays.
#include <wrackline/delay_histogram.h>
#include <wrackline/late_router.h>
#include <wrackline/time.h>
#include <wrackline/watermark_tracker.h>
#include <wrackline/window_tumbling.h>

#include <cstdio>

int main() {
  using namespace wrackline;
  WatermarkTracker tracker({.delay = seconds(1)});
  const TumblingWindows windows(seconds(10));
  const LateRouter router({.policy = LatePolicy::kCorrect, .allowed_lateness = seconds(10), .ledger_horizon = {}});
  DelayHistogram delays;
  const PartitionIndex partition = tracker.add_partition();
  const int64_t event_s[] = {5, 30, 15, 4};
  for (const int64_t s : event_s) {
    const EventTime event(s * 1'000'000);
    const ArrivalTime arrival(31'000'000);
    const char* const verdicts[] = {"on time", "corrects", "ledgered", "past horizon", "dropped"};
    const LateVerdict verdict = router.route(windows.window_of(event).end, tracker.watermark());
    std::printf("%llds %s\n", static_cast<long long>(s), verdicts[static_cast<int>(verdict)]);
    tracker.observe(partition, event, arrival);
    delays.add(arrival_delay(arrival, event).micros());
  }
  std::printf("watermark %lld us, longest delay %lld us\n", static_cast<long long>(tracker.watermark().micros()),
              static_cast<long long>(delays.max()));
}
