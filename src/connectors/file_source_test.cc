#include "connectors/file_source.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include "base/text.h"

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
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(plain.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), plain.data(), plain.size()));
  ZSTD_freeCCtx(context);
  return out;
}

// Records {"v":n} for n in [begin, end).
std::string records(int64_t begin, int64_t end) {
  std::string out;
  for (int64_t n = begin; n < end; ++n) out += format("{{\"v\":{}}}\n", n);
  return out;
}

class FileSourceTest : public testing::Test {
 protected:
  FileSourceTest() {
    std::string pattern = (fs::temp_directory_path() / "wrackline-files-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~FileSourceTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, std::string_view content) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << content;
  }
  void append(const std::string& name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary | std::ios::app) << content;
  }

  FileSourceOptions options(std::vector<std::string> paths) const {
    FileSourceOptions options;
    options.paths = std::move(paths);
    options.folder = folder_;
    options.parser.fields = {{"v", Type::bigint()}};
    return options;
  }
  FileSourceOptions followed(std::vector<std::string> paths) const {
    FileSourceOptions followed = options(std::move(paths));
    followed.follow = true;
    return followed;
  }

  std::string folder_;
};

// A source under test: reads all there is, and writes each record as "file:offset:line=value".
class Reading {
 public:
  explicit Reading(FileSourceOptions options, size_t rows_max = 1000) : rows_max_(rows_max) {
    auto source = make_file_source(std::move(options));
    if (!source) {
      keep(source.error());
      return;
    }
    source_ = std::move(*source);
    auto splits = source_->open();
    if (!splits) {
      keep(splits.error());
      return;
    }
    splits_ = std::move(*splits);
  }

  // Reads every split until it has nothing now.
  Lines read() {
    Lines lines;
    for (size_t i = 0; i < splits_.size() && error_.empty(); ++i) read_split(i, lines);
    return lines;
  }
  // Three looks: two that a rotation or the next file is waited for, and one for what follows.
  Lines read_on() {
    Lines lines;
    for (int look = 0; look < 3; ++look) {
      auto found = source_->discover();
      if (!found) keep(found.error());
      if (found) std::ranges::move(*found, std::back_inserter(splits_));
      std::ranges::copy(read(), std::back_inserter(lines));
    }
    return lines;
  }

  Lines names() const {
    Lines names;
    for (const auto& split : splits_) names.push_back(split->name());
    return names;
  }
  const std::string& error() const { return error_; }
  Lines notices() { return std::exchange(notices_, {}); }
  bool ended() const {
    return std::ranges::all_of(ended_, [](bool ended) { return ended; });
  }
  const std::vector<std::unique_ptr<SplitReader>>& splits() const { return splits_; }
  Source& source() { return *source_; }
  int64_t reads() const { return reads_; }

 private:
  void keep(const Error& error) { error_ = error.to_string(); }

  void read_split(size_t index, Lines& lines) {
    ended_.resize(splits_.size(), false);
    for (;;) {
      auto state = splits_[index]->read(batch_, rows_max_);
      ++reads_;
      for (std::string& text : splits_[index]->take_notices()) notices_.push_back(std::move(text));
      if (!state) return keep(state.error());
      EXPECT_LE(batch_.rows + batch_.rejects.size(), rows_max_);
      describe(lines);
      ended_[index] = *state == ReadState::kEnded;
      if (*state != ReadState::kRows) return;
    }
  }

  void describe(Lines& lines) const {
    size_t reject = 0;
    for (size_t row = 0; row <= batch_.rows; ++row) {
      for (; reject < batch_.rejects.size() && batch_.rejects[reject].before_row == row; ++reject) {
        const Reject& bad = batch_.rejects[reject];
        lines.push_back(format("{}:{}:{}!{} {}", batch_.file, bad.offset, bad.line, to_string(bad.reason),
                               bad.raw_bytes));
      }
      if (row == batch_.rows) break;
      if (!batch_.columns[0].is_null(row)) {
        EXPECT_THAT(std::string(batch_.raw[row]),
                    HasSubstr(std::to_string(batch_.columns[0].values<int64_t>()[row])));
      }
      lines.push_back(format("{}:{}:{}={}", batch_.file, batch_.offsets[row], batch_.lines[row],
                             batch_.columns[0].values<int64_t>()[row]));
    }
  }

