#include "runtime/tick_codec.h"

#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "data/crc32c.h"

namespace wrackline::runtime {
namespace {

// Stored: never renumber.
enum Flag : uint8_t {
  kHasSplits = 1,
  kHasPartitions = 2,
  kHasDelay = 4,
  kHasEvents = 8,
  kHasCarried = 16,
  kHasProgress = 32,   // G moved
  kHasWatermark = 64,  // W is not G - delay
  kHasHolder = 128,    // another partition holds G, or none
};

constexpr size_t kFrameBytesMax = size_t{1} << 30;
constexpr uint32_t kSourcesMax = 1U << 16;

void put(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// The difference of two times, which may be infinite, without overflow: modulo 2^64, as it is added back.
int64_t difference(int64_t to, int64_t from) {
  return static_cast<int64_t>(static_cast<uint64_t>(to) - static_cast<uint64_t>(from));
}

int64_t sum(int64_t from, int64_t difference) {
  return static_cast<int64_t>(static_cast<uint64_t>(from) + static_cast<uint64_t>(difference));
}

void put_signed(std::string& out, int64_t value) {
  put(out, zigzag(value));
}

void put_text(std::string& out, std::string_view text) {
  put(out, text.size());
  out += text;
}

// Reads what put() and its kin wrote. After the first thing that does not fit, everything is zero and ok() is
// false.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return bytes_.empty(); }

  uint64_t number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) return wrong();
      const auto byte = static_cast<uint8_t>(bytes_[0]);
      bytes_.remove_prefix(1);
      if (shift == 63 && byte > 1) return wrong();
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return wrong();
  }
  int64_t signed_number() { return unzigzag(number()); }
  uint8_t byte() {
    if (bytes_.empty()) return static_cast<uint8_t>(wrong());
    const auto value = static_cast<uint8_t>(bytes_[0]);
    bytes_.remove_prefix(1);
    return value;
  }
  // A count of things that take at least one byte each, so that no damaged count asks for memory.
  size_t count() {
    const uint64_t value = number();
    return value <= bytes_.size() ? static_cast<size_t>(value) : static_cast<size_t>(wrong());
  }
  uint32_t below(size_t limit) {
    const uint64_t value = number();
    return value < limit ? static_cast<uint32_t>(value) : static_cast<uint32_t>(wrong());
  }
  std::string text() {
    const size_t size = count();
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }
  uint64_t wrong() {
    ok_ = false;
    bytes_ = {};
    return 0;
  }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

int64_t watermark_of(int64_t progress_us, int64_t delay_us) {
  return progress_us == kMicrosMax ? kMicrosMax : saturating_subtract(progress_us, delay_us);
}

uint8_t flags_of(const TickEntry& entry, const TickCoding& coding) {
  unsigned flags = 0;
  if (!entry.splits.empty()) flags |= kHasSplits;
  if (!entry.partitions.empty()) flags |= kHasPartitions;
  if (entry.delay_us) flags |= kHasDelay;
  if (!entry.events.empty()) flags |= kHasEvents;
  if (entry.carried_to_us) flags |= kHasCarried;
  if (entry.progress_us != coding.progress_us) flags |= kHasProgress;
  if (entry.watermark_us != watermark_of(entry.progress_us, entry.delay_us.value_or(coding.delay_us)))
    flags |= kHasWatermark;
  if (entry.holder != coding.holder) flags |= kHasHolder;
  return static_cast<uint8_t>(flags);
}

void encode_records(const TickEntry& entry, TickCoding& coding, std::string& out) {
  WRACKLINE_CHECK(entry.split < coding.splits.size());
  TickCoding::Split& split = coding.splits[entry.split];
  put(out, entry.split);
  if (split.file >= coding.files.size() || coding.files[split.file] != entry.file) {
    split.file = 0;
    while (split.file < coding.files.size() && coding.files[split.file] != entry.file) ++split.file;
  }
  put(out, split.file);
  if (split.file == coding.files.size()) {
    put_text(out, entry.file);
    coding.files.push_back(entry.file);
  }
  put(out, entry.records);
  put_signed(out, difference(entry.first_offset, split.next_offset));
  put_signed(out,
             difference(entry.last_offset, sum(entry.first_offset, static_cast<int64_t>(entry.records))));
  put(out, entry.bytes);
  split.next_offset = sum(entry.last_offset, 1);
}

void decode_records(Bytes& in, TickCoding& coding, TickEntry& entry) {
  entry.split = in.below(coding.splits.size());
  const uint32_t file = in.below(coding.files.size() + 1);
  if (!in.ok()) return;
  if (file == coding.files.size()) coding.files.push_back(in.text());
  entry.file = coding.files[file];
  TickCoding::Split& split = coding.splits[entry.split];
  split.file = file;
  entry.records = in.number();
  entry.first_offset = sum(split.next_offset, in.signed_number());
  entry.last_offset = sum(sum(entry.first_offset, static_cast<int64_t>(entry.records)), in.signed_number());
  entry.bytes = in.number();
  split.next_offset = sum(entry.last_offset, 1);
}

std::unexpected<Error> not_an_entry() {
  return fail(ErrorCode::kData, "the bytes are no entry of a tick log");
}

Status decode_flagged(Bytes& in, uint8_t flags, TickCoding& coding, TickEntry& entry) {
  if ((flags & kHasSplits) != 0) {
    for (size_t i = in.count(); i > 0 && in.ok(); --i) entry.splits.push_back(in.text());
    coding.splits.resize(coding.splits.size() + entry.splits.size());
  }
  if ((flags & kHasPartitions) != 0) {
    for (size_t i = in.count(); i > 0 && in.ok(); --i) {
      const bool silent = in.byte() != 0;
      entry.partitions.push_back({in.text(), silent});
    }
    coding.partition_count += static_cast<uint32_t>(entry.partitions.size());
  }
  if ((flags & kHasDelay) != 0) {
    entry.delay_us = in.signed_number();
    if (*entry.delay_us < 0) return not_an_entry();
    coding.delay_us = *entry.delay_us;
  }
  if ((flags & kHasEvents) != 0) {
    for (size_t i = in.count(); i > 0 && in.ok(); --i) {
      const uint8_t what = in.byte();
      if (what < 1 || what > 4) return not_an_entry();
      const bool of_split = what >= 3;
      entry.events.push_back({static_cast<TickEvent::What>(what),
                              in.below(of_split ? coding.splits.size() : coding.partition_count)});
    }
  }
  if ((flags & kHasCarried) != 0) entry.carried_to_us = in.signed_number();
  return {};
}

}  // namespace

