#include "env/disk.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace wrackline::env {
namespace {

namespace fs = std::filesystem;

class RealDiskTest : public testing::Test {
 protected:
  RealDiskTest() {
    std::string pattern = (fs::temp_directory_path() / "wrackline-disk-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~RealDiskTest() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
  Disk& disk_ = real_disk();
};

TEST_F(RealDiskTest, AFileGrowsAndIsReadWholeAndInPart) {
  auto file = disk_.create(path("a"));
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE((*file)->append("hello ").has_value());
  ASSERT_TRUE((*file)->append("world").has_value());
  ASSERT_TRUE((*file)->sync().has_value());
  EXPECT_EQ((*file)->path(), path("a"));
  EXPECT_EQ(*disk_.read(path("a"), 100), "hello world");
  EXPECT_EQ(disk_.read(path("a"), 5).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(*disk_.read_range(path("a"), 6, 5), "world");
  EXPECT_EQ(*disk_.read_range(path("a"), 11, 0), "");
  EXPECT_EQ(*disk_.size_bytes(path("a")), 11U);
  EXPECT_FALSE(disk_.create(path("a")).has_value()) << "a name is given once";
}

TEST_F(RealDiskTest, ARangeOfAnySizeEndsWithTheFile) {
  std::string content;
  for (size_t size = 0; size <= 100; ++size) content += static_cast<char>(size);
  ASSERT_TRUE(disk_.replace(path("a"), content).has_value());
  for (size_t offset = 0; offset <= content.size(); ++offset)
    EXPECT_EQ(*disk_.read_range(path("a"), offset, content.size() - offset), content.substr(offset))
        << offset;
}

TEST_F(RealDiskTest, WhatIsNotThereIsSaid) {
  ASSERT_TRUE(disk_.replace(path("a"), "hello").has_value());
  EXPECT_EQ(disk_.read_range(path("a"), 3, 5).error().code, ErrorCode::kData);
  EXPECT_EQ(disk_.read_range(path("a"), 3, size_t{1} << 60).error().code, ErrorCode::kData);
  EXPECT_EQ(disk_.read_range(path("a"), uint64_t{1} << 60, 1).error().code, ErrorCode::kData);
  EXPECT_EQ(disk_.read_range(path("b"), 0, 1).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(disk_.read(path("b"), 1).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(*disk_.size_bytes(path("b")), std::nullopt);
  EXPECT_TRUE(disk_.list(path("none"))->empty());
  EXPECT_TRUE(disk_.remove(path("b")).has_value());
  EXPECT_TRUE(disk_.sync(path("a")).has_value());
  EXPECT_EQ(disk_.sync(path("b")).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(disk_.create(path("none/a")).has_value());
}

TEST_F(RealDiskTest, FoldersAreMadeAndFilesListed) {
  ASSERT_TRUE(disk_.make_folder(path("x/y")).has_value());
  ASSERT_TRUE(disk_.make_folder(path("x/y/")).has_value());
  EXPECT_EQ(disk_.make_folder(path("x/y/z")).has_value(), true);
  ASSERT_TRUE(disk_.replace(path("x/y/b"), "1").has_value());
  ASSERT_TRUE(disk_.replace(path("x/y/b"), "22").has_value());
  ASSERT_TRUE(disk_.replace(path("x/y/.a"), "").has_value());
  EXPECT_EQ(*disk_.list(path("x/y")), (std::vector<std::string>{".a", "b"}));
  EXPECT_EQ(*disk_.read(path("x/y/b"), 9), "22");
  ASSERT_TRUE(disk_.remove(path("x/y/b")).has_value());
  EXPECT_EQ(*disk_.list(path("x/y")), (std::vector<std::string>{".a"}));
  EXPECT_FALSE(disk_.make_folder(path("x/y/.a")).has_value()) << "a file has that name";
}

}  // namespace
}  // namespace wrackline::env