  size_t rows_max_;
  std::unique_ptr<Source> source_;
  std::vector<std::unique_ptr<SplitReader>> splits_;
  std::vector<bool> ended_;
  Batch batch_;
  std::string error_;
  Lines notices_;
  int64_t reads_ = 0;
};

Lines expected(const std::string& file, int64_t begin, int64_t end, int64_t offset = 0, int64_t line = 1) {
  Lines lines;
  for (int64_t n = begin; n < end; ++n) lines.push_back(format("{}:{}:{}={}", file, offset++, line++, n));
  return lines;
}

Lines joined(Lines a, const Lines& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// ---- plain files ----

TEST_F(FileSourceTest, ReadsAFileInBatchesOfAnySize) {
  write("a.jsonl", records(0, 5000));
  for (const size_t rows_max : {1, 7, 1000, 100000}) {
    Reading reading(options({"a.jsonl"}), rows_max);
    EXPECT_EQ(reading.read(), expected("a.jsonl", 0, 5000)) << rows_max;
    EXPECT_TRUE(reading.ended());
    EXPECT_EQ(reading.error(), "");
    EXPECT_THAT(reading.read(), IsEmpty());  // and stays ended
    EXPECT_EQ(reading.splits()[0]->bytes_read(), reading.splits()[0]->bytes_total());
  }
}

TEST_F(FileSourceTest, RecordsAcrossTheEdgeOfTheBufferStayWhole) {
  std::mt19937_64 random(31);
  std::string content;
  Lines lines;
  for (int64_t n = 0; content.size() < (size_t{5} << 20); ++n) {
    content += format("{{\"pad\":\"{}\",\"v\":{}}}\n", std::string(random() % 5000, 'x'), n);
    lines.push_back(format("a.jsonl:{}:{}={}", n, n + 1, n));
  }
  write("a.jsonl", content);
  Reading reading(options({"a.jsonl"}), 1 << 20);
  EXPECT_EQ(reading.read(), lines);
  EXPECT_LT(reading.reads(), 20);  // large views, not one record at a time
}

TEST_F(FileSourceTest, HalfALineAtTheEndIsARecord) {
  write("a.jsonl", "{\"v\":1}\n{\"v\":2}");
  write("b.jsonl", "{\"v\":1}\n{\"v\":");
  Reading reading(options({"*.jsonl"}));
  EXPECT_THAT(reading.read(),
              ElementsAre("a.jsonl:0:1=1", "a.jsonl:1:2=2", "b.jsonl:0:1=1", "b.jsonl:1:2!unparseable 5"));
}

TEST_F(FileSourceTest, AnEmptyFileHasNoRecords) {
  write("a.jsonl", "");
  write("b.jsonl.gz", "");
  write("c.jsonl", "\n\n  \n");
  Reading reading(options({"*"}));
  EXPECT_THAT(reading.read(), IsEmpty());
  EXPECT_TRUE(reading.ended());
  EXPECT_EQ(reading.error(), "");
}

TEST_F(FileSourceTest, ABinaryFileIsCountedLineByLine) {
  std::string noise(300'000, '\0');
  std::mt19937_64 random(37);
  for (char& c : noise) c = static_cast<char>(random());
  write("a.jsonl", noise);
  Reading reading(options({"a.jsonl"}));
  const Lines lines = reading.read();
  EXPECT_GT(lines.size(), 500U);
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_THAT(lines[i],
                testing::AllOf(testing::StartsWith(format("a.jsonl:{}:", i)), HasSubstr("!unparseable")));
  }
  EXPECT_EQ(reading.error(), "");
}

TEST_F(FileSourceTest, ALineBeyondTheLongestRecordIsSkippedInBoundedMemory) {
  {
    std::ofstream out(path("a.jsonl"), std::ios::binary);
    out << "{\"v\":1}\n{\"v\":\"";
    const std::string piece(size_t{1} << 20, 'x');
    for (int i = 0; i < 100; ++i) out << piece;
    out << "\"}\n{\"v\":2}\n";
  }
  Reading reading(options({"a.jsonl"}));
  EXPECT_THAT(reading.read(), ElementsAre("a.jsonl:0:1=1", format("a.jsonl:1:2!oversize {}", (100 << 20) + 8),
                                          "a.jsonl:2:3=2"));
#if !defined(__SANITIZE_ADDRESS__)
  rusage used{};
  ASSERT_EQ(getrusage(RUSAGE_SELF, &used), 0);
  EXPECT_LT(used.ru_maxrss, 90 * 1024);  // kilobytes
#endif
}

TEST_F(FileSourceTest, AnOversizeLineMayBeTheLastAndUnended) {
  write("a.jsonl", "{\"v\":1}\n" + std::string(3 << 20, 'x'));
  FileSourceOptions small = options({"a.jsonl"});
  small.parser.record_bytes_max = 100;
  Reading reading(std::move(small));
  EXPECT_THAT(reading.read(), ElementsAre("a.jsonl:0:1=1", format("a.jsonl:1:2!oversize {}", 3 << 20)));
  EXPECT_TRUE(reading.ended());
}

TEST_F(FileSourceTest, ARecordOfTheGreatestLengthStillFits) {
  FileSourceOptions large = options({"a.jsonl"});
  large.parser.record_bytes_max = size_t{3} << 20;
  const std::string shell = "{\"v\":7,\"pad\":\"\"}";
  const std::string record =
      "{\"v\":7,\"pad\":\"" + std::string(large.parser.record_bytes_max - shell.size(), 'x') + "\"}";
  write("a.jsonl", record + "\n" + record + "x\n");
  Reading reading(std::move(large));
  EXPECT_THAT(reading.read(),
              ElementsAre("a.jsonl:0:1=7", format("a.jsonl:1:2!oversize {}", record.size() + 1)));
}

// ---- which files ----

TEST_F(FileSourceTest, InParallelEachFileIsASplit) {
  write("b.jsonl", records(10, 12));
  write("a.jsonl", records(0, 2));
  write("c.csv", "v\n20\n");
  Reading reading(options({"*.jsonl", "c.csv", "a*"}));
  EXPECT_THAT(reading.names(), ElementsAre("a.jsonl", "b.jsonl", "c.csv"));
  EXPECT_EQ(reading.read(),
            joined(joined(expected("a.jsonl", 0, 2), expected("b.jsonl", 10, 12)), {"c.csv:0:2=20"}));
  EXPECT_TRUE(reading.source().bounded());
}

TEST_F(FileSourceTest, InSequenceAllFilesAreOneSplit) {
  write("b.jsonl.gz", gzip(records(10, 12)));
  write("a.jsonl", records(0, 2));
  write("c.jsonl", "");
  write("d.jsonl", "{\"v\":30}");
  FileSourceOptions sequence = options({"*"});
  sequence.files = FilesMode::kSequence;
  Reading reading(std::move(sequence));
  EXPECT_THAT(reading.names(), ElementsAre("*"));
  EXPECT_EQ(reading.read(),
            joined(joined(expected("a.jsonl", 0, 2), expected("b.jsonl.gz", 10, 12)), {"d.jsonl:0:1=30"}));
  EXPECT_TRUE(reading.ended());
  EXPECT_EQ(reading.splits()[0]->bytes_read(), reading.splits()[0]->bytes_total());
}

TEST_F(FileSourceTest, WhatCannotBeReadIsSaidAtTheStart) {
  write("clicks.jsonl", "");
  write("notes.txt", "");
  fs::create_directories(path("folder.jsonl"));
  const std::pair<Lines, Lines> cases[] = {
      {{"clikcs.jsonl"}, {"clikcs.jsonl", "No such file", "Did you mean \"clicks.jsonl\"?"}},
      {{"none-*.jsonl"}, {"no file matches \"none-*.jsonl\"", "hint"}},
      {{"folder.jsonl"}, {"folder.jsonl", "directory", "folder.jsonl/*"}},
      {{"notes.txt"}, {"notes.txt", "format", "hint"}},
      {{"n*"}, {"notes.txt", "format", "hint"}},
      {{"-"}, {"standard input", "--format"}},
      {{"-", "clicks.jsonl"}, {"standard input", "hint"}},
      {{}, {"no input", "hint"}}};
  for (const auto& [paths, parts] : cases) {
    for (const FilesMode mode : {FilesMode::kParallel, FilesMode::kSequence}) {
      FileSourceOptions chosen = options(paths);
      chosen.files = mode;
      const Reading reading(std::move(chosen));
      for (const std::string& part : parts) EXPECT_THAT(reading.error(), HasSubstr(part));
    }
  }
}

TEST_F(FileSourceTest, AFileWithoutPermissionIsSaidAtTheStart) {
  write("a.jsonl", records(0, 1));
  fs::permissions(path("a.jsonl"), fs::perms::none);
  fs::permissions(folder_, fs::perms::all);
  const uid_t before = geteuid();
  ASSERT_EQ(seteuid(before == 0 ? 65534 : before), 0);
  const Reading reading(options({"a.jsonl"}));
  ASSERT_EQ(seteuid(before), 0);
  EXPECT_THAT(reading.error(), testing::AllOf(HasSubstr("a.jsonl"), HasSubstr("Permission denied")));
}

TEST_F(FileSourceTest, MoreFilesThanDescriptorsCanBeReadInSequence) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  Lines lines;
  for (int i = 0; i < 100; ++i) {
    write(format("{:03}.jsonl", i), records(i, i + 1));
    lines.push_back(format("{:03}.jsonl:0:1={}", i, i));
  }
  rlimit small = before;
  small.rlim_cur = 50;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &small), 0);
  FileSourceOptions sequence = options({"*.jsonl"});
  sequence.files = FilesMode::kSequence;
  Reading reading(std::move(sequence));
  EXPECT_EQ(reading.read(), lines);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

