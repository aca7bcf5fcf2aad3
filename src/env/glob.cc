#include "env/glob.h"

#include <dirent.h>
#include <glob.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include "base/text.h"
#include "env/file.h"

namespace wrackline::env {
namespace {

// `text` as a pattern that matches only itself.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

Result<std::vector<std::string>> glob_paths(const std::string& pattern) {
  glob_t found{};
  const int code = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  const std::unique_ptr<glob_t, void (*)(glob_t*)> holder(&found, ::globfree);
  if (code == GLOB_NOSPACE) return fail(system_error(format("cannot expand \"{}\"", pattern), ENOMEM));
  if (code == GLOB_ABORTED) return fail(system_error(format("cannot expand \"{}\"", pattern), EIO));
  return std::vector<std::string>(found.gl_pathv, found.gl_pathv + found.gl_pathc);
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()), ::closedir);
  if (directory == nullptr) return names;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  std::ranges::sort(names);
  return names;
}

// The name in the same folder that was perhaps meant.
std::string nearest_file(const std::string& pattern, const std::string& folder) {
  const size_t slash = pattern.rfind('/');
  const std::string prefix = slash == std::string::npos ? "" : pattern.substr(0, slash + 1);
  const std::vector<std::string> names = names_in(folder_of(path_in(folder, pattern)));
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string nearest = nearest_name(pattern.substr(prefix.size()), known);
  return nearest.empty() ? nearest : prefix + nearest;
}

std::unexpected<Error> nothing_matches(const std::string& pattern, const std::string& folder) {
  const std::string parent = folder_of(path_in(folder, pattern));
  const auto state =
      has_wildcard(parent) ? Result<std::optional<FileState>>(FileState{}) : file_state(parent);
  const bool no_parent = state.has_value() && !state->has_value();
  const std::string nearest = nearest_file(pattern, folder);
  std::string hint = nearest.empty() ? "" : format("Did you mean \"{}\"?", nearest);
  if (has_wildcard(pattern)) {
    if (hint.empty())
      hint = "Check the pattern; relative names start at the folder of the job, or the working directory.";
    return fail(ErrorCode::kNotFound, format("no file matches \"{}\"", pattern),
                no_parent ? format("There is no folder \"{}\".", parent) : "", std::move(hint));
  }
  return fail(
      ErrorCode::kNotFound, format("cannot read file \"{}\"", pattern),
      no_parent ? format("No such file: there is no folder \"{}\".", parent) : "No such file or directory.",
      std::move(hint));
}

}  // namespace

bool has_wildcard(const std::string& pattern) {
  return pattern.find_first_of("*?[") != std::string::npos;
}

std::string path_in(const std::string& folder, const std::string& name) {
  if (folder.empty() || name.starts_with('/')) return name;
  return folder.ends_with('/') ? folder + name : folder + '/' + name;
}

Result<std::vector<std::string>> match_glob(const std::string& pattern, const std::string& folder) {
  WRACKLINE_ASSIGN(const auto as_it_stands, file_state(path_in(folder, pattern)));
  if (as_it_stands && as_it_stands->kind != FileKind::kDirectory) return std::vector{pattern};
  if (!has_wildcard(pattern)) return std::vector<std::string>();
  const std::string prefix = path_in(folder, "");
  const bool relative = !pattern.starts_with('/') && !folder.empty();
  WRACKLINE_ASSIGN(const auto paths, glob_paths(relative ? escaped(prefix) + pattern : pattern));
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    WRACKLINE_ASSIGN(const auto state, file_state(path));
    if (!state || state->kind == FileKind::kDirectory) continue;  // gone since, or a folder
    names.push_back(relative ? path.substr(prefix.size()) : path);
  }
  std::ranges::sort(names);
  return names;
}

Result<std::vector<std::string>> expand_glob(const std::string& pattern, const std::string& folder) {
  WRACKLINE_ASSIGN(auto names, match_glob(pattern, folder));
  if (!names.empty()) return names;
  const std::string path = path_in(folder, pattern);
  WRACKLINE_ASSIGN(const auto state, file_state(path));
  if (state) {
    return fail(ErrorCode::kInvalid, format("cannot read file \"{}\"", pattern), "It is a directory.",
                format("Name the files in it: {}{}*", pattern, pattern.ends_with('/') ? "" : "/"));
  }
  return nothing_matches(pattern, folder);
}

}  // namespace wrackline::env
