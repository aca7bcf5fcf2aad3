// The saved form holds what adds up: counts and histograms. Quantiles, confidence, modes and findings are
// derived from them again when a profile is read, so a merged profile needs no other code than a single one.
#include "wrackline/delay_profile_file.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "base/text.h"
#include "disorder/binomial.h"
#include "disorder/delay_series.h"
#include "disorder/findings.h"
#include "disorder/modes.h"
#include "disorder/saved_json.h"

namespace wrackline {

using disorder::BucketTable;
using disorder::nearest_rank;
using disorder::SavedValue;

namespace {

constexpr std::string_view kHead = R"({"format":"wrackline-profile","version":)";
constexpr int64_t kVersion = 1;
constexpr int64_t kMilli = 1000;

// FNV-1a: damage is to be seen, not attacks.
uint64_t checksum(std::string_view bytes) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

std::string wide_text(WideSum value) {
  if (value == 0) return "0";
  const bool negative = value < 0;
  std::string digits;
  for (; value != 0; value /= 10)
    digits += static_cast<char>('0' + static_cast<int>(value % 10) * (negative ? -1 : 1));
  if (negative) digits += '-';
  std::ranges::reverse(digits);
  return digits;
}

std::optional<WideSum> parse_wide(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() > 37) return std::nullopt;
  WideSum value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (negative ? -(c - '0') : c - '0');
  }
  return value;
}

std::string saved(const DelayHistogram& histogram) {
  if (histogram.empty()) return "null";
  std::string out = format(R"({{"min":{},"max":{},"sum":"{}","buckets":[)", histogram.min(), histogram.max(),
                           wide_text(histogram.sum()));
  for (const DelayHistogram::Bucket& bucket : histogram.buckets()) {
    if (out.back() != '[') out += ',';
    out += format("[{},{}]", bucket.index, bucket.count);
  }
  return out + "]}";
}

std::string saved(const DelaySummary& summary) {
  const auto milli = [](const QuantileConfidence& confidence) {
    return confidence.design_effect
               ? format("{}", std::llround(std::min(1e12, *confidence.design_effect * kMilli)))
               : "null";
  };
  return format(
      R"({{"partition":{},"records":{},"with_arrival":{},"future":{},"effect_milli":[{},{},{},{}],"delay":{},"disorder":{}}})",
      json_quoted(summary.partition), summary.records, summary.with_arrival, summary.future.value_or(0),
      milli(summary.disorder_p99), milli(summary.disorder_p99_9), milli(summary.delay_p99),
      milli(summary.delay_p99_9), saved(summary.delay), saved(summary.disorder));
}

// Reads a body and remembers the first thing that no profile has.
class BodyReader {
 public:
  std::expected<ProfileReport, std::string> report(const SavedValue& body) {
    ProfileReport report;
    report.resolution_us = std::max<int64_t>(1, number(body, "resolution_us"));
    report.max_future_skew = Duration(number(body, "max_future_skew_us"));
    report.all = summary(body.at("all"));
    if (const auto* parts = body.at("partitions").array()) {
      for (const SavedValue& part : *parts) report.partitions.push_back(summary(part));
    } else {
      fault("partitions");
    }
    report.series.width_us = number(body, "width_us");
    if (const auto* intervals = body.at("intervals").array()) {
      for (const SavedValue& interval : *intervals) report.series.intervals.push_back(interval_of(interval));
    } else {
      fault("intervals");
    }
    if (report.series.width_us < 0 || (report.series.width_us == 0 && !report.series.intervals.empty()))
      fault("width_us");
    if (!fault_.empty()) return std::unexpected(fault_);
    return report;
  }

