// Grouping keys as something a hash table can hold, and back.
//
// One integer-like key column stays an integer; one text column stays its bytes; no key is no bytes;
// everything else is encoded so that equal keys have equal bytes and memcmp orders them as PostgreSQL's ORDER
// BY would (text bytewise, NULL last). Numeric keys are normalised: 1.50 and 1.5 are one key, shown as 1.5.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/column.h"
#include "data/types.h"

namespace wrackline::state {

enum class KeyShape : uint8_t {
  kNone,     // one group
  kInteger,  // one column of boolean, integer, timestamp or date
  kBytes,    // one text column, or several columns encoded
};

// The keys of some rows, in the order of the rows given to encode().
struct EncodedKeys {
  size_t count = 0;
  std::vector<int64_t> integers;        // kInteger
  std::vector<std::string_view> bytes;  // kBytes
  std::vector<uint8_t> nulls;           // 1: the single key column is NULL; empty when none is
  Arena arena;
};

class GroupTable;

class KeyCodec {
 public:
  explicit KeyCodec(std::vector<Type> types);

  KeyShape shape() const { return shape_; }
  size_t column_count() const { return types_.size(); }
  const std::vector<Type>& types() const { return types_; }

  // Encodes the keys of `rows`. The result points into `out` and, for one text column, into the column.
  void encode(std::span<const Column* const> columns, std::span<const uint32_t> rows, EncodedKeys& out) const;
  // Whether encode() could have made `bytes` (of a key that is not NULL; kBytes only), so that decode() reads
  // nothing outside of them. For keys out of a snapshot.
  bool could_have_made(std::string_view bytes) const;
  // Writes the keys of groups[0..] into rows at.. of `columns` (one per key, already resized).
  void decode(const GroupTable& table, std::span<const uint32_t> groups, std::span<Column> columns, size_t at,
              Arena& arena) const;

 private:
  std::vector<Type> types_;
  KeyShape shape_;
};

}  // namespace wrackline::state
