#include "connectors/sink_sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>
#include <map>
#include <random>

#include "base/text.h"
#include "connectors/sink_rows_test.h"
#include "sqlite/database.h"

namespace wrackline::connectors {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const ValueData kNull = std::monostate();

class SqliteSinkTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "wrackline-sqlite-sink-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ + "/out.sqlite";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Sink> make(const std::string& table = "minutes", SinkMode mode = SinkMode::kUpsert) const {
    Result<std::unique_ptr<Sink>> sink = make_sqlite_sink({.path = path_, .table = table, .mode = mode});
    if (!sink) ADD_FAILURE() << sink.error().to_string();
    return sink ? std::move(*sink) : nullptr;
  }
  std::unique_ptr<Sink> open(int64_t generation = 1, const std::string& table = "minutes") const {
    std::unique_ptr<Sink> sink = make(table);
    const Status opened = sink->open(kClicks, "clicks_per_minute", generation);
    EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
    return sink;
  }
  Error open_error(int64_t generation = 1, const std::string& view = "clicks_per_minute",
                   const std::vector<OutputColumn>& columns = kClicks) const {
    const Status opened = make()->open(columns, view, generation);
    return opened ? Error{ErrorCode::kInvalid, "it opened", {}, {}, {}} : opened.error();
  }
  static void write(Sink& sink, const Changes& changes) {
    const Status status = sink.write(changes.batch());
    ASSERT_TRUE(status.has_value()) << status.error().to_string();
  }
  static void commit(Sink& sink) {
    const Status status = sink.commit();
    ASSERT_TRUE(status.has_value()) << status.error().to_string();
  }
  void execute(const std::string& sql) const {
    sqlite::Database database = *sqlite::Database::open(path_);
    const Status status = database.exec(sql);
    ASSERT_TRUE(status.has_value()) << status.error().to_string();
  }
  // The rows of a query, values joined by "|", rows by a blank.
  std::string query(const std::string& sql) const {
    Result<sqlite::Database> database = sqlite::Database::open(path_, {.access = sqlite::Access::kRead});
    if (!database) return database.error().to_string();
    Result<sqlite::Statement> statement = database->prepare(sql);
    if (!statement) return statement.error().to_string();
    std::string rows;
    for (;;) {
      const Result<bool> row = statement->step();
      if (!row) return row.error().to_string();
      if (!*row) return rows;
      if (!rows.empty()) rows += ' ';
      for (int i = 0; i < statement->columns(); ++i) {
        rows += format("{}{}", i > 0 ? "|" : "", statement->is_null(i) ? "NULL" : statement->text(i));
      }
    }
  }
  std::string clicks() const {
    return query(
        "SELECT substr(window_start, 15, 2), page, clicks, _version, _status, _generation FROM minutes ORDER "
        "BY 1, 2");
  }

  std::string folder_;
  std::string path_;
};

TEST_F(SqliteSinkTest, TheTableHoldsTheNewestVersionOfEachRow) {
  const std::unique_ptr<Sink> sink = open();
  write(*sink, Changes().click(0, "/a", 100).click(0, "/b", 7));
  EXPECT_EQ(clicks(), "") << "not before the commit";
  commit(*sink);
  EXPECT_EQ(clicks(), "00|/a|100|1|on_time|1 00|/b|7|1|on_time|1");
  write(*sink, Changes().click(0, "/a", 105, RowOp::kUpdate, 2, RowStatus::kCorrection).click(1, "/a", 1));
  commit(*sink);
  EXPECT_EQ(clicks(), "00|/a|105|2|correction|1 00|/b|7|1|on_time|1 01|/a|1|1|on_time|1");
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_FALSE(std::filesystem::exists(path_ + "-wal")) << "closed cleanly";
  EXPECT_EQ(query("SELECT table_name, \"view\", generation, status FROM _wrackline_sinks"),
            "minutes|clicks_per_minute|1|finished");
  EXPECT_EQ(query("SELECT window_start FROM minutes LIMIT 1"), "2024-05-01T12:00:00Z");
}