 private:
  void fault(std::string_view name) {
    if (fault_.empty())
      fault_ = format("the profile is not usable: its \"{}\" is missing or impossible", name);
  }
  int64_t number(const SavedValue& from, std::string_view name) {
    const auto value = from.at(name).integer();
    if (!value || *value < 0) fault(name);
    return std::max<int64_t>(0, value.value_or(0));
  }
  DelayHistogram histogram(const SavedValue& from, std::string_view name) {
    const SavedValue& value = from.at(name);
    if (value.is_null()) return {};
    const auto min = value.at("min").integer();
    const auto max = value.at("max").integer();
    const std::string* sum_text = value.at("sum").text();
    const auto sum = sum_text ? parse_wide(*sum_text) : std::nullopt;
    const auto* pairs = value.at("buckets").array();
    if (!min || !max || !sum || !pairs) {
      fault(name);
      return {};
    }
    std::vector<DelayHistogram::Bucket> buckets;
    for (const SavedValue& pair : *pairs) {
      const auto* cells = pair.array();
      const auto index = cells && cells->size() == 2 ? (*cells)[0].integer() : std::nullopt;
      const auto count = cells && cells->size() == 2 ? (*cells)[1].integer() : std::nullopt;
      if (!index || !count || *count <= 0 || std::abs(*index) > 1'000'000) {
        fault(name);
        return {};
      }
      buckets.push_back(
          {static_cast<DelayHistogram::BucketIndex>(*index), 0, 0, static_cast<uint64_t>(*count)});
    }
    auto restored = DelayHistogram::restore(buckets, *min, *max, *sum);
    if (!restored || restored->empty()) fault(name);
    return restored ? std::move(*restored) : DelayHistogram();
  }
  DelaySummary summary(const SavedValue& from) {
    DelaySummary to;
    if (const std::string* name = from.at("partition").text()) {
      to.partition = *name;
    } else {
      fault("partition");
    }
    to.records = number(from, "records");
    to.with_arrival = number(from, "with_arrival");
    to.future = number(from, "future");
    to.delay = histogram(from, "delay");
    to.disorder = histogram(from, "disorder");
    const auto* effects = from.at("effect_milli").array();
    if (effects == nullptr || effects->size() != 4) {
      fault("effect_milli");
    } else {
      QuantileConfidence* const confidences[] = {&to.disorder_p99, &to.disorder_p99_9, &to.delay_p99,
                                                 &to.delay_p99_9};
      for (size_t i = 0; i < 4; ++i) {
        if (const auto milli = (*effects)[i].integer(); milli && *milli >= kMilli)
          confidences[i]->design_effect = static_cast<double>(*milli) / kMilli;
      }
    }
    const auto delays = static_cast<int64_t>(to.delay.count());
    if (delays != to.with_arrival || to.with_arrival > to.records || to.future > to.with_arrival ||
        static_cast<int64_t>(to.disorder.count()) > to.records)
      fault("records");
    return to;
  }
  DelayInterval interval_of(const SavedValue& from) {
    DelayInterval to;
    const auto start = from.at("start_us").integer();
    if (!start) fault("start_us");
    to.start_us = start.value_or(0);
    to.future = number(from, "future");
    to.delay = histogram(from, "delay");
    to.disorder = histogram(from, "disorder");
    if (to.delay.empty()) fault("intervals");
    return to;
  }
  std::string fault_;
};

QuantileSet quantiles(const DelayHistogram& histogram) {
  const uint64_t count = histogram.count();
  const auto at = [&](uint64_t permille) { return histogram.rank_upper(nearest_rank(count, permille)); };
  return {histogram.min(), at(500), at(950), at(990), at(999), histogram.max()};
}

void derive_confidence(const DelayHistogram& histogram, uint64_t permille, QuantileConfidence& to) {
  const auto count = static_cast<double>(histogram.count());
  const double p = static_cast<double>(permille) / 1000;
  const double effective = std::max(1.0, std::floor(count / to.design_effect.value_or(1)));
  to.verdict = disorder::verdict_of(effective, p);
  const auto ranks = disorder::quantile_rank_interval(static_cast<int64_t>(effective), p, disorder::kAlpha);
  const auto rank_in_all = [&](int64_t rank) {
    return static_cast<uint64_t>(std::clamp(static_cast<double>(rank) / effective * count, 1.0, count));
  };
  to.low_us = ranks.lower ? std::optional(histogram.rank_lower(rank_in_all(*ranks.lower))) : std::nullopt;
  to.high_us = ranks.upper ? std::optional(histogram.rank_upper(rank_in_all(*ranks.upper))) : std::nullopt;
}

