// Percentages as exact decimals, and the counts that shares are made of.
#include "base/text.h"
#include "wrackline/lateness_budget.h"

namespace wrackline {

std::string_view to_string(BudgetRule rule) {
  return rule == BudgetRule::kExact ? "exact" : "nearest-rank";
}

std::optional<Share> Share::parse_percent(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  if (text.ends_with('%')) text.remove_suffix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  constexpr int64_t kPercent = kWhole / 100;
  int64_t parts = 0;
  int64_t step = kPercent;  // what a digit here is worth
  bool digits = false;
  bool point = false;
  for (const char c : text) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    digits = true;
    const int64_t digit = c - '0';
    if (!point) {
      parts = parts * 10 + digit * kPercent;
    } else {
      step /= 10;
      if (step == 0 && digit != 0) return std::nullopt;
      parts += digit * step;
    }
    if (parts > kWhole) return std::nullopt;
  }
  if (!digits) return std::nullopt;
  return Share{parts};
}

int64_t Share::floor_of(int64_t count) const {
  return static_cast<int64_t>(static_cast<__int128>(parts) * count / kWhole);
}

std::string Share::percent_text() const {
  constexpr int64_t kPercent = kWhole / 100;
  std::string text = format("{}", parts / kPercent);
  if (parts % kPercent == 0) return text;
  std::string fraction = format("{:010}", parts % kPercent);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return format("{}.{}", text, fraction);
}

BudgetShares BudgetCounts::shares() const {
  if (pairs == 0) return {};
  const auto of = [&](int64_t count) { return static_cast<double>(count) / static_cast<double>(pairs); };
  return {of(on_time), of(corrected), of(ledgered)};
}

}  // namespace wrackline
