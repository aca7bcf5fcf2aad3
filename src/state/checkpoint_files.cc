#include "state/checkpoint_files.h"

#include <algorithm>
#include <charconv>
#include <ranges>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "data/crc32c.h"

namespace wrackline::state {
namespace {

constexpr std::string_view kManifestSuffix = ".checkpoint";
constexpr std::string_view kPiecesSuffix = ".pieces";
constexpr std::string_view kUnfinishedSuffix = ".new";
constexpr size_t kManifestBytesMax = size_t{1} << 30;
constexpr size_t kBlockBytes = size_t{4} << 20;

std::optional<int64_t> number_in(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::optional<CheckpointFile> file_of(const std::string& name) {
  CheckpointFile file;
  file.name = name;
  file.is_manifest = name.ends_with(kManifestSuffix);
  if (!file.is_manifest && !name.ends_with(kPiecesSuffix)) return std::nullopt;
  std::string_view stem = name;
  stem.remove_suffix((file.is_manifest ? kManifestSuffix : kPiecesSuffix).size());
  const size_t dash = stem.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto run = number_in(stem.substr(0, dash));
  const auto number = number_in(stem.substr(dash + 1));
  if (!run || !number) return std::nullopt;
  file.run = *run;
  file.number = *number;
  return file;
}

// Bytes of one file at a time, read in blocks: neighbouring extents share a reading.
class BlockReader {
 public:
  explicit BlockReader(env::Disk& disk) : disk_(disk) {}

  void turn_to(std::string path, uint64_t size_bytes) {
    path_ = std::move(path);
    file_bytes_ = size_bytes;
    block_.clear();
  }

  Result<uint32_t> crc_of(const CheckpointExtent& at) {
    uint32_t crc = 0;
    for (uint64_t done = 0; done < at.size;) {
      WRACKLINE_ASSIGN(const std::string_view got, from(at.offset + done));
      const std::string_view part = got.substr(0, std::min<uint64_t>(got.size(), at.size - done));
      crc = crc32c(part, crc);
      done += part.size();
    }
    return crc;
  }

 private:
  // What stands from that byte on: at least one byte, for it lies in the file.
  Result<std::string_view> from(uint64_t offset) {
    if (offset < begin_ || offset - begin_ >= block_.size()) {
      begin_ = offset;
      const auto size = static_cast<size_t>(std::min<uint64_t>(kBlockBytes, file_bytes_ - offset));
      WRACKLINE_ASSIGN(block_, disk_.read_range(path_, offset, size));
    }
    return std::string_view(block_).substr(offset - begin_);
  }

  env::Disk& disk_;
  std::string path_;
  uint64_t file_bytes_ = 0;
  uint64_t begin_ = 0;
  std::string block_;
};

struct NamedExtent {
  CheckpointExtent at;
  std::string_view name;
};

std::vector<NamedExtent> in_file_order(const CheckpointManifest& manifest) {
  std::vector<NamedExtent> extents;
  extents.reserve(manifest.parts.size() + manifest.pieces.size());
  for (const CheckpointPart& part : manifest.parts) extents.push_back({part.at, part.name});
  for (const CheckpointPiece& piece : manifest.pieces) extents.push_back({piece.at, piece.name});
  std::ranges::sort(extents, {},
                    [](const NamedExtent& extent) { return std::tuple(extent.at.file, extent.at.offset); });
  return extents;
}

// What stays, as far as manifests tell.
struct Needs {
  std::set<int64_t> manifests;
  std::set<int64_t> pieces;
  std::set<std::string> files;
  bool known = true;  // every one of them could be read

  void add(const CheckpointManifest& manifest) {
    for (const int64_t number : manifest.file_bytes | std::views::keys) pieces.insert(number);
    for (const std::string& path : manifest.needed | std::views::keys) files.insert(path);
  }
};

Status remove_needed(env::Disk& disk, const CheckpointRetention& retention, const std::set<std::string>& gone,
                     const Needs& needs) {
  for (const std::string& path : gone) {
    if (!needs.files.contains(path)) WRACKLINE_TRY(disk.remove(retention.directory + "/" + path));
  }
  if (!retention.needed_folder) return {};
  WRACKLINE_ASSIGN(const auto names, disk.list(retention.directory + "/" + *retention.needed_folder));
  for (const std::string& name : names) {
    const std::string path = *retention.needed_folder + "/" + name;
    if (!needs.files.contains(path)) WRACKLINE_TRY(disk.remove(retention.directory + "/" + path));
  }
  return {};
}

}  // namespace

std::string checkpoint_folder(const std::string& directory) {
  return directory + "/checkpoints";
}

std::string checkpoint_name(int64_t run, int64_t number) {
  return format("{:08}-{:06}", run, number);
}

std::string manifest_path(const std::string& directory, int64_t run, int64_t number) {
  return format("{}/{}{}", checkpoint_folder(directory), checkpoint_name(run, number), kManifestSuffix);
}

std::string pieces_path(const std::string& directory, int64_t run, int64_t number) {
  return format("{}/{}{}", checkpoint_folder(directory), checkpoint_name(run, number), kPiecesSuffix);
}

Result<std::vector<CheckpointFile>> checkpoint_files(env::Disk& disk, const std::string& directory) {
  WRACKLINE_ASSIGN(const auto names, disk.list(checkpoint_folder(directory)));
  std::vector<CheckpointFile> files;
  for (const std::string& name : names) {
    if (auto file = file_of(name)) files.push_back(*std::move(file));
  }
  return files;
}

Result<CheckpointManifest> read_manifest(env::Disk& disk, const std::string& directory, int64_t run,
                                         int64_t number) {
  WRACKLINE_ASSIGN(const std::string bytes,
                   disk.read(manifest_path(directory, run, number), kManifestBytesMax));
  WRACKLINE_ASSIGN(CheckpointManifest manifest, decode_manifest(bytes));
  if (manifest.meta.run != run || manifest.meta.number != number) {
    return fail(ErrorCode::kData, format("it says that it is checkpoint {}",
                                         checkpoint_name(manifest.meta.run, manifest.meta.number)));
  }
  return manifest;
}

Status check_sizes(env::Disk& disk, const std::string& directory, const CheckpointManifest& manifest) {
  const auto check = [&](const std::string& path, uint64_t expected) -> Status {
    WRACKLINE_ASSIGN(const std::optional<uint64_t> found, disk.size_bytes(path));
    if (!found) return fail(ErrorCode::kData, format("file \"{}\" is missing", path));
    if (*found == expected) return {};
    return fail(ErrorCode::kData,
                format("file \"{}\" has {} bytes and should have {}", path, *found, expected));
  };
  for (const auto& [number, bytes] : manifest.file_bytes)
    WRACKLINE_TRY(check(pieces_path(directory, manifest.meta.run, number), bytes));
  for (const auto& [path, bytes] : manifest.needed) WRACKLINE_TRY(check(directory + "/" + path, bytes));
  return {};
}

Status check_bytes(env::Disk& disk, const std::string& directory, const CheckpointManifest& manifest) {
  WRACKLINE_TRY(check_sizes(disk, directory, manifest));
  BlockReader reader(disk);
  std::optional<int64_t> file;
  for (const NamedExtent& extent : in_file_order(manifest)) {
    const std::string path = pieces_path(directory, manifest.meta.run, extent.at.file);
    if (file != extent.at.file) {
      file = extent.at.file;
      WRACKLINE_ASSIGN(const std::string head, disk.read_range(path, 0, kPiecesHeadBytes));
      CheckpointMeta whose;
      whose.run = manifest.meta.run;
      whose.number = extent.at.file;
      if (head != pieces_head(whose))
        return fail(ErrorCode::kData, format("file \"{}\" does not begin as it should", path));
      reader.turn_to(path, manifest.file_bytes.at(extent.at.file));
    }
    WRACKLINE_ASSIGN(const uint32_t crc, reader.crc_of(extent.at));
    if (crc != extent.at.crc) {
      return fail(ErrorCode::kData,
                  format("\"{}\" at byte {} of file \"{}\" is damaged", extent.name, extent.at.offset, path));
    }
  }
  return {};
}

Result<CheckpointsKept> retire_checkpoints(env::Disk& disk, const CheckpointRetention& retention) {
  const std::string& directory = retention.directory;
  WRACKLINE_ASSIGN(const auto files, checkpoint_files(disk, directory));
  Needs needs;
  CheckpointsKept result;
  size_t whole = 0;
  std::vector<const CheckpointFile*> old;
  std::set<std::string> gone;
  for (const CheckpointFile& file : files | std::views::reverse) {
    if (!file.is_manifest || file.run > retention.run) continue;
    const bool stays = file.run == retention.run && whole < retention.kept;
    const auto manifest = read_manifest(disk, directory, file.run, file.number);
    if (!stays) {
      old.push_back(&file);
      if (!manifest) continue;
      for (const std::string& path : manifest->needed | std::views::keys) gone.insert(path);
      continue;
    }
    needs.manifests.insert(file.number);
    needs.known &= manifest.has_value();
    if (!manifest) continue;
    needs.add(*manifest);
    if (retention.passed_over.contains(file.number) || !check_sizes(disk, directory, *manifest)) continue;
    ++whole;
    result = {manifest->meta.tick_log_sequence, manifest->meta.ledger_seq};
  }
  if (whole < retention.kept) result = {};
  for (const CheckpointFile* file : old)
    WRACKLINE_TRY(disk.remove(checkpoint_folder(directory) + "/" + file->name));
  if (!needs.known) return result;
  for (const CheckpointFile& file : files) {
    const bool ours = file.run == retention.run;
    if (file.is_manifest || file.run > retention.run || (ours && needs.pieces.contains(file.number)))
      continue;
    WRACKLINE_TRY(disk.remove(checkpoint_folder(directory) + "/" + file.name));
  }
  WRACKLINE_TRY(remove_needed(disk, retention, gone, needs));
  WRACKLINE_ASSIGN(const auto names, disk.list(checkpoint_folder(directory)));
  for (const std::string& name : names) {
    if (name.ends_with(kUnfinishedSuffix))
      WRACKLINE_TRY(disk.remove(checkpoint_folder(directory) + "/" + name));
  }
  return result;
}

}  // namespace wrackline::state