// ---- compression ----

TEST_F(FileSourceTest, ContentDecidesWhatAFileIs) {
  const std::string plain = records(0, 3000);
  write("a.jsonl", gzip(plain));
  write("b.jsonl", zstd(plain));
  write("c.jsonl.gz", zstd(plain));
  write("d.jsonl.GZ", gzip(plain));
  Reading reading(options({"*"}));
  Lines lines;
  for (const char* name : {"a.jsonl", "b.jsonl", "c.jsonl.gz", "d.jsonl.GZ"})
    lines = joined(lines, expected(name, 0, 3000));
  EXPECT_EQ(reading.read(), lines);
  EXPECT_EQ(reading.error(), "");
}

TEST_F(FileSourceTest, MembersAndFramesAreOneText) {
  std::string zipped;
  std::string framed("\x50\x2a\x4d\x18\x03\x00\x00\x00xyz", 11);  // a frame to skip
  Lines lines;
  for (int64_t i = 0; i < 50; ++i) {
    const std::string part = records(i * 10, i * 10 + 10);
    // Cut in the middle of a record: members know nothing of lines.
    zipped += gzip(part.substr(0, part.size() / 2)) + gzip(part.substr(part.size() / 2)) + gzip("");
    framed += zstd(part.substr(0, part.size() / 2)) + zstd(part.substr(part.size() / 2)) + zstd("");
  }
  write("a.jsonl.gz", zipped);
  write("b.jsonl.zst", framed);
  write("c.jsonl.gz", gzip(records(0, 3)) + std::string(700, '\0'));  // padding of a tape block
  Reading reading(options({"*"}));
  EXPECT_EQ(reading.read(), joined(joined(expected("a.jsonl.gz", 0, 500), expected("b.jsonl.zst", 0, 500)),
                                   expected("c.jsonl.gz", 0, 3)));
  EXPECT_EQ(reading.error(), "");
}

