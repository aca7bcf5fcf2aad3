#include "state/checkpoint_manifest.h"

#include <cstring>
#include <set>

#include "base/text.h"
#include "data/crc32c.h"
#include "data/snapshot.h"

namespace wrackline::state {
namespace {

constexpr std::string_view kManifestMagic = "WRKCHECK";
constexpr std::string_view kPiecesMagic = "WRKPIECE";
constexpr size_t kExtentBytes = 8 + 8 + 8 + 4;

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Magic and version have a checksum of their own: a flipped bit must not look like a newer format.
std::string manifest_head(uint32_t version) {
  std::string head(kManifestMagic);
  put(head, version);
  put(head, crc32c(head));
  return head;
}

void write_meta(const CheckpointMeta& meta, SnapshotWriter& out) {
  out.section("meta");
  for (const int64_t number : {meta.run, meta.generation, meta.number, meta.parent, meta.wall_us})
    out.i64(number);
  out.text(meta.job_path);
  out.text(meta.job_text);
  out.u64(meta.overrides.size());
  for (const auto& [name, value] : meta.overrides) {
    out.text(name);
    out.text(value);
  }
  out.u64(meta.tick_log_sequence);
  out.i64(meta.ledger_seq);
}

CheckpointMeta read_meta(SnapshotReader& in) {
  CheckpointMeta meta;
  in.section("meta");
  for (int64_t* number : {&meta.run, &meta.generation, &meta.number, &meta.parent, &meta.wall_us})
    *number = in.i64();
  meta.job_path = in.text();
  meta.job_text = in.text();
  for (size_t left = in.count(2 * sizeof(uint64_t)); left > 0 && !in.failed(); --left) {
    std::string name(in.text());
    meta.overrides.emplace_back(std::move(name), in.text());
  }
  meta.tick_log_sequence = in.u64();
  meta.ledger_seq = in.i64();
  return meta;
}

void write_extent(const CheckpointExtent& at, SnapshotWriter& out) {
  out.i64(at.file);
  out.u64(at.offset);
  out.u64(at.size);
  out.u32(at.crc);
}

CheckpointExtent read_extent(const CheckpointManifest& manifest, SnapshotReader& in) {
  CheckpointExtent at;
  at.file = in.i64();
  at.offset = in.u64();
  at.size = in.u64();
  at.crc = in.u32();
  if (in.failed()) return at;
  const auto file = manifest.file_bytes.find(at.file);
  if (file == manifest.file_bytes.end() || at.offset > file->second || at.size > file->second - at.offset)
    in.refuse("a piece lies outside of its file");
  return at;
}

// The name into `names`.
std::string new_name(std::set<std::string_view>& names, SnapshotReader& in) {
  const std::string_view name = in.text();
  if (!names.insert(name).second && !in.failed()) in.refuse("a name stands twice");
  return std::string(name);
}

void read_contents(CheckpointManifest& manifest, SnapshotReader& in) {
  in.section("file");
  for (size_t left = in.count(2 * sizeof(uint64_t)); left > 0 && !in.failed(); --left) {
    const int64_t number = in.i64();
    manifest.file_bytes[number] = in.u64();
  }
  std::set<std::string_view> names;
  in.section("part");
  for (size_t left = in.count(8 + kExtentBytes); left > 0 && !in.failed(); --left) {
    std::string name = new_name(names, in);
    manifest.parts.push_back({std::move(name), read_extent(manifest, in)});
  }
  names.clear();
  in.section("pcs ");
  for (size_t left = in.count(8 + 8 + kExtentBytes); left > 0 && !in.failed(); --left) {
    std::string name = new_name(names, in);
    const uint64_t revision = in.u64();
    manifest.pieces.push_back({std::move(name), revision, read_extent(manifest, in)});
  }
  in.section("need");
  for (size_t left = in.count(2 * sizeof(uint64_t)); left > 0 && !in.failed(); --left) {
    std::string path(in.text());
    manifest.needed.emplace_back(std::move(path), in.u64());
  }
}

}  // namespace

std::string encode_manifest(const CheckpointManifest& manifest) {
  SnapshotWriter out;
  write_meta(manifest.meta, out);
  out.section("file");
  out.u64(manifest.file_bytes.size());
  for (const auto& [number, bytes] : manifest.file_bytes) {
    out.i64(number);
    out.u64(bytes);
  }
  out.section("part");
  out.u64(manifest.parts.size());
  for (const CheckpointPart& part : manifest.parts) {
    out.text(part.name);
    write_extent(part.at, out);
  }
  out.section("pcs ");
  out.u64(manifest.pieces.size());
  for (const CheckpointPiece& piece : manifest.pieces) {
    out.text(piece.name);
    out.u64(piece.revision);
    write_extent(piece.at, out);
  }
  out.section("need");
  out.u64(manifest.needed.size());
  for (const auto& [path, bytes] : manifest.needed) {
    out.text(path);
    out.u64(bytes);
  }
  std::string bytes = manifest_head(kCheckpointVersion);
  bytes += out.seal();
  return bytes;
}

Result<CheckpointManifest> decode_manifest(std::string_view bytes) {
  if (bytes.size() < kManifestHeadBytes) return fail(ErrorCode::kData, "it is cut off");
  uint32_t version = 0;
  std::memcpy(&version, bytes.data() + kManifestMagic.size(), sizeof version);
  if (bytes.substr(0, kManifestHeadBytes) != manifest_head(version))
    return fail(ErrorCode::kData, "its head is damaged");
  if (version != kCheckpointVersion) {
    return fail(ErrorCode::kUnsupported, format("it has format version {}, and this program reads version {}",
                                                version, kCheckpointVersion));
  }
  auto in = SnapshotReader::open(bytes.substr(kManifestHeadBytes));
  if (!in) return fail(ErrorCode::kData, format("it is damaged ({})", in.error().detail));
  CheckpointManifest manifest;
  manifest.meta = read_meta(*in);
  read_contents(manifest, *in);
  if (const Status whole = in->finish(); !whole)
    return fail(ErrorCode::kData, format("it is damaged ({})", whole.error().detail));
  return manifest;
}

std::string pieces_head(const CheckpointMeta& meta) {
  std::string head(kPiecesMagic);
  put(head, kCheckpointVersion);
  put(head, meta.run);
  put(head, meta.number);
  put(head, crc32c(head));
  return head;
}

}  // namespace wrackline::state
