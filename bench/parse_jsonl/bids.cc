// Writes a seeded stream of bids as JSON lines or CSV: the input of the parsing and windowing benchmarks.
//
// Usage: bids FILE ROWS SEED [plain|spaced|epoch|shuffled|optional|escaped|mixed|csv]
//   plain     one shape of line, as one producer writes it
//   spaced    blanks after colons and commas, as Python's json module writes
//   epoch     times as milliseconds since 1970
//   shuffled  the keys of every line in another order: no template fits
//   optional  the channel is absent or null at random
//   escaped   a text with escapes in every line
//   mixed     bids, people and auctions, as in Nexmark
//   csv       the same rows with a header
//
// Law: 10 000 events a second of event time; 70 % arrive at once, 30 % after a Pareto delay (20 ms,
// alpha 1.1, at most
//      600 s); lines stand in order of arrival. Half of the bids go to few hot auctions (Nexmark's idea).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "data/time_text.h"

namespace {

struct Bid {
  int64_t arrival_ms = 0;
  int64_t event_ms = 0;
  uint64_t auction = 0;
  uint64_t bidder = 0;
  uint64_t price = 0;
  uint64_t channel = 0;
};

std::vector<Bid> make_bids(size_t rows, std::mt19937_64& random) {
  constexpr int64_t kStartMs = 1714564800000;  // 2024-05-01T12:00:00Z
  std::vector<Bid> bids(rows);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  for (size_t i = 0; i < rows; ++i) {
    Bid& bid = bids[i];
    bid.event_ms = kStartMs + static_cast<int64_t>(i / 10);
    const double delay_ms = uniform() < 0.7 ? 0 : std::min(20 * std::pow(1 - uniform(), -1 / 1.1), 600e3);
    bid.arrival_ms = bid.event_ms + static_cast<int64_t>(delay_ms);
    const uint64_t newest = 1000 + i / 16;
    bid.auction = random() % 2 == 0 ? newest / 100 * 100 : newest - random() % 1000;
    bid.bidder = 1000 + random() % (1000 + i / 64);
    bid.price = static_cast<uint64_t>(std::pow(10.0, uniform() * 6) * 100);
    bid.channel = random() % 100;
  }
  std::stable_sort(bids.begin(), bids.end(),
                   [](const Bid& a, const Bid& b) { return a.arrival_ms < b.arrival_ms; });
  return bids;
}

std::string time_text(int64_t ms) {  // always with three digits of fraction
  std::string text;
  wrackline::append_timestamp(text, ms / 1000 * 1000000);
  text.pop_back();
  std::array<char, 8> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>(ms % 1000));
  return text + fraction.data();
}

std::string quoted(const std::string& text) {
  return '"' + text + '"';
}

using Fields = std::vector<std::pair<std::string, std::string>>;

Fields fields_of(const Bid& bid, bool epoch) {
  const auto time = [&](int64_t ms) { return epoch ? std::to_string(ms) : quoted(time_text(ms)); };
  return {{"auction", std::to_string(bid.auction)}, {"bidder", std::to_string(bid.bidder)},
          {"price", std::to_string(bid.price)},     {"channel", quoted("ch-" + std::to_string(bid.channel))},
          {"date_time", time(bid.event_ms)},        {"arrival", time(bid.arrival_ms)}};
}

std::string object(const Fields& fields, std::string_view colon, std::string_view comma) {
  std::string out = "{";
  for (const auto& [name, value] : fields) {
    if (out.size() > 1) out += comma;
    out += quoted(name);
    out += colon;
    out += value;
  }
  return out + "}\n";
}

std::string csv(const Fields& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    if (!out.empty()) out += ',';
    out += value.front() == '"' ? value.substr(1, value.size() - 2) : value;
  }
  return out + "\n";
}

std::string line_of(const Bid& bid, std::string_view shape, std::mt19937_64& random) {
  Fields fields = fields_of(bid, shape == "epoch");
  if (shape == "csv") return csv(fields);
  if (shape == "spaced") return object(fields, ": ", ", ");
  if (shape == "shuffled") std::shuffle(fields.begin(), fields.end(), random);
  if (shape == "optional") {
    const uint64_t fate = random() % 3;
    if (fate == 0) fields[3].second = "null";
    if (fate == 1) fields.erase(fields.begin() + 3);
  }
  if (shape == "escaped")
    fields[3].second = R"("path \/items\/)" + std::to_string(bid.channel) + R"( \"new\"")";
  if (shape == "mixed" && random() % 50 < 4) {
    const bool person = random() % 4 == 0;
    fields = {{person ? "id" : "item", std::to_string(bid.auction)},
              {"name", quoted(person ? "Vicky Noris" : "an old lamp")},
              {"date_time", fields[4].second}};
  }
  return object(fields, ":", ",");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: bids FILE ROWS SEED [plain|spaced|epoch|shuffled|optional|escaped|mixed|csv]\n");
    return 2;
  }
  const std::string_view shape = argc > 4 ? argv[4] : "plain";
  std::mt19937_64 random(std::strtoull(argv[3], nullptr, 10));
  const std::vector<Bid> bids = make_bids(std::strtoull(argv[2], nullptr, 10), random);
  std::FILE* const file = std::fopen(argv[1], "wb");
  if (file == nullptr) {
    std::perror(argv[1]);
    return 1;
  }
  if (shape == "csv") std::fputs("auction,bidder,price,channel,date_time,arrival\n", file);
  for (const Bid& bid : bids) {
    const std::string line = line_of(bid, shape, random);
    std::fwrite(line.data(), 1, line.size(), file);
  }
  return std::fclose(file) == 0 ? 0 : 1;
}
