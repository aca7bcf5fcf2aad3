// Files that are left in the middle and gone on with.
#include "connectors/file_position.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>

#include "base/text.h"
#include "connectors/file_source.h"

namespace wrackline::connectors {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Lines = std::vector<std::string>;

std::string gzip(std::string_view plain) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, plain.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(std::string_view plain) {
  std::string out(ZSTD_compressBound(plain.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), 3));
  return out;
}

std::string records(int64_t begin, int64_t end) {
  std::string out;
  for (int64_t n = begin; n < end; ++n) out += format("{{\"v\":{}}}\n", n);
  return out;
}

// Records in quotes over several lines, blank lines, lines that are no records, one that is too long.
std::string untidy_csv(std::mt19937_64& random, size_t size) {
  std::string out = "\xEF\xBB\xBF\nother,v\n";
  for (size_t i = 0; i < size; ++i) {
    switch (random() % 8) {
      case 0:
        out += "\n";
        break;
      case 1:
        out += "a,b,c\n";
        break;
      case 2:
        out += format("\"x\ny \"\"z\"\"\n\",{}\r\n", i);
        break;
      case 3:
        out += std::string(random() % 400, 'y') + format(",{}\n", i);
        break;
      default:
        out += format("text,{}\n", i);
    }
  }
  return out + "last,7";
}

class FilePositionTest : public testing::Test {
 protected:
  FilePositionTest() {
    std::string pattern = (fs::temp_directory_path() / "wrackline-positions-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~FilePositionTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }
  void append(const std::string& name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary | std::ios::app) << content;
  }
  FileSourceOptions options(std::vector<std::string> paths, bool follow = false) const {
    FileSourceOptions options;
    options.paths = std::move(paths);
    options.folder = folder_;
    options.parser.fields = {{"v", Type::bigint()}};
    options.parser.record_bytes_max = 300;
    options.follow = follow;
    return options;
  }
  std::string folder_;
};

// A source that is read record by record and may be left and gone on with at any of them.
class Reading {
 public:
  explicit Reading(FileSourceOptions options) : options_(std::move(options)) {
    make();
    auto splits = source_->open();
    if (splits) {
      splits_ = std::move(*splits);
      batches_ = std::vector<Held>(splits_.size());
    } else {
      error_ = splits.error();
    }
  }

  // The next record of the split, or nothing. Batches have up to `rows_max` records.
  std::optional<std::string> next(size_t split, size_t rows_max) {
    Held& held = batches_[split];
    if (held.taken == held.records.size()) {
      const auto state = splits_[split]->read(held.batch, rows_max);
      for (std::string& text : splits_[split]->take_notices()) notices.push_back(std::move(text));
      held.taken = 0;
      held.records.clear();
      if (!state) {
        error_ = state.error();
        return std::nullopt;
      }
      describe(held);
    }
    return held.taken < held.records.size() ? std::optional(held.records[held.taken++]) : std::nullopt;
  }
  Lines rest(size_t rows_max = 1000) {
    Lines lines;
    for (size_t split = 0; split < splits_.size(); ++split) {
      while (auto record = next(split, rows_max)) lines.push_back(*record);
    }
    return lines;
  }
  // Looks as often as a rotation or the next file needs.
  Lines rest_on() {
    Lines lines;
    for (int look = 0; look < 4; ++look) {
      discover();
      std::ranges::copy(rest(), std::back_inserter(lines));
    }
    return lines;
  }
  void discover() {
    auto found = source_->discover();
    ASSERT_TRUE(found.has_value());
    for (auto& split : *found) splits_.push_back(std::move(split));
    batches_.resize(splits_.size());
    for (std::string& text : source_->take_notices()) notices.push_back(std::move(text));
  }

