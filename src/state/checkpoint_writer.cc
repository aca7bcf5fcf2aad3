#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "data/crc32c.h"
#include "state/checkpoint_files.h"
#include "state/checkpoint_store.h"

namespace wrackline::state {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;
// Pieces at least as large are written from where they lie.
constexpr size_t kLargeBytes = size_t{256} << 10;
// What is made durable at once: the tick log's fsync must not wait behind a gigabyte of ours.
constexpr uint64_t kSyncBytes = uint64_t{32} << 20;
// Beyond that many pieces files the smallest are folded into the new one, down to half.
constexpr size_t kFilesMax = 64;

// The files whose pieces are written anew: half dead, or one of too many.
std::vector<int64_t> files_to_fold(const CheckpointManifest& base) {
  std::map<int64_t, uint64_t> live;
  for (const CheckpointPiece& piece : base.pieces) live[piece.at.file] += piece.at.size;
  std::vector<int64_t> folded;
  std::vector<std::pair<uint64_t, int64_t>> others;
  for (const auto& [number, bytes] : live) {
    if (bytes < base.file_bytes.at(number) / 2) {
      folded.push_back(number);
    } else {
      others.emplace_back(bytes, number);
    }
  }
  if (others.size() <= kFilesMax) return folded;
  std::ranges::sort(others);
  for (size_t i = 0; i + kFilesMax / 2 < others.size(); ++i) folded.push_back(others[i].second);
  return folded;
}

}  // namespace

struct CheckpointWriter::Base {
  std::map<int64_t, uint64_t> file_bytes;
  std::unordered_map<std::string, CheckpointPiece> pieces;  // that may be referred to

  explicit Base(CheckpointManifest&& manifest) : file_bytes(std::move(manifest.file_bytes)) {
    manifest.file_bytes = file_bytes;
    const std::vector<int64_t> folded = files_to_fold(manifest);
    for (CheckpointPiece& piece : manifest.pieces) {
      if (std::ranges::find(folded, piece.at.file) != folded.end()) continue;
      std::string name = piece.name;
      pieces.emplace(std::move(name), std::move(piece));
    }
  }
};

CheckpointWriter::CheckpointWriter(env::Disk& disk, CheckpointRetention retention, CheckpointMeta meta,
                                   int64_t base)
    : disk_(disk), retention_(std::make_unique<CheckpointRetention>(std::move(retention))) {
  const std::string& directory = retention_->directory;
  // A checkpoint that cannot be read any more is nothing to build on: then all is written anew.
  if (base != 0) {
    if (auto manifest = read_manifest(disk, directory, meta.run, base)) {
      meta.parent = base;
      base_ = std::make_unique<Base>(std::move(*manifest));
    }
  }
  manifest_.meta = std::move(meta);
  figures_.number = manifest_.meta.number;
  auto file = disk.create(pieces_path(directory, manifest_.meta.run, manifest_.meta.number));
  if (!file) {
    note(fail(std::move(file).error()));
    return;
  }
  file_ = std::move(*file);
  buffer_ = pieces_head(manifest_.meta);
  figures_.bytes_written = buffer_.size();
}

CheckpointWriter::~CheckpointWriter() {
  if (file_ == nullptr) return;
  const std::string path = file_->path();
  file_.reset();
  // It may have become valid while complete() heard of a failure; then its pieces are needed.
  if (!published_) static_cast<void>(disk_.remove(path));
}

void CheckpointWriter::note(Status status) {
  if (status_ && !status) status_ = std::move(status);
}

void CheckpointWriter::part(std::string_view name, const WritePiece& write) {
  for (const CheckpointPart& part : manifest_.parts)
    WRACKLINE_CHECK(part.name != name, "a part is written once");
  if (!status_) return;
  SnapshotWriter out(*this, std::string(name) + "/");
  write(out);
  manifest_.parts.push_back({std::string(name), append(out.seal())});
}

void CheckpointWriter::put(std::string_view name, uint64_t revision, const WritePiece& write) {
  WRACKLINE_CHECK(names_.insert(std::string(name)).second, "the name of a piece is unique");
  if (!status_ || refer(name, revision)) return;
  scratch_.clear();
  write(scratch_);
  manifest_.pieces.push_back({std::string(name), revision, append(scratch_.seal())});
  ++figures_.pieces_written;
}

bool CheckpointWriter::refer(std::string_view name, uint64_t revision) {
  if (base_ == nullptr) return false;
  const auto found = base_->pieces.find(std::string(name));
  if (found == base_->pieces.end() || found->second.revision != revision) return false;
  const CheckpointPiece& piece = found->second;
  manifest_.file_bytes[piece.at.file] = base_->file_bytes.at(piece.at.file);
  manifest_.pieces.push_back(piece);
  ++figures_.pieces_referenced;
  figures_.bytes_referenced += piece.at.size;
  return true;
}

void CheckpointWriter::need_file(std::string_view path) {
  if (!status_) return;
  const std::string full = retention_->directory + "/" + std::string(path);
  auto size = disk_.size_bytes(full);
  if (!size) return note(fail(std::move(size).error()));
  if (!*size) return note(fail(ErrorCode::kUnavailable, format("file \"{}\" is missing", full)));
  manifest_.needed.emplace_back(path, **size);
}

CheckpointExtent CheckpointWriter::append(std::string_view bytes) {
  const CheckpointExtent at{manifest_.meta.number, figures_.bytes_written, bytes.size(), crc32c(bytes)};
  figures_.bytes_written += bytes.size();
  if (bytes.size() < kLargeBytes) {
    buffer_ += bytes;
    if (buffer_.size() >= kBlockBytes) write_out();
    return at;
  }
  write_out();
  for (; status_ && !bytes.empty(); bytes.remove_prefix(std::min<size_t>(bytes.size(), kSyncBytes)))
    write(bytes.substr(0, kSyncBytes));
  return at;
}

void CheckpointWriter::write_out() {
  write(buffer_);
  buffer_.clear();
}

void CheckpointWriter::write(std::string_view block) {
  if (!status_ || block.empty()) return;
  note(file_->append(block));
  unsynced_bytes_ += block.size();
  if (unsynced_bytes_ < kSyncBytes || !status_) return;
  note(file_->sync());
  unsynced_bytes_ = 0;
}

Result<CheckpointFigures> CheckpointWriter::complete() {
  WRACKLINE_CHECK(!published_, "a checkpoint is completed once");
  write_out();
  if (status_) note(file_->sync());
  const CheckpointMeta& meta = manifest_.meta;
  if (status_) {
    manifest_.file_bytes[meta.number] = figures_.bytes_written;
    figures_.files = static_cast<int64_t>(manifest_.file_bytes.size());
    const std::string bytes = encode_manifest(manifest_);
    figures_.bytes_written += bytes.size();
    published_ = true;
    note(disk_.replace(manifest_path(retention_->directory, meta.run, meta.number), bytes));
  }
  if (!status_) {
    Error error = std::move(status_).error();
    error.detail = format("{}{}{}", error.message, error.detail.empty() ? "" : ": ", error.detail);
    error.message = format("cannot write checkpoint {}", checkpoint_name(meta.run, meta.number));
    if (error.hint.empty())
      error.hint = "Free space on its file system, or choose another place with --state DIR.";
    return fail(std::move(error));
  }
  // What cannot be removed now is tried again next time.
  if (const auto kept = retire_checkpoints(disk_, *retention_)) {
    figures_.tick_log_from = kept->tick_log_from;
    figures_.ledger_from = kept->ledger_from;
  }
  return figures_;
}

}  // namespace wrackline::state
