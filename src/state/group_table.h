// The groups of one slice: key to a dense group number, and one row of bytes per group.
//
// Layout of a group's row:  key | version | aggregate states.  The rows are one block without holes, in the
// order in which groups first appeared, so that a scan is a walk through memory and the block is its own
// snapshot. The index beside it holds row numbers, four bytes a slot, at most half full; what bits a number
// leaves free hold bits of the key's hash, so that a slot of another key is passed over without reading a
// row.
//
// Threads: one table belongs to one thread.
// Cost:    integer keys 8 bytes, other keys 16 and their bytes in the arena; 8 bytes for the version; index
// 8-16 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "data/column.h"
#include "data/snapshot.h"
#include "state/key_codec.h"
#include "state/table_memory.h"

namespace wrackline::state {

class GroupTable {
 public:
  // `state_bytes`: of all aggregates together, a multiple of 8. A new group's states are zero bytes.
  GroupTable(KeyShape shape, size_t state_bytes);

  // groups[i] is the group of keys' row i; unknown keys become new groups.
  void find_or_insert(const EncodedKeys& keys, std::span<uint32_t> groups);

  // The same without inserting: kNoGroup for unknown keys.
  static constexpr uint32_t kNoGroup = UINT32_MAX;
  void find(const EncodedKeys& keys, std::span<uint32_t> groups) const;

  // How many groups there may be in the end, from a table that was like this one. Memory is taken for all of
  // them at once when a part of them is there, and not before.
  void expect(size_t groups) { expected_ = groups; }

  size_t size() const { return size_; }
  size_t stride() const { return stride_; }
  std::byte* states() { return rows_.data() + states_at_; }  // of group 0; moves when groups are added
  const std::byte* states() const { return rows_.data() + states_at_; }
  // Asks for the rows of some groups before they are read in that order.
  void prefetch(std::span<const uint32_t> groups) const;
  std::byte* row(size_t group) { return rows_.data() + group * stride_; }
  uint32_t& version(size_t group) {
    return *reinterpret_cast<uint32_t*>(row(group) + version_at_);
  }  // 0: unpublished
  uint32_t& mark(size_t group) {
    return *reinterpret_cast<uint32_t*>(row(group) + version_at_ + 4);
  }  // caller's use
  uint32_t mark(size_t group) const {
    uint32_t mark = 0;
    std::memcpy(&mark, row(group) + version_at_ + sizeof mark, sizeof mark);
    return mark;
  }

  bool is_null_key(size_t group) const { return has_null_group_ && group == null_group_; }
  int64_t integer_key(size_t group) const {
    int64_t key = 0;
    std::memcpy(&key, row(group), sizeof key);
    return key;
  }
  std::string_view bytes_key(size_t group) const {
    BytesKey key{};
    std::memcpy(&key, row(group), sizeof key);
    return {key.data, key.size};
  }

  // The keys of some groups as encode() would give them, to find the same groups in another table. They point
  // into this table.
  void export_keys(std::span<const uint32_t> groups, EncodedKeys& out) const;

  // The order of keys, across tables of one shape.
  static bool key_less(const GroupTable& a, uint32_t group_a, const GroupTable& b, uint32_t group_b);
  // Every group in the order of keys: integers by value, bytes by memcmp, NULL last.
  void sorted_groups(std::vector<uint32_t>& order) const;
  // The same for some groups.
  void sort_groups(std::vector<uint32_t>& groups) const;

  Arena& arena() { return arena_; }
  size_t bytes() const;
  // Writes every group in the order in which they appeared: key, version, mark and, by `save_states`, states.
  using SaveStates = std::function<void(const std::byte* states, SnapshotWriter& out)>;
  using RestoreStates = std::function<Status(SnapshotReader& in, std::byte* states, Arena& arena)>;
  void save(SnapshotWriter& out, const SaveStates& save_states) const;
  // Becomes what was saved, with the same group numbers. Errors: kData; the table is then empty.
  Status restore(SnapshotReader& in, const RestoreStates& restore_states);
  // Forgets every group; keeps memory for the next slice.
  void clear();

 private:
  struct BytesKey {
    const char* data;
    uint64_t size;
  };
  const std::byte* row(size_t group) const { return rows_.data() + group * stride_; }
  uint32_t add_group();
  void grow_rows();
  uint32_t insert_integer(int64_t key, uint64_t hash);
  uint32_t insert_bytes(std::string_view key, uint64_t hash);
  uint32_t null_group();
  size_t room_for(size_t groups) const;
  void reserve_index(size_t groups);
  void place(uint32_t group, uint64_t hash);
  uint32_t* index() const { return reinterpret_cast<uint32_t*>(index_.data()); }
  // The bits of the hash that stand in the slot of a key, above the number.
  uint32_t tag(uint64_t hash) const {
    return static_cast<uint32_t>(hash >> 32) & ~static_cast<uint32_t>(mask_);
  }
  bool is_tagged(uint32_t entry, uint64_t hash) const {
    return (entry & ~static_cast<uint32_t>(mask_)) == tag(hash);
  }
  uint32_t group_in(uint32_t entry) const { return (entry & static_cast<uint32_t>(mask_)) - 1; }
  void sort_integers(std::vector<uint32_t>& groups) const;
  bool restore_key(SnapshotReader& in, uint32_t group, bool null);
  Status restore_groups(SnapshotReader& in, const RestoreStates& restore_states);

  KeyShape shape_;
  size_t stride_;
  size_t version_at_;
  size_t states_at_;
  size_t size_ = 0;
  size_t capacity_ = 0;
  size_t expected_ = 0;
  TableMemory rows_;
  TableMemory index_;  // of uint32_t: group + 1 and a tag above it, 0 is free
  size_t slots_ = 0;   // a power of two
  size_t mask_ = 0;    // of slot numbers; group + 1 fits it, because the index is half empty
  bool has_null_group_ = false;
  uint32_t null_group_ = 0;
  std::vector<uint64_t> hashes_;  // scratch of find_or_insert
  Arena arena_;
};

// Which of `shards` each key belongs to: shard[i] < shards, a function of the key alone, and not of the bits
// that tables use.
void assign_shards(KeyShape shape, const EncodedKeys& keys, size_t shards, std::vector<uint32_t>& shard);

}  // namespace wrackline::state
