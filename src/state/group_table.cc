#include "state/group_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace wrackline::state {
namespace {

constexpr size_t kLookAhead = 16;  // rows between asking for a cache line and using it
constexpr size_t kIndexMin = 64;
constexpr size_t kRadixFrom = 512;     // fewer integers are sorted by comparison
constexpr size_t kRadixBits = 11;      // of a digit: its counts fit the first cache
constexpr size_t kExpectedShare = 16;  // a table with this part of the groups expected will have them all

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

// What to make room for when `groups` no longer fit.
size_t GroupTable::room_for(size_t groups) const {
  return groups >= expected_ / kExpectedShare ? std::max(groups, expected_) : groups;
}

void GroupTable::grow_rows() {
  // A quarter more each time: large blocks are moved by the kernel's page tables, not copied.
  const size_t wanted = std::max<size_t>(16, room_for(capacity_ + capacity_ / 4));
  rows_.grow(wanted * stride_);
  capacity_ = rows_.size() / stride_;
}

inline uint32_t GroupTable::add_group() {
  if (size_ == capacity_) grow_rows();
  std::byte* const fresh = rows_.data() + size_ * stride_;
  for (size_t at = 0; at < stride_; at += sizeof(uint64_t)) std::memset(fresh + at, 0, sizeof(uint64_t));
  return static_cast<uint32_t>(size_++);
}

inline void GroupTable::place(uint32_t group, uint64_t hash) {
  uint32_t* const slots = index();
  size_t slot = hash & mask_;
  while (slots[slot] != 0) slot = (slot + 1) & mask_;
  slots[slot] = (group + 1) | tag(hash);
}

void GroupTable::reserve_index(size_t groups) {
  if (groups * 2 <= slots_) return;
  const size_t wanted = room_for(groups) * 2;
  size_t slots = std::max(kIndexMin, slots_);
  while (slots < wanted) slots *= 2;
  index_ = TableMemory::zeroed(slots * sizeof(uint32_t));
  slots_ = slots;
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

inline uint32_t GroupTable::insert_integer(int64_t key, uint64_t hash) {
  const uint32_t* const slots = index();
  size_t slot = hash & mask_;
  for (;; slot = (slot + 1) & mask_) {
    const uint32_t entry = slots[slot];
    if (entry == 0) break;
    if (is_tagged(entry, hash) && integer_key(group_in(entry)) == key) return group_in(entry);
  }
  const uint32_t group = add_group();
  std::memcpy(row(group), &key, sizeof key);
  if (size_ * 2 > slots_) {
    reserve_index(size_);  // places every group
  } else {
    index()[slot] = (group + 1) | tag(hash);
  }
  return group;
}

inline uint32_t GroupTable::insert_bytes(std::string_view key, uint64_t hash) {
  const uint32_t* const slots = index();
  size_t slot = hash & mask_;
  for (;; slot = (slot + 1) & mask_) {
    const uint32_t entry = slots[slot];
    if (entry == 0) break;
    if (is_tagged(entry, hash) && bytes_key(group_in(entry)) == key) return group_in(entry);
  }
  const uint32_t group = add_group();
  const std::string_view kept = arena_.copy(key);
  const BytesKey stored{kept.data(), kept.size()};
  std::memcpy(row(group), &stored, sizeof stored);
  if (size_ * 2 > slots_) {
    reserve_index(size_);
  } else {
    index()[slot] = (group + 1) | tag(hash);
  }
  return group;
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
    if (i + kLookAhead < count) __builtin_prefetch(&index()[hashes_[i + kLookAhead] & mask_]);
    if (i + kLookAhead / 2 < count) {
      const uint64_t ahead = hashes_[i + kLookAhead / 2];
      const uint32_t entry = index()[ahead & mask_];
      if (entry != 0 && is_tagged(entry, ahead)) __builtin_prefetch(row(group_in(entry)), 1);
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
    } else if (slots_ > 0) {
      const bool integer = shape_ == KeyShape::kInteger;
      const uint64_t hash = integer ? hash_integer(keys.integers[i]) : hash_bytes(keys.bytes[i]);
      for (size_t slot = hash & mask_; index()[slot] != 0; slot = (slot + 1) & mask_) {
        const uint32_t entry = index()[slot];
        if (!is_tagged(entry, hash)) continue;
        const uint32_t group = group_in(entry);
        if (integer ? integer_key(group) != keys.integers[i] : bytes_key(group) != keys.bytes[i]) continue;
        groups[i] = group;
        break;
      }
    }
  }
}

void GroupTable::prefetch(std::span<const uint32_t> groups) const {
  for (const uint32_t group : groups) {
    const std::byte* const at = row(group);
    __builtin_prefetch(at);
    __builtin_prefetch(at + stride_ - 1);
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
    sort_integers(groups);
  }
  if (has_null) groups.push_back(null_group_);
}

namespace {

// Sorts `from` by the low `bits` bits of key_of(item), least significant digit first. `to` is scratch of the
// same size.
template <class Item, class KeyOf>
void sort_by_digits(std::vector<Item>& from, std::vector<Item>& to, size_t bits, KeyOf key_of) {
  const size_t passes = (bits + kRadixBits - 1) / kRadixBits;
  const size_t width = passes == 0 ? 0 : (bits + passes - 1) / passes;
  const uint64_t mask = (uint64_t{1} << width) - 1;
  std::array<uint32_t, size_t{1} << kRadixBits> counts;
  for (size_t pass = 0; pass < passes; ++pass) {
    const size_t shift = pass * width;
    std::fill_n(counts.begin(), mask + 1, 0U);
    for (const Item& item : from) ++counts[key_of(item) >> shift & mask];
    uint32_t sum = 0;
    for (size_t digit = 0; digit <= mask; ++digit) sum += std::exchange(counts[digit], sum);
    for (const Item& item : from) to[counts[key_of(item) >> shift & mask]++] = item;
    from.swap(to);
  }
}

}  // namespace

// Keys of a small range are packed with their group into one word. The scratch is kept from sort to sort:
// fresh megabytes would cost more in page faults than the sort itself.
void GroupTable::sort_integers(std::vector<uint32_t>& groups) const {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  uint64_t least = UINT64_MAX;
  uint64_t greatest = 0;
  for (const uint32_t group : groups) {
    const uint64_t key = static_cast<uint64_t>(integer_key(group)) ^ kSign;
    least = std::min(least, key);
    greatest = std::max(greatest, key);
  }
  const auto bits = static_cast<size_t>(std::bit_width(greatest - least));
  if (bits <= 32) {
    thread_local std::vector<uint64_t> items;
    thread_local std::vector<uint64_t> moved;
    items.resize(groups.size());
    moved.resize(groups.size());
    for (size_t i = 0; i < groups.size(); ++i) {
      const uint64_t key = (static_cast<uint64_t>(integer_key(groups[i])) ^ kSign) - least;
      items[i] = key << 32 | groups[i];
    }
    sort_by_digits(items, moved, bits, [](uint64_t item) { return item >> 32; });
    for (size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<uint32_t>(items[i]);
    return;
  }
  struct Item {
    uint64_t key;
    uint32_t group;
  };
  thread_local std::vector<Item> items;
  thread_local std::vector<Item> moved;
  items.resize(groups.size());
  moved.resize(groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    items[i] = {(static_cast<uint64_t>(integer_key(groups[i])) ^ kSign) - least, groups[i]};
  }
  sort_by_digits(items, moved, bits, [](const Item& item) { return item.key; });
  for (size_t i = 0; i < groups.size(); ++i) groups[i] = items[i].group;
}

size_t GroupTable::bytes() const {
  return rows_.size() + index_.size() + arena_.bytes();
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
  if (slots_ > 0) std::memset(index_.data(), 0, slots_ * sizeof(uint32_t));
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