TEST_F(FileSourceTest, ANameThatPromisesCompressionMustKeepIt) {
  write("a.jsonl.gz", records(0, 3));
  Reading reading(options({"a.jsonl.gz"}));
  EXPECT_THAT(reading.read(), IsEmpty());
  EXPECT_THAT(reading.error(),
              testing::AllOf(HasSubstr("not gzip"), HasSubstr("file \"a.jsonl.gz\""), HasSubstr("hint")));
}

TEST_F(FileSourceTest, OtherFormatsAreNamed) {
  const std::pair<std::string, const char*> cases[] = {{std::string("\xfd"
                                                                    "7zXZ\0\0\0\0\0",
                                                                    10),
                                                        "xz"},
                                                       {"BZh91AY&SYxxxx", "bzip2"},
                                                       {"PK\x03\x04xxxxxxxx", "zip"},
                                                       {"PAR1\x15xxxxxxxxx", "Parquet"},
                                                       {std::string("\xff\xfe{\0\"\0", 6), "UTF-16"}};
  for (const auto& [content, name] : cases) {
    write("a.jsonl", content);
    Reading reading(options({"a.jsonl"}));
    EXPECT_THAT(reading.read(), IsEmpty());
    EXPECT_THAT(reading.error(),
                testing::AllOf(HasSubstr(name), HasSubstr("not supported"), HasSubstr("hint")));
  }
}

