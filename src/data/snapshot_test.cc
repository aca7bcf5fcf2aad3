#include "data/snapshot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace wrackline {
namespace {

std::string sample() {
  SnapshotWriter out;
  out.section("test");
  out.u8(7);
  out.u32(1'000'000);
  out.i64(std::numeric_limits<int64_t>::min());
  out.f64(-0.0);
  out.text("");
  out.text("a text");
  return out.finish();
}

TEST(Snapshot, WhatIsWrittenIsRead) {
  const std::string bytes = sample();
  auto in = SnapshotReader::open(bytes);
  ASSERT_TRUE(in.has_value());
  in->section("test");
  EXPECT_EQ(in->u8(), 7);
  EXPECT_EQ(in->u32(), 1'000'000U);
  EXPECT_EQ(in->i64(), std::numeric_limits<int64_t>::min());
  EXPECT_TRUE(std::signbit(in->f64()));
  EXPECT_EQ(in->text(), "");
  EXPECT_EQ(in->text(), "a text");
  EXPECT_TRUE(in->finish().has_value());
}

TEST(Snapshot, EveryTruncationAndEveryFlippedBitIsAnError) {
  const std::string bytes = sample();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(SnapshotReader::open(bytes.substr(0, size)).has_value()) << size;
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(SnapshotReader::open(flipped).has_value()) << bit;
  }
}

TEST(Snapshot, AReaderThatFailedGivesNothingMore) {
  SnapshotWriter out;
  out.section("test");
  out.u64(1000);  // of a text that is not there
  out.u64(3);
  const std::string bytes = out.finish();
  auto in = SnapshotReader::open(bytes);
  ASSERT_TRUE(in.has_value());
  in->section("test");
  EXPECT_EQ(in->text(), "");
  EXPECT_EQ(in->u64(), 0U);
  EXPECT_EQ(in->count(1), 0U);
  EXPECT_EQ(in->status().error().detail,
            "Byte 12, after section \"test\": a length is larger than what is left.");
}

TEST(Snapshot, AnotherSectionAndBytesLeftOverAreErrors) {
  const std::string bytes = sample();
  auto other = SnapshotReader::open(bytes);
  other->section("rest");
  EXPECT_FALSE(other->status().has_value());
  auto early = SnapshotReader::open(bytes);
  early->section("test");
  EXPECT_TRUE(early->status().has_value());
  EXPECT_FALSE(early->finish().has_value());
}

class MapPieces : public PieceWriter, public PieceReader {
 public:
  void put(std::string_view name, uint64_t revision, const WritePiece& write) override {
    const auto [at, is_new] = pieces_.try_emplace(std::string(name));
    if (!is_new && at->second.first == revision) return;
    SnapshotWriter out;
    write(out);
    at->second = {revision, out.finish()};
    ++written;
  }
  void need_file(std::string_view path) override { files.emplace_back(path); }
  Result<std::string> get(std::string_view name) override {
    const auto at = pieces_.find(std::string(name));
    if (at == pieces_.end()) return fail(ErrorCode::kNotFound, "no such piece");
    return at->second.second;
  }
  void damage(const std::string& name) { pieces_.at(name).second.back() ^= 1; }

  int written = 0;
  std::vector<std::string> files;

 private:
  std::map<std::string, std::pair<uint64_t, std::string>> pieces_;
};

void write_with_pieces(SnapshotWriter& out, int64_t value, uint64_t revision) {
  out.section("with");
  out.piece("a", 1, [](SnapshotWriter& piece) { piece.text("never changes"); });
  out.piece("b", revision, [&](SnapshotWriter& piece) { piece.i64(value); });
  out.need_file("cold/1");
  out.u8(9);
}

int64_t read_with_pieces(SnapshotReader& in) {
  int64_t value = 0;
  in.section("with");
  in.piece("a", [](SnapshotReader& piece) { EXPECT_EQ(piece.text(), "never changes"); });
  in.piece("b", [&](SnapshotReader& piece) { value = piece.i64(); });
  EXPECT_EQ(in.u8(), in.failed() ? 0 : 9);
  return value;
}

TEST(Snapshot, PiecesLieInTheSnapshotOrBesideIt) {
  SnapshotWriter whole;
  write_with_pieces(whole, 5, 1);
  const std::string bytes = whole.finish();
  auto in = SnapshotReader::open(bytes);
  EXPECT_EQ(read_with_pieces(*in), 5);
  EXPECT_TRUE(in->finish().has_value());

  MapPieces pieces;
  std::string beside;
  for (int64_t round = 1; round <= 3; ++round) {
    SnapshotWriter out(pieces, "view v/");
    write_with_pieces(out, round * 10, static_cast<uint64_t>(round));
    beside = out.finish();
  }
  EXPECT_EQ(pieces.written, 4) << "a piece that did not change is written once";
  EXPECT_EQ(pieces.files.front(), "cold/1");
  auto apart = SnapshotReader::open(beside, pieces, "view v/");
  EXPECT_EQ(read_with_pieces(*apart), 30);
  EXPECT_TRUE(apart->finish().has_value());
}

TEST(Snapshot, APieceThatIsMissingDamagedOrLongerIsAnError) {
  MapPieces pieces;
  SnapshotWriter out(pieces, "");
  write_with_pieces(out, 5, 1);
  const std::string bytes = out.finish();
  auto missing = SnapshotReader::open(bytes, pieces, "elsewhere/");
  read_with_pieces(*missing);
  EXPECT_TRUE(missing->status().error().detail.contains("piece \"a\"")) << missing->status().error().detail;

  auto longer = SnapshotReader::open(bytes, pieces, "");
  longer->section("with");
  longer->piece("a", [](SnapshotReader&) {});
  EXPECT_FALSE(longer->status().has_value());

  pieces.damage("b");
  auto damaged = SnapshotReader::open(bytes, pieces, "");
  EXPECT_EQ(read_with_pieces(*damaged), 0);
  EXPECT_FALSE(damaged->status().has_value());
}

}  // namespace
}  // namespace wrackline