// Everything that follows from counts and histograms.
void derive(DelaySummary& summary, int64_t resolution_us) {
  summary.exact = false;
  summary.modes.clear();
  summary.split_us.reset();
  if (!summary.disorder.empty()) {
    summary.disorder_us = quantiles(summary.disorder);
    summary.behind = static_cast<int64_t>(summary.disorder.count() - summary.disorder.count_at_most(0));
    derive_confidence(summary.disorder, 990, summary.disorder_p99);
    derive_confidence(summary.disorder, 999, summary.disorder_p99_9);
  }
  if (summary.delay.empty()) {
    summary.future.reset();
    return;
  }
  const DelayHistogram& delay = summary.delay;
  const uint64_t count = delay.count();
  summary.delay_us = quantiles(delay);
  derive_confidence(delay, 990, summary.delay_p99);
  derive_confidence(delay, 999, summary.delay_p99_9);
  summary.negative = static_cast<int64_t>(delay.count_at_most(-1));
  summary.negative_most_us = saturating_subtract(0, std::min<int64_t>(0, delay.min()));
  const int64_t floor = count >= 100 ? delay.rank_upper(nearest_rank(count, 10)) : delay.min();
  if (floor < 0) summary.clock_ahead_us = saturating_subtract(0, floor);
  const BucketTable table(delay);
  const auto split = disorder::find_mode_split(table, {.resolution = resolution_us});
  const uint64_t transport = split ? delay.count_at_most(split->split) : count;
  const auto mode = [&](std::string name, uint64_t from, uint64_t records) {
    summary.modes.push_back({std::move(name), static_cast<int64_t>(records),
                             static_cast<double>(records) / static_cast<double>(count),
                             delay.rank_upper(from + nearest_rank(records, 500)),
                             delay.rank_upper(from + nearest_rank(records, 990))});
  };
  mode("transport", 0, transport);
  if (!split || transport == count) return;
  summary.split_us = split->split;
  mode("offline", transport, count - transport);
}

void derive(ProfileReport& report) {
  derive(report.all, report.resolution_us);
  for (DelaySummary& partition : report.partitions) derive(partition, report.resolution_us);
  disorder::SeriesBuilder series(0);
  for (const DelayInterval& interval : report.series.intervals)
    series.add_interval(interval.start_us, report.series.width_us,
                        {interval.delay, interval.disorder, interval.future});
  report.series = series.finish();
  disorder::add_stream_findings(report, report.findings);
}

void add(const DelaySummary& from, DelaySummary& to) {
  to.records += from.records;
  to.with_arrival += from.with_arrival;
  to.future = to.future.value_or(0) + from.future.value_or(0);
  to.delay.merge(from.delay);
  to.disorder.merge(from.disorder);
  // The parts of a sample are not less correlated than its worst part.
  const auto worst = [](const QuantileConfidence& a, QuantileConfidence& b) {
    if (a.design_effect && a.design_effect > b.design_effect) b.design_effect = a.design_effect;
  };
  worst(from.disorder_p99, to.disorder_p99);
  worst(from.disorder_p99_9, to.disorder_p99_9);
  worst(from.delay_p99, to.delay_p99);
  worst(from.delay_p99_9, to.delay_p99_9);
}

double effective_count(const DelayHistogram& histogram, const QuantileConfidence& confidence) {
  return static_cast<double>(histogram.count()) / confidence.design_effect.value_or(1);
}

double ks_distance(const DelayHistogram& a, const DelayHistogram& b) {
  double most = 0;
  for (const DelayHistogram* edges : {&a, &b}) {
    for (const DelayHistogram::Bucket& bucket : edges->buckets()) {
      const auto upto = [&](const DelayHistogram& of) {
        return static_cast<double>(of.count_at_most(bucket.upper)) / static_cast<double>(of.count());
      };
      most = std::max(most, std::abs(upto(a) - upto(b)));
    }
  }
  return most;
}

