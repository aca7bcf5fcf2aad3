// Contender: simdjson's On-Demand iterate_many reads four fields of every line, and does nothing else.
//
// Usage: simdjson_only FILE ROUNDS
// Prints: rows, processor seconds of the best round, sums of auction, bidder, price and date_time
// (microseconds).
//
// It is given every advantage: the file is in memory, it is built for this machine, the date is converted
// once as long as it stays the same, and lines are neither numbered nor kept. On-Demand does not validate
// what it does not read.
#include <simdjson.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <string_view>

namespace {

struct Totals {
  uint64_t rows = 0;
  uint64_t auction = 0;
  uint64_t bidder = 0;
  uint64_t price = 0;
  uint64_t date_time = 0;  // wraps
};

// "2024-05-01T12:00:00.123Z" to microseconds, with up to three digits of fraction; the date of the last call
// is remembered.
class FixedTime {
 public:
  int64_t micros(std::string_view text) {
    if (text.size() < 20 || text.size() > 24) std::abort();
    if (std::memcmp(text.data(), date_, sizeof date_) != 0) remember(text);
    const auto digit = [&](size_t i) { return static_cast<int64_t>(text[i] - '0'); };
    const int64_t seconds =
        (digit(11) * 10 + digit(12)) * 3600 + (digit(14) * 10 + digit(15)) * 60 + digit(17) * 10 + digit(18);
    int64_t fraction_us = 0;
    int64_t digit_us = 100000;
    for (size_t i = 20; i + 1 < text.size(); ++i, digit_us /= 10) fraction_us += digit(i) * digit_us;
    return midnight_ + seconds * 1000000 + fraction_us;
  }

 private:
  void remember(std::string_view text) {
    std::memcpy(date_, text.data(), sizeof date_);
    const auto number = [&](size_t at, size_t size) {
      int64_t value = 0;
      for (size_t i = at; i < at + size; ++i) value = value * 10 + (text[i] - '0');
      return value;
    };
    int64_t year = number(0, 4);  // days from civil, after Hinnant
    const int64_t month = number(5, 2);
    year -= month <= 2 ? 1 : 0;
    const int64_t era = year / 400;
    const int64_t year_of_era = year - era * 400;
    const int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + number(8, 2) - 1;
    midnight_ =
        (era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468) *
        86400000000;
  }

  char date_[10] = {};
  int64_t midnight_ = 0;
};

simdjson::error_code read_all(simdjson::ondemand::parser& parser, const simdjson::padded_string& bytes,
                              Totals& totals) {
  FixedTime time;
  simdjson::ondemand::document_stream stream;
  if (const auto error = parser.iterate_many(bytes).get(stream)) return error;
  for (auto document : stream) {
    uint64_t number = 0;
    std::string_view text;
    if (const auto error = document["auction"].get_uint64().get(number)) return error;
    totals.auction += number;
    if (const auto error = document["bidder"].get_uint64().get(number)) return error;
    totals.bidder += number;
    if (const auto error = document["price"].get_uint64().get(number)) return error;
    totals.price += number;
    if (const auto error = document["date_time"].get_string().get(text)) return error;
    totals.date_time += static_cast<uint64_t>(time.micros(text));
    ++totals.rows;
  }
  return simdjson::SUCCESS;
}

// Processor time, so that other work on the machine counts less.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: simdjson_only FILE ROUNDS\n");
    return 2;
  }
  simdjson::padded_string bytes;
  if (const auto error = simdjson::padded_string::load(argv[1]).get(bytes)) {
    std::fprintf(stderr, "%s: %s\n", argv[1], simdjson::error_message(error));
    return 1;
  }
  simdjson::ondemand::parser parser;
  parser.threaded = false;  // one core
  double best = std::numeric_limits<double>::infinity();
  Totals totals;
  for (int round = 0; round < std::atoi(argv[2]); ++round) {
    totals = {};
    const double start = cpu_seconds();
    if (const auto error = read_all(parser, bytes, totals)) {
      std::fprintf(stderr, "%s: %s\n", argv[1], simdjson::error_message(error));
      return 1;
    }
    best = std::min(best, cpu_seconds() - start);
  }
  std::printf(
      "rows %llu seconds %.6f checksum %llu %llu %llu %llu\n", static_cast<unsigned long long>(totals.rows),
      best, static_cast<unsigned long long>(totals.auction), static_cast<unsigned long long>(totals.bidder),
      static_cast<unsigned long long>(totals.price), static_cast<unsigned long long>(totals.date_time));
  return 0;
}
