// Files of this machine: opening, reading into the caller's memory, telling one file from another, replacing.
//
// Reading is read(2) into reused memory, never mmap: a file that shrinks under a mapping kills the process,
// and a mapping hides the time that reading takes.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "wrackline/time.h"

namespace wrackline::env {

enum class FileKind : uint8_t {
  kRegular,
  kDirectory,
  kStream,  // a pipe, terminal, socket or device: no size, no second reading
};

// What a file is, whatever its name: stays when the file is renamed, and differs for a new file that was
// given the number of a deleted one (where the file system keeps birth times; 0 where it does not).
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t birth_ns = 0;
  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};

struct FileState {
  FileIdentity identity;
  FileKind kind = FileKind::kRegular;
  uint64_t size_bytes = 0;  // 0 for a stream
  uint64_t links = 1;       // names that the file has; 0: deleted, only open descriptors hold it
};

// What `path` names now, links followed; nullopt if it names nothing. Errors: kUnavailable.
Result<std::optional<FileState>> file_state(const std::string& path);

// An open file to read from. Threads: one at a time. Owns the descriptor, except standard input's.
class InputFile {
 public:
  // Errors: kNotFound, kUnavailable (no permission, no more descriptors), kInvalid for a directory.
  static Result<InputFile> open(const std::string& path);
  static InputFile standard_input();

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  Result<FileState> state() const;
  // Reads up to `size` bytes, as many as there are at once. 0: the end, for now. Errors: kUnavailable.
  // A signal does not end it.
  Result<size_t> read(char* into, size_t size);
  // The next read() begins at that byte, which may lie behind the end. Requires: a regular file. Errors:
  // kUnavailable.
  Status seek(uint64_t position);
  // Waits until read() would return at once, at most that long. False: it would not. A signal ends the wait.
  bool wait_readable(Duration at_most);

 private:
  InputFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  void close();

  std::string path_;
  int descriptor_ = -1;
};

// The whole of a small file. Errors: those of InputFile::open; kOutOfRange if it has more than `size_max`
// bytes.
Result<std::string> read_file(const std::string& path, size_t size_max = size_t{64} << 20);

// Gives `path` the content `bytes` so that at any moment, a crash included, it holds either all of the old
// content or all of the new: writes a neighbour, syncs it, renames it, syncs the folder. Errors: kNotFound
// (no such folder), kUnavailable (disk full, no permission); the old content then stands and no neighbour
// stays.
Status replace_file(const std::string& path, std::string_view bytes);

// Lets the process open as many files as the system allows it to, beyond the customary 1024. For the command
// line; a library leaves its host's limits alone.
void allow_many_open_files();

// Makes the folder and those above it; one that exists is fine. Errors: kUnavailable.
Status make_directories(const std::string& path);

}  // namespace wrackline::env
