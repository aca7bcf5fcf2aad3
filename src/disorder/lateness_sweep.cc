// How one pass answers for every candidate pair.
//
// The edges are all candidate delays and all sums delay + lateness, ascending: g_0 < ... < g_(m-1). A pair's
// cell is the number of edges at or below its x, so it is on time for the delay g_i iff cell <= i, and in the
// ledger of the horizon g_j iff cell > j. Histograms over cells then count pairs and records.
//
// Versions need more than counts: a group publishes its first version at the close if its first record was on
// time, and one further version for each tick in which a record corrected it. Within one window x never
// falls. So the first record's cell decides about the first version; and the cells that a group touches in
// one tick ascend, c_1 < c_2 < ... : the tick corrects the group under (i, j) iff one of them lies in (i, j],
// and since the cells of an interval are consecutive among them, that is
//     #{cells in (i, j]} - #{neighbouring cells both in (i, j]}   =   1 or 0.
// Both terms are sums over groups and ticks, so two tables hold them all: no group needs a table of its own.
//
// A window is visited once for each edge, when G reaches end + edge: for a delay that is when its first
// version comes out, for a horizon when its states are freed.
#include "wrackline/lateness_sweep.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "disorder/window_pairs.h"
#include "wrackline/delay_histogram.h"

namespace wrackline {

using disorder::WindowPairs;

namespace {

using Cell = uint32_t;

// The groups of one window, by the hash of their key: open addressing, at most half full.
class Groups {
 public:
  struct Group {
    uint64_t key = 0;
    uint32_t tick = 0;  // of the newest record that was late for some candidate
    Cell cell = 0;      // of that record, plus one; 0: the slot is empty
  };
  size_t size() const { return size_; }
  // The group of this key; `fresh` tells whether it is new (its cell is then to be set).
  Group& find(uint64_t key, bool& fresh) {
    if (slots_.empty()) slots_.resize(2);
    for (size_t at = place(key);; at = (at + 1) & (slots_.size() - 1)) {
      Group& slot = slots_[at];
      if (slot.cell != 0 && slot.key == key) {
        fresh = false;
        return slot;
      }
      if (slot.cell != 0) continue;
      fresh = true;
      if (2 * (size_ + 1) > slots_.size()) {
        grow();
        return find(key, fresh);
      }
      ++size_;
      slot.key = key;
      return slot;
    }
  }