TEST_F(FileSourceTest, TruncatedCompressionIsAnErrorBehindTheRecordsBefore) {
  const std::string plain = records(0, 20000);
  for (const auto& [name, whole] :
       {std::pair{"a.jsonl.gz", gzip(plain)}, std::pair{"a.jsonl.zst", zstd(plain)}}) {
    for (const size_t cut :
         {size_t{1}, size_t{7}, whole.size() / 3, whole.size() / 2, whole.size() - 9, whole.size() - 1}) {
      write(name, whole.substr(0, cut));
      Reading reading(options({name}));
      const Lines lines = reading.read();
      EXPECT_EQ(lines, expected(name, 0, static_cast<int64_t>(lines.size()))) << name << " " << cut;
      if (cut == 1) {
        EXPECT_THAT(reading.error(), HasSubstr("file is not")) << name;
        continue;
      }
      EXPECT_THAT(reading.error(),
                  testing::AllOf(HasSubstr("truncated"), HasSubstr(name), HasSubstr(format("byte {}", cut))));
      if (cut >= whole.size() / 3 && std::string_view(name).ends_with("gz")) {
        EXPECT_GT(lines.size(), 1000U) << cut;
      }
      // The last bytes are a checksum; zstd makes nothing of a block that is not whole.
      if (cut == whole.size() - 1) {
        EXPECT_EQ(lines.size(), 20000U) << name << " " << cut;
      }
    }
  }
}