TEST_F(SqliteSinkTest, AReplayChangesNothing) {
  const std::unique_ptr<Sink> sink = open();
  write(*sink, Changes().click(0, "/a", 100));
  write(*sink, Changes().click(0, "/a", 105, RowOp::kUpdate, 2, RowStatus::kCorrection));
  commit(*sink);
  write(*sink, Changes().click(0, "/a", 100));                                             // an older version
  write(*sink, Changes().click(0, "/a", 999, RowOp::kUpdate, 2, RowStatus::kCorrection));  // the same version
  commit(*sink);
  EXPECT_EQ(clicks(), "00|/a|105|2|correction|1");
}

TEST_F(SqliteSinkTest, NullKeysAreOneRowEach) {
  const std::unique_ptr<Sink> sink = open();
  for (int64_t version = 1; version <= 3; ++version) {
    write(*sink, Changes()
                     .click(0, kNull, version * 10, RowOp::kInsert, version)
                     .click(0, "", version, RowOp::kInsert, version));
    commit(*sink);
  }
  EXPECT_EQ(query("SELECT page IS NULL, clicks, _version FROM minutes ORDER BY 1"), "0|3|3 1|30|3");
  write(*sink, Changes().click(0, kNull, 0, RowOp::kRetract, 4));
  commit(*sink);
  EXPECT_EQ(query("SELECT page IS NULL, clicks, _version FROM minutes"), "0|3|3");
}

TEST_F(SqliteSinkTest, EveryPatternOfNullsInTheKeyIsItsOwnRow) {
  const std::vector<OutputColumn> columns = {{"i", Type::bigint(), true},
                                             {"t", Type::text(), true},
                                             {"z", Type::timestamptz(), true},
                                             {"n", Type::numeric(), true},
                                             {"v", Type::bigint(), false}};
  const std::unique_ptr<Sink> sink = make();
  ASSERT_TRUE(sink->open(columns, "v", 1).has_value());
  for (int64_t version = 1; version <= 2; ++version) {
    Changes changes(1, columns);
    for (int nulls = 0; nulls < 16; ++nulls) {
      changes.add({(nulls & 1) != 0 ? kNull : int64_t{0}, (nulls & 2) != 0 ? kNull : "",
                   (nulls & 4) != 0 ? kNull : int64_t{0}, (nulls & 8) != 0 ? kNull : Decimal{0, 0},
                   int64_t{nulls} * version},
                  RowOp::kInsert, version);
    }
    write(*sink, changes);
    commit(*sink);
  }
  EXPECT_EQ(query("SELECT count(*), count(DISTINCT v), sum(v), min(_version) FROM minutes"), "16|16|240|2");
}

TEST_F(SqliteSinkTest, ARetractOfAnOlderVersionIsIgnored) {
  const std::unique_ptr<Sink> sink = open();
  write(*sink, Changes().click(0, "/a", 5, RowOp::kInsert, 3).click(0, "/b", 5, RowOp::kInsert, 3));
  commit(*sink);
  write(*sink, Changes().click(0, "/a", 5, RowOp::kRetract, 2).click(0, "/b", 5, RowOp::kRetract, 3));
  commit(*sink);
  EXPECT_EQ(clicks(), "00|/a|5|3|on_time|1");
}

TEST_F(SqliteSinkTest, AChangelogEndsWithTheSameTable) {
  const std::unique_ptr<Sink> sink = make("minutes", SinkMode::kChangelog);
  ASSERT_TRUE(sink->open(kClicks, "clicks_per_minute", 1).has_value());
  write(*sink, Changes()
                   .click(0, "/a", 100)
                   .click(0, "/a", 100, RowOp::kRetract, 1)
                   .click(0, "/a", 105, RowOp::kInsert, 2, RowStatus::kCorrection));
  commit(*sink);
  write(*sink, Changes()
                   .click(0, "/a", 105, RowOp::kRetract, 2)
                   .click(0, "/a", 106, RowOp::kInsert, 3, RowStatus::kCorrection));
  commit(*sink);
  EXPECT_EQ(clicks(), "00|/a|106|3|correction|1");
}

