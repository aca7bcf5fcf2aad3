#include "env/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/text.h"

namespace wrackline::env {
namespace {

void sync_folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); opened >= 0) {
    ::fsync(opened);  // a file system that cannot sync a folder keeps names by other means
    ::close(opened);
  }
}

}  // namespace

Result<AppendFile> AppendFile::create(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) return fail(system_error(format("cannot make file \"{}\"", path), errno));
  AppendFile file(path, descriptor);
  sync_folder_of(path);
  return file;
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  if (this != &other) {
    close();
    path_ = std::move(other.path_);
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

AppendFile::~AppendFile() {
  close();
}

void AppendFile::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

Status AppendFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(system_error(format("cannot write file \"{}\"", path_), errno));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Status AppendFile::sync() {
  while (::fdatasync(descriptor_) != 0) {
    if (errno != EINTR) return fail(system_error(format("cannot make file \"{}\" durable", path_), errno));
  }
  return {};
}

Status sync_file(const std::string& path) {
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int error = opened < 0 ? errno : 0;
  while (error == 0 && ::fsync(opened) != 0) {
    if (errno != EINTR) error = errno;
  }
  if (opened >= 0) ::close(opened);
  if (error != 0) return fail(system_error(format("cannot make file \"{}\" durable", path), error));
  sync_folder_of(path);
  return {};
}

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return fail(system_error(format("cannot remove file \"{}\"", path), errno));
}

}  // namespace wrackline::env