 private:
  size_t place(uint64_t key) const {
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15) >> 32) & (slots_.size() - 1);
  }
  void grow() {
    std::vector<Group> old(2 * slots_.size());
    old.swap(slots_);
    for (const Group& group : old) {
      if (group.cell == 0) continue;
      size_t at = place(group.key);
      while (slots_[at].cell != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = group;
    }
  }
  std::vector<Group> slots_;
  size_t size_ = 0;
};

struct LiveWindow {
  Cell first_cell = 0;  // of its first record
  Groups groups;
};
using Windows = std::map<int64_t, LiveWindow>;  // by end

std::vector<Duration> ascending(std::vector<Duration> spans) {
  std::ranges::sort(spans);
  spans.erase(std::unique(spans.begin(), spans.end()), spans.end());
  return spans;
}

uint64_t cell_pair(Cell from, Cell to) {
  return (uint64_t{from} << 32) | to;
}

double share_of(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

struct LatenessSweep::State {
  explicit State(SweepOptions given);

  void judge(const SweepBatch& batch, size_t row);
  void judge_listed(const SweepBatch& batch, size_t row);
  void touch(int64_t end_us, uint64_t key, Cell cell);
  Windows::iterator window_at(int64_t end_us, Cell cell);
  void create(Windows::iterator window, Cell cell);
  void visit_until(int64_t progress_us);
  Cell cell_of(int64_t behind_us) const {
    return static_cast<Cell>(std::ranges::upper_bound(edges, behind_us) - edges.begin());
  }
  size_t edge_index(int64_t span_us) const {
    return static_cast<size_t>(std::ranges::lower_bound(edges, span_us) - edges.begin());
  }
  SweepReport report() const;
  void add_candidates(SweepReport& report) const;

  SweepOptions options;
  WindowPairs pairs;
  bool hopping = false;
  int64_t pane_us = 1;
  std::vector<int64_t> edges;

  int64_t judged = 0;
  int64_t filtered = 0;
  std::vector<int64_t> pairs_in;                     // by cell
  std::vector<int64_t> records_first;                // by the cell of the record's last-ending window
  std::vector<int64_t> records_last;                 // by the cell of its first-ending one
  std::vector<int64_t> groups_first;                 // groups by the cell of their first record
  std::vector<int64_t> windows_first;                // windows likewise
  std::vector<int64_t> touches;                      // (group, tick, cell), each once, by cell
  std::unordered_map<uint64_t, int64_t> neighbours;  // consecutive cells of one group in one tick

  Windows windows;
  std::map<int64_t, std::unordered_set<uint64_t>> panes;  // hopping: keys whose windows are all touched
  std::vector<Windows::iterator> due;                     // by edge: the first window not visited for it
  std::vector<int64_t> due_at;                            // by edge: G that makes it due
  int64_t next_due = kMicrosMax;
  Windows::iterator cached;  // the window of the record before
  uint32_t tick = 0;

  std::vector<int64_t> live;  // by edge as a horizon: states alive
  std::vector<int64_t> peak;
  int64_t now_us = kMicrosMin;          // greatest arrival so far
  std::vector<DelayHistogram> latency;  // by edge as a delay
};

LatenessSweep::State::State(SweepOptions given) : options(std::move(given)), pairs({}) {
  if (options.slide == Duration(0)) options.slide = options.window;
  WRACKLINE_CHECK(options.slide > Duration(0) && options.slide <= options.window,
                  "a window has 0 < slide <= size");
  WRACKLINE_CHECK(!options.delays.empty() && !options.latenesses.empty(), "a sweep has candidates");
  options.delays = ascending(std::move(options.delays));
  options.latenesses = ascending(std::move(options.latenesses));
  WRACKLINE_CHECK(options.delays.front() >= Duration(0) && options.latenesses.front() >= Duration(0),
                  "candidates are spans of zero or more");
  WRACKLINE_CHECK(options.delays.size() * options.latenesses.size() <= 1'000'000, "too many candidates");
  pairs = WindowPairs({options.window.micros(), options.slide.micros(), options.offset.micros()});
  hopping = options.slide < options.window;
  pane_us = std::gcd(options.window.micros(), options.slide.micros());
  for (const Duration delay : options.delays) {
    edges.push_back(delay.micros());
    for (const Duration lateness : options.latenesses) edges.push_back((delay + lateness).micros());
  }
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (auto* counts : {&pairs_in, &records_first, &records_last, &groups_first, &windows_first, &touches}) {
    counts->assign(edges.size() + 1, 0);
  }
  due.assign(edges.size(), windows.end());
  due_at.assign(edges.size(), kMicrosMax);
  live.assign(edges.size(), 0);
  peak.assign(edges.size(), 0);
  latency.resize(edges.size());
  cached = windows.end();
}

void LatenessSweep::State::judge(const SweepBatch& batch, size_t row) {
  ++judged;
  const int64_t progress_us = batch.progress_before[row];
  const uint64_t key = batch.key_hash.empty() ? 0 : batch.key_hash[row];
  const WindowPairs::Windows of = pairs.of(batch.event_us[row]);
  const auto cell_at = [&](int64_t k) -> Cell {
    return progress_us == kMicrosMin ? 0 : cell_of(of.behind(progress_us, k));
  };
  // Windows from the last-ending to the first-ending one: x rises along them.
  const int64_t first_late = of.first_behind(progress_us, edges.front());
  pairs_in[0] += first_late;
  ++records_first[first_late > 0 ? 0 : cell_at(0)];
  ++records_last[first_late == of.count ? 0 : cell_at(of.count - 1)];
  bool known = false;
  if (hopping && first_late > 0) {
    // The second record of a key in a pane finds every window of the first alive.
    const int64_t event_us = batch.event_us[row];
    const int64_t pane = floor_divide(saturating_subtract(event_us, options.offset.micros()), pane_us);
    known = !panes[pane].insert(key).second;
  }
  for (int64_t k = known ? first_late : 0; k < of.count; ++k) {
    const Cell cell = k < first_late ? 0 : cell_at(k);
    if (k >= first_late) ++pairs_in[cell];
    if (cell < edges.size()) touch(of.end(k), key, cell);
  }
}

void LatenessSweep::State::judge_listed(const SweepBatch& batch, size_t row) {
  const auto ends = batch.window_ends.subspan(batch.window_first[row],
                                              batch.window_first[row + 1] - batch.window_first[row]);
  if (ends.empty()) {
    ++filtered;
    return;
  }
  ++judged;
  const int64_t progress_us = batch.progress_before[row];
  const uint64_t key = batch.key_hash.empty() ? 0 : batch.key_hash[row];
  Cell cell = 0;
  for (const int64_t end_us : ends) {
    cell = progress_us == kMicrosMin ? 0 : cell_of(saturating_subtract(progress_us, end_us));
    if (end_us == ends.front()) ++records_last[cell];
    ++pairs_in[cell];
    if (cell < edges.size()) touch(end_us, key, cell);
  }
  ++records_first[cell];
}

Windows::iterator LatenessSweep::State::window_at(int64_t end_us, Cell cell) {
  if (cached != windows.end() && cached->first == end_us) return cached;
  const auto [window, fresh] = windows.try_emplace(end_us);
  if (fresh) create(window, cell);
  cached = window;
  return window;
}

void LatenessSweep::State::create(Windows::iterator window, Cell cell) {
  window->second.first_cell = cell;
  ++windows_first[cell];
  for (size_t i = cell; i < edges.size(); ++i) {
    if (due[i] != windows.end() && due[i]->first < window->first) continue;
    due[i] = window;
    due_at[i] = saturating_add(window->first, edges[i]);
    next_due = std::min(next_due, due_at[i]);
  }
}

void LatenessSweep::State::touch(int64_t end_us, uint64_t key, Cell cell) {
  LiveWindow& window = window_at(end_us, cell)->second;
  bool fresh = false;
  Groups::Group& group = window.groups.find(key, fresh);
  if (fresh) {
    ++groups_first[cell];
    ++touches[cell];
    group.tick = tick;
    group.cell = cell + 1;
    for (size_t i = cell; i < edges.size(); ++i) {
      ++live[i];
      peak[i] = std::max(peak[i], live[i]);
    }
    return;
  }
  if (cell == 0) return;  // on time for every candidate: no version depends on it
  if (group.tick != tick) {
    ++touches[cell];
  } else if (group.cell != cell + 1) {
    ++touches[cell];
    ++neighbours[cell_pair(group.cell - 1, cell)];
  }
  group.tick = tick;
  group.cell = cell + 1;
}

void LatenessSweep::State::visit_until(int64_t progress_us) {
  if (progress_us < next_due || progress_us == kMicrosMin) return;
  next_due = kMicrosMax;
  for (size_t i = 0; i < edges.size(); ++i) {
    while (due_at[i] <= progress_us) {
      const Windows::iterator window = due[i]++;
      if (window->second.first_cell <= i) {
        live[i] -= static_cast<int64_t>(window->second.groups.size());
        if (now_us != kMicrosMin) latency[i].add(saturating_subtract(now_us, window->first));
      }
      due_at[i] = due[i] == windows.end() ? kMicrosMax : saturating_add(due[i]->first, edges[i]);
      if (i + 1 == edges.size()) {  // beyond every candidate
        if (cached == window) cached = windows.end();
        windows.erase(window);
      }
      if (due[i] == windows.end()) break;
    }
    next_due = std::min(next_due, due_at[i]);
  }
  while (!panes.empty() &&
         saturating_add(saturating_add(panes.begin()->first * pane_us + options.offset.micros(),
                                       options.window.micros() + pane_us),
                        edges.front()) <= progress_us) {
    panes.erase(panes.begin());
  }
}

SweepReport LatenessSweep::State::report() const {
  SweepReport report;
  report.options = options;
  report.judged = judged;
  report.filtered = filtered;
  report.pairs = std::accumulate(pairs_in.begin(), pairs_in.end(), int64_t{0});
  const auto beyond = [](const std::vector<int64_t>& counts, size_t edge) {
    return std::accumulate(counts.begin() + static_cast<std::ptrdiff_t>(edge) + 1, counts.end(), int64_t{0});
  };
  for (const Duration delay : options.delays) {
    const size_t edge = edge_index(delay.micros());
    SweepDelay step{.delay = delay, .late = beyond(pairs_in, edge), .latency = {}};
    step.on_time = report.pairs - step.late;
    step.late_share = share_of(step.late, report.pairs);
    step.kept = report.delays.empty() || step.late < report.delays.back().late;
    const DelayHistogram& waits = latency[edge];
    if (now_us != kMicrosMin) step.latency.emplace();
    if (!waits.empty()) {
      const uint64_t count = waits.count();
      step.latency = {static_cast<int64_t>(count),
                      static_cast<int64_t>(waits.sum() / static_cast<WideSum>(count)),
                      waits.rank_upper((count + 1) / 2), waits.rank_upper(count - count / 100), waits.max()};
    }
    report.delays.push_back(step);
  }
  for (const int64_t span : edges) {
    const size_t edge = edge_index(span);
    SweepHorizon step{.horizon = Duration(span), .ledgered = beyond(pairs_in, edge)};
    step.ledgered_records = beyond(records_first, edge);
    step.ledgered_share = share_of(step.ledgered, report.pairs);
    step.state_peak = peak[edge];
    step.kept = report.horizons.empty() || step.ledgered < report.horizons.back().ledgered;
    report.horizons.push_back(step);
  }
  add_candidates(report);
  return report;
}

void LatenessSweep::State::add_candidates(SweepReport& report) const {
  const auto cumulative = [](const std::vector<int64_t>& counts) {
    std::vector<int64_t> sums(counts.size());
    std::partial_sum(counts.begin(), counts.end(), sums.begin());
    return sums;
  };
  const auto first_sum = cumulative(groups_first);
  const auto window_sum = cumulative(windows_first);
  const auto touch_sum = cumulative(touches);
  const auto last_sum = cumulative(records_last);
  for (size_t row = 0; row < report.delays.size(); ++row) {
    const SweepDelay& delay = report.delays[row];
    const size_t i = edge_index(delay.delay.micros());
    // Neighbours whose both cells lie beyond the delay, by the greater cell.
    std::vector<int64_t> both(edges.size() + 1, 0);
    for (const auto& [cells, times] : neighbours) {
      if ((cells >> 32) > i) both[cells & 0xFFFFFFFF] += times;
    }
    const auto both_sum = cumulative(both);
    int64_t ledgered_before = -1;
    for (const Duration lateness : options.latenesses) {
      const size_t j = edge_index((delay.delay + lateness).micros());
      const SweepHorizon& horizon = report.horizons[j];
      SweepCandidate candidate{.delay = delay.delay, .lateness = lateness, .on_time = delay.on_time};
      candidate.ledgered = horizon.ledgered;
      candidate.corrected = delay.late - horizon.ledgered;
      candidate.accepted = last_sum[j];
      candidate.ledgered_records = horizon.ledgered_records;
      candidate.accepted_partially = judged - candidate.accepted - candidate.ledgered_records;
      candidate.corrections = touch_sum[j] - touch_sum[i] - (both_sum[j] - both_sum[i]);
      candidate.versions = first_sum[i] + candidate.corrections;
      candidate.windows_closed = window_sum[i];
      candidate.state_peak = horizon.state_peak;
      candidate.pareto = delay.kept && (ledgered_before < 0 || candidate.ledgered < ledgered_before);
      ledgered_before = candidate.ledgered;
      report.candidates.push_back(candidate);
    }
  }
  // The knee of the delays first, then of what lateness adds to that delay.
  std::vector<int64_t> spans;
  std::vector<double> shares;
  std::vector<size_t> index;
  const auto step = [&](int64_t span, double share, size_t at) {
    spans.push_back(span);
    shares.push_back(share);
    index.push_back(at);
  };
  for (size_t row = 0; row < report.delays.size(); ++row) {
    if (report.delays[row].kept) step(report.delays[row].delay.micros(), report.delays[row].late_share, row);
  }
  if (judged == 0) return;
  const size_t row = index[sweep_knee(spans, shares).value_or(spans.size() - 1)];
  spans.clear();
  shares.clear();
  index.clear();
  for (size_t column = 0; column < options.latenesses.size(); ++column) {
    const size_t at = row * options.latenesses.size() + column;
    const SweepCandidate& candidate = report.candidates[at];
    const double share = share_of(candidate.ledgered, report.pairs);
    if (column == 0 || share < shares.back()) step(candidate.lateness.micros(), share, at);
  }
  report.knee = index[sweep_knee(spans, shares).value_or(spans.size() - 1)];
}

LatenessSweep::LatenessSweep(SweepOptions options) : state_(std::make_unique<State>(std::move(options))) {}
LatenessSweep::~LatenessSweep() = default;
LatenessSweep::LatenessSweep(LatenessSweep&&) noexcept = default;
LatenessSweep& LatenessSweep::operator=(LatenessSweep&&) noexcept = default;

void LatenessSweep::add(const SweepBatch& batch) {
  const size_t rows = batch.event_us.size();
  const auto fits = [&](auto span) { return span.empty() || span.size() == rows; };
  WRACKLINE_CHECK(batch.progress_before.size() == rows + 1 && fits(batch.arrival_us) && fits(batch.rows) &&
                      fits(batch.key_hash) &&
                      (batch.window_first.empty() || batch.window_first.size() == rows + 1),
                  "the spans of a batch are empty or equally long, progress one longer");
  State& state = *state_;
  ++state.tick;
  for (size_t row = 0; row < rows; ++row) {
    state.visit_until(batch.progress_before[row]);
    const SweepRow kind = batch.rows.empty() ? SweepRow::kJudged : batch.rows[row];
    if (kind == SweepRow::kSetAside) continue;
    if (!batch.arrival_us.empty()) state.now_us = std::max(state.now_us, batch.arrival_us[row]);
    if (kind == SweepRow::kJudged && !batch.window_first.empty()) {
      state.judge_listed(batch, row);
    } else if (kind == SweepRow::kJudged) {
      state.judge(batch, row);
    } else {
      ++state.filtered;
    }
  }
  state.visit_until(batch.progress_before[rows]);
}

void LatenessSweep::advance(int64_t progress_us) {
  state_->visit_until(progress_us);
}

SweepReport LatenessSweep::finish() {
  return state_->report();
}

size_t LatenessSweep::live_states() const {
  size_t states = 0;
  for (const auto& [end, window] : state_->windows) states += window.groups.size();
  return states;
}

std::vector<Duration> sweep_ladder(Duration window) {
  constexpr int64_t kSecond = 1'000'000;
  constexpr std::array<int64_t, 27> kSeconds = {0,      1,       2,       5,       10,      20,     30,
                                                60,     120,     300,     600,     1200,    1800,   3600,
                                                7200,   10800,   21600,   43200,   86400,   172800, 259200,
                                                604800, 1209600, 1814400, 2592000, 5184000, 7776000};
  constexpr int64_t kWindowsMost = 1440;
  int64_t most = 0;
  if (__builtin_mul_overflow(window.micros(), kWindowsMost, &most)) most = kMicrosMax;
  std::vector<Duration> spans;
  for (const int64_t span : kSeconds) {
    if (span * kSecond > most && spans.size() >= 2) break;
    spans.push_back(Duration(span * kSecond));
  }
  return spans;
}

std::optional<size_t> sweep_knee(std::span<const int64_t> spans, std::span<const double> shares) {
  if (spans.size() < 3) return std::nullopt;
  const auto place = [&](size_t i) { return std::log2(1 + static_cast<double>(spans[i]) / 1e6); };
  const double width = place(spans.size() - 1) - place(0);
  const double height = shares.front() - shares.back();
  if (width <= 0 || height <= 0) return std::nullopt;
  size_t best = 0;
  double furthest = 0;
  for (size_t i = 0; i < spans.size(); ++i) {
    const double x = (place(i) - place(0)) / width;
    const double y = (shares[i] - shares.back()) / height;
    const double below = 1 - x - y;
    if (below <= furthest) continue;
    furthest = below;
    best = i;
  }
  if (furthest <= 0) return std::nullopt;
  return best;
}

}  // namespace wrackline