  std::string save() const {
    SnapshotWriter out;
    source_->save(out);
    out.u64(splits_.size());
    for (size_t i = 0; i < splits_.size(); ++i) splits_[i]->save(out, batches_[i].taken);
    return out.finish();
  }
  // Leaves everything and begins again there.
  bool restore(const std::string& state) {
    splits_.clear();
    batches_.clear();
    make();
    SnapshotReader from = SnapshotReader::open(state).value();
    if (Status status = source_->restore(from); !status) return keep(status.error());
    for (size_t left = from.u64(); left > 0; --left) {
      auto split = source_->open_at(from);
      if (!split) return keep(split.error());
      splits_.push_back(std::move(*split));
    }
    batches_ = std::vector<Held>(splits_.size());
    if (Status status = from.finish(); !status) return keep(status.error());
    return true;
  }
  bool restore() { return restore(save()); }
  const Error& error() const { return error_; }
  size_t splits() const { return splits_.size(); }
  uint64_t bytes_read(size_t split) const { return splits_[split]->bytes_read(); }
  Lines notices;

 private:
  struct Held {
    Batch batch;
    Lines records;
    size_t taken = 0;
  };
  void make() { source_ = std::move(*make_file_source(options_)); }
  bool keep(const Error& error) {
    error_ = error;
    return false;
  }
  static void describe(Held& held) {
    const Batch& batch = held.batch;
    size_t reject = 0;
    for (size_t row = 0; row <= batch.rows; ++row) {
      for (; reject < batch.rejects.size() && batch.rejects[reject].before_row == row; ++reject) {
        const Reject& bad = batch.rejects[reject];
        held.records.push_back(
            format("{}:{}:{}!{} {}", batch.file, bad.offset, bad.line, bad.detail, bad.raw_bytes));
      }
      if (row < batch.rows) {
        held.records.push_back(format("{}:{}:{}={}", batch.file, batch.offsets[row], batch.lines[row],
                                      batch.columns[0].values<int64_t>()[row]));
      }
    }
  }

  FileSourceOptions options_;
  std::unique_ptr<Source> source_;
  std::vector<std::unique_ptr<SplitReader>> splits_;
  std::vector<Held> batches_;
  Error error_;
};

TEST_F(FilePositionTest, LeftAtAnyRecordNothingShows) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const std::string plain = round % 2 == 0 ? records(0, static_cast<int64_t>(random() % 2000))
                                             : untidy_csv(random, random() % 2000);
    const std::string ending = round % 2 == 0 ? ".jsonl" : ".csv";
    std::string name = "a" + ending;
    if (round % 3 == 1) name += ".gz";
    if (round % 3 == 2) name += ".zst";
    write(name, round % 3 == 0 ? plain : round % 3 == 1 ? gzip(plain) : zstd(plain));
    Reading whole(options({name}));
    const Lines expected = whole.rest();
    Reading reading(options({name}));
    Lines lines;
    size_t restores = 0;
    for (;;) {
      const size_t rows_max = 1 + random() % 50;
      const auto record = reading.next(0, rows_max);
      if (!record) break;
      lines.push_back(*record);
      if (random() % 20 != 0) continue;
      ++restores;
      ASSERT_TRUE(reading.restore()) << reading.error().to_string();
    }
    ASSERT_EQ(lines, expected);
    ASSERT_EQ(reading.bytes_read(0), whole.bytes_read(0));
    ASSERT_TRUE(reading.restore()) << "at the end";
    EXPECT_THAT(reading.rest(), IsEmpty());
    fs::remove(path(name));
    EXPECT_TRUE(reading.restore()) << "what was read to its end is not needed any more";
    EXPECT_TRUE(restores > 0 || lines.size() < 200);
  }
}

TEST_F(FilePositionTest, ASequenceGoesOnInItsFile) {
  for (int i = 0; i < 4; ++i) write(format("{}.jsonl", i), records(i * 10, i * 10 + 10));
  FileSourceOptions sequence = options({"*.jsonl"});
  sequence.files = FilesMode::kSequence;
  const Lines expected = Reading(sequence).rest();
  ASSERT_EQ(expected.size(), 40U);
  for (size_t at = 0; at <= 40; ++at) {
    Reading reading(sequence);
    Lines lines;
    for (size_t i = 0; i < at; ++i) lines.push_back(reading.next(0, 4).value());
    ASSERT_TRUE(reading.restore()) << reading.error().to_string();
    std::ranges::copy(reading.rest(3), std::back_inserter(lines));
    ASSERT_EQ(lines, expected) << at;
  }
}

