// Profiles that outlive the run that made them: saved as text, read back, merged, compared.
//
// Used by: `wrackline measure --out, --against` and of several profiles; `wrackline budget --profile`.
// Stored:  one line of JSON, {"format":"wrackline-profile","version":1,"checksum":...,"body":{...}}; see
//          docs/formats/profile.md. Histograms are stored whole, so merging saved profiles equals profiling
//          all records at once but for disorder over all partitions: how two logs interleaved is not in them.
// Threads: any; nothing is shared.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wrackline/delay_profile.h"

namespace wrackline {

std::string save_profile(const ProfileReport& report);

// Errors: a sentence for people: not a profile, of a newer version, damaged (checksum), or holding what no
// profile holds. Never crashes on any bytes, never needs more memory than some times their size.
[[nodiscard]] std::expected<ProfileReport, std::string> load_profile(std::string_view text);

// True if the text begins like a saved profile, whatever its version.
bool looks_like_profile(std::string_view text);

// Partitions of one name are added up. Requires: at least one. Findings are made anew from the sums; those
// that need single records are kept once for each profile that had them.
ProfileReport merge_profiles(std::span<const ProfileReport> profiles);

// How one quantity moved between two profiles.
struct QuantityComparison {
  std::string quantity;  // "delay" | "disorder"
  double ks = 0;         // greatest distance of the cumulative shares, from 0 to 1
  double ks_limit = 0;   // what chance alone reaches in 1 of 100 comparisons of samples of this size
  double psi = 0;        // population stability index over tenths of the first profile
  struct Moved {
    std::string quantile;  // "p50" ...
    int64_t before_us = 0;
    int64_t after_us = 0;
  };
  std::vector<Moved> quantiles;
};

enum class ProfileVerdict : uint8_t {
  kInsufficient,  // too few records to say
  kSame,          // no difference beyond chance, or one below 0.02 (KS)
  kShifted,       // a difference beyond chance that is small: KS below 0.1, PSI below 0.1
  kChanged,       // beyond that: a budget from the first profile is not one for the second
};
std::string_view to_string(ProfileVerdict verdict);  // "insufficient" ...

struct ProfileComparison {
  ProfileVerdict verdict = ProfileVerdict::kInsufficient;
  std::vector<QuantityComparison> quantities;   // of all records; delay only where both have it
  std::vector<std::string> partitions_changed;  // verdict kChanged on their own
  std::vector<std::string> partitions_gone;
  std::vector<std::string> partitions_new;
  std::string text;  // one or two sentences
};
// Samples count as records / design effect. Source: two-sample Kolmogorov-Smirnov bound with unequal sizes;
// effect sizes decide, because at ten million records any ripple is significant.
ProfileComparison compare_profiles(const ProfileReport& before, const ProfileReport& after);

}  // namespace wrackline
