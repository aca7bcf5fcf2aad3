// The way of a batch into a view, the same for every kind of window: expressions are evaluated, rows counted
// as read, and every row that cannot reach a window gets its fate here.
//
// Threads: one thread; columns() may be read by workers between calls.
// Cost:    column loops over the batch; per set-aside row one ledger entry.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operators/view_operator.h"

namespace wrackline {

// The view's expressions over one batch; filters and arguments are null where a call has none.
struct InputColumns {
  std::vector<const Column*> keys;
  std::vector<const Column*> arguments;
  std::vector<const Column*> filters;
  std::vector<std::vector<const Column*>> sort_keys;
  expr::RowOrder order;  // set by take()
  const Batch* batch = nullptr;
  const RecordTimes* times = nullptr;  // set by take()
};

class Intake {
 public:
  // `windows_of` lists the windows of an event time, for the ledger entries of records that reach none.
  using WindowsOf = std::function<void(int64_t event_us, std::vector<Window>& windows)>;
  // Borrows options, which must outlive the intake.
  Intake(const ViewOptions& options, WindowsOf windows_of);

  void begin_batch(const Batch& batch);
  // Counts rows [begin, end) and the rejects among them as read, and gives those that go no further their
  // fate. Afterwards selected()[row] is 1 for the rows that go on to the windows.
  Status take(const Batch& batch, const RecordTimes& times, const TickContext& tick, size_t begin,
              size_t end);

  const std::vector<uint8_t>& selected() const { return selected_; }
  const InputColumns& columns() const { return columns_; }
  Balance& balance() { return balance_; }
  const Balance& balance() const { return balance_; }

  // A selected row that is in no result after all: dropped or ledgered, by its reason. `missed` are the
  // windows that it missed.
  Status set_aside(const TickContext& tick, uint32_t row, Reason reason, std::string_view detail,
                   const std::vector<Window>& missed);
  // An entry without a fate of its own: of a record that is accepted in part.
  Status note_missed(const TickContext& tick, uint32_t row, Reason reason, std::string_view detail,
                     const std::vector<Window>& missed);
  // kLateAfterIdle where the row's partition came back from idleness behind the watermark, else kLate.
  Reason late_reason(size_t row) const;

 private:
  void count_read(const RecordTimes& times, size_t begin, size_t end);
  void count_duplicates(const RecordTimes& times, size_t begin, size_t end);
  void select_rows(const RecordTimes& times, size_t begin, size_t end);
  Status set_aside_rejects(const Batch& batch, const RecordTimes& times, const TickContext& tick,
                           size_t begin, size_t end);
  std::vector<Window> windows_of(uint32_t row) const;
  std::string key_json(size_t row) const;

  const ViewOptions& options_;
  WindowsOf windows_of_;
  Balance balance_;
  InputColumns columns_;
  std::optional<expr::Evaluator> where_;
  std::vector<expr::Evaluator> keys_;
  std::vector<std::optional<expr::Evaluator>> arguments_;
  std::vector<std::optional<expr::Evaluator>> filters_;
  std::vector<std::vector<expr::Evaluator>> sort_keys_;
  const Column* where_column_ = nullptr;
  expr::RowErrors where_errors_;
  expr::RowErrors value_errors_;
  expr::RowErrors row_errors_;     // of the rows being taken, one each
  std::vector<uint8_t> selected_;  // per row of the batch
};

}  // namespace wrackline
