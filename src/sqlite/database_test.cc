#include "sqlite/database.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

namespace wrackline::sqlite {
namespace {

using testing::HasSubstr;
using testing::Not;

class DatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "wrackline-database-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ + "/x.sqlite";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Database open(const OpenOptions& options = {}) {
    Result<Database> database = Database::open(path_, options);
    if (!database) ADD_FAILURE() << database.error().to_string();
    return database ? std::move(*database) : Database();
  }
  static void run(Database& database, const std::string& sql) {
    const Status status = database.exec(sql);
    ASSERT_TRUE(status.has_value()) << status.error().to_string();
  }

  std::string folder_;
  std::string path_;
};

TEST_F(DatabaseTest, ValuesComeBackAsTheyWereBound) {
  Database database = open();
  run(database, "CREATE TABLE t (i, r, s, b, n, e)");
  Statement insert = *database.prepare("INSERT INTO t VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
  const std::string text("a\0b", 3);
  insert.bind(1, INT64_MIN);
  insert.bind_double(2, 0.1);
  insert.bind_text(3, text);
  insert.bind_blob(4, "\xff\x00");
  insert.bind_null(5);
  insert.bind_text(6, std::string_view());
  ASSERT_TRUE(insert.run().has_value());
  EXPECT_EQ(database.changes(), 1);

  Statement select = *database.prepare("SELECT i, r, s, b, n, e FROM t");
  ASSERT_TRUE(*select.step());
  EXPECT_EQ(select.integer(0), INT64_MIN);
  EXPECT_EQ(select.real(1), 0.1);
  EXPECT_EQ(select.text(2), text);
  EXPECT_EQ(select.blob(3), "\xff");
  EXPECT_TRUE(select.is_null(4));
  EXPECT_FALSE(select.is_null(5)) << "an empty text is not NULL";
  EXPECT_TRUE(select.is_integer(0));
  EXPECT_FALSE(select.is_integer(1));
  EXPECT_FALSE(*select.step());
}

TEST_F(DatabaseTest, CommitsAreDurableAndReadersDoNotBlock) {
  Database database = open();
  EXPECT_EQ(*database.query_integer("PRAGMA synchronous"), 2);
  run(database, "CREATE TABLE t (a)");
  Transaction transaction = *Transaction::begin(database);
  run(database, "INSERT INTO t VALUES (1)");
  Database reader = open({.access = Access::kRead});
  EXPECT_EQ(*reader.query_integer("SELECT count(*) FROM t"), 0);
  ASSERT_TRUE(transaction.commit().has_value());
  EXPECT_EQ(*reader.query_integer("SELECT count(*) FROM t"), 1);
}

TEST_F(DatabaseTest, AnAbandonedTransactionLeavesNothing) {
  Database database = open();
  run(database, "CREATE TABLE t (a)");
  {
    const Transaction transaction = *Transaction::begin(database);
    run(database, "INSERT INTO t VALUES (1)");
    EXPECT_TRUE(database.in_transaction());
  }
  EXPECT_FALSE(database.in_transaction());
  EXPECT_EQ(*database.query_integer("SELECT count(*) FROM t"), 0);
}

TEST_F(DatabaseTest, QueryIntegerOfNothingIsTheDefault) {
  Database database = open();
  run(database, "CREATE TABLE t (a)");
  EXPECT_EQ(*database.query_integer("SELECT max(a) FROM t", 7), 7);
  EXPECT_EQ(*database.query_integer("SELECT a FROM t", 7), 7);
}

TEST_F(DatabaseTest, PagesAreAsLargeAsAskedInANewFileOnly) {
  run(*std::make_unique<Database>(open({.page_bytes = 8192})), "CREATE TABLE t (a)");
  EXPECT_EQ(*open().query_integer("PRAGMA page_size"), 8192);
  EXPECT_EQ(*open({.page_bytes = 4096}).query_integer("PRAGMA page_size"), 8192);
}

TEST_F(DatabaseTest, AMissingFileIsNotFound) {
  const Result<Database> database = Database::open(path_, {.access = Access::kRead});
  ASSERT_FALSE(database.has_value());
  EXPECT_EQ(database.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(database.error().message, "cannot open database \"" + path_ + "\"");
  EXPECT_THAT(database.error().detail, HasSubstr("No such file or directory"));
}

TEST_F(DatabaseTest, AFolderIsRefused) {
  const Result<Database> database = Database::open(folder_);
  ASSERT_FALSE(database.has_value());
  EXPECT_EQ(database.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(database.error().message, "cannot open database \"" + folder_ + "\"");
  EXPECT_THAT(database.error().hint, HasSubstr("not a folder"));
}

TEST_F(DatabaseTest, AnotherKindOfFileIsNamed) {
  std::ofstream(path_) << std::string(5000, 'x');
  for (const Access access : {Access::kCreate, Access::kRead}) {
    const Result<Database> database = Database::open(path_, {.access = access});
    ASSERT_FALSE(database.has_value());
    EXPECT_EQ(database.error().code, ErrorCode::kData);
    EXPECT_EQ(database.error().message, "file \"" + path_ + "\" is not a SQLite database");
  }
}

TEST_F(DatabaseTest, ADamagedFileIsNamed) {
  {
    Database database = open();
    run(database, "CREATE TABLE t (a); CREATE INDEX i ON t (a)");
    run(database,
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5000) INSERT INTO t SELECT "
        "hex(randomblob(50)) FROM n");
  }
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  for (int page = 1; page < 60; ++page) {
    file.seekp(page * 4096);
    file << std::string(4096, '\x55');
  }
  file.close();
  Database database = open();
  const Result<int64_t> sum = database.query_integer("SELECT sum(length(a)) FROM t NOT INDEXED");
  ASSERT_FALSE(sum.has_value());
  EXPECT_EQ(sum.error().code, ErrorCode::kData);
  EXPECT_EQ(sum.error().message, "database \"" + path_ + "\" is damaged");
  EXPECT_THAT(sum.error().hint, HasSubstr("PRAGMA integrity_check"));
}

TEST_F(DatabaseTest, ALockThatStaysIsAnError) {
  Database holder = open();
  run(holder, "CREATE TABLE t (a)");
  const Transaction transaction = *Transaction::begin(holder);
  Database other = open({.busy_timeout = std::chrono::milliseconds(20)});
  const Result<Transaction> refused = Transaction::begin(other);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().message, "database \"" + path_ + "\" is locked by another connection");
}

TEST_F(DatabaseTest, WritingThroughAReadOnlyConnectionIsAnError) {
  run(*std::make_unique<Database>(open()), "CREATE TABLE t (a)");
  Database reader = open({.access = Access::kRead});
  const Status status = reader.exec("INSERT INTO t VALUES (1)");
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().message, "database \"" + path_ + "\" is read-only");
}

