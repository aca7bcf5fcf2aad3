// A file that only grows, and can be made durable: what logs are written to.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace wrackline::env {

// Threads: one at a time. Owns the descriptor.
class AppendFile {
 public:
  // Makes the file and makes its name durable. Errors: kUnavailable, also when it exists already.
  static Result<AppendFile> create(const std::string& path);
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  ~AppendFile();

  // Writes all of `bytes` at the end. Errors: kUnavailable (disk full); some of them may then be there.
  Status append(std::string_view bytes);
  // What was appended survives a crash of the machine. Errors: kUnavailable: what is durable is not known
  // then, and asking again would not tell (a later success means nothing).
  Status sync();
  const std::string& path() const { return path_; }

 private:
  AppendFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  void close();

  std::string path_;
  int descriptor_ = -1;
};

// Makes the content of a file and its name durable, whoever wrote it: what a killed process left may be in
// memory only. Errors: kUnavailable.
Status sync_file(const std::string& path);

// Removes a file; one that is not there is fine. Errors: kUnavailable.
Status remove_file(const std::string& path);

}  // namespace wrackline::env