TEST_F(FileSourceTest, CorruptCompressionIsAnErrorBehindTheRecordsBefore) {
  std::mt19937_64 random(41);
  std::string plain;  // does not compress well, so that damage comes late
  while (plain.size() < 600'000) plain += format("{{\"v\":{}}}\n", static_cast<int64_t>(random()));
  for (const auto& [name, whole] :
       {std::pair{"a.jsonl.gz", gzip(plain)}, std::pair{"a.jsonl.zst", zstd(plain)}}) {
    for (int trial = 0; trial < 8; ++trial) {
      std::string damaged = whole;
      const size_t place = whole.size() / 2 + random() % (whole.size() / 2);
      damaged[place] = static_cast<char>(damaged[place] ^ (1 + random() % 255));
      write(name, damaged);
      Reading reading(options({name}), 100000);
      const Lines lines = reading.read();
      EXPECT_GT(lines.size(), 4000U) << name << " " << place;
      EXPECT_THAT(reading.error(),
                  testing::AllOf(HasSubstr("file \"" + std::string(name)),
                                 testing::AnyOf(HasSubstr("corrupt"), HasSubstr("truncated")),
                                 testing::ContainsRegex("yte [0-9]+"), HasSubstr("hint")));
    }
  }
}

TEST_F(FileSourceTest, GarbageBehindTheLastMemberIsAnError) {
  for (const auto& [name, content] :
       {std::pair{"a.jsonl.gz", gzip(records(0, 5)) + "garbage"},
        std::pair{"a.jsonl.gz", gzip(records(0, 5)) + std::string(9, '\0') + gzip("x")},
        std::pair{"a.jsonl.zst", zstd(records(0, 5)) + "garbage"}}) {
    write(name, content);
    Reading reading(options({name}));
    EXPECT_EQ(reading.read(), expected(name, 0, 5));
    EXPECT_THAT(reading.error(), HasSubstr("corrupt"));
  }
}

TEST_F(FileSourceTest, ASmallFileThatUnpacksToMuchStaysInBoundedMemory) {
  const std::string line = "{\"v\":1}\n";
  std::string plain;
  for (int i = 0; i < 1'000'000; ++i) plain += line;
  write("a.jsonl.zst", zstd(plain));
  Reading reading(options({"a.jsonl.zst"}), 50'000);
  EXPECT_EQ(reading.read().size(), 1'000'000U);
}

// ---- streams ----

class Pipe {
 public:
  explicit Pipe(const std::string& path) {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    descriptor_ = ::open(path.c_str(), O_RDWR);
  }
  ~Pipe() { close(); }
  void write(std::string_view bytes) const {
    EXPECT_EQ(::write(descriptor_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_;
};

TEST_F(FileSourceTest, AQuietPipeIsCaughtUpAndAClosedOneEnds) {
  Pipe pipe(path("pipe.jsonl"));
  Reading reading(options({"pipe.jsonl"}));
  EXPECT_THAT(reading.read(), IsEmpty());
  EXPECT_FALSE(reading.ended());
  pipe.write(records(0, 2) + "{\"v\"");
  EXPECT_EQ(reading.read(), expected("pipe.jsonl", 0, 2));
  EXPECT_FALSE(reading.ended());
  pipe.write(":2}\n{\"v\":3}");
  EXPECT_EQ(reading.read(), expected("pipe.jsonl", 2, 3, 2, 3));
  pipe.close();
  EXPECT_EQ(reading.read(), expected("pipe.jsonl", 3, 4, 3, 4));
  EXPECT_TRUE(reading.ended());
  EXPECT_EQ(reading.splits()[0]->bytes_total(), std::nullopt);
}

TEST_F(FileSourceTest, StandardInputIsAFileWithoutAName) {
  write("input", gzip(records(0, 100)));
  const int saved = dup(STDIN_FILENO);
  const int input = ::open(path("input").c_str(), O_RDONLY);
  ASSERT_EQ(dup2(input, STDIN_FILENO), STDIN_FILENO);
  FileSourceOptions standard = options({"-"});
  standard.format = formats::Format::kJsonl;
  {
    Reading reading(std::move(standard));
    EXPECT_THAT(reading.names(), ElementsAre("-"));
    EXPECT_EQ(reading.read(), expected("-", 0, 100));
    EXPECT_TRUE(reading.ended());
    EXPECT_EQ(reading.splits()[0]->bytes_total(), fs::file_size(path("input")));
  }
  EXPECT_NE(fcntl(STDIN_FILENO, F_GETFD), -1);  // it is not ours to close
  if (saved >= 0) dup2(saved, STDIN_FILENO);
  for (const int descriptor : {saved, input}) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

// ---- following ----

TEST_F(FileSourceTest, AFollowedFileGrows) {
  write("a.jsonl", records(0, 3) + "{\"v\"");
  Reading reading(followed({"a.jsonl"}));
  EXPECT_FALSE(reading.source().bounded());
  EXPECT_EQ(reading.read(), expected("a.jsonl", 0, 3));
  EXPECT_THAT(reading.read_on(), IsEmpty());
  append("a.jsonl", ":3}");
  EXPECT_THAT(reading.read_on(), IsEmpty());  // the line has no end yet
  append("a.jsonl", "\n" + records(4, 2000));
  EXPECT_EQ(reading.read_on(), expected("a.jsonl", 3, 2000, 3, 4));
  EXPECT_FALSE(reading.ended());
  EXPECT_THAT(reading.notices(), IsEmpty());
}

TEST_F(FileSourceTest, AFollowedFileMayStartEmptyOrSmallerThanItsMark) {
  write("a.jsonl", "");
  write("b.jsonl", "");
  Reading reading(followed({"*.jsonl"}));
  EXPECT_THAT(reading.read(), IsEmpty());
  const std::string zipped = gzip(records(0, 50));
  append("a.jsonl", "{");
  append("b.jsonl", zipped.substr(0, 1));
  EXPECT_THAT(reading.read_on(), IsEmpty());
  append("a.jsonl", "\"v\":0}\n");
  append("b.jsonl", zipped.substr(1));
  EXPECT_EQ(reading.read_on(), joined(expected("a.jsonl", 0, 1), expected("b.jsonl", 0, 50)));
  append("b.jsonl", gzip(records(50, 60)));
  EXPECT_EQ(reading.read_on(), expected("b.jsonl", 50, 60, 50, 51));
}

TEST_F(FileSourceTest, RotationFinishesTheOldFileFirst) {
  write("a.jsonl", records(0, 3));
  Reading reading(followed({"a.jsonl"}));
  EXPECT_EQ(reading.read(), expected("a.jsonl", 0, 3));
  fs::rename(path("a.jsonl"), path("a.jsonl.1"));
  EXPECT_THAT(reading.read_on(), IsEmpty());  // no new file yet: the old one is still followed
  append("a.jsonl.1", records(3, 5));
  write("a.jsonl", records(100, 102));
  EXPECT_EQ(reading.read(), expected("a.jsonl", 3, 5, 3, 4));
  append("a.jsonl.1", "{\"v\":5}");  // written after the new file was seen for the first time
  EXPECT_EQ(reading.read_on(), joined(expected("a.jsonl", 5, 6, 5, 6), expected("a.jsonl", 100, 102, 6, 1)));
  EXPECT_THAT(reading.notices(), ElementsAre(HasSubstr("replaced (rotated)")));
  append("a.jsonl", records(102, 103));
  EXPECT_EQ(reading.read_on(), expected("a.jsonl", 102, 103, 8, 3));
}

TEST_F(FileSourceTest, ATruncatedFileIsReadAgainFromItsStart) {
  write("a.jsonl", records(0, 30) + "{\"half");
  Reading reading(followed({"a.jsonl"}));
  EXPECT_EQ(reading.read(), expected("a.jsonl", 0, 30));
  fs::resize_file(path("a.jsonl"), 0);
  append("a.jsonl", records(50, 52));
  EXPECT_EQ(reading.read_on(), joined({"a.jsonl:30:31!unparseable 6"}, expected("a.jsonl", 50, 52, 31, 1)));
  EXPECT_THAT(reading.notices(), ElementsAre(HasSubstr("truncated")));
}

TEST_F(FileSourceTest, ADeletedFileIsWaitedFor) {
  write("a.jsonl", records(0, 3));
  Reading reading(followed({"a.jsonl"}));
  EXPECT_EQ(reading.read(), expected("a.jsonl", 0, 3));
  fs::remove(path("a.jsonl"));
  EXPECT_THAT(reading.read_on(), IsEmpty());
  EXPECT_THAT(reading.notices(), ElementsAre(HasSubstr("deleted")));
  write("a.jsonl", records(3, 4));
  EXPECT_EQ(reading.read_on(), expected("a.jsonl", 3, 4, 3, 1));
}

TEST_F(FileSourceTest, AFileDeletedBeforeItsFirstReadIsWaitedFor) {
  write("a.jsonl", records(0, 3));
  Reading reading(followed({"a.jsonl"}));
  fs::remove(path("a.jsonl"));
  EXPECT_THAT(reading.read_on(), IsEmpty());
  EXPECT_EQ(reading.error(), "");
  write("a.jsonl", records(0, 2));
  EXPECT_EQ(reading.read_on(), expected("a.jsonl", 0, 2));
}

TEST_F(FileSourceTest, NewFilesThatMatchAppear) {
  Reading reading(followed({"*.jsonl"}));
  EXPECT_EQ(reading.error(), "");
  EXPECT_THAT(reading.names(), IsEmpty());
  write("a.jsonl", records(0, 2));
  write("other.txt", "x");
  EXPECT_EQ(reading.read_on(), expected("a.jsonl", 0, 2));
  write("b.jsonl", records(5, 6));
  append("a.jsonl", records(2, 3));
  EXPECT_EQ(reading.read_on(), joined(expected("a.jsonl", 2, 3, 2, 3), expected("b.jsonl", 5, 6)));
  EXPECT_THAT(reading.names(), ElementsAre("a.jsonl", "b.jsonl"));
}

TEST_F(FileSourceTest, ANewFileOfAnUnknownFormatIsToldAndLeft) {
  write("a.jsonl", records(0, 1));
  Reading reading(followed({"*"}));
  EXPECT_EQ(reading.read(), expected("a.jsonl", 0, 1));
  write("b.tmp", records(0, 1));
  EXPECT_THAT(reading.read_on(), IsEmpty());
  EXPECT_EQ(reading.error(), "");
  EXPECT_THAT(reading.notices(), ElementsAre(testing::AllOf(HasSubstr("b.tmp"), HasSubstr("not read"))));
}

TEST_F(FileSourceTest, ARotatedFileThatMatchesIsNotReadTwice) {
  FileSourceOptions logs = followed({"app.log*"});
  logs.format = formats::Format::kJsonl;
  write("app.log", records(0, 3));
  Reading reading(std::move(logs));
  EXPECT_EQ(reading.read(), expected("app.log", 0, 3));
  for (int64_t round = 1; round <= 3;
       ++round) {  // app.log.1 -> app.log.2, app.log -> app.log.1, a new app.log
    for (int64_t n = round; n > 1; --n)
      fs::rename(path(format("app.log.{}", n - 1)), path(format("app.log.{}", n)));
    fs::rename(path("app.log"), path("app.log.1"));
    write("app.log", records(round * 10, round * 10 + 2));
    EXPECT_EQ(reading.read_on(), expected("app.log", round * 10, round * 10 + 2, 1 + 2 * round, 1)) << round;
  }
  EXPECT_THAT(reading.notices(), testing::Contains(HasSubstr("not read twice")));
}

TEST_F(FileSourceTest, ASequenceMovesOnWhenTheNextFileIsThere) {
  write("2024-05-01.jsonl", records(0, 3));
  FileSourceOptions sequence = followed({"*.jsonl"});
  sequence.files = FilesMode::kSequence;
  Reading reading(std::move(sequence));
  EXPECT_EQ(reading.read(), expected("2024-05-01.jsonl", 0, 3));
  append("2024-05-01.jsonl", records(3, 4));
  EXPECT_EQ(reading.read_on(), expected("2024-05-01.jsonl", 3, 4, 3, 4));
  write("2024-05-02.jsonl", records(10, 12));
  append("2024-05-01.jsonl", "{\"v\":4}");
  EXPECT_EQ(reading.read_on(),
            joined(expected("2024-05-01.jsonl", 4, 5, 4, 5), expected("2024-05-02.jsonl", 10, 12)));
  EXPECT_THAT(reading.notices(), IsEmpty());
  append("2024-05-01.jsonl", "\n{\"v\":5}\n");  // nobody reads this any more, but somebody hears of it
  EXPECT_THAT(reading.read_on(), IsEmpty());
  EXPECT_THAT(reading.notices(),
              ElementsAre(testing::AllOf(HasSubstr("2024-05-01.jsonl"), HasSubstr("grew by 9 bytes"))));
  write("2024-04-30.jsonl", records(20, 21));
  EXPECT_EQ(reading.read_on(), expected("2024-04-30.jsonl", 20, 21));
  EXPECT_THAT(reading.notices(), ElementsAre(HasSubstr("appeared late")));
}

TEST_F(FileSourceTest, AWriterThatKeepsWritingLosesNothing) {
  write("a.jsonl", "");
  Reading reading(followed({"a.jsonl"}));
  std::jthread writer([&] {
    std::ofstream out(path("a.jsonl"), std::ios::binary | std::ios::app);
    const std::string all = records(0, 20000);
    std::mt19937_64 random(43);
    for (size_t at = 0; at < all.size();) {
      const size_t size = std::min<size_t>(all.size() - at, 1 + random() % 4000);
      out << all.substr(at, size) << std::flush;
      at += size;
    }
  });
  Lines lines;
  while (lines.size() < 20000 && reading.error().empty()) lines = joined(std::move(lines), reading.read());
  EXPECT_EQ(lines, expected("a.jsonl", 0, 20000));
}

}  // namespace
}  // namespace wrackline::connectors
