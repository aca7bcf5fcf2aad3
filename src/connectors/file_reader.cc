#include "connectors/file_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace wrackline::connectors {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kBufferBytesMin = size_t{64} << 10;
constexpr size_t kLineEndRoom = size_t{64} << 10;  // beyond the longest record, so that its end can be seen

// Many files may be read side by side, so a small one gets a small buffer.
size_t first_capacity(const env::FileState& state) {
  if (state.kind == env::FileKind::kStream) return kBufferBytes;
  const size_t size = std::min<size_t>(state.size_bytes + 1, kBufferBytes);
  return std::max(size, kBufferBytesMin);
}

}  // namespace

FileReader::FileReader(FileReaderOptions options, std::shared_ptr<OpenedFiles> opened)
    : options_(std::move(options)), opened_(std::move(opened)) {
  options_.parser.file = options_.name;
}

Result<ReadState> FileReader::read(Batch& batch, size_t rows_max) {
  WRACKLINE_CHECK(rows_max > 0, "a batch of no rows");
  batch.reset(options_.parser.fields);
  batch.file = options_.name;
  if (done_) return ReadState::kEnded;
  for (;;) {
    if (bytes_ == nullptr) {
      WRACKLINE_ASSIGN(const bool opened, open());
      if (!opened) return ReadState::kCaughtUp;
    }
    WRACKLINE_ASSIGN(const bool any, parse(batch, rows_max));
    if (any) return ReadState::kRows;
    if (content_ended_) {
      bytes_before_ += bytes_->position();
      bytes_.reset();
      done_ = !options_.follow;
      if (!done_) continue;
      buffer_.reset();
      return ReadState::kEnded;
    }
    WRACKLINE_ASSIGN(const FileBytes::Got got, fill());
    if (got.bytes > 0) continue;
    if (!got.at_end) return ReadState::kCaughtUp;
    WRACKLINE_ASSIGN(const bool over, is_over());
    if (!over) return ReadState::kCaughtUp;
    WRACKLINE_TRY(bytes_->check_end());
    content_ended_ = true;
  }
}

std::vector<std::string> FileReader::fields_seen() const {
  return parser_ ? parser_->fields_seen() : std::vector<std::string>();
}

// ---- opening ----

// Returns false if a followed file is not there, for now.
Result<bool> FileReader::open() {
  if (options_.name == "-") {
    env::InputFile input = env::InputFile::standard_input();
    WRACKLINE_ASSIGN(const env::FileState state, input.state());
    if (state.kind == env::FileKind::kDirectory) {
      return fail(ErrorCode::kInvalid, "cannot read standard input", "It is a directory.");
    }
    start(std::move(input), state);
    return true;
  }
  auto file = env::InputFile::open(options_.path);
  if (!file) {
    if (options_.follow && file.error().code == ErrorCode::kNotFound) {
      tell_deletion();
      return false;
    }
    Error error = std::move(file).error();
    error.where.file = options_.name;
    return fail(std::move(error));
  }
  WRACKLINE_ASSIGN(const env::FileState state, file->state());
  start(std::move(*file), state);
  return true;
}

void FileReader::tell_deletion() {
  if (!std::exchange(deletion_told_, true))
    notices_.push_back("file was deleted; waiting for a new one of that name");
}

void FileReader::start(env::InputFile file, env::FileState state) {
  opened_->take(state.identity, options_.name);
  if (parser_ != nullptr) offset_base_ += parser_->records();
  parser_ = formats::make_parser(options_.format, options_.parser);
  bytes_ = std::make_unique<FileBytes>(options_.name, std::move(file), state);
  if (buffer_ == nullptr) grow(first_capacity(state));
  begin_ = end_ = 0;
  content_ended_ = false;
  replacement_seen_ = false;
  deletion_told_ = false;
}

// ---- parsing ----

