// The files of a state directory behind an interface: real, or simulated with a disk's faults (disk_sim.h).
//
// What must survive a crash (tick log, checkpoints, cold windows) goes through a Disk, so that a test can
// tear, lose and flip what the program wrote, at any moment. Input and output files of users do not. Durable:
// survives a crash of the machine. A name is durable apart from the content; create() and replace() see to
// both. Threads: a Disk may be used by several threads and by a forked child; a GrowingFile by one at a time.
// Errors: kUnavailable unless something else is said; each names the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace wrackline::env {

// A file that only grows.
class GrowingFile {
 public:
  virtual ~GrowingFile() = default;
  // Writes all of `bytes` at the end. Errors: kUnavailable (disk full); some of them may then be there.
  virtual Status append(std::string_view bytes) = 0;
  // What was appended is durable. Errors: kUnavailable: what is durable is not known then, and asking again
  // would not tell (a later success means nothing).
  virtual Status sync() = 0;
  virtual const std::string& path() const = 0;
};

class Disk {
 public:
  virtual ~Disk() = default;

  // Makes a file and makes its name durable. Errors: also when it exists already.
  virtual Result<std::unique_ptr<GrowingFile>> create(const std::string& path) = 0;
  // Gives `path` that content, durably, so that at any moment it holds all of the old content or all of the
  // new. A crash may leave a neighbour whose name ends with ".new".
  virtual Status replace(const std::string& path, std::string_view bytes) = 0;
  // Makes the content of a file and its name durable, whoever wrote it: what a killed process left may be in
  // memory only, and must not be built on before. Errors: kNotFound.
  virtual Status sync(const std::string& path) = 0;
  // The whole of a file. Errors: kNotFound; kOutOfRange if it has more than `size_max` bytes.
  virtual Result<std::string> read(const std::string& path, size_t size_max) = 0;
  // That many bytes from `offset` on. Errors: kNotFound; kData if the file ends before.
  virtual Result<std::string> read_range(const std::string& path, uint64_t offset, size_t size) = 0;
  // nullopt if there is no such file.
  virtual Result<std::optional<uint64_t>> size_bytes(const std::string& path) = 0;
  // The names of the files in a folder, sorted; none if the folder does not exist.
  virtual Result<std::vector<std::string>> list(const std::string& folder) = 0;
  // Removes a file; one that is not there is fine. Not durable: after a crash it may be back.
  virtual Status remove(const std::string& path) = 0;
  // Makes the folder and those above it, durably; one that exists is fine.
  virtual Status make_folder(const std::string& path) = 0;
};

// The file system. Lives as long as the program.
Disk& real_disk();

}  // namespace wrackline::env