TEST_F(FilePositionTest, ABoundedRunIsOfTheFilesThatItBeganWith) {
  write("a.jsonl", records(0, 4));
  Reading reading(options({"*.jsonl"}));
  ASSERT_TRUE(reading.next(0, 2).has_value());
  const std::string state = reading.save();
  write("b.jsonl", records(0, 4));
  ASSERT_TRUE(reading.restore(state));
  reading.discover();
  EXPECT_EQ(reading.splits(), 1U);
  EXPECT_THAT(reading.notices, ElementsAre(HasSubstr("\"b.jsonl\" appeared after the run began")));
  EXPECT_EQ(reading.rest().size(), 3U);
}

TEST_F(FilePositionTest, WhatChangedIsRefused) {
  const auto refused = [&](const std::function<void()>& change, bool follow = false) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write("a.jsonl", records(0, 100));
    Reading reading(options({"a.jsonl"}, follow));
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(reading.next(0, 30).has_value());
    const std::string state = reading.save();
    change();
    EXPECT_FALSE(reading.restore(state));
    EXPECT_EQ(reading.error().where.file, "a.jsonl");
    EXPECT_EQ(reading.error().where.offset, 50);
    EXPECT_THAT(reading.error().hint, HasSubstr("--resume"));
    return reading.error().message;
  };
  EXPECT_THAT(refused([&] { fs::remove(path("a.jsonl")); }), HasSubstr("\"a.jsonl\" is gone"));
  EXPECT_THAT(refused([&] { fs::remove(path("a.jsonl")); }, true), HasSubstr("\"a.jsonl\" is gone"));
  EXPECT_THAT(refused([&] { fs::resize_file(path("a.jsonl"), 100); }), HasSubstr("is shorter"));
  EXPECT_THAT(refused([&] { write("a.jsonl", records(7, 8)); }, true), HasSubstr("is shorter"));
  EXPECT_THAT(refused([&] { write("a.jsonl", records(1, 101)); }), HasSubstr("is not what it was"));
  EXPECT_THAT(refused([&] {
                fs::rename(path("a.jsonl"), path("old"));
                write("a.jsonl", records(1, 101));
              }),
              HasSubstr("is not what it was"));
}

TEST_F(FilePositionTest, AFileThatWasPutBackFromACopyIsGoneOnWith) {
  write("a.jsonl", records(0, 100));
  Reading reading(options({"a.jsonl"}, false));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(reading.next(0, 30).has_value());
  const std::string state = reading.save();
  fs::copy_file(path("a.jsonl"), path("copy"));
  fs::remove(path("a.jsonl"));
  fs::rename(path("copy"), path("a.jsonl"));
  ASSERT_TRUE(reading.restore(state)) << reading.error().to_string();
  EXPECT_EQ(reading.rest().size(), 50U);
}

TEST_F(FilePositionTest, AFollowedFileThatWasRotatedMeanwhileIsFoundByWhatItIs) {
  write("app.log", records(0, 10));
  FileSourceOptions followed = options({"app.log*"}, true);
  followed.format = formats::Format::kJsonl;
  Reading reading(followed);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(reading.next(0, 4).has_value());
  const std::string state = reading.save();
  append("app.log", records(10, 12));
  fs::rename(path("app.log"), path("app.log.1"));
  write("app.log", records(12, 15));
  ASSERT_TRUE(reading.restore(state)) << reading.error().to_string();
  Lines values = reading.rest_on();
  EXPECT_EQ(reading.splits(), 1U) << "neither name is another file";
  ASSERT_EQ(values.size(), 9U);
  EXPECT_EQ(values.front(), "app.log:6:7=6");
  EXPECT_EQ(values.back(), "app.log:14:3=14") << "offsets go on, lines begin again";
  // And the position in the new one stands on its own.
  ASSERT_TRUE(reading.restore()) << reading.error().to_string();
  append("app.log", records(15, 16));
  EXPECT_THAT(reading.rest_on(), ElementsAre("app.log:15:4=15"));
}

