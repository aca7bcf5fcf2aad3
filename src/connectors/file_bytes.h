// The plain bytes of one file or stream, whatever it is compressed with.
//
// The content decides, by its first bytes. A name that promises compression must keep the promise: a .gz that
// holds something else is an error, because it is more often a failed download than a wrong name. Threads:
// one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "connectors/decoder.h"
#include "env/file.h"

namespace wrackline::connectors {

class FileBytes {
 public:
  // `name` is for messages, as the user wrote it.
  FileBytes(std::string name, env::InputFile file, env::FileState state);

  struct Got {
    size_t bytes = 0;
    bool at_end = false;  // with no bytes: the file has no more for now; else a stream is quiet
  };
  // Reads up to `size` plain bytes. A stream is waited for a moment at most. `growing`: the file may get
  // longer, so a first byte that could become anything is waited for. Errors, with the file in `where`: kData
  // for a corrupt file with the byte where it is so; kUnsupported; kUnavailable.
  Result<Got> read(char* into, size_t size, bool growing);

  // Passes over that many plain bytes, which the file has: a plain file is not read, a compressed one is.
  // Requires: nothing was read. Errors: as read(); kData when the file ends before.
  Status skip(uint64_t bytes);

  // Whether a file that ends here is whole. Errors: kData if compressed data stops in the middle.
  Status check_end() const;

  uint64_t position() const { return position_ - (staged_.size() - staged_begin_); }  // of the stored form
  Compression compression() const { return compression_; }
  const env::FileState& state_when_opened() const { return state_; }
  Result<env::FileState> state() const { return file_.state(); }

 private:
  Result<Got> read_head(bool growing);
  Result<Got> read_plain(char* into, size_t size);
  Result<Got> read_compressed(char* into, size_t size);
  Result<Got> read_stored(char* into, size_t size);
  Status settle(Compression compression);
  std::unexpected<Error> located(Error error) const;

  std::string name_;
  env::InputFile file_;
  env::FileState state_;
  uint64_t position_ = 0;  // stored bytes taken from the file
  bool settled_ = false;   // the first bytes have said what it is
  bool eof_ = false;       // the last read of the file gave nothing
  Compression compression_ = Compression::kNone;
  std::unique_ptr<Decoder> decoder_;
  std::string staged_;  // stored bytes not yet decoded, from staged_begin_ on; before settled_: the head
  size_t staged_begin_ = 0;
};

}  // namespace wrackline::connectors
