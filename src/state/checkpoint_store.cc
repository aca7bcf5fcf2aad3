#include "state/checkpoint_store.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/text.h"
#include "data/crc32c.h"
#include "state/checkpoint_files.h"

namespace wrackline::state {
namespace {

// Names the checkpoint in an error about a part of it.
std::unexpected<Error> about(const CheckpointMeta& meta, std::string_view name, Error error) {
  error.detail = format("{}{}{}", error.message, error.detail.empty() ? "" : ": ", error.detail);
  error.message = format("cannot read \"{}\" of checkpoint {}", name, checkpoint_name(meta.run, meta.number));
  if (error.hint.empty()) error.hint = "Start again: an older checkpoint is taken if this one is damaged.";
  return fail(std::move(error));
}

}  // namespace

std::string CheckpointFigures::to_bytes() const {
  SnapshotWriter out;
  out.i64(number);
  for (const uint64_t figure : {bytes_written, bytes_referenced, pieces_written, pieces_referenced})
    out.u64(figure);
  out.i64(files);
  out.u64(tick_log_from);
  out.i64(ledger_from);
  return out.finish();
}

Result<CheckpointFigures> CheckpointFigures::from_bytes(std::string_view bytes) {
  WRACKLINE_ASSIGN(SnapshotReader in, SnapshotReader::open(bytes));
  CheckpointFigures figures;
  figures.number = in.i64();
  for (uint64_t* figure : {&figures.bytes_written, &figures.bytes_referenced, &figures.pieces_written,
                           &figures.pieces_referenced})
    *figure = in.u64();
  figures.files = in.i64();
  figures.tick_log_from = in.u64();
  figures.ledger_from = in.i64();
  WRACKLINE_TRY(in.finish());
  return figures;
}

CheckpointReader::CheckpointReader(env::Disk& disk, std::string directory, CheckpointManifest manifest)
    : disk_(&disk), directory_(std::move(directory)), manifest_(std::move(manifest)) {
  for (const CheckpointPart& part : manifest_.parts) parts_.emplace(part.name, part.at);
  for (const CheckpointPiece& piece : manifest_.pieces) pieces_.emplace(piece.name, piece.at);
}

Result<std::string> CheckpointReader::read(const CheckpointExtent& at, std::string_view name) const {
  auto bytes = disk_->read_range(pieces_path(directory_, meta().run, at.file), at.offset, at.size);
  if (!bytes) return about(meta(), name, std::move(bytes).error());
  if (crc32c(*bytes) != at.crc) {
    return about(
        meta(), name,
        {ErrorCode::kData,
         format("file \"{}\" is damaged at byte {}", pieces_path(directory_, meta().run, at.file), at.offset),
         "",
         "",
         {}});
  }
  return std::move(*bytes);
}

Result<std::string> CheckpointReader::get(std::string_view name) {
  const auto found = pieces_.find(std::string(name));
  if (found == pieces_.end())
    return about(meta(), name, {ErrorCode::kNotFound, "there is no such piece", "", "", {}});
  return read(found->second, name);
}

Status CheckpointReader::part(std::string_view name,
                              const std::function<Status(SnapshotReader&)>& read_fields) {
  const auto found = parts_.find(std::string(name));
  if (found == parts_.end())
    return about(meta(), name, {ErrorCode::kNotFound, "there is no such part", "", "", {}});
  WRACKLINE_ASSIGN(const std::string bytes, read(found->second, name));
  auto in = SnapshotReader::open(bytes, *this, std::string(name) + "/");
  if (!in) return about(meta(), name, std::move(in).error());
  WRACKLINE_TRY(read_fields(*in));
  if (Status whole = in->finish(); !whole) return about(meta(), name, std::move(whole).error());
  return {};
}

Result<CheckpointStore> CheckpointStore::open(env::Disk& disk, Options options) {
  WRACKLINE_TRY(disk.make_folder(checkpoint_folder(options.directory)));
  WRACKLINE_ASSIGN(const auto files, checkpoint_files(disk, options.directory));
  CheckpointStore store(disk, std::move(options));
  store.options_.kept = std::max<size_t>(1, store.options_.kept);
  for (const CheckpointFile& file : files) {
    if (file.run == store.options_.run) store.next_number_ = std::max(store.next_number_, file.number + 1);
  }
  return store;
}

Result<std::optional<CheckpointReader>> CheckpointStore::newest_whole(std::vector<std::string>& notices) {
  const std::string& directory = options_.directory;
  WRACKLINE_ASSIGN(const auto files, checkpoint_files(*disk_, directory));
  for (const CheckpointFile& file : files | std::views::reverse) {
    if (!file.is_manifest || file.run != options_.run) continue;
    auto manifest = read_manifest(*disk_, directory, file.run, file.number);
    Status status;
    if (!manifest) {
      status = fail(manifest.error());
    } else {
      status = check_bytes(*disk_, directory, *manifest);
    }
    if (status) {
      base_ = file.number;
      return CheckpointReader(*disk_, directory, std::move(*manifest));
    }
    passed_over_.insert(file.number);
    const Error& why = status.error();
    notices.push_back(format("checkpoint {} is passed over: {}{}{}", checkpoint_name(file.run, file.number),
                             why.message, why.detail.empty() ? "" : ": ", why.detail));
  }
  return std::optional<CheckpointReader>();
}

Status CheckpointStore::sweep(std::string_view needed_folder) {
  // A killed process may have given the name without making it durable. The older ones go only when it is.
  if (base_ != 0) WRACKLINE_TRY(disk_->sync(manifest_path(options_.directory, options_.run, base_)));
  CheckpointRetention all = retention();
  all.needed_folder = needed_folder;
  WRACKLINE_TRY(retire_checkpoints(*disk_, all));
  return {};
}

Status CheckpointStore::clear(std::string_view needed_folder) {
  WRACKLINE_ASSIGN(const auto files, checkpoint_files(*disk_, options_.directory));
  for (const CheckpointFile& file : files) {
    WRACKLINE_TRY(disk_->remove(checkpoint_folder(options_.directory) + "/" + file.name));
  }
  return sweep(needed_folder);
}

std::unique_ptr<CheckpointWriter> CheckpointStore::begin(CheckpointMeta meta) const {
  meta.run = options_.run;
  return std::unique_ptr<CheckpointWriter>(new CheckpointWriter(*disk_, retention(), std::move(meta), base_));
}

CheckpointRetention CheckpointStore::retention() const {
  return {options_.directory, options_.run, options_.kept, passed_over_, std::nullopt};
}

}  // namespace wrackline::state