// Over tenths of `a` and its last hundredth, where lateness lives.
double stability_index(const DelayHistogram& a, const DelayHistogram& b) {
  std::set<int64_t> edges;
  for (const uint64_t permille : {100, 200, 300, 400, 500, 600, 700, 800, 900, 990})
    edges.insert(a.locate(nearest_rank(a.count(), permille)).bucket.upper);
  double index = 0;
  uint64_t a_before = 0;
  uint64_t b_before = 0;
  const auto bin = [&](uint64_t a_upto, uint64_t b_upto) {
    // Half a record in each bin, so that an empty one is not infinitely far from a full one.
    const double p = (static_cast<double>(a_upto - a_before) + 0.5) / (static_cast<double>(a.count()) + 1);
    const double q = (static_cast<double>(b_upto - b_before) + 0.5) / (static_cast<double>(b.count()) + 1);
    if (a_upto > a_before || b_upto > b_before) index += (p - q) * std::log(p / q);
    a_before = a_upto;
    b_before = b_upto;
  };
  for (const int64_t edge : edges) bin(a.count_at_most(edge), b.count_at_most(edge));
  bin(a.count(), b.count());
  return index;
}

struct Judged {
  QuantityComparison figures;
  ProfileVerdict verdict = ProfileVerdict::kInsufficient;
};

Judged compare(std::string quantity, const DelayHistogram& before, const DelayHistogram& after, double n,
               double m) {
  constexpr double kSamplesMin = 30;
  constexpr double kSmall = 0.02;
  constexpr double kLarge = 0.1;
  Judged judged;
  QuantityComparison& to = judged.figures;
  to.quantity = std::move(quantity);
  if (before.empty() || after.empty()) return judged;
  to.ks = ks_distance(before, after);
  to.ks_limit = std::sqrt(std::log(2 / 0.01) / 2 * (1 / std::max(1.0, n) + 1 / std::max(1.0, m)));
  to.psi = stability_index(before, after);
  const QuantileSet a = quantiles(before);
  const QuantileSet b = quantiles(after);
  to.quantiles = {
      {"p50", a.p50, b.p50}, {"p95", a.p95, b.p95}, {"p99", a.p99, b.p99}, {"p99.9", a.p99_9, b.p99_9}};
  if (n < kSamplesMin || m < kSamplesMin) return judged;
  judged.verdict = to.ks <= to.ks_limit || to.ks < kSmall ? ProfileVerdict::kSame
                   : to.ks < kLarge && to.psi < kLarge    ? ProfileVerdict::kShifted
                                                          : ProfileVerdict::kChanged;
  return judged;
}

ProfileVerdict compare(const DelaySummary& before, const DelaySummary& after,
                       std::vector<QuantityComparison>* figures) {
  ProfileVerdict verdict = ProfileVerdict::kInsufficient;
  const auto take = [&](Judged judged) {
    verdict = std::max(verdict, judged.verdict);
    if (figures != nullptr) figures->push_back(std::move(judged.figures));
  };
  if (!before.delay.empty() && !after.delay.empty())
    take(compare("delay", before.delay, after.delay, effective_count(before.delay, before.delay_p99),
                 effective_count(after.delay, after.delay_p99)));
  take(compare("disorder", before.disorder, after.disorder,
               effective_count(before.disorder, before.disorder_p99),
               effective_count(after.disorder, after.disorder_p99)));
  return verdict;
}

}  // namespace

std::string save_profile(const ProfileReport& report) {
  std::string body = format(R"({{"resolution_us":{},"max_future_skew_us":{},"all":{},"partitions":[)",
                            report.resolution_us, report.max_future_skew.micros(), saved(report.all));
  for (const DelaySummary& partition : report.partitions) {
    if (body.back() != '[') body += ',';
    body += saved(partition);
  }
  body += format(R"(],"width_us":{},"intervals":[)", report.series.width_us);
  for (const DelayInterval& interval : report.series.intervals) {
    if (body.back() != '[') body += ',';
    body += format(R"({{"start_us":{},"future":{},"delay":{},"disorder":{}}})", interval.start_us,
                   interval.future, saved(interval.delay), saved(interval.disorder));
  }
  body += "]}";
  return format(R"({}{},"checksum":"{:016x}","body":{}}})", kHead, kVersion, checksum(body), body) + "\n";
}

bool looks_like_profile(std::string_view text) {
  return text.starts_with(kHead);
}