// The two totals: whatever is published when, and wherever the run is cut, a reader sees 100 or 105 and
// nothing else.
TEST_F(SqliteSinkTest, AReaderSeesOneTotalAtEveryMoment) {
  const auto run = [&](int64_t generation, int steps) {
    const std::unique_ptr<Sink> sink = open(generation);
    if (steps > 0) write(*sink, Changes(generation).click(0, "/a", 100));
    if (steps > 1) commit(*sink);
    if (steps > 2)
      write(*sink, Changes(generation).click(0, "/a", 105, RowOp::kUpdate, 2, RowStatus::kCorrection));
    if (steps > 3) commit(*sink);
    ASSERT_TRUE(sink->close(steps > 4).has_value());
  };
  run(1, 5);
  EXPECT_EQ(clicks(), "00|/a|105|2|correction|1");
  for (int steps = 0; steps <= 5; ++steps) {
    run(2 + steps, steps);
    EXPECT_EQ(query("SELECT count(*), count(DISTINCT window_start) FROM minutes"), "1|1");
    EXPECT_EQ(query("SELECT clicks FROM minutes"), steps == 2 || steps == 3 ? "100" : "105") << steps;
  }
}

TEST_F(SqliteSinkTest, AFinishedRunRemovesWhatItDidNotWriteAgain) {
  {
    const std::unique_ptr<Sink> sink = open(1);
    write(*sink, Changes(1).click(0, "/a", 1).click(0, "/gone", 1));
    ASSERT_TRUE(sink->close(true).has_value());
  }
  {
    const std::unique_ptr<Sink> sink = open(2);
    write(*sink, Changes(2).click(0, "/a", 2));
    commit(*sink);
    EXPECT_EQ(clicks(), "00|/a|2|1|on_time|2 00|/gone|1|1|on_time|1") << "until it is finished";
    ASSERT_TRUE(sink->close(false).has_value());
  }
  EXPECT_EQ(clicks(), "00|/a|2|1|on_time|2 00|/gone|1|1|on_time|1") << "a run that failed removes nothing";
  EXPECT_EQ(query("SELECT generation, status FROM _wrackline_sinks"), "2|failed");
  {
    const std::unique_ptr<Sink> sink = open(3);
    write(*sink, Changes(3).click(0, "/a", 3));
    ASSERT_TRUE(sink->close(true).has_value());
  }
  EXPECT_EQ(clicks(), "00|/a|3|1|on_time|3");
}

TEST_F(SqliteSinkTest, AnOlderOrEqualGenerationIsRefusedByName) {
  ASSERT_TRUE(open(5)->close(true).has_value());
  for (const int64_t generation : {4, 5}) {
    const Error error = open_error(generation);
    EXPECT_EQ(error.code, ErrorCode::kUnavailable);
    EXPECT_EQ(
        error.message,
        format(
            "table \"minutes\" in database \"{}\" was last opened by generation 5, this run is generation {}",
            path_, generation));
    EXPECT_THAT(error.hint, HasSubstr("--state"));
  }
  execute("DROP TABLE minutes");
  EXPECT_TRUE(open(1)->close(true).has_value()) << "a dropped table begins anew";
}

TEST_F(SqliteSinkTest, AWriterThatWasOvertakenIsFenced) {
  const std::unique_ptr<Sink> old = open(1);
  write(*old, Changes(1).click(0, "/a", 1));
  commit(*old);
  const std::unique_ptr<Sink> fresh = open(2);
  write(*old, Changes(1).click(0, "/a", 2, RowOp::kUpdate, 2));
  const Status fenced = old->commit();
  ASSERT_FALSE(fenced.has_value());
  EXPECT_EQ(
      fenced.error().message,
      "generation 1 is fenced: a newer run has taken over table \"minutes\" in database \"" + path_ + "\"");
  EXPECT_TRUE(old->close(true).has_value()) << "it ends quietly, and as a failed one";
  EXPECT_EQ(clicks(), "00|/a|1|1|on_time|1") << "nothing of the fenced tick was written";
  EXPECT_EQ(query("SELECT generation, status FROM _wrackline_sinks"), "2|running");
  write(*fresh, Changes(2).click(0, "/a", 3));
  ASSERT_TRUE(fresh->close(true).has_value());
  EXPECT_EQ(clicks(), "00|/a|3|1|on_time|2");
}

