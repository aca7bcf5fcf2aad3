#include "data/snapshot.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/text.h"
#include "data/crc32c.h"

namespace wrackline {
namespace {

static_assert(std::endian::native == std::endian::little, "fields are copied as they lie in memory");

constexpr std::string_view kMagic = "WRKSTATE";
constexpr size_t kTagBytes = 4;
static_assert(kSnapshotHeadBytes == kMagic.size() + 4 + 8 + 4);

std::unexpected<Error> damaged(std::string detail) {
  return fail(ErrorCode::kData, "a snapshot of state cannot be read", std::move(detail),
              "Restore from an older snapshot, or read the input again from the beginning.");
}

}  // namespace

void SnapshotWriter::text(std::string_view value) {
  u64(value.size());
  bytes(value.data(), value.size());
}

void SnapshotWriter::section(std::string_view tag) {
  WRACKLINE_CHECK(tag.size() == kTagBytes, "a section's tag has four letters");
  bytes(tag.data(), tag.size());
}

void SnapshotWriter::piece(std::string_view name, uint64_t revision, const WritePiece& write) {
  if (pieces_ != nullptr) {
    pieces_->put(scope_ + std::string(name), revision, write);
    return;
  }
  SnapshotWriter inner;
  write(inner);
  text(inner.seal());
}

void SnapshotWriter::need_file(std::string_view path) {
  if (pieces_ != nullptr) pieces_->need_file(path);
}

std::string_view SnapshotWriter::seal() {
  const uint64_t size = bytes_.size() - kSnapshotHeadBytes;
  const uint32_t crc = crc32c(std::string_view(bytes_).substr(kSnapshotHeadBytes));
  char* at = bytes_.data();
  const auto put = [&at](const void* from, size_t bytes) {
    std::memcpy(at, from, bytes);
    at += bytes;
  };
  put(kMagic.data(), kMagic.size());
  put(&kSnapshotVersion, sizeof kSnapshotVersion);
  put(&size, sizeof size);
  put(&crc, sizeof crc);
  return bytes_;
}

Result<SnapshotReader> SnapshotReader::open(std::string_view snapshot) {
  if (snapshot.size() < kSnapshotHeadBytes || !snapshot.starts_with(kMagic)) {
    return damaged("It does not begin as a snapshot does.");
  }
  const std::string_view payload = snapshot.substr(kSnapshotHeadBytes);
  SnapshotReader head(snapshot.substr(kMagic.size(), kSnapshotHeadBytes - kMagic.size()));
  const uint32_t version = head.u32();
  if (version != kSnapshotVersion) {
    return damaged(
        format("It has format version {}, and this program reads version {}.", version, kSnapshotVersion));
  }
  const uint64_t size = head.u64();
  if (size != payload.size()) {
    return damaged(format("It should have {} bytes after its head and has {}.", size, payload.size()));
  }
  if (head.u32() != crc32c(payload)) return damaged("Its checksum does not match.");
  return SnapshotReader(payload);
}

Result<SnapshotReader> SnapshotReader::open(std::string_view snapshot, PieceReader& pieces,
                                            std::string scope) {
  WRACKLINE_ASSIGN(SnapshotReader reader, open(snapshot));
  reader.pieces_ = &pieces;
  reader.scope_ = std::move(scope);
  return reader;
}

void SnapshotReader::piece(std::string_view name, const std::function<void(SnapshotReader&)>& read) {
  std::string kept;
  std::string_view bytes;
  if (pieces_ == nullptr) {
    bytes = text();
  } else if (!failed_) {
    Result<std::string> got = pieces_->get(scope_ + std::string(name));
    if (!got) return refuse(format("piece \"{}\": {}", name, got.error().to_string()));
    kept = std::move(*got);
    bytes = kept;
  }
  if (failed_) return;
  Result<SnapshotReader> inner = open(bytes);
  if (!inner) return refuse(format("piece \"{}\": {}", name, inner.error().to_string()));
  read(*inner);
  if (const Status read_whole = inner->finish(); !read_whole) {
    refuse(format("piece \"{}\": {}", name, read_whole.error().to_string()));
  }
}

std::string_view SnapshotReader::text() {
  const size_t size = count(1);
  const std::string_view value = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return value;
}

void SnapshotReader::section(std::string_view tag) {
  std::array<char, kTagBytes> found{};
  bytes(found.data(), found.size());
  if (!failed_ && std::string_view(found.data(), found.size()) != tag) {
    refuse(format("section \"{}\" is missing", tag));
  }
  section_ = tag;
}

void SnapshotReader::bytes(void* to, size_t size) {
  if (!failed_ && size > rest_.size()) refuse("it ends too early");
  if (failed_) {
    std::memset(to, 0, size);
    return;
  }
  std::memcpy(to, rest_.data(), size);
  rest_.remove_prefix(size);
}

size_t SnapshotReader::count(size_t item_bytes) {
  const uint64_t items = u64();
  if (items <= rest_.size() / item_bytes) return items;
  refuse("a length is larger than what is left");
  return 0;
}

void SnapshotReader::refuse(std::string what) {
  if (failed_) return;
  failed_ = true;
  what_ = format("Byte {}, after section \"{}\": {}.", size_ - rest_.size(), section_, what);
  rest_ = {};
}

Status SnapshotReader::status() const {
  if (failed_) return damaged(what_);
  return {};
}

Status SnapshotReader::finish() {
  if (!rest_.empty()) refuse("bytes are left over");
  return status();
}

}  // namespace wrackline
