#include "env/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <utility>

#include "base/text.h"

namespace wrackline::env {
namespace {

constexpr unsigned kWanted = STATX_TYPE | STATX_INO | STATX_SIZE | STATX_NLINK | STATX_BTIME;

FileKind kind_of(unsigned mode) {
  if (S_ISREG(mode)) return FileKind::kRegular;
  return S_ISDIR(mode) ? FileKind::kDirectory : FileKind::kStream;
}

FileState state_of(const struct statx& found) {
  FileState state;
  state.identity.device = makedev(found.stx_dev_major, found.stx_dev_minor);
  state.identity.inode = found.stx_ino;
  if ((found.stx_mask & STATX_BTIME) != 0) {
    state.identity.birth_ns = found.stx_btime.tv_sec * 1'000'000'000 + found.stx_btime.tv_nsec;
  }
  state.kind = kind_of(found.stx_mode);
  state.size_bytes = state.kind == FileKind::kRegular ? found.stx_size : 0;
  state.links = found.stx_nlink;
  return state;
}

Error cannot_read(const std::string& path, int error) {
  Error failure = system_error(format("cannot read file \"{}\"", path), error);
  if (error == EMFILE || error == ENFILE) {
    failure.hint = "Raise the limit with ulimit -n, or read the files one after another: files = 'sequence'.";
  } else if (error == EACCES) {
    failure.hint = "Ask its owner for permission to read it, or run as a user who has it.";
  }
  return failure;
}

Error is_directory(const std::string& path) {
  return {ErrorCode::kInvalid,
          format("cannot read file \"{}\"", path),
          "It is a directory.",
          format("Name the files in it: {}{}*", path, path.ends_with('/') ? "" : "/"),
          {}};
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status write_all(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(system_error(format("cannot write file \"{}\"", path), errno));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Status write_synced(const std::string& path, std::string_view bytes) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return fail(system_error(format("cannot write file \"{}\"", path), errno));
  Status status = write_all(descriptor, bytes, path);
  if (status && ::fsync(descriptor) != 0)
    status = fail(system_error(format("cannot write file \"{}\"", path), errno));
  if (::close(descriptor) != 0 && status)
    status = fail(system_error(format("cannot write file \"{}\"", path), errno));
  return status;
}

// A new name is durable only once its folder is. Some network file systems cannot sync a folder; they keep
// the name.
void sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  static_cast<void>(::fsync(descriptor));
  ::close(descriptor);
}

}  // namespace

Result<std::optional<FileState>> file_state(const std::string& path) {
  struct statx found{};
  if (::statx(AT_FDCWD, path.c_str(), 0, kWanted, &found) == 0) return state_of(found);
  if (errno == ENOENT || errno == ENOTDIR) return std::optional<FileState>();
  return fail(cannot_read(path, errno));
}

Result<InputFile> InputFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail(cannot_read(path, errno));
  InputFile file(path, descriptor);
  WRACKLINE_ASSIGN(const FileState state, file.state());
  if (state.kind == FileKind::kDirectory) return fail(is_directory(path));
  // Advice only: no harm if the file system has no use for it.
  if (state.kind == FileKind::kRegular)
    static_cast<void>(posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL));
  return file;
}

InputFile InputFile::standard_input() {
  return {"-", STDIN_FILENO};
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  if (this != &other) {
    close();
    path_ = std::move(other.path_);
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

InputFile::~InputFile() {
  close();
}

void InputFile::close() {
  if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
  descriptor_ = -1;
}

Result<FileState> InputFile::state() const {
  struct statx found{};
  if (::statx(descriptor_, "", AT_EMPTY_PATH, kWanted, &found) != 0) return fail(cannot_read(path_, errno));
  return state_of(found);
}

Result<size_t> InputFile::read(char* into, size_t size) {
  for (;;) {
    const ssize_t got = ::read(descriptor_, into, size);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno == EISDIR) return fail(is_directory(path_));
    if (errno != EINTR && errno != EAGAIN) return fail(cannot_read(path_, errno));
    if (errno == EAGAIN) wait_readable(millis(100));
  }
}

Status InputFile::seek(uint64_t position) {
  constexpr uint64_t kPositionMax = std::numeric_limits<off_t>::max();
  const auto to = static_cast<off_t>(std::min(position, kPositionMax));
  if (::lseek(descriptor_, to, SEEK_SET) == to) return {};
  return fail(cannot_read(path_, errno));
}

bool InputFile::wait_readable(Duration at_most) {
  struct pollfd wanted{descriptor_, POLLIN, 0};
  const int64_t millis = std::clamp<int64_t>(at_most.micros() / 1000, 0, 60'000);
  return ::poll(&wanted, 1, static_cast<int>(millis)) > 0;
}

Result<std::string> read_file(const std::string& path, size_t size_max) {
  WRACKLINE_ASSIGN(InputFile file, InputFile::open(path));
  constexpr size_t kStep = size_t{64} << 10;
  std::string bytes;
  for (;;) {
    const size_t before = bytes.size();
    bytes.resize(before + kStep);
    WRACKLINE_ASSIGN(const size_t got, file.read(bytes.data() + before, kStep));
    bytes.resize(before + got);
    if (got == 0) return bytes;
    if (bytes.size() > size_max) {
      return fail(ErrorCode::kOutOfRange, format("file \"{}\" is too large", path),
                  format("It has more than {} bytes.", with_thousands(static_cast<int64_t>(size_max))));
    }
  }
}

Status replace_file(const std::string& path, std::string_view bytes) {
  const std::string neighbour = format("{}.{}.new", path, ::getpid());
  Status status = write_synced(neighbour, bytes);
  if (status && ::rename(neighbour.c_str(), path.c_str()) != 0) {
    status = fail(system_error(format("cannot write file \"{}\"", path), errno));
  }
  if (!status) {
    ::unlink(neighbour.c_str());
    return status;
  }
  sync_folder(folder_of(path));
  return {};
}

void allow_many_open_files() {
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

Status make_directories(const std::string& path) {
  for (size_t end = path.find_first_not_of('/'); end != std::string::npos;) {
    end = path.find('/', end);
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0777) != 0 && errno != EEXIST) {
      return fail(system_error(format("cannot make folder \"{}\"", path), errno));
    }
    if (end != std::string::npos) end = path.find_first_not_of('/', end);
  }
  WRACKLINE_ASSIGN(const auto state, file_state(path));
  if (state && state->kind == FileKind::kDirectory) return {};
  return fail(ErrorCode::kUnavailable, format("cannot make folder \"{}\"", path), "A file has that name.");
}

}  // namespace wrackline::env