// Lets the parser eat until there are records in the batch or nothing more to eat. Returns whether there are.
// At the end the parser is asked even without bytes: it may hold a record, or miss a header.
Result<bool> FileReader::parse(Batch& batch, size_t rows_max) {
  const auto has_records = [&] { return batch.rows > 0 || !batch.rejects.empty(); };
  if (begin_ == end_ && !content_ended_) return false;
  do {
    WRACKLINE_ASSIGN(const size_t eaten, parser_->parse(unparsed(), content_ended_, rows_max, batch));
    WRACKLINE_CHECK(eaten <= unparsed().size(), format("{} of {} bytes eaten", eaten, unparsed().size()));
    if (eaten == 0) break;
    begin_ += eaten;
  } while (begin_ < end_ && !has_records());
  WRACKLINE_CHECK(!content_ended_ || begin_ == end_ || has_records(),
                  "a parser left bytes at the end of a file");
  if (offset_base_ > 0) {
    for (int64_t& offset : batch.offsets) offset += offset_base_;
    for (Reject& reject : batch.rejects) reject.offset += offset_base_;
  }
  return has_records();
}

// ---- filling the buffer ----

size_t FileReader::capacity_max() const {
  return std::max(kBufferBytes, options_.parser.record_bytes_max + kLineEndRoom);
}

// Requires: no batch holds views of the buffer.
Result<FileBytes::Got> FileReader::fill() {
  make_room();
  const size_t room = capacity_ - end_;
  WRACKLINE_ASSIGN(const FileBytes::Got got, bytes_->read(buffer_.get() + end_, room, options_.follow));
  end_ += got.bytes;
  filled_up_ = got.bytes == room;
  return got;
}

void FileReader::make_room() {
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == capacity_) {
    WRACKLINE_CHECK(capacity_ < capacity_max(), format("a parser asks for more than {} bytes", capacity_));
    grow(std::min(capacity_ * 2, capacity_max()));
  } else if (filled_up_ && capacity_ < kBufferBytes) {
    grow(std::min(capacity_ * 2, kBufferBytes));
  }
}

void FileReader::grow(size_t capacity) {
  auto grown = std::make_unique_for_overwrite<char[]>(capacity + formats::kPaddingBytes);
  std::memset(grown.get() + capacity, 0, formats::kPaddingBytes);
  if (end_ > begin_) std::memcpy(grown.get() + begin_, buffer_.get() + begin_, end_ - begin_);
  buffer_ = std::move(grown);
  capacity_ = capacity;
}

// ---- at the end of a file ----

// Whether the content that has been read to its end is all there will be of it.
Result<bool> FileReader::is_over() {
  const bool stream = options_.name == "-" || bytes_->state_when_opened().kind == env::FileKind::kStream;
  if (!options_.follow || stream) {
    options_.follow = false;
    return true;
  }
  WRACKLINE_ASSIGN(const env::FileState ours, bytes_->state());
  if (ours.size_bytes < bytes_->position()) {
    notices_.push_back(format("file was truncated from {} to {} bytes; it is read again from its start",
                              bytes_->position(), ours.size_bytes));
    return true;
  }
  return is_replaced(ours);
}

Result<bool> FileReader::is_replaced(const env::FileState& ours) {
  WRACKLINE_ASSIGN(const auto named, env::file_state(options_.path));
  if (!named) {
    if (ours.links == 0) tell_deletion();
    return false;
  }
  if (named->identity == ours.identity || named->identity == refused_) {
    replacement_seen_ = false;
    return false;
  }
  // One more look at the old file before it is left: its writer may not have finished.
  if (!std::exchange(replacement_seen_, true)) return false;
  const std::string reader = opened_->take(named->identity, options_.name);
  if (!reader.empty() && reader != options_.name) {
    refused_ = named->identity;
    notices_.push_back(
        format("file was replaced by one that is already read as \"{}\"; it is not read twice", reader));
    return false;
  }
  notices_.push_back("file was replaced (rotated); the new one is read from its start");
  return true;
}

}  // namespace wrackline::connectors
