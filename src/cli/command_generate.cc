// Seeded records in the order of arrival, under a stated law of delay.
//
// Events happen at a fixed rate from 2024-05-01T00:00:00Z. 70 % arrive at once; the delay of the others
// follows the law. A record that is delayed waits in a heap until the arrival clock reaches it, so the output
// is sorted by arrival and the memory needed is what is under way. --order event writes the same records in
// the order of their event times instead.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "data/time_text.h"

namespace wrackline::cli {
namespace {

constexpr int64_t kStartUs = 1'714'521'600'000'000;  // 2024-05-01T00:00:00Z
constexpr size_t kFlushBytes = size_t{1} << 20;
constexpr int64_t kTruthWindowUs = 10'000'000;

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): small, the same on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t limit) { return next() % limit; }
  double unit() { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }  // (0, 1]

 private:
  uint64_t state_;
};

int64_t delay_us(const std::string& law, Random& random) {
  const bool delayed = random.below(10) < 3;
  const double u = random.unit();
  const double pareto_us = std::min(20'000.0 * std::pow(u, -1 / 1.1), 600e6);
  if (law == "none") return 0;
  if (law == "offline" && random.below(100) == 0) {
    return static_cast<int64_t>(3600e6 * (1 + 7 * random.unit()));
  }
  if (!delayed) return 0;
  return static_cast<int64_t>(law == "uniform" ? u * 10e6 : pareto_us);
}

struct Event {
  int64_t event_us = 0;
  int64_t arrival_us = 0;
  uint64_t number = 0;
  int64_t value = 0;
  std::string line;  // without the arrival time and what follows it
};
struct LaterArrival {
  bool operator()(const Event& a, const Event& b) const {
    return a.arrival_us != b.arrival_us ? a.arrival_us > b.arrival_us : a.number > b.number;
  }
};

// Milliseconds are what the kinds' clocks tell.
int64_t to_millis(int64_t micros) {
  return micros / 1000 * 1000;
}

// Nexmark's shape: half of the bids on one hot auction, the rest on those under way; 10,000 bids a second.
// With --keys, auctions are uniform instead.
void make_bid(Event& event, Random& random, uint64_t keys) {
  const uint64_t last_auction = 1000 + event.number / 15;
  const uint64_t last_person = 1000 + event.number / 50;
  const auto nexmark = [&] {
    return random.below(2) == 0 ? last_auction / 100 * 100 : last_auction - random.below(100);
  };
  const uint64_t auction = keys > 0 ? 1 + random.below(keys) : nexmark();
  const uint64_t bidder =
      random.below(4) != 0 ? last_person / 100 * 100 + 1 : last_person - random.below(1000);
  event.value = static_cast<int64_t>(std::pow(10.0, random.unit() * 6) * 100);
  event.line =
      format("{{\"auction\":{},\"bidder\":{},\"price\":{},\"date_time\":\"", auction, bidder, event.value);
}

void make_click(Event& event, Random& random, uint64_t keys) {
  static constexpr std::string_view kPages[] = {"/", "/search", "/cart", "/checkout", "/help", "/health"};
  static constexpr std::string_view kDevices[] = {"phone", "tablet", "desktop"};
  event.value = 1;
  event.line = format("{{\"event_id\":\"c{}\",\"user_id\":{},\"page\":\"{}\",\"device\":\"{}\",\"at\":\"",
                      event.number, 1 + random.below(keys > 0 ? keys : 5000),
                      kPages[std::min(random.below(6), random.below(6))], kDevices[random.below(3)]);
}

void make_sensor(Event& event, Random& random, uint64_t keys) {
  const uint64_t sensor = random.below(keys > 0 ? keys : 64);
  event.value = static_cast<int64_t>(200 + sensor % 7 * 10 + random.below(50));
  event.line = format("{{\"sensor\":\"s{:02}\",\"celsius\":{}.{},\"at\":\"", sensor, event.value / 10,
                      event.value % 10);
}

struct Kind {
  std::string_view name;
  int64_t step_us;                               // between events
  void (*make)(Event&, Random&, uint64_t keys);  // keys: how many there are; 0: as the kind has them
};
constexpr Kind kKinds[] = {
    {"bids", 100, make_bid}, {"clicks", 2000, make_click}, {"sensors", 10000, make_sensor}};

// What the records must add up to: per 10 seconds of event time, how many there are and the sum of their
// values (price, clicks, tenths of a degree).
class Truth {
 public:
  void add(const Event& event) {
    auto& window = windows_[event.event_us / kTruthWindowUs * kTruthWindowUs];
    ++window.first;
    window.second += event.value;
  }
  std::string json(const GenerateCommand& command) const {
    std::string text = format(
        "{{\"kind\":\"{}\",\"rows\":{},\"seed\":{},\"late\":\"{}\",\"window_seconds\":10,\"windows\":[",
        command.kind, command.rows, command.seed, command.late);
    for (const auto& [start, window] : windows_) {
      text += format("{}\n{{\"start\":\"{}\",\"count\":{},\"sum\":{}}}", text.ends_with('[') ? "" : ",",
                     timestamp_text(start), window.first, window.second);
    }
    return text + "]}\n";
  }

 private:
  std::map<int64_t, std::pair<int64_t, int64_t>> windows_;
};

Status write_truth(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return fail(system_error(format("cannot write the truth to \"{}\"", path), errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (std::fclose(file) != 0 || !written) {
    return fail(system_error(format("cannot write the truth to \"{}\"", path), error));
  }
  return {};
}

}  // namespace

int generate(const GenerateCommand& command) {
  const Kind& kind = *std::ranges::find(kKinds, command.kind, &Kind::name);
  Random random(command.seed);
  std::priority_queue<Event, std::vector<Event>, LaterArrival> under_way;
  Truth truth;
  std::string out;
  const auto write = [&](const Event& event) {
    out += event.line;
    append_timestamp(out, event.event_us);
    out += "\",\"arrival\":\"";
    append_timestamp(out, event.arrival_us);
    out += "\"}\n";
    if (out.size() < kFlushBytes) return;
    print(out);
    out.clear();
  };
  for (uint64_t number = 0; number < command.rows; ++number) {
    Event event;
    event.number = number;
    event.event_us = to_millis(kStartUs + static_cast<int64_t>(number) * kind.step_us);
    event.arrival_us = to_millis(event.event_us + delay_us(command.late, random));
    kind.make(event, random, command.keys);
    truth.add(event);
    while (!under_way.empty() && under_way.top().arrival_us < event.event_us) {
      write(under_way.top());
      under_way.pop();
    }
    if (event.arrival_us == event.event_us || command.order == "event") {
      write(event);
    } else {
      under_way.push(std::move(event));
    }
  }
  for (; !under_way.empty(); under_way.pop()) write(under_way.top());
  print(out);
  if (command.truth.empty()) return kDone;
  const Status written = write_truth(command.truth, truth.json(command));
  return written ? kDone : report(written.error());
}

}  // namespace wrackline::cli
