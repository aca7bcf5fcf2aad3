// Contender: windows by key over columns in memory, without reading, parsing, writing and the ledger's file.
//
// Usage: column_windows FILE SECONDS ROUNDS [CELLS]
//   Reads bids (JSON lines) into batches, which is not timed. Then, ROUNDS times from nothing: event times,
//   the watermark 5 s behind, count(*) and sum(price) by auction and tumbling window of SECONDS, published
//   rows given to a consumer that copies nothing.
// Prints: rows, rows published, processor seconds of the best round.
//   CELLS: also writes what the last round published as CSV: window start (microseconds), auction, count,
//   sum.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "data/value.h"
#include "expr/aggregate.h"
#include "expr/expr.h"
#include "formats/parser.h"
#include "ledger/ledger.h"
#include "operators/aligned_aggregate.h"
#include "operators/time_stage.h"

namespace {

using namespace wrackline;

constexpr size_t kBatchRows = 4096;  // as `run` has them
constexpr size_t kAuction = 0;
constexpr size_t kPrice = 1;
constexpr size_t kDateTime = 2;
constexpr size_t kArrival = 3;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "column_windows: %s\n", result.error().to_string().c_str());
  std::exit(1);
}
void must(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "column_windows: %s\n", status.error().to_string().c_str());
  std::exit(1);
}

std::vector<Batch> read_batches(const char* path, std::string& bytes) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) {
    std::fprintf(stderr, "column_windows: cannot read %s\n", path);
    std::exit(1);
  }
  const auto size = static_cast<size_t>(in.tellg());
  bytes.resize(size + formats::kPaddingBytes);
  in.seekg(0);
  in.read(bytes.data(), static_cast<std::streamsize>(size));
  formats::ParserOptions options;
  options.fields = {{"auction", Type::bigint()},
                    {"price", Type::bigint()},
                    {"date_time", Type::timestamptz()},
                    {"arrival", Type::timestamptz()}};
  options.file = path;
  const std::vector<Field> fields = options.fields;
  const auto parser = formats::make_parser(formats::Format::kJsonl, std::move(options));
  std::vector<Batch> batches;
  for (std::string_view left(bytes.data(), size); !left.empty();) {
    Batch& batch = batches.emplace_back();
    batch.reset(fields);
    const size_t eaten = must(parser->parse(left, true, kBatchRows, batch));
    left.remove_prefix(eaten);
  }
  return batches;
}

class Consumer : public ChangeConsumer {
 public:
  explicit Consumer(std::FILE* cells) : cells_(cells) {}
  Status take(const ChangeBatch& changes) override {
    rows_ += changes.rows;
    if (cells_ == nullptr) return {};
    for (size_t i = 0; i < changes.rows; ++i) {
      std::string sum;
      append_text(sum, changes.columns[3], i);
      std::fprintf(cells_, "%lld,%lld,%lld,%s\n",
                   static_cast<long long>(changes.columns[0].values<int64_t>()[i]),
                   static_cast<long long>(changes.columns[1].values<int64_t>()[i]),
                   static_cast<long long>(changes.columns[2].values<int64_t>()[i]), sum.c_str());
    }
    return {};
  }
  Status take_changelog(const ChangeBatch&) override { return {}; }
  size_t rows() const { return rows_; }

 private:
  std::FILE* cells_;
  size_t rows_ = 0;
};

// The view of the question, with what it borrows.
struct View {
  std::shared_ptr<const expr::Aggregate> count = must(expr::make_aggregate("count", nullptr));
  std::shared_ptr<const expr::Aggregate> sum;
  expr::ExprPtr key = expr::make_column(kAuction, Type::bigint(), 0);
  expr::ExprPtr price = expr::make_column(kPrice, Type::bigint(), 0);
  std::vector<expr::ExprPtr> outputs;

  View() {
    const Type bigint = Type::bigint();
    sum = must(expr::make_aggregate("sum", &bigint));
    outputs.push_back(expr::make_column(0, Type::timestamptz(), 0));
    outputs.push_back(expr::make_column(2, bigint, 0));
    outputs.push_back(expr::make_column(3, count->result_type(), 0));
    outputs.push_back(expr::make_column(4, sum->result_type(), 0));
  }
  ViewOptions options() const {
    ViewOptions options;
    options.view = "per_window";
    options.source = "bids";
    // Nothing is set aside: a late record corrects, so that the last versions are the totals of all records.
    options.router = LateRouter({LatePolicy::kCorrect, seconds(3600), std::nullopt});
    options.keys = {key.get()};
    options.key_names = {"auction"};
    options.aggregates = {{count, nullptr, nullptr}, {sum, price.get(), nullptr}};
    for (const auto& output : outputs) options.outputs.push_back(output.get());
    return options;
  }
};

double run_once(const std::vector<Batch>& batches, Duration size, Consumer& consumer) {
  const View view;
  const auto ledger = ledger::Ledger::transient();
  const double start = cpu_seconds();
  TimeStageOptions times_read;
  times_read.event.column = kDateTime;
  times_read.arrival = TimeColumnOptions{.column = kArrival};
  times_read.watermark_delay = seconds(5);
  TimeStage stage(std::move(times_read));
  const PartitionIndex split = stage.partition("bids");
  AlignedAggregate windows(view.options(), WindowPlan::tumbling(size), consumer, 1);
  TickContext tick{.tick = 0, .partition_names = &stage.partition_names(), .ledger = ledger.get()};
  RecordTimes times;
  for (const Batch& batch : batches) {
    stage.read(batch, split, WallTime(0), times);
    stage.judge(times, 0, batch.rows);
    windows.begin_batch(batch);
    must(windows.process(batch, times, tick, 0, batch.rows));
    must(windows.finish_tick(tick));
    ++tick.tick;
  }
  must(windows.advance(kMicrosMax));
  must(windows.finish_tick(tick));
  return cpu_seconds() - start;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t size = argc >= 4 ? std::atoll(argv[2]) : 0;
  const int rounds = argc >= 4 ? std::atoi(argv[3]) : 0;
  if (size < 1 || rounds < 1) {
    std::fprintf(stderr, "usage: column_windows FILE SECONDS ROUNDS [CELLS]\n");
    return 2;
  }
  std::string bytes;
  const std::vector<Batch> batches = read_batches(argv[1], bytes);
  size_t rows = 0;
  for (const Batch& batch : batches) rows += batch.rows;
  size_t published = 0;
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    const bool last = round + 1 == rounds;
    std::FILE* cells = last && argc > 4 ? std::fopen(argv[4], "w") : nullptr;
    Consumer consumer(cells);
    best = std::min(best, run_once(batches, seconds(size), consumer));
    published = consumer.rows();
    if (cells != nullptr && std::fclose(cells) != 0) return 1;
  }
  std::printf("rows %zu published %zu seconds %.6f\n", rows, published, best);
  return 0;
}
