#include "connectors/file_bytes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace wrackline::connectors {
namespace {

constexpr size_t kStageBytes = size_t{128} << 10;
constexpr Duration kStreamWait = millis(20);

}  // namespace

FileBytes::FileBytes(std::string name, env::InputFile file, env::FileState state)
    : name_(std::move(name)), file_(std::move(file)), state_(state) {}

std::unexpected<Error> FileBytes::located(Error error) const {
  error.where.file = name_;
  return fail(std::move(error));
}

Result<FileBytes::Got> FileBytes::read(char* into, size_t size, bool growing) {
  WRACKLINE_CHECK(size > 0, "no room to read into");
  if (!settled_) {
    WRACKLINE_ASSIGN(const Got head, read_head(growing));
    if (!settled_) return head;
  }
  return compression_ == Compression::kNone ? read_plain(into, size) : read_compressed(into, size);
}

// Collects first bytes until they say what the file is. Leaves them staged.
Result<FileBytes::Got> FileBytes::read_head(bool growing) {
  while (!settled_) {
    auto found = recognise(staged_, eof_ && !growing);
    if (!found) return located(std::move(found).error());
    if (*found && (!staged_.empty() || (eof_ && !growing))) {
      WRACKLINE_TRY(settle(**found));
      break;
    }
    std::array<char, kMarkBytes> more;
    WRACKLINE_ASSIGN(const Got got, read_stored(more.data(), kMarkBytes - staged_.size()));
    staged_.append(more.data(), got.bytes);
    if (got.bytes == 0 && (!got.at_end || growing)) return got;
  }
  return Got{};
}

Status FileBytes::settle(Compression compression) {
  const Compression promised = compression_of_name(name_);
  if (compression == Compression::kNone && promised != Compression::kNone && !staged_.empty()) {
    return located({ErrorCode::kData,
                    format("file is not {}", to_string(promised)),
                    format("Its name says so, but it starts with \"{}\".", printable(staged_)),
                    "If it is plain, give it a name without that ending; else fetch it again.",
                    {}});
  }
  compression_ = compression;
  if (compression != Compression::kNone) decoder_ = make_decoder(compression);
  settled_ = true;
  return {};
}

Result<FileBytes::Got> FileBytes::read_stored(char* into, size_t size) {
  if (state_.kind == env::FileKind::kStream && !file_.wait_readable(kStreamWait)) return Got{};
  auto got = file_.read(into, size);
  if (!got) return located(std::move(got).error());
  position_ += *got;
  eof_ = *got == 0;
  return Got{*got, eof_};
}

Result<FileBytes::Got> FileBytes::read_plain(char* into, size_t size) {
  if (staged_begin_ == staged_.size()) return read_stored(into, size);
  const size_t head = std::min(size, staged_.size() - staged_begin_);
  std::memcpy(into, staged_.data() + staged_begin_, head);
  staged_begin_ += head;
  if (head == size || state_.kind == env::FileKind::kStream) return Got{head, false};
  WRACKLINE_ASSIGN(const Got rest, read_stored(into + head, size - head));
  return Got{head + rest.bytes, false};
}

Result<FileBytes::Got> FileBytes::read_compressed(char* into, size_t size) {
  for (;;) {
    const std::string_view stored = std::string_view(staged_).substr(staged_begin_);
    auto step = decoder_->decode(stored, into, size);
    if (!step) {
      Error error = std::move(step).error();
      error.detail = format("Byte {} of the file: {}.", position(), error.detail);
      error.hint =
          format("Fetch the file again; {} -t checks it. Records just before that byte may be damaged too.",
                 to_string(compression_));
      return located(std::move(error));
    }
    staged_begin_ += step->eaten;
    if (step->made > 0) return Got{step->made, false};
    if (step->eaten > 0 && staged_begin_ < staged_.size()) continue;
    staged_.erase(0, staged_begin_);
    staged_begin_ = 0;
    const size_t before = staged_.size();
    staged_.resize(before + kStageBytes);
    auto got = read_stored(staged_.data() + before, kStageBytes);
    staged_.resize(before + (got ? got->bytes : 0));
    if (!got) return std::unexpected(std::move(got).error());
    if (got->bytes == 0) return *got;
  }
}

Status FileBytes::skip(uint64_t bytes) {
  if (bytes == 0) return {};
  WRACKLINE_TRY(read_head(false));
  if (compression_ == Compression::kNone) {
    WRACKLINE_TRY(file_.seek(bytes));
    position_ = bytes;
    staged_.clear();
    staged_begin_ = 0;
    eof_ = false;
    return {};
  }
  std::string passed(kStageBytes, '\0');
  while (bytes > 0) {
    WRACKLINE_ASSIGN(const Got got, read_compressed(passed.data(), std::min(bytes, uint64_t{kStageBytes})));
    if (got.bytes == 0) {
      return located({ErrorCode::kData,
                      format("the file ends {} bytes before the place to go on at", bytes),
                      {},
                      {},
                      {}});
    }
    bytes -= got.bytes;
  }
  return {};
}

Status FileBytes::check_end() const {
  if (decoder_ == nullptr || (decoder_->may_end() && staged_begin_ == staged_.size())) return {};
  return located({ErrorCode::kData,
                  format("{} data is truncated", to_string(compression_)),
                  format("The file ends at byte {}, in the middle of its data.", position_),
                  "What stood before was read. Fetch the file again, or wait until it is written.",
                  {}});
}

}  // namespace wrackline::connectors
