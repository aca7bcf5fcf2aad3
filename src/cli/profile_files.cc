#include "cli/profile_files.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/console.h"
#include "env/file.h"
#include "wrackline/delay_profile_file.h"

namespace wrackline::cli {
namespace {

constexpr size_t kProfileBytesMax = size_t{1} << 30;

Result<ProfileReport> read_profile(const std::string& path) {
  WRACKLINE_ASSIGN(const std::string text, read_text_file(path, kProfileBytesMax));
  auto report = load_profile(text);
  if (report) return std::move(*report);
  Error error{.code = ErrorCode::kData,
              .message = std::move(report).error(),
              .detail = {},
              .hint = "Write it again with `wrackline measure ... --out`.",
              .where = {}};
  error.where.file = path;
  return fail(std::move(error));
}

// Looks at the first bytes of a regular file; a pipe cannot be looked at twice.
bool begins_like_profile(const std::string& path) {
  const auto state = env::file_state(path);
  if (!state || !*state || (*state)->kind != env::FileKind::kRegular) return false;
  auto file = env::InputFile::open(path);
  if (!file) return false;
  std::array<char, 64> head{};
  const auto size = file->read(head.data(), head.size());
  return size && looks_like_profile({head.data(), *size});
}

}  // namespace

bool are_profiles(const std::vector<std::string>& paths) {
  return !paths.empty() && std::ranges::all_of(paths, begins_like_profile);
}

Result<ProfileReport> read_profiles(const std::vector<std::string>& paths) {
  std::vector<ProfileReport> profiles;
  for (const std::string& path : paths) {
    WRACKLINE_ASSIGN(ProfileReport profile, read_profile(path));
    profiles.push_back(std::move(profile));
  }
  if (profiles.size() == 1) return std::move(profiles[0]);
  return merge_profiles(profiles);
}

Status write_profile(const std::string& path, const ProfileReport& report) {
  return env::replace_file(path, save_profile(report));
}

}  // namespace wrackline::cli
