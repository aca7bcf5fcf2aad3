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
  mark_place();
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
  begin_ = end_ = remembered_ = 0;
  plain_bytes_ = 0;
  tail_.clear();
  mark_ = {};
  records_before_batch_ = 0;
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
  plain_bytes_ += got.bytes;
  filled_up_ = got.bytes == room;
  return got;
}

void FileReader::make_room() {
  if (begin_ > 0) {
    remember_eaten();
    remembered_ = 0;
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

// ---- going on later ----

void FileReader::remember_eaten() {
  const std::string_view fresh(buffer_.get() + remembered_, begin_ - remembered_);
  remembered_ = begin_;
  if (fresh.size() >= kTailBytes) {
    tail_ = fresh.substr(fresh.size() - kTailBytes);
    return;
  }
  tail_ += fresh;
  if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
}

void FileReader::mark_place() {
  if (bytes_ == nullptr) return;
  remember_eaten();
  records_before_batch_ = parser_->records();
  const std::optional<formats::ParserPlace> place = parser_->place();
  if (!place) return;
  mark_.stored_bytes = bytes_->position();
  mark_.byte = plain_bytes_ - (end_ - begin_);
  mark_.place = *place;
  mark_.tail = tail_;
}

FilePosition FileReader::position(uint64_t taken) const {
  using Phase = FilePosition::Phase;
  FilePosition position;
  position.name = options_.name;
  position.bytes_before = bytes_before_;
  position.offset_base = offset_base_;
  if (done_) {
    position.phase = Phase::kEnded;
  } else if (bytes_ == nullptr) {
    position.phase = parser_ == nullptr && offset_base_ == 0 ? Phase::kNotBegun : Phase::kBetween;
    if (parser_ != nullptr) position.offset_base += parser_->records();
  } else if (bytes_->state_when_opened().kind == env::FileKind::kStream) {
    position.phase = Phase::kStream;
    position.offset_base += parser_->records();
  } else {
    position.phase = Phase::kContent;
    position.identity = bytes_->state_when_opened().identity;
    position.compression = bytes_->compression();
    position.stored_bytes = mark_.stored_bytes;
    position.byte = mark_.byte;
    position.place = mark_.place;
    if (mark_.place.header_read) position.header = parser_->header();
    position.taken = static_cast<uint64_t>(records_before_batch_ - mark_.place.records) + taken;
    position.tail_bytes = mark_.tail.size();
    position.tail_hash = hash_of_tail(mark_.tail);
  }
  return position;
}

void FileReader::save(SnapshotWriter& out, uint64_t taken) const {
  connectors::save(position(taken), out);
}

Status FileReader::restore(SnapshotReader& from, const std::vector<std::string>& others) {
  using Phase = FilePosition::Phase;
  WRACKLINE_ASSIGN(const FilePosition position, load_position(from));
  if (position.name != options_.name)
    return fail(ErrorCode::kData, format("a position in \"{}\" where \"{}\" is read", position.name, name()));
  bytes_before_ = position.bytes_before;
  offset_base_ = position.offset_base;
  switch (position.phase) {
    case Phase::kNotBegun:
      return {};
    case Phase::kBetween:
      deletion_told_ = true;
      return {};
    case Phase::kEnded:
      done_ = true;
      return {};
    case Phase::kContent:
      return go_to(position, others);
    case Phase::kStream:
      break;
  }
  Error error{ErrorCode::kUnsupported,
              name() == "-" ? std::string("standard input cannot be read a second time")
                            : format("\"{}\" is a pipe or device and cannot be read a second time", name()),
              "The run was cut short in the middle of it, and what it had read is gone from it.",
              "Begin a new run without --resume, or save the stream to a file and name that: a file can be gone "
              "on with.",
              {}};
  error.where.file = name();
  error.where.offset = position.offset_base;
  return fail(std::move(error));
}

Status FileReader::go_to(const FilePosition& position, const std::vector<std::string>& others) {
  WRACKLINE_ASSIGN(FoundAgain found, find_again(position, options_.path, options_.follow, others));
  start(std::move(found.file), found.state);
  if (auto passed = bytes_->skip(position.byte - position.tail_bytes); !passed) {
    return fail(cannot_go_on(position, passed.error().code,
                             format("cannot go on in file \"{}\": {}", name(), passed.error().message),
                             passed.error().detail));
  }
  plain_bytes_ = position.byte - position.tail_bytes;
  WRACKLINE_TRY(check_tail(position));
  WRACKLINE_TRY(parser_->go_on(position.place, position.header));
  return pass_over(position);
}

// Reads what the position says of the bytes before it; leaves them eaten.
Status FileReader::check_tail(const FilePosition& position) {
  while (end_ < position.tail_bytes) {
    WRACKLINE_ASSIGN(const FileBytes::Got got, fill());
    if (got.bytes == 0) break;
  }
  const size_t size = std::min<size_t>(end_, position.tail_bytes);
  const bool same = size == position.tail_bytes &&
                    hash_of_tail({buffer_.get(), size}) == position.tail_hash &&
                    (position.byte == 0 || bytes_->compression() == position.compression);
  if (!same) {
    return fail(cannot_go_on(
        position, ErrorCode::kData, format("file \"{}\" is not what it was at the checkpoint", name()),
        format("The {} bytes before the place where reading goes on have changed: it was edited, or written "
               "anew.",
               position.tail_bytes)));
  }
  begin_ = size;
  return {};
}

// The records that were taken behind the place.
Status FileReader::pass_over(const FilePosition& position) {
  Batch batch;
  constexpr uint64_t kAtOnce = 4096;
  const formats::Parser* const parser = parser_.get();
  const auto passed = [&] { return static_cast<uint64_t>(parser->records() - position.place.records); };
  while (passed() < position.taken) {
    WRACKLINE_ASSIGN(const ReadState state, read(batch, std::min(position.taken - passed(), kAtOnce)));
    if (state == ReadState::kRows && parser_.get() == parser) continue;
    return fail(cannot_go_on(position, ErrorCode::kData,
                             format("file \"{}\" has lost records that the run has read", name()), {}));
  }
  mark_place();
  return {};
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
