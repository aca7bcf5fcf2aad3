#include "state/group_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"

namespace wrackline::state {
namespace {

constexpr size_t kLookAhead = 16;  // rows between asking for a cache line and using it
constexpr size_t kIndexMin = 64;
constexpr size_t kRadixFrom = 512;  // fewer integers are sorted by comparison

size_t key_bytes(KeyShape shape) {
  switch (shape) {
    case KeyShape::kNone:
      return 0;
    case KeyShape::kInteger:
      return sizeof(int64_t);
    case KeyShape::kBytes:
      return sizeof(const char*) + sizeof(uint64_t);
  }
  return 0;
}

uint64_t mix(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t hash_integer(int64_t key) {
  return mix(static_cast<uint64_t>(key) ^ 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93);
}

uint64_t hash_bytes(std::string_view key) {
  uint64_t hash = key.size() * 0x9E3779B97F4A7C15;
  const char* at = key.data();
  size_t left = key.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    hash = mix(hash ^ word, 0xD6E8FEB86659FD93);
  }
  uint64_t word = 0;
  if (left > 0) std::memcpy(&word, at, left);  // an empty key may have no address
  return mix(hash ^ word, 0xA0761D6478BD642F);
}

}  // namespace

GroupTable::GroupTable(KeyShape shape, size_t state_bytes)
    : shape_(shape),
      stride_(key_bytes(shape) + 8 + state_bytes),
      version_at_(key_bytes(shape)),
      states_at_(key_bytes(shape) + 8) {
  WRACKLINE_CHECK(state_bytes % 8 == 0);
}

uint32_t GroupTable::add_group() {
  if (size_ == capacity_) {
    // A quarter more each time: large blocks are moved by the kernel's page tables (mremap), not copied.
    capacity_ = std::max<size_t>(16, capacity_ + capacity_ / 4);
    auto* grown = static_cast<std::byte*>(std::realloc(rows_.release(), capacity_ * stride_));
    if (grown == nullptr) throw std::bad_alloc();
    rows_.reset(grown);
  }
  std::memset(rows_.get() + size_ * stride_, 0, stride_);
  return static_cast<uint32_t>(size_++);
}

void GroupTable::place(uint32_t group, uint64_t hash) {
  size_t slot = hash & mask_;
  while (index_[slot] != 0) slot = (slot + 1) & mask_;
  index_[slot] = group + 1;
}

void GroupTable::reserve_index(size_t groups) {
  if (groups * 2 <= index_.size()) return;
  size_t slots = std::max(kIndexMin, index_.size());
  while (slots < groups * 2) slots *= 2;
  index_.assign(slots, 0);
  mask_ = slots - 1;
  for (uint32_t group = 0; group < size_; ++group) {
    if (is_null_key(group)) continue;
    place(group,
          shape_ == KeyShape::kInteger ? hash_integer(integer_key(group)) : hash_bytes(bytes_key(group)));
  }
}

uint32_t GroupTable::null_group() {
  if (!has_null_group_) {
    null_group_ = add_group();
    has_null_group_ = true;
  }
  return null_group_;
}

uint32_t GroupTable::insert_integer(int64_t key, uint64_t hash) {
  for (size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
    const uint32_t entry = index_[slot];
    if (entry == 0) {
      reserve_index(size_ + 1);
      const uint32_t group = add_group();
      std::memcpy(row(group), &key, sizeof key);
      place(group, hash);
      return group;
    }
    if (integer_key(entry - 1) == key && !is_null_key(entry - 1)) return entry - 1;
  }
}

uint32_t GroupTable::insert_bytes(std::string_view key, uint64_t hash) {
  for (size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
    const uint32_t entry = index_[slot];
    if (entry == 0) {
      reserve_index(size_ + 1);
      const uint32_t group = add_group();
      const std::string_view kept = arena_.copy(key);
      const BytesKey stored{kept.data(), kept.size()};
      std::memcpy(row(group), &stored, sizeof stored);
      place(group, hash);
      return group;
    }
    if (bytes_key(entry - 1) == key) return entry - 1;
  }
}

void GroupTable::find_or_insert(const EncodedKeys& keys, std::span<uint32_t> groups) {
  WRACKLINE_CHECK(groups.size() == keys.count);
  if (shape_ == KeyShape::kNone) {
    if (size_ == 0 && keys.count > 0) add_group();
    std::fill(groups.begin(), groups.end(), 0U);
    return;
  }
  reserve_index(size_ + 1);
  const size_t count = keys.count;
  hashes_.resize(count);
  if (shape_ == KeyShape::kInteger) {
    for (size_t i = 0; i < count; ++i) hashes_[i] = hash_integer(keys.integers[i]);
  } else {
    for (size_t i = 0; i < count; ++i) hashes_[i] = hash_bytes(keys.bytes[i]);
  }
  for (size_t i = 0; i < count; ++i) {
    if (i + kLookAhead < count) __builtin_prefetch(&index_[hashes_[i + kLookAhead] & mask_]);
    if (i + kLookAhead / 2 < count) {
      const uint32_t entry = index_[hashes_[i + kLookAhead / 2] & mask_];
      if (entry != 0) __builtin_prefetch(row(entry - 1));
    }
    if (!keys.nulls.empty() && keys.nulls[i] != 0) {
      groups[i] = null_group();
    } else if (shape_ == KeyShape::kInteger) {
      groups[i] = insert_integer(keys.integers[i], hashes_[i]);
    } else {
      groups[i] = insert_bytes(keys.bytes[i], hashes_[i]);
    }
  }
}

void GroupTable::find(const EncodedKeys& keys, std::span<uint32_t> groups) const {
  WRACKLINE_CHECK(groups.size() == keys.count);
  std::fill(groups.begin(), groups.end(), kNoGroup);
  if (size_ == 0) return;
  for (size_t i = 0; i < keys.count; ++i) {
    if (shape_ == KeyShape::kNone) {
      groups[i] = 0;
    } else if (!keys.nulls.empty() && keys.nulls[i] != 0) {
      if (has_null_group_) groups[i] = null_group_;
    } else if (!index_.empty()) {
      const bool integer = shape_ == KeyShape::kInteger;
      size_t slot = (integer ? hash_integer(keys.integers[i]) : hash_bytes(keys.bytes[i])) & mask_;
      for (; index_[slot] != 0; slot = (slot + 1) & mask_) {
        const uint32_t group = index_[slot] - 1;
        const bool same = integer ? integer_key(group) == keys.integers[i] && !is_null_key(group)
                                  : bytes_key(group) == keys.bytes[i];
        if (!same) continue;
        groups[i] = group;
        break;
      }
    }
  }
}

void GroupTable::export_keys(std::span<const uint32_t> groups, EncodedKeys& out) const {
  out.count = groups.size();
  out.integers.clear();
  out.bytes.clear();
  out.nulls.clear();
  if (shape_ == KeyShape::kNone) return;
  if (has_null_group_) out.nulls.resize(groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    const bool null = is_null_key(groups[i]);
    if (has_null_group_) out.nulls[i] = null;
    if (shape_ == KeyShape::kInteger) {
      out.integers.push_back(null ? 0 : integer_key(groups[i]));
    } else {
      out.bytes.push_back(null ? std::string_view() : bytes_key(groups[i]));
    }
  }
}

bool GroupTable::key_less(const GroupTable& a, uint32_t group_a, const GroupTable& b, uint32_t group_b) {
  const bool null_a = a.is_null_key(group_a);
  const bool null_b = b.is_null_key(group_b);
  if (null_a || null_b) return !null_a && null_b;
  switch (a.shape_) {
    case KeyShape::kNone:
      return false;
    case KeyShape::kInteger:
      return a.integer_key(group_a) < b.integer_key(group_b);
    case KeyShape::kBytes:
      return a.bytes_key(group_a) < b.bytes_key(group_b);
  }
  return false;
}

void GroupTable::sorted_groups(std::vector<uint32_t>& order) const {
  order.resize(size_);
  for (uint32_t i = 0; i < size_; ++i) order[i] = i;
  sort_groups(order);
}

void GroupTable::sort_groups(std::vector<uint32_t>& groups) const {
  if (shape_ == KeyShape::kNone) return;
  const auto null_at = std::find_if(groups.begin(), groups.end(), [&](uint32_t g) { return is_null_key(g); });
  const bool has_null = null_at != groups.end();
  if (has_null) groups.erase(null_at);
  if (shape_ == KeyShape::kBytes) {
    std::sort(groups.begin(), groups.end(),
              [&](uint32_t a, uint32_t b) { return bytes_key(a) < bytes_key(b); });
  } else if (groups.size() < kRadixFrom) {
    std::sort(groups.begin(), groups.end(),
              [&](uint32_t a, uint32_t b) { return integer_key(a) < integer_key(b); });
  } else {
    // Least significant byte first; bytes that are the same in every key cost one counting pass and no move.
    struct Item {
      uint64_t key;
      uint32_t group;
    };
    // Kept from sort to sort: fresh megabytes would cost more in page faults than the sort itself.
    thread_local std::vector<Item> items;
    thread_local std::vector<Item> moved;
    items.resize(groups.size());
    moved.resize(groups.size());
    std::array<std::array<uint32_t, 256>, 8> counts{};
    for (size_t i = 0; i < groups.size(); ++i) {
      const uint64_t key = static_cast<uint64_t>(integer_key(groups[i])) ^ (uint64_t{1} << 63);
      items[i] = {key, groups[i]};
      for (size_t byte = 0; byte < 8; ++byte) ++counts[byte][key >> (byte * 8) & 0xFF];
    }
    for (size_t byte = 0; byte < 8; ++byte) {
      std::array<uint32_t, 256>& count = counts[byte];
      if (count[items[0].key >> (byte * 8) & 0xFF] == items.size()) continue;
      uint32_t sum = 0;
      for (uint32_t& c : count) sum += std::exchange(c, sum);
      for (const Item& item : items) moved[count[item.key >> (byte * 8) & 0xFF]++] = item;
      items.swap(moved);
    }
    for (size_t i = 0; i < groups.size(); ++i) groups[i] = items[i].group;
  }
  if (has_null) groups.push_back(null_group_);
}

size_t GroupTable::bytes() const {
  return capacity_ * stride_ + index_.capacity() * sizeof(uint32_t) + arena_.bytes();
}

void GroupTable::save(SnapshotWriter& out, const SaveStates& save_states) const {
  out.section("grps");
  out.u64(size_);
  out.u32(has_null_group_ ? null_group_ : kNoGroup);
  for (size_t group = 0; group < size_; ++group) {
    if (shape_ == KeyShape::kInteger && !is_null_key(group)) out.i64(integer_key(group));
    if (shape_ == KeyShape::kBytes && !is_null_key(group)) out.text(bytes_key(group));
    out.bytes(row(group) + version_at_, 2 * sizeof(uint32_t));
    save_states(row(group) + states_at_, out);
  }
}

Status GroupTable::restore(SnapshotReader& in, const RestoreStates& restore_states) {
  clear();
  Status status = restore_groups(in, restore_states);
  if (!status) clear();
  return status;
}

Status GroupTable::restore_groups(SnapshotReader& in, const RestoreStates& restore_states) {
  in.section("grps");
  const size_t groups = in.count(2 * sizeof(uint32_t));
  const uint32_t null_at = in.u32();
  for (uint32_t group = 0; group < groups; ++group) {
    if (!restore_key(in, group, group == null_at)) in.refuse("a key stands there twice");
    WRACKLINE_TRY(in.status());
    in.bytes(row(group) + version_at_, 2 * sizeof(uint32_t));
    WRACKLINE_TRY(restore_states(in, row(group) + states_at_, arena_));
  }
  return in.status();
}

// False: the key is that of another group.
bool GroupTable::restore_key(SnapshotReader& in, uint32_t group, bool null) {
  if (shape_ == KeyShape::kNone) return size_ == 0 && add_group() == group;
  reserve_index(size_ + 1);
  if (null) return null_group() == group;
  if (shape_ == KeyShape::kInteger) {
    const int64_t key = in.i64();
    return insert_integer(key, hash_integer(key)) == group;
  }
  const std::string_view key = in.text();
  return insert_bytes(key, hash_bytes(key)) == group;
}

void GroupTable::clear() {
  size_ = 0;
  std::fill(index_.begin(), index_.end(), 0U);
  has_null_group_ = false;
  arena_.clear();
}

void assign_shards(KeyShape shape, const EncodedKeys& keys, size_t shards, std::vector<uint32_t>& shard) {
  shard.resize(keys.count);
  for (size_t i = 0; i < keys.count; ++i) {
    uint64_t hash = 0;
    const bool null = !keys.nulls.empty() && keys.nulls[i] != 0;
    if (!null && shape == KeyShape::kInteger) hash = hash_integer(keys.integers[i]);
    if (!null && shape == KeyShape::kBytes) hash = hash_bytes(keys.bytes[i]);
    shard[i] = static_cast<uint32_t>((hash >> 32) * shards >> 32);
  }
}

}  // namespace wrackline::state
