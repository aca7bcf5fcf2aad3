#include "env/disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "env/append_file.h"
#include "env/file.h"

namespace wrackline::env {
namespace {

class RealFile : public GrowingFile {
 public:
  explicit RealFile(AppendFile file) : file_(std::move(file)) {}
  Status append(std::string_view bytes) override { return file_.append(bytes); }
  Status sync() override { return file_.sync(); }
  const std::string& path() const override { return file_.path(); }

 private:
  AppendFile file_;
};

struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  int number;
};

std::unexpected<Error> cannot_read(const std::string& path, int error) {
  Error failure = system_error(format("cannot read file \"{}\"", path), error);
  if (error == ENOENT) failure.code = ErrorCode::kNotFound;
  return fail(std::move(failure));
}

// 0, or the error; ENODATA if the file ends before.
int read_at(int descriptor, uint64_t offset, char* into, size_t size) {
  while (size > 0) {
    const ssize_t got = ::pread(descriptor, into, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return ENODATA;
    into += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
  return 0;
}

class RealDisk : public Disk {
 public:
  Result<std::unique_ptr<GrowingFile>> create(const std::string& path) override {
    WRACKLINE_ASSIGN(AppendFile file, AppendFile::create(path));
    return std::make_unique<RealFile>(std::move(file));
  }

  Status replace(const std::string& path, std::string_view bytes) override {
    return replace_file(path, bytes);
  }

  Status sync(const std::string& path) override {
    Status synced = sync_file(path);
    if (!synced && !::access(path.c_str(), F_OK)) return synced;
    if (!synced) synced.error().code = ErrorCode::kNotFound;
    return synced;
  }

  Result<std::string> read(const std::string& path, size_t size_max) override {
    return read_file(path, size_max);
  }

  Result<std::string> read_range(const std::string& path, uint64_t offset, size_t size) override {
    // Asked before memory is: a length that a damaged file gave must not exhaust it.
    WRACKLINE_ASSIGN(const std::optional<uint64_t> whole, size_bytes(path));
    if (!whole) return cannot_read(path, ENOENT);
    int error = offset > *whole || size > *whole - offset ? ENODATA : 0;
    std::string bytes;
    if (error == 0) {
      const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (file.number < 0) return cannot_read(path, errno);
      // Not the size that the library gives: that of gcc 12 is what it has allocated.
      bytes.resize_and_overwrite(size, [&](char* into, size_t) {
        error = read_at(file.number, offset, into, size);
        return error == 0 ? size : 0;
      });
    }
    if (error == ENODATA) {
      return fail(ErrorCode::kData, format("file \"{}\" is too short", path),
                  format("Bytes {} to {} should be there.", offset, offset + size));
    }
    if (error != 0) return cannot_read(path, error);
    return bytes;
  }

  Result<std::optional<uint64_t>> size_bytes(const std::string& path) override {
    WRACKLINE_ASSIGN(const auto state, file_state(path));
    if (!state || state->kind != FileKind::kRegular) return std::optional<uint64_t>();
    return std::optional(state->size_bytes);
  }

  Result<std::vector<std::string>> list(const std::string& folder) override {
    std::vector<std::string> names;
    DIR* opened = ::opendir(folder.c_str());
    if (opened == nullptr && errno == ENOENT) return names;
    if (opened == nullptr) return fail(system_error(format("cannot list folder \"{}\"", folder), errno));
    int error = 0;
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(opened);
      if (entry == nullptr) {
        error = errno;
        break;
      }
      std::string name = entry->d_name;
      struct stat found{};
      if (::fstatat(::dirfd(opened), name.c_str(), &found, 0) == 0 && S_ISREG(found.st_mode))
        names.push_back(std::move(name));
    }
    ::closedir(opened);
    if (error != 0) return fail(system_error(format("cannot list folder \"{}\"", folder), error));
    std::ranges::sort(names);
    return names;
  }

  Status remove(const std::string& path) override { return remove_file(path); }

  Status make_folder(const std::string& path) override {
    WRACKLINE_ASSIGN(const auto before, file_state(path));
    WRACKLINE_TRY(make_directories(path));
    if (before) return {};
    // Those above may be new, too.
    for (std::string above = path; !above.empty() && above != "/";) {
      above.resize(above.find_last_not_of('/') + 1);
      const size_t slash = above.rfind('/');
      above = slash == std::string::npos ? "." : above.substr(0, slash + 1);
      const Descriptor folder(::open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      // A file system that cannot sync a folder keeps names by other means.
      if (folder.number >= 0) static_cast<void>(::fsync(folder.number));
      if (above == ".") break;
    }
    return {};
  }
};

}  // namespace

Disk& real_disk() {
  static RealDisk disk;
  return disk;
}

}  // namespace wrackline::env