std::expected<ProfileReport, std::string> load_profile(std::string_view text) {
  if (!looks_like_profile(text)) {
    return std::unexpected(
        "this is not a profile: it does not begin as `wrackline measure --out` writes them");
  }
  const auto envelope = disorder::read_saved_json(text);
  if (!envelope) return std::unexpected(format("the profile is damaged: {}", envelope.error()));
  const auto version = envelope->at("version").integer();
  if (version != kVersion) {
    return std::unexpected(
        format("the profile has version {}, this wrackline reads version {}", version.value_or(0), kVersion));
  }
  constexpr std::string_view kBody = R"(","body":)";
  const size_t at = text.find(kBody);
  const size_t end = text.rfind('}');
  const std::string* sum = envelope->at("checksum").text();
  if (at == std::string_view::npos || end < at + kBody.size() || sum == nullptr ||
      *sum != format("{:016x}", checksum(text.substr(at + kBody.size(), end - at - kBody.size())))) {
    return std::unexpected("the profile is damaged: its checksum does not fit its content");
  }
  auto report = BodyReader().report(envelope->at("body"));
  if (report) derive(*report);
  return report;
}

ProfileReport merge_profiles(std::span<const ProfileReport> profiles) {
  ProfileReport merged;
  merged.resolution_us = 0;
  std::map<std::string, size_t> places;
  disorder::SeriesBuilder series(0);
  for (const ProfileReport& profile : profiles) {
    merged.resolution_us = std::gcd(merged.resolution_us, profile.resolution_us);
    merged.max_future_skew = std::max(merged.max_future_skew, profile.max_future_skew);
    add(profile.all, merged.all);
    for (const DelaySummary& partition : profile.partitions) {
      const auto [at, fresh] = places.try_emplace(partition.partition, merged.partitions.size());
      if (fresh) merged.partitions.emplace_back().partition = partition.partition;
      add(partition, merged.partitions[at->second]);
    }
    for (const DelayInterval& interval : profile.series.intervals)
      series.add_interval(interval.start_us, profile.series.width_us,
                          {interval.delay, interval.disorder, interval.future});
    for (const Finding& finding : profile.findings) {
      if (finding.kind != Finding::Kind::kRegimeChange) merged.findings.push_back(finding);
    }
  }
  merged.resolution_us = std::max<int64_t>(1, merged.resolution_us);
  merged.series = series.finish();
  derive(merged);
  return merged;
}

std::string_view to_string(ProfileVerdict verdict) {
  switch (verdict) {
    case ProfileVerdict::kInsufficient:
      return "insufficient";
    case ProfileVerdict::kSame:
      return "same";
    case ProfileVerdict::kShifted:
      return "shifted";
    case ProfileVerdict::kChanged:
      return "changed";
  }
  return "insufficient";
}

ProfileComparison compare_profiles(const ProfileReport& before, const ProfileReport& after) {
  ProfileComparison comparison;
  comparison.verdict = compare(before.all, after.all, &comparison.quantities);
  std::map<std::string_view, const DelaySummary*> known;
  for (const DelaySummary& partition : before.partitions) known.emplace(partition.partition, &partition);
  for (const DelaySummary& partition : after.partitions) {
    const auto at = known.find(partition.partition);
    if (at == known.end()) {
      comparison.partitions_new.push_back(partition.partition);
      continue;
    }
    if (compare(*at->second, partition, nullptr) == ProfileVerdict::kChanged)
      comparison.partitions_changed.push_back(partition.partition);
    known.erase(at);
  }
  for (const DelaySummary& partition : before.partitions) {
    if (known.contains(partition.partition)) comparison.partitions_gone.push_back(partition.partition);
  }
  switch (comparison.verdict) {
    case ProfileVerdict::kInsufficient:
      comparison.text = "One of the profiles has too few independent records to compare.";
      break;
    case ProfileVerdict::kSame:
      comparison.text = "Nothing changed beyond chance.";
      break;
    case ProfileVerdict::kShifted:
      comparison.text = "There is a difference beyond chance, but a small one: a budget may stay.";
      break;
    case ProfileVerdict::kChanged:
      comparison.text = "The distribution changed: derive the budget again.";
      break;
  }
  return comparison;
}

}  // namespace wrackline