TEST_F(DatabaseTest, AnImmutableFileIsReadWithoutLockOrLog) {
  path_ = folder_ + "/50%?#x.sqlite";
  run(*std::make_unique<Database>(open()), "CREATE TABLE t (a); INSERT INTO t VALUES (42)");
  Database reader = open({.access = Access::kRead, .immutable = true});
  EXPECT_EQ(*reader.query_integer("SELECT a FROM t"), 42);
  EXPECT_FALSE(std::filesystem::exists(path_ + "-shm"));
  EXPECT_FALSE(Database::open(folder_ + "/absent", {.access = Access::kRead, .immutable = true}).has_value());
}

TEST_F(DatabaseTest, WrongSqlAndBrokenRulesSayWhatSqliteSays) {
  Database database = open();
  const Result<Statement> wrong = database.prepare("SELECT a FROM absent");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().message, "database \"" + path_ + "\" refuses a statement");
  EXPECT_EQ(wrong.error().detail, "SQLite says: no such table: absent.");
  run(database, "CREATE TABLE t (a INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)");
  const Status twice = database.exec("INSERT INTO t VALUES (1)");
  ASSERT_FALSE(twice.has_value());
  EXPECT_EQ(twice.error().message, "database \"" + path_ + "\" refuses a row");
  EXPECT_EQ(twice.error().detail, "SQLite says: UNIQUE constraint failed: t.a.");
}

TEST_F(DatabaseTest, AStatementOutlivesItsDatabase) {
  Statement select;
  {
    Database database = open();
    select = *database.prepare("SELECT 5");
  }
  ASSERT_TRUE(*select.step());
  EXPECT_EQ(select.integer(0), 5);
}

// A limit on the size of files stands for a full disk: SQLite sees the same failed write. The limit is the
// process's, so a child takes it; it hands its verdict back as exit code.
TEST_F(DatabaseTest, AFullDiskIsNamedAndNothingOfTheTransactionStays) {
  run(*std::make_unique<Database>(open()), "CREATE TABLE t (a); INSERT INTO t VALUES (1)");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    Database database = open();
    const rlimit limit{.rlim_cur = 100000, .rlim_max = 100000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(9);
    Status status;
    {
      Result<Transaction> transaction = Transaction::begin(database);
      if (!transaction) _exit(2);
      status = database.exec(
          "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 50000) INSERT INTO t "
          "SELECT "
          "hex(randomblob(50)) FROM n");
      if (status) status = transaction->commit();
    }
    if (status.has_value()) _exit(3);
    if (status.error().message.find("disk full while writing database") != 0) {
      fputs(status.error().to_string().c_str(), stderr);
      _exit(4);
    }
    if (status.error().hint.empty() || status.error().code != ErrorCode::kUnavailable) _exit(5);
    _exit(*database.query_integer("SELECT count(*) FROM t") == 1 ? 0 : 6);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
  Database database = open();
  EXPECT_EQ(*database.query_integer("SELECT count(*) FROM t"), 1);
}

// The real thing, where the test may mount: a file system of one megabyte.
TEST_F(DatabaseTest, AFullFileSystemIsNamed) {
  const std::string small = folder_ + "/small";
  mkdir(small.c_str(), 0777);
  if (mount("tmpfs", small.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "may not mount";
  path_ = small + "/x.sqlite";
  {
    Database database = open();
    run(database, "CREATE TABLE t (a)");
    const Status status = database.exec(
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 50000) INSERT INTO t "
        "SELECT "
        "hex(randomblob(50)) FROM n");
    EXPECT_FALSE(status.has_value());
    if (!status) {
      EXPECT_EQ(status.error().message, "disk full while writing database \"" + path_ + "\"");
      EXPECT_THAT(status.error().hint, HasSubstr("Free space"));
    }
    EXPECT_EQ(*database.query_integer("SELECT count(*) FROM t"), 0);
  }
  EXPECT_EQ(umount(small.c_str()), 0);
}

TEST(QuotedName, DoublesItsQuotes) {
  EXPECT_EQ(quoted_name("a\"b"), "\"a\"\"b\"");
}

}  // namespace
}  // namespace wrackline::sqlite