TEST_F(SqliteSinkTest, AFinishIsFencedToo) {
  const std::unique_ptr<Sink> old = open(1);
  const std::unique_ptr<Sink> fresh = open(2);
  write(*fresh, Changes(2).click(0, "/a", 3));
  commit(*fresh);
  const Status fenced = old->close(true);
  ASSERT_FALSE(fenced.has_value());
  EXPECT_THAT(fenced.error().message, StartsWith("generation 1 is fenced"));
  EXPECT_EQ(clicks(), "00|/a|3|1|on_time|2");
}

TEST_F(SqliteSinkTest, SinksOfOneDatabaseDoNotBlockEachOther) {
  const std::unique_ptr<Sink> one = open(1, "one");
  const std::unique_ptr<Sink> two = open(1, "two");
  for (int64_t tick = 0; tick < 3; ++tick) {
    write(*one, Changes().click(tick, "/a", 1));
    write(*two, Changes().click(tick, "/b", 2));
    commit(*one);
    commit(*two);
  }
  ASSERT_TRUE(one->close(true).has_value());
  ASSERT_TRUE(two->close(true).has_value());
  EXPECT_EQ(query("SELECT (SELECT count(*) FROM one), (SELECT count(*) FROM two)"), "3|3");
}

TEST_F(SqliteSinkTest, EveryTypeIsKeptExactly) {
  const std::vector<OutputColumn> columns = {
      {"k", Type::bigint(), true},
      {"b", Type::boolean(), false},
      {"d", Type::real64(), false},
      {"n", Type::numeric(), false},
      {"money", {.kind = TypeKind::kNumeric, .precision = 20, .scale = 2}, false},
      {"whole", {.kind = TypeKind::kNumeric, .precision = 12, .scale = 0}, false},
      {"t", Type::text(), false},
      {"z", Type::timestamptz(), false},
      {"l", Type::timestamp(), false},
      {"day", Type::date(), false},
      {"i", Type::interval(), false},
      {"j", Type::json(), false}};
  const std::unique_ptr<Sink> sink = make();
  ASSERT_TRUE(sink->open(columns, "v", 1).has_value());
  const __int128 wide = static_cast<__int128>(INT64_MAX) * 1000 + 7;
  Changes changes(1, columns);
  changes
      .add({INT64_MIN, true, 0.1, Decimal{42, 0}, Decimal{150, 2}, Decimal{7, 0}, std::string("a\0b", 3),
            kNoon, kNoon + 1, int64_t{19844}, Interval{0, 1, 0}, "{\"a\": 1}"})
      .add({int64_t{2}, false, std::nan(""), Decimal{wide, 0}, Decimal{wide, 2}, Decimal{-7, 0}, "",
            kNoon + 500'000, kNoon, int64_t{0}, Interval{}, "[]"})
      .add({int64_t{3}, kNull, kNull, Decimal{4250, 2}, kNull, kNull, kNull, kNull, kNull, kNull, kNull,
            kNull});
  write(*sink, changes);
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_EQ(query("SELECT k, typeof(k), b, typeof(b), d, typeof(d) FROM minutes ORDER BY k"),
            "-9223372036854775808|integer|1|integer|0.1|real 2|integer|0|integer|NaN|text "
            "3|integer|NULL|null|NULL|null");
  EXPECT_EQ(query("SELECT n, typeof(n), money, typeof(money), whole, typeof(whole) FROM minutes ORDER BY k"),
            "42|integer|1.50|text|7|integer "
            "9223372036854775807007|text|92233720368547758070.07|text|-7|integer "
            "42.50|text|NULL|null|NULL|null");
  EXPECT_EQ(query("SELECT hex(t), z, l, day, i, j FROM minutes ORDER BY k LIMIT 2"),
            "610062|2024-05-01T12:00:00Z|2024-05-01T12:00:00.000001|2024-05-01|1 day|{\"a\": 1} "
            "|2024-05-01T12:00:00.5Z|2024-05-01T12:00:00|1970-01-01|00:00:00|[]");
  EXPECT_EQ(query("SELECT j ->> 'a', unixepoch(z) FROM minutes ORDER BY k LIMIT 1"), "1|1714564800")
      << "SQLite's functions take them";
}

TEST_F(SqliteSinkTest, InfinitiesStay) {
  const std::vector<OutputColumn> columns = {{"k", Type::bigint(), true}, {"d", Type::real64(), false}};
  const std::unique_ptr<Sink> sink = make();
  ASSERT_TRUE(sink->open(columns, "v", 1).has_value());
  write(*sink, Changes(1, columns)
                   .add({int64_t{1}, std::numeric_limits<double>::infinity()})
                   .add({int64_t{2}, -1e308 * 10}));
  commit(*sink);
  EXPECT_EQ(query("SELECT d, d > 1e308 FROM minutes ORDER BY k"), "Inf|1 -Inf|0");
}

// --- Tables that are there already

TEST_F(SqliteSinkTest, AFittingTableOfTheUserIsTaken) {
  execute(
      "CREATE TABLE Minutes (WINDOW_START varchar(40), page TEXT, clicks BIGINT, _version INT, _status TEXT, "
      "_generation INT, "
      "PRIMARY KEY (window_start, page)); PRAGMA journal_mode = DELETE");
  const std::unique_ptr<Sink> sink = open();
  write(*sink, Changes().click(0, kNull, 1).click(0, "/a", 2));
  write(*sink, Changes().click(0, kNull, 3, RowOp::kUpdate, 2));
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_EQ(clicks(), "00|NULL|3|2|on_time|1 00|/a|2|1|on_time|1");
}

TEST_F(SqliteSinkTest, AnExistingDatabaseKeepsItsJournal) {
  execute("PRAGMA journal_mode = DELETE; CREATE TABLE mine (a)");
  const std::unique_ptr<Sink> sink = open();
  EXPECT_EQ(query("PRAGMA journal_mode"), "delete");
}

TEST_F(SqliteSinkTest, AnotherTableIsRefusedWithBothLists) {
  execute("CREATE TABLE minutes (window_start TEXT PRIMARY KEY, total INTEGER)");
  const Error error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_EQ(error.message, "table \"minutes\" in database \"" + path_ + "\" has other columns than the view");
  EXPECT_EQ(error.detail,
            "It has (window_start TEXT key, total INTEGER); the view needs (window_start TEXT key, page TEXT "
            "key, clicks INTEGER, "
            "_version INTEGER, _status TEXT, _generation INTEGER).");
  EXPECT_THAT(error.hint, HasSubstr("table = '...'"));
  EXPECT_EQ(query("SELECT count(*) FROM sqlite_schema WHERE name = '_wrackline_sinks'"), "0")
      << "nothing is left behind";
}

TEST_F(SqliteSinkTest, AViewIsNoTable) {
  execute("CREATE VIEW minutes AS SELECT 1");
  EXPECT_EQ(open_error().message, "\"minutes\" in database \"" + path_ + "\" is a view, not a table");
}

TEST_F(SqliteSinkTest, ATableOfAnotherViewIsRefused) {
  ASSERT_TRUE(open(1)->close(true).has_value());
  const Error error = open_error(2, "other_view");
  EXPECT_EQ(error.message, "table \"minutes\" in database \"" + path_ +
                               "\" belongs to view \"clicks_per_minute\", not to \"other_view\"");
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
}

TEST_F(SqliteSinkTest, ColumnsThatClashAreNamed) {
  EXPECT_EQ(open_error(1, "v", {{"k", Type::text(), true}, {"K", Type::text(), false}}).message,
            "two columns named \"K\" in table \"minutes\"");
  EXPECT_EQ(open_error(1, "v", {{"k", Type::text(), true}, {"_Version", Type::text(), false}}).message,
            "column name \"_version\" is taken by the sink itself");
}

TEST_F(SqliteSinkTest, NamesAreQuoted) {
  const std::vector<OutputColumn> columns = {{"group", Type::text(), true},
                                             {"a \"b\"; DROP TABLE x", Type::text(), false}};
  const std::unique_ptr<Sink> sink = make("select \"x\"");
  ASSERT_TRUE(sink->open(columns, "v", 1).has_value());
  write(*sink, Changes(1, columns).add({kNull, "1"}).add({"k", "2"}).add({"k", "3"}, RowOp::kUpdate, 2));
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_EQ(query("SELECT * FROM \"select \"\"x\"\"\" ORDER BY 1"), "NULL|1|1|on_time|1 k|3|2|on_time|1");
}

// --- Rows without identity

TEST_F(SqliteSinkTest, UpsertNeedsIdentity) {
  const Error error = open_error(1, "totals", {{"clicks", Type::bigint(), false}});
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_EQ(error.message, "rows of view \"totals\" have no identity that table \"minutes\" in database \"" +
                               path_ + "\" could keep them apart by");
  EXPECT_THAT(error.hint, HasSubstr("mode = 'append'"));
}

TEST_F(SqliteSinkTest, AppendWithoutIdentityBeginsAnewWithEachRun) {
  const std::vector<OutputColumn> columns = {{"clicks", Type::bigint(), false}};
  for (int64_t generation = 1; generation <= 2; ++generation) {
    const std::unique_ptr<Sink> sink = make("minutes", SinkMode::kAppend);
    ASSERT_TRUE(sink->open(columns, "v", generation).has_value());
    EXPECT_EQ(query("SELECT count(*) FROM minutes"), generation == 1 ? "0" : "3");
    write(*sink, Changes(generation, columns).add({int64_t{7}}).add({int64_t{7}}));
    commit(*sink);
    EXPECT_EQ(query("SELECT count(*) FROM minutes"), "2") << "no reader counts both runs";
    write(*sink, Changes(generation, columns).add({int64_t{7}}));
    ASSERT_TRUE(sink->close(generation == 2).has_value());
    if (generation == 1) {
      execute("INSERT INTO minutes VALUES (7, 1, 'on_time', 1)");
    }
  }
  EXPECT_EQ(query("SELECT count(*), min(_generation) FROM minutes"), "3|2");
}

// --- What can go wrong

TEST_F(SqliteSinkTest, BadPathsAreNamed) {
  path_ = folder_ + "/absent/out.sqlite";
  EXPECT_EQ(open_error().message, "cannot open database \"" + path_ + "\"");
  EXPECT_EQ(open_error().code, ErrorCode::kNotFound);
  path_ = folder_;
  EXPECT_EQ(open_error().message, "cannot open database \"" + path_ + "\"");
  EXPECT_EQ(open_error().code, ErrorCode::kUnavailable);
}

TEST_F(SqliteSinkTest, AKilledRunLeavesWholeTicks) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::unique_ptr<Sink> sink = open(1);
    for (int64_t tick = 0; tick < 5; ++tick) {
      write(*sink, Changes(1).click(tick, "/a", 1).click(tick, "/b", 1));
      if (tick < 4) commit(*sink);
    }
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(query("SELECT count(*), count(DISTINCT window_start) FROM minutes"), "8|4");
  EXPECT_TRUE(open(2)->close(true).has_value());
}

TEST_F(SqliteSinkTest, AFullDiskRollsTheTickBack) {
  const std::string small = folder_ + "/small";
  std::filesystem::create_directory(small);
  if (mount("tmpfs", small.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "may not mount";
  path_ = small + "/out.sqlite";
  {
    const std::unique_ptr<Sink> sink = open(1);
    write(*sink, Changes(1).click(0, "/a", 1));
    commit(*sink);
    Changes large(1);
    for (int64_t i = 0; i < 1000; ++i) large.click(1 + i, std::string(3000, 'x'), i);
    write(*sink, large);
    const Status status = sink->commit();
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().message, "disk full while writing database \"" + path_ + "\"");
    EXPECT_TRUE(sink->close(true).has_value());
  }
  EXPECT_EQ(clicks(), "00|/a|1|1|on_time|1");
  EXPECT_EQ(umount(small.c_str()), 0);
}

TEST(MakeSqliteSink, NeedsAPathAndATableOfItsOwn) {
  const auto error = [](const std::string& path, const std::string& table) {
    const Result<std::unique_ptr<Sink>> sink = make_sqlite_sink({.path = path, .table = table});
    return sink ? "fine" : sink.error().message;
  };
  EXPECT_EQ(error("", "t"), "SQLite sink without a path");
  EXPECT_EQ(error("x", ""), "SQLite sink without a table");
  EXPECT_EQ(error("x", "sqlite_x"), "table name \"sqlite_x\" is reserved");
  EXPECT_EQ(error("x", "_wrackline_sinks"), "table name \"_wrackline_sinks\" is reserved");
  EXPECT_EQ(error("x", "minutes"), "fine");
}

// Random changes, repeated and cut into ticks at random, must end like a map of (identity, greatest version).
TEST_F(SqliteSinkTest, RandomChangesAgreeWithAModel) {
  constexpr uint64_t kSeed = 99;
  std::mt19937_64 random(kSeed);
  std::map<std::pair<int64_t, std::string>, std::pair<int64_t, int64_t>> model;  // version, clicks
  std::map<std::pair<int64_t, std::string>, int64_t> versions;
  const std::unique_ptr<Sink> sink = open(1);
  int64_t retracted = 0;
  for (int step = 0; step < 2000; ++step) {
    const auto minute = static_cast<int64_t>(random() % 5);
    const std::string page = random() % 4 == 0 ? "" : format("/{}", random() % 3);
    const std::pair key(minute, page);
    const ValueData value = page.empty() ? kNull : ValueData(page);
    const bool retract = random() % 10 == 0;
    const int64_t version =
        random() % 8 == 0 && versions[key] > 1 ? versions[key] - 1 : ++versions[key];  // some are replays
    const auto clicks = static_cast<int64_t>(random() % 1000);
    write(*sink, Changes().click(minute, value, clicks, retract ? RowOp::kRetract : RowOp::kUpdate, version));
    const auto at = model.find(key);
    if (retract && at != model.end() && at->second.first <= version) {
      model.erase(at);
      ++retracted;
    } else if (!retract && (at == model.end() || version > at->second.first)) {
      model[key] = {version, clicks};
    }
    if (random() % 7 == 0) commit(*sink);
  }
  ASSERT_TRUE(sink->close(true).has_value());
  std::string expected;
  for (const auto& [key, row] : model) {
    expected +=
        format("{}0{}|{}|{}|{}", expected.empty() ? "" : " ", key.first, key.second, row.second, row.first);
  }
  EXPECT_EQ(query("SELECT substr(window_start, 15, 2), ifnull(page, ''), clicks, _version FROM minutes ORDER "
                  "BY 1, 2"),
            expected)
      << "seed " << kSeed;
  EXPECT_GT(retracted, 20);
  EXPECT_GT(model.size(), 5U);
}

// A run that is resumed gives the rows again that earlier attempts have committed.
TEST_F(SqliteSinkTest, ARowThatWasWithdrawnStaysAwayWhenTheRunIsResumed) {
  const auto changes = [](int step) {
    Changes all;
    if (step == 0) all.click(0, "/a", 100).click(0, "/b", 7);
    if (step == 1) all.click(0, "/b", 7, RowOp::kRetract, 2).click(1, "/b", 7);
    if (step == 2) all.click(0, "/a", 105, RowOp::kUpdate, 2, RowStatus::kCorrection);
    return all;
  };
  {
    const std::unique_ptr<Sink> sink = open();
    for (int step = 0; step < 2; ++step) {
      write(*sink, changes(step));
      commit(*sink);
    }
    ASSERT_TRUE(sink->close(false).has_value());
  }
  const std::unique_ptr<Sink> sink = make();
  ASSERT_TRUE(sink->open(kClicks, "clicks_per_minute", SinkStart(2, 1)).has_value());
  const std::string stood = "00|/a|100|1|on_time|1 01|/b|7|1|on_time|1";
  EXPECT_EQ(clicks(), stood);
  for (int step = 0; step < 2; ++step) {
    write(*sink, changes(step));
    commit(*sink);
    EXPECT_EQ(clicks(), stood) << "after step " << step;
  }
  write(*sink, changes(2));
  commit(*sink);
  EXPECT_EQ(clicks(), "00|/a|105|2|correction|1 01|/b|7|1|on_time|1");
}

// Commits need not fall where they fell before, and an attempt may die while it follows.
TEST_F(SqliteSinkTest, ARunThatIsResumedAgainAndAgainIsLikeOneThatWasNot) {
  constexpr int kRows = 8;
  const auto change = [](Changes& all, int row) {
    const int minute = row / 2;
    if (row % 2 == 0) all.click(minute, "/a", 1);
    if (row % 2 == 1) all.click(minute, "/a", 1, RowOp::kRetract, 2);
  };
  std::mt19937 random(7);
  int64_t attempt = 0;
  int committed_ever = 0;
  while (committed_ever < kRows) {
    ++attempt;
    const std::unique_ptr<Sink> sink = make();
    ASSERT_TRUE(sink->open(kClicks, "clicks_per_minute", SinkStart(attempt, 1)).has_value());
    const int dies_at = static_cast<int>(random() % (kRows + 1));
    for (int row = 0; row < dies_at;) {
      Changes all;
      const int end = std::min(dies_at, row + 1 + static_cast<int>(random() % 3));
      for (; row < end; ++row) change(all, row);
      write(*sink, all);
      if (row == dies_at && random() % 2 == 0) break;  // before the commit
      commit(*sink);
      committed_ever = std::max(committed_ever, row);
      EXPECT_EQ(query("SELECT count(*) FROM minutes"), std::to_string(committed_ever % 2))
          << "attempt " << attempt << ", row " << row;
    }
  }
  EXPECT_GT(attempt, 1);
}

TEST_F(SqliteSinkTest, ACheckpointSaysHowManyRowsDoNotComeAgain) {
  SnapshotWriter saved;
  {
    const std::unique_ptr<Sink> sink = open();
    write(*sink, Changes().click(0, "/a", 1));
    commit(*sink);
    sink->save(saved);
    write(*sink, Changes().click(0, "/a", 1, RowOp::kRetract, 2));
    commit(*sink);
  }
  const std::string bytes = saved.finish();
  const auto resumed = [&](int64_t attempt, std::unique_ptr<Sink>& sink) {
    sink = make();
    SnapshotReader from = *SnapshotReader::open(bytes);
    sink->restore(from);
    EXPECT_TRUE(from.finish().has_value());
    return sink->open(kClicks, "clicks_per_minute", SinkStart(attempt, 1));
  };
  std::unique_ptr<Sink> sink;
  ASSERT_TRUE(resumed(2, sink).has_value());
  write(*sink, Changes().click(0, "/a", 1, RowOp::kRetract, 2).click(1, "/b", 3));
  commit(*sink);
  EXPECT_EQ(clicks(), "01|/b|3|1|on_time|1");
  sink.reset();
  execute("DROP TABLE minutes");
  const Status opened = resumed(3, sink);
  ASSERT_FALSE(opened.has_value());
  EXPECT_THAT(opened.error().to_string(),
              HasSubstr("has got 0 rows of this run, and the checkpoint knows of 1"));
}

TEST_F(SqliteSinkTest, TheRecordOfOwnersOfAnEarlierVersionGetsItsNewColumns) {
  {
    const std::unique_ptr<Sink> sink = open();
    write(*sink, Changes().click(0, "/a", 1));
    commit(*sink);
    ASSERT_TRUE(sink->close(true).has_value());
  }
  execute("ALTER TABLE _wrackline_sinks DROP COLUMN run; ALTER TABLE _wrackline_sinks DROP COLUMN run_rows");
  const std::unique_ptr<Sink> sink = open(2);
  write(*sink, Changes(2).click(0, "/a", 2));
  commit(*sink);
  EXPECT_EQ(query("SELECT generation, run, run_rows FROM _wrackline_sinks"), "2|2|1");
}

}  // namespace
}  // namespace wrackline::connectors