TEST_F(FilePositionTest, AFollowedFileGrowsMeanwhileAndOthersAppear) {
  write("a.jsonl", records(0, 3) + "{\"v\":");
  Reading reading(options({"*.jsonl"}, true));
  EXPECT_EQ(reading.rest().size(), 3U);
  const std::string state = reading.save();
  append("a.jsonl", "3}\n" + records(4, 5));
  write("b.jsonl", records(0, 1));
  ASSERT_TRUE(reading.restore(state));
  EXPECT_THAT(reading.rest_on(), ElementsAre("a.jsonl:3:4=3", "a.jsonl:4:5=4", "b.jsonl:0:1=0"));
}

TEST_F(FilePositionTest, APartOfARecordThatIsTooLongIsReadAgain) {
  write("a.jsonl", records(0, 3) + std::string(2'000'000, 'x'));
  Reading reading(options({"a.jsonl"}, true));
  EXPECT_EQ(reading.rest().size(), 3U);
  EXPECT_THAT(reading.rest(), IsEmpty());
  const std::string state = reading.save();
  append("a.jsonl", "x\n" + records(3, 4));
  ASSERT_TRUE(reading.restore(state)) << reading.error().to_string();
  const Lines lines = reading.rest();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], HasSubstr("2000001"));
  EXPECT_EQ(lines[1], "a.jsonl:4:5=3");
}

TEST_F(FilePositionTest, APipeCannotBeGoneOnWith) {
  ASSERT_EQ(mkfifo(path("p.jsonl").c_str(), 0600), 0);
  const int keep = ::open(path("p.jsonl").c_str(), O_RDWR | O_CLOEXEC);
  const std::string content = records(0, 5);
  ASSERT_EQ(::write(keep, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  Reading reading(options({"p.jsonl"}));
  ASSERT_TRUE(reading.next(0, 2).has_value());
  EXPECT_FALSE(reading.restore());
  EXPECT_EQ(reading.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(reading.error().message, HasSubstr("cannot be read a second time"));
  EXPECT_THAT(reading.error().hint, HasSubstr("--resume"));
  ::close(keep);
}

TEST_F(FilePositionTest, OtherOptionsAreRefused) {
  write("a.csv", "v\n1\n2\n3\n");
  FileSourceOptions first = options({"a.csv"});
  Reading reading(first);
  ASSERT_TRUE(reading.next(0, 1).has_value());
  const std::string state = reading.save();
  first.files = FilesMode::kSequence;
  Reading sequence(first);
  EXPECT_FALSE(sequence.restore(state));
  EXPECT_EQ(sequence.error().code, ErrorCode::kInvalid);
  FileSourceOptions renamed = options({"a.csv"});
  renamed.parser.fields = {{"w", Type::bigint()}};
  Reading other(renamed);
  EXPECT_FALSE(other.restore(state));
  EXPECT_THAT(other.error().message, HasSubstr("has no column \"w\""));
}

TEST_F(FilePositionTest, DamagedBytesAreAnError) {
  std::mt19937_64 random(2);
  write("a.csv", untidy_csv(random, 500));
  Reading reading(options({"a.csv"}));
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(reading.next(0, 30).has_value());
  const std::string state = reading.save();
  // What counts is in the position; the source's own part may name other files.
  const std::string payload = state.substr(kSnapshotHeadBytes);
  const size_t begin = payload.find("FPOS");
  ASSERT_NE(begin, std::string::npos);
  for (size_t at = begin; at < payload.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      std::string damaged = payload;
      damaged[at] ^= static_cast<char>(1 << bit);
      SnapshotWriter out;
      out.bytes(damaged.data(), damaged.size());
      EXPECT_FALSE(reading.restore(out.finish())) << at << " of " << payload.size() << ", bit " << bit;
    }
    SnapshotWriter out;
    out.bytes(payload.data(), at);
    EXPECT_FALSE(reading.restore(out.finish())) << "cut off at " << at;
  }
}

}  // namespace
}  // namespace wrackline::connectors