void TickEntry::clear() {
  splits.clear();
  partitions.clear();
  delay_us.reset();
  events.clear();
  carried_to_us.reset();
  split = 0;
  file.clear();
  records = bytes = 0;
  first_offset = last_offset = 0;
  holder.reset();
}

uint64_t job_fingerprint(const TickLogHeader& header) {
  uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3U;
    hash = (hash ^ 0xFF) * 0x100000001b3U;  // no UTF-8 text has this byte
  };
  add(header.job_text);
  for (const auto& [name, value] : header.job_set) {
    add(name);
    add(value);
  }
  add(header.follow ? "follow" : "");
  return hash;
}

void encode_tick(const TickEntry& entry, TickCoding& coding, std::string& out) {
  const uint8_t flags = flags_of(entry, coding);
  put(out, static_cast<uint64_t>(entry.kind));
  put(out, entry.source);
  out += static_cast<char>(flags);
  put_signed(out, difference(entry.wall_us, coding.wall_us));
  coding.wall_us = entry.wall_us;
  if ((flags & kHasSplits) != 0) {
    put(out, entry.splits.size());
    for (const std::string& name : entry.splits) put_text(out, name);
    coding.splits.resize(coding.splits.size() + entry.splits.size());
  }
  if ((flags & kHasPartitions) != 0) {
    put(out, entry.partitions.size());
    for (const TickEntry::Partition& partition : entry.partitions) {
      out += static_cast<char>(partition.silent ? 1 : 0);
      put_text(out, partition.name);
    }
    coding.partition_count += static_cast<uint32_t>(entry.partitions.size());
  }
  if (entry.delay_us) {
    put_signed(out, *entry.delay_us);
    coding.delay_us = *entry.delay_us;
  }
  if ((flags & kHasEvents) != 0) {
    put(out, entry.events.size());
    for (const TickEvent& event : entry.events) {
      out += static_cast<char>(event.what);
      put(out, event.index);
    }
  }
  if (entry.carried_to_us) put_signed(out, *entry.carried_to_us);
  if (entry.kind == TickKind::kRecords) encode_records(entry, coding, out);
  if ((flags & kHasProgress) != 0) put_signed(out, difference(entry.progress_us, coding.progress_us));
  coding.progress_us = entry.progress_us;
  if ((flags & kHasWatermark) != 0) put_signed(out, entry.watermark_us);
  if ((flags & kHasHolder) != 0) put(out, entry.holder ? uint64_t{*entry.holder} + 1 : 0);
  coding.holder = entry.holder;
}

