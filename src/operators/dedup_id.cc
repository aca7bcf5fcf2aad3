#include "operators/dedup_id.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "expr/json_text.h"
#include "operators/dedup_hash.h"

namespace wrackline {
namespace {

constexpr uint64_t kNullDigest = 0x9E3779B97F4A7C15U;
constexpr uint64_t kStep = 0xD6E8FEB86659FD93U;  // odd, so that a column's place counts

// Folds one more value into a digest: for a given digest a bijection of the value, so records that differ in
// one column of 64 bits never have the same content.
uint64_t fold(uint64_t digest, uint64_t value) {
  return spread(digest * kStep + value);
}

uint64_t decimal_digest(Decimal value) {
  // Trailing zeros of the scale do not count: 1.50 is 1.5. An odd number has none, and most are small.
  while (value.scale > 0 && (static_cast<uint64_t>(value.unscaled) & 1U) == 0 && value.unscaled % 10 == 0) {
    value.unscaled /= 10;
    --value.scale;
  }
  const auto bits = static_cast<unsigned __int128>(value.unscaled);
  const uint64_t low = static_cast<uint64_t>(bits) + static_cast<uint64_t>(value.scale) * kStep;
  return fold(static_cast<uint64_t>(bits >> 64), low);
}

uint64_t double_digest(double value) {
  if (std::isnan(value)) return std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN());
  return std::bit_cast<uint64_t>(value == 0 ? 0.0 : value);  // -0 is 0
}

// Equal intervals are one content, whatever units they are written in; a month counts 30 days, as in
// PostgreSQL.
uint64_t interval_digest(const Interval& value) {
  const __int128 length =
      (static_cast<__int128>(value.months) * 30 + value.days) * 86'400'000'000 + value.micros;
  const auto bits = static_cast<unsigned __int128>(length);
  return fold(static_cast<uint64_t>(bits >> 64), static_cast<uint64_t>(bits));
}

template <class T, class Digest>
void fold_column(const Column& column, std::vector<RecordId>& ids, Digest digest_of) {
  const std::span<const T> values = column.values<T>();
  if (!column.has_nulls()) {
    for (size_t row = 0; row < ids.size(); ++row)
      ids[row].content = fold(ids[row].content, digest_of(values[row]));
    return;
  }
  for (size_t row = 0; row < ids.size(); ++row) {
    const uint64_t digest = column.is_null(row) ? kNullDigest : digest_of(values[row]);
    ids[row].content = fold(ids[row].content, digest);
  }
}

}  // namespace

void RecordIdReader::read(const Batch& batch, std::vector<RecordId>& ids) {
  ids.assign(batch.rows, RecordId{});
  read_key(batch, ids);
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    if (i != arrival_ && batch.columns[i].size() == batch.rows) add_content(batch.columns[i], ids);
  }
}

void RecordIdReader::read_key(const Batch& batch, std::vector<RecordId>& ids) {
  if (!codec_) {
    std::vector<Type> types;
    for (const size_t column : columns_) types.push_back(batch.columns[column].type());
    codec_.emplace(std::move(types));
  }
  if (codec_->shape() == state::KeyShape::kInteger &&
      batch.columns[columns_[0]].type().kind != TypeKind::kBoolean) {
    read_integer_key(batch.columns[columns_[0]], ids);
  } else {
    read_bytes_key(batch, ids);
  }
}

void RecordIdReader::read_integer_key(const Column& column, std::vector<RecordId>& ids) {
  const std::span<const int64_t> values = column.values<int64_t>();
  for (size_t row = 0; row < ids.size(); ++row) {
    if (!column.is_null(row)) ids[row] = {spread(static_cast<uint64_t>(values[row])), 1, 0};
  }
}

void RecordIdReader::read_bytes_key(const Batch& batch, std::vector<RecordId>& ids) {
  rows_.resize(batch.rows);
  std::iota(rows_.begin(), rows_.end(), 0U);
  key_columns_.clear();
  for (const size_t column : columns_) key_columns_.push_back(&batch.columns[column]);
  codec_->encode(key_columns_, rows_, keys_);
  for (size_t row = 0; row < ids.size(); ++row) {
    bool has_null = false;
    for (const Column* column : key_columns_) has_null |= column->is_null(row);
    if (has_null) continue;
    Hash128 hash;
    if (codec_->shape() == state::KeyShape::kInteger) {
      hash = {spread(static_cast<uint64_t>(keys_.integers[row])), 1};
    } else {
      hash = hash128(keys_.bytes[row]);
    }
    ids[row] = {hash.high, hash.low, 0};
    // No bits at all mean "no id" where ids are stored.
    if ((hash.low & kIdLowMask) == 0) ids[row].low |= 1;
  }
}

void RecordIdReader::add_content(const Column& column, std::vector<RecordId>& ids) {
  switch (column.type().kind) {
    case TypeKind::kBoolean:
      return fold_column<uint8_t>(column, ids, [](uint8_t value) -> uint64_t { return value != 0; });
    case TypeKind::kInteger:
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
      return fold_column<int64_t>(column, ids, [](int64_t value) { return static_cast<uint64_t>(value); });
    case TypeKind::kDouble:
      return fold_column<double>(column, ids, double_digest);
    case TypeKind::kNumeric:
      return fold_column<Decimal>(column, ids, decimal_digest);
    case TypeKind::kInterval:
      return fold_column<Interval>(column, ids, interval_digest);
    case TypeKind::kText:
      return fold_column<std::string_view>(column, ids, [](std::string_view text) { return hash64(text); });
    case TypeKind::kJson:
      return fold_column<std::string_view>(column, ids,
                                           [this](std::string_view text) { return json_digest(text); });
  }
}

uint64_t RecordIdReader::json_digest(std::string_view text) {
  expr::JsonPart root;
  scratch_.clear();
  const bool plain =
      expr::json_root(text, root) == expr::JsonLookup::kFound && expr::append_json_canonical(scratch_, root);
  return hash64(plain ? std::string_view(scratch_) : text);
}

}  // namespace wrackline
