#include "data/time_zone.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/text.h"
#include "data/time_text.h"
#include "data/zone_file.h"
#include "wrackline/time.h"

namespace wrackline {
namespace {

constexpr std::string_view kDirectory = "/usr/share/zoneinfo";  // Debian: the package tzdata

class FixedZone final : public TimeZone {
 public:
  FixedZone(std::string name, int64_t offset_us) : name_(std::move(name)), offset_us_(offset_us) {}
  std::string_view name() const override { return name_; }
  int64_t offset_at(int64_t) const override { return offset_us_; }
  int64_t instant_of_local(int64_t local_us) const override {
    return saturating_subtract(local_us, offset_us_);
  }

 private:
  std::string name_;
  int64_t offset_us_;
};

bool is_zone_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '_' || c == '+' || c == '-';
  };
  return !name.empty() && name.size() < 100 && name.front() != '/' && std::ranges::all_of(name, allowed);
}

// "+02", "-0530", "+02:00": ISO 8601, positive is east of Greenwich.
std::optional<int64_t> fixed_offset_us(std::string_view name) {
  if (name.size() < 3 || (name[0] != '+' && name[0] != '-')) return std::nullopt;
  int64_t micros = 0;
  const TimeParse parse = parse_timestamp(format("1970-01-01T00:00:00{}", name), nullptr, micros);
  if (parse != TimeParse::kOk) return std::nullopt;
  return -micros;
}

std::vector<std::string> zone_names() {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(kDirectory, error);
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    std::string name = at->path().lexically_relative(kDirectory).string();
    const bool copy = name.starts_with("right/") || name.starts_with("posix/");
    if (!copy && at->is_regular_file(error) && is_zone_name(name)) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

std::unexpected<Error> not_found(std::string_view name) {
  const std::vector<std::string> names = zone_names();
  if (names.empty()) {
    return fail(ErrorCode::kUnavailable, format("time zone \"{}\" cannot be read", printable(name)),
                format("There is no time zone data in {}.", kDirectory), "Install the package tzdata.");
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string nearest = nearest_name(name, known);
  return fail(ErrorCode::kNotFound, format("time zone \"{}\" does not exist", printable(name)), {},
              nearest.empty() ? "Give a name like Europe/Vienna, UTC, or an offset like +02:00."
                              : format("Did you mean \"{}\"?", nearest));
}

Result<std::unique_ptr<TimeZone>> load(std::string_view name) {
  if (const auto offset = fixed_offset_us(name))
    return std::make_unique<FixedZone>(std::string(name), *offset);
  if (!is_zone_name(name)) return not_found(name);
  const std::filesystem::path path = std::filesystem::path(kDirectory) / name;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return not_found(name);
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!bytes.starts_with("TZif")) return not_found(name);
  auto zone = parse_zone_file(std::string(name), bytes);
  if (zone == nullptr) {
    return fail(ErrorCode::kData, format("time zone \"{}\" cannot be read", name),
                format("The file {}/{} is damaged.", kDirectory, name), "Install the package tzdata again.");
  }
  return zone;
}

}  // namespace

Result<const TimeZone*> TimeZone::find(std::string_view name) {
  if (name == "UTC" || name == "Z") return utc();
  static std::mutex mutex;
  static auto& zones = *new std::map<std::string, std::unique_ptr<TimeZone>, std::less<>>;
  const std::lock_guard lock(mutex);
  const auto found = zones.find(name);
  if (found != zones.end()) return found->second.get();
  WRACKLINE_ASSIGN(auto zone, load(name));
  return zones.emplace(std::string(name), std::move(zone)).first->second.get();
}

const TimeZone* TimeZone::utc() {
  static const FixedZone zone("UTC", 0);
  return &zone;
}

}  // namespace wrackline