Status decode_tick(std::string_view payload, std::vector<TickCoding>& codings, TickEntry& entry) {
  entry.clear();
  Bytes in(payload);
  const uint64_t kind = in.number();
  const uint32_t source = in.below(kSourcesMax);
  const uint8_t flags = in.byte();
  if (!in.ok() || kind < 1 || kind > 6 || source > codings.size()) return not_an_entry();
  if (source == codings.size()) codings.emplace_back();
  TickCoding& coding = codings[source];
  entry.kind = static_cast<TickKind>(kind);
  entry.source = source;
  if (entry.kind == TickKind::kResume) coding = {};
  entry.wall_us = coding.wall_us = sum(coding.wall_us, in.signed_number());
  WRACKLINE_TRY(decode_flagged(in, flags, coding, entry));
  if (entry.kind == TickKind::kRecords && in.ok()) decode_records(in, coding, entry);
  if ((flags & kHasProgress) != 0) coding.progress_us = sum(coding.progress_us, in.signed_number());
  entry.progress_us = coding.progress_us;
  entry.watermark_us = watermark_of(entry.progress_us, coding.delay_us);
  if ((flags & kHasWatermark) != 0) entry.watermark_us = in.signed_number();
  if ((flags & kHasHolder) != 0) {
    const uint32_t holder = in.below(size_t{coding.partition_count} + 1);
    coding.holder = holder == 0 ? std::nullopt : std::optional(holder - 1);
  }
  entry.holder = coding.holder;
  if (!in.ok() || !in.at_end()) return not_an_entry();
  return {};
}

void append_frame(std::string& out, std::string_view payload) {
  WRACKLINE_CHECK(!payload.empty() && payload.size() <= kFrameBytesMax);
  put(out, payload.size());
  const uint32_t crc = crc32c(payload);
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(crc >> shift);
  out += payload;
}

std::optional<std::string_view> read_frame(std::string_view bytes, size_t& position) {
  size_t at = position;
  uint64_t size = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (at >= bytes.size() || shift > 28) return std::nullopt;
    const auto byte = static_cast<uint8_t>(bytes[at++]);
    size |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) break;
  }
  if (size == 0 || size > kFrameBytesMax || bytes.size() - at < size + 4) return std::nullopt;
  uint32_t crc = 0;
  for (int shift = 0; shift < 32; shift += 8) crc |= uint32_t{static_cast<uint8_t>(bytes[at++])} << shift;
  const std::string_view payload = bytes.substr(at, static_cast<size_t>(size));
  if (crc32c(payload) != crc) return std::nullopt;
  position = at + payload.size();
  return payload;
}

void append_head(std::string& out, const TickSegmentHead& head) {
  out += kTickMagic;
  out += static_cast<char>(kTickFormatVersion);
  std::string payload;
  put(payload, head.first_sequence);
  put_signed(payload, head.ticks_before);
  put_signed(payload, head.log.run);
  put_text(payload, head.log.job_path);
  put_text(payload, head.log.job_text);
  put(payload, head.log.job_set.size());
  for (const auto& [name, value] : head.log.job_set) {
    put_text(payload, name);
    put_text(payload, value);
  }
  payload += static_cast<char>(head.log.follow ? 1 : 0);
  append_frame(out, payload);
}

Result<TickSegmentHead> read_head(std::string_view bytes, size_t& position) {
  position = 0;
  if (!bytes.starts_with(kTickMagic) || bytes.size() <= kTickMagic.size())
    return fail(ErrorCode::kData, "it does not begin as a tick log does");
  const auto version = static_cast<uint8_t>(bytes[kTickMagic.size()]);
  if (version != kTickFormatVersion) {
    return fail(ErrorCode::kData, format("it has format version {}, this program reads version {}", version,
                                         kTickFormatVersion));
  }
  position = kTickMagic.size() + 1;
  const auto payload = read_frame(bytes, position);
  if (!payload) return fail(ErrorCode::kData, "its header is damaged");
  Bytes in(*payload);
  TickSegmentHead head;
  head.first_sequence = in.number();
  head.ticks_before = in.signed_number();
  head.log.run = in.signed_number();
  head.log.job_path = in.text();
  head.log.job_text = in.text();
  for (size_t i = in.count(); i > 0 && in.ok(); --i) {
    std::string name = in.text();
    head.log.job_set.emplace_back(std::move(name), in.text());
  }
  head.log.follow = in.byte() != 0;
  if (!in.ok() || !in.at_end()) return fail(ErrorCode::kData, "its header is damaged");
  return head;
}

}  // namespace wrackline::runtime
