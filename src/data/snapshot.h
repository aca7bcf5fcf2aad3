// State as bytes and back: what every piece of operator state is saved with and restored from.
//
// Layout: magic (8 bytes), format version (u32), payload length (u64), CRC-32C of the payload (u32), payload.
// Fields have a fixed width and lie in little-endian order; texts and lists have their length before them;
// a section begins with a tag of its own, so that a reader that has lost its place says where.
// Pieces: parts that are large and change rarely. A writer with a PieceWriter hands them over, and one that
// stands in an earlier snapshot already is not written again; without, they lie in the snapshot like fields.
// Errors: the checksum is looked at before any field, so damage (cut off, flipped bits) is an error of
// open().
//         Beyond that the reader checks every length against what is left and never reads outside. A failed
//         reader gives zeros and empty texts from then on: read a whole piece, then ask status() once.
// Threads: one thread each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace wrackline {

inline constexpr uint32_t kSnapshotVersion = 1;
inline constexpr size_t kSnapshotHeadBytes = 8 + 4 + 8 + 4;

class SnapshotWriter;
using WritePiece = std::function<void(SnapshotWriter&)>;

// Where pieces are kept beside the snapshot that names them. Threads: one.
class PieceWriter {
 public:
  virtual ~PieceWriter() = default;
  // Keeps what `write` writes under that name, which is unique in the snapshot. The same name with the same
  // revision has the same content as in any snapshot before on the way to this state, so `write` may not be
  // called; that holds for a name that was given up and came back, too (count changes of the whole, not of
  // the piece). A failure shows when the snapshot is completed.
  virtual void put(std::string_view name, uint64_t revision, const WritePiece& write) = 0;
  // The snapshot needs this file of the state directory (a path relative to it) as it is now; it is durable
  // and does not change any more.
  virtual void need_file(std::string_view path) = 0;
};

class PieceReader {
 public:
  virtual ~PieceReader() = default;
  // A whole snapshot: the fields of the piece. Errors: kNotFound, kData (damaged), kUnavailable.
  virtual Result<std::string> get(std::string_view name) = 0;
};

class SnapshotWriter {
 public:
  SnapshotWriter() = default;
  // Borrows `pieces`. `scope` goes before the names of pieces: "view totals/".
  SnapshotWriter(PieceWriter& pieces, std::string scope) : pieces_(&pieces), scope_(std::move(scope)) {}

  // The name is unique within the scope; see PieceWriter::put. Pieces have no pieces.
  void piece(std::string_view name, uint64_t revision, const WritePiece& write);
  // See PieceWriter::need_file.
  void need_file(std::string_view path);

  void u8(uint8_t value) { bytes(&value, sizeof value); }
  void u32(uint32_t value) { bytes(&value, sizeof value); }
  void u64(uint64_t value) { bytes(&value, sizeof value); }
  void i64(int64_t value) { bytes(&value, sizeof value); }
  void f64(double value) { bytes(&value, sizeof value); }  // every bit, those of NaN too
  void text(std::string_view value);
  // Four letters: the reader must expect the same.
  void section(std::string_view tag);
  void bytes(const void* from, size_t size) { bytes_.append(static_cast<const char*>(from), size); }

  // Everything written so far, with its head. Valid until the next write. Cost: one pass for the checksum.
  std::string_view seal();
  // The same for the caller to keep, without a copy; the writer is then empty.
  std::string finish() {
    seal();
    return std::exchange(bytes_, std::string(kSnapshotHeadBytes, '\0'));
  }
  // Empty again; keeps its memory.
  void clear() { bytes_.resize(kSnapshotHeadBytes); }

 private:
  std::string bytes_ = std::string(kSnapshotHeadBytes, '\0');  // room for the head, then the payload
  PieceWriter* pieces_ = nullptr;
  std::string scope_;
};

class SnapshotReader {
 public:
  // Borrows the bytes. Errors: kData for bytes that are no snapshot, are damaged or of another version.
  static Result<SnapshotReader> open(std::string_view snapshot);
  // The same of a snapshot whose pieces lie beside it: the writer's scope.
  static Result<SnapshotReader> open(std::string_view snapshot, PieceReader& pieces, std::string scope);

  // Reads a piece with `read`, which must leave nothing of it. What is wrong with it is an error of this
  // reader.
  void piece(std::string_view name, const std::function<void(SnapshotReader&)>& read);

  uint8_t u8() { return number<uint8_t>(); }
  uint32_t u32() { return number<uint32_t>(); }
  uint64_t u64() { return number<uint64_t>(); }
  int64_t i64() { return number<int64_t>(); }
  double f64() { return number<double>(); }
  std::string_view text();  // points into the snapshot
  void section(std::string_view tag);
  void bytes(void* to, size_t size);
  // How many items follow, each of at least `item_bytes` > 0: more than could lie in the rest is an error.
  size_t count(size_t item_bytes);

  // The first call counts: what is wrong with the value read last.
  void refuse(std::string what);
  bool failed() const { return failed_; }
  // Errors: kData, with the place in the payload.
  Status status() const;
  // status(), and nothing may be left.
  Status finish();

 private:
  explicit SnapshotReader(std::string_view payload) : rest_(payload), size_(payload.size()) {}
  template <class T>
  T number() {
    T value{};
    bytes(&value, sizeof value);
    return value;
  }

  std::string_view rest_;
  size_t size_;
  bool failed_ = false;
  std::string what_;
  std::string section_;
  PieceReader* pieces_ = nullptr;
  std::string scope_;
};

}  // namespace wrackline
