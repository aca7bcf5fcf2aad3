// One file, or standard input, to batches.
//
// Bytes are read into one buffer that is used again and again, and the parser gets a view of all of it; only
// the record that the buffer's end cuts is moved, to the front, before more is read. The buffer grows beyond
// its usual size only when a single record does not fit, and never beyond the longest record allowed: what is
// longer the parser skips.
//
// A followed file is asked again where it ended. A new file under the same name (rotation) is begun once the
// old one has been read to its end and has stayed quiet for one more look; a file that shrank is begun again.
// Both end the old content, so a half line at its end becomes a record; both are told in a notice; offsets go
// on, lines start again. What cannot be seen: a file that is emptied and refilled beyond the old size between
// two looks.
//
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "connectors/file_bytes.h"
#include "connectors/file_position.h"
#include "connectors/opened_files.h"
#include "formats/parser.h"
#include "operators/source.h"

namespace wrackline::connectors {

struct FileReaderOptions {
  std::string name;  // as matched, or "-"
  std::string path;  // to open; equal to the name unless that is relative to another folder
  formats::Format format = formats::Format::kJsonl;
  formats::ParserOptions parser;
  bool follow = false;
};

class FileReader {
 public:
  // `opened` must already hold the file, if it exists.
  FileReader(FileReaderOptions options, std::shared_ptr<OpenedFiles> opened);

  // As SplitReader::read. The batch's `file` is the name, valid as long as this object.
  Result<ReadState> read(Batch& batch, size_t rows_max);
  // Writes where it stands: behind the first `taken` records of the last batch (file_position.h).
  void save(SnapshotWriter& out, uint64_t taken) const;
  // Goes on there. A followed file that was renamed since is looked for in its folder and among `others`.
  // Requires: nothing was read. Errors: as Source::restore.
  Status restore(SnapshotReader& from, const std::vector<std::string>& others);
  // A followed file: it gets no more; read() ends at its present end.
  void finish() { options_.follow = false; }

  const std::string& name() const { return options_.name; }
  uint64_t bytes_read() const { return bytes_before_ + (bytes_ ? bytes_->position() : 0); }
  std::vector<std::string> take_notices() { return std::exchange(notices_, {}); }
  std::vector<std::string> fields_seen() const;

 private:
  Result<bool> open();
  void start(env::InputFile file, env::FileState state);
  void tell_deletion();
  Result<bool> parse(Batch& batch, size_t rows_max);
  Result<FileBytes::Got> fill();
  void make_room();
  void grow(size_t capacity);
  Result<bool> is_over();
  Result<bool> is_replaced(const env::FileState& ours);
  std::string_view unparsed() const { return {buffer_.get() + begin_, end_ - begin_}; }
  size_t capacity_max() const;
  void remember_eaten();
  void mark_place();
  FilePosition position(uint64_t taken) const;
  Status go_to(const FilePosition& position, const std::vector<std::string>& others);
  Status check_tail(const FilePosition& position);
  Status pass_over(const FilePosition& position);

  FileReaderOptions options_;
  std::shared_ptr<OpenedFiles> opened_;
  std::unique_ptr<FileBytes> bytes_;  // null before the first read and after the end
  std::unique_ptr<formats::Parser> parser_;
  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool filled_up_ = false;      // the last read took all the room there was
  bool content_ended_ = false;  // what is in the buffer is the last of this content
  bool done_ = false;
  bool replacement_seen_ = false;             // at the look before
  std::optional<env::FileIdentity> refused_;  // a replacement that another split reads
  bool deletion_told_ = false;
  uint64_t bytes_before_ = 0;  // of contents already ended
  int64_t offset_base_ = 0;    // records of contents already ended
  std::vector<std::string> notices_;

  // To be found again. A place can be marked only between records, so it may lie before the last batch.
  struct Mark {
    uint64_t stored_bytes = 0;
    uint64_t byte = 0;  // of the plain content
    formats::ParserPlace place;
    std::string tail;  // the last bytes before it
  };
  Mark mark_;
  int64_t records_before_batch_ = 0;  // of this content
  uint64_t plain_bytes_ = 0;          // of this content, read so far
  std::string tail_;                  // the last bytes before remembered_
  size_t remembered_ = 0;             // place in the buffer
};

}  // namespace wrackline::connectors
