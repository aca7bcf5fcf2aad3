#include "connectors/sink_postgres.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "connectors/postgres_server_test.h"
#include "connectors/sink_rows_test.h"
#include "data/time_text.h"
#include "wrackline/time.h"

namespace wrackline::connectors {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const ValueData kNull = std::monostate();

// One server for all tests of a process; each test has a schema of its own.
class PostgresSinkTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (PostgresServer::binaries().empty()) return;
    server_ = new PostgresServer;
    server_->make();
  }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }
  void SetUp() override {
    if (server_ == nullptr) GTEST_SKIP() << "no PostgreSQL server is installed: scripts/setup installs one";
    schema_ = testing::UnitTest::GetInstance()->current_test_info()->name();
    server_->execute(format("DROP SCHEMA IF EXISTS \"{0}\" CASCADE; CREATE SCHEMA \"{0}\"", schema_));
  }

  std::unique_ptr<Sink> make(SinkMode mode = SinkMode::kUpsert, const std::string& url = "",
                             int64_t seconds_max = 30) const {
    Result<std::unique_ptr<Sink>> sink = make_postgres_sink({.url = url.empty() ? server_->url() : url,
                                                             .table = schema_ + ".minutes",
                                                             .mode = mode,
                                                             .reconnect_seconds_max = seconds_max});
    if (!sink) ADD_FAILURE() << sink.error().to_string();
    return sink ? std::move(*sink) : nullptr;
  }
  std::unique_ptr<Sink> open(int64_t generation = 1,
                             const std::vector<OutputColumn>& columns = kClicks) const {
    std::unique_ptr<Sink> sink = make();
    const Status opened = sink->open(columns, "clicks_per_minute", generation);
    EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
    return sink;
  }
  Error open_error(int64_t generation = 1, const std::vector<OutputColumn>& columns = kClicks,
                   const std::string& view = "clicks_per_minute", const std::string& url = "") const {
    const Status opened = make(SinkMode::kUpsert, url)->open(columns, view, generation);
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
  std::string query(const std::string& sql) const {
    return server_->query(format("/* {0} */ ", schema_) + sql);
  }
  std::string table(const std::string& name = "minutes") const { return format("\"{}\".{}", schema_, name); }
  std::string clicks() const {
    return query(
        "SELECT to_char(window_start AT TIME ZONE 'UTC', 'MI'), page, clicks, _version, _status, "
        "_generation FROM " +
        table() + " ORDER BY 1, 2");
  }

  static PostgresServer* server_;
  std::string schema_;
};
PostgresServer* PostgresSinkTest::server_ = nullptr;

TEST_F(PostgresSinkTest, TheTableHoldsTheNewestVersionOfEachRow) {
  const std::unique_ptr<Sink> sink = open();
  write(*sink, Changes().click(0, "/a", 100).click(0, "/b", 7));
  EXPECT_EQ(clicks(), "") << "not before the commit";
  commit(*sink);
  EXPECT_EQ(clicks(), "00|/a|100|1|on_time|1 00|/b|7|1|on_time|1");
  write(*sink, Changes().click(0, "/a", 105, RowOp::kUpdate, 2, RowStatus::kCorrection).click(1, "/a", 1));
  commit(*sink);
  EXPECT_EQ(clicks(), "00|/a|105|2|correction|1 00|/b|7|1|on_time|1 01|/a|1|1|on_time|1");
  // A replay: an older version, and the same one with another value.
  write(*sink, Changes().click(0, "/a", 100).click(0, "/a", 999, RowOp::kUpdate, 2));
  commit(*sink);
  EXPECT_EQ(clicks(), "00|/a|105|2|correction|1 00|/b|7|1|on_time|1 01|/a|1|1|on_time|1");
  EXPECT_EQ(query("SELECT table_name, \"view\", generation, committed_tick, status FROM " +
                  table("_wrackline_sinks")),
            "minutes|clicks_per_minute|1|3|running");
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_EQ(query("SELECT status, committed_tick FROM " + table("_wrackline_sinks")), "finished|4");
}

TEST_F(PostgresSinkTest, ARetractedRowIsNotBroughtBackByAStaleInsert) {
  const std::unique_ptr<Sink> sink = open();
  write(*sink, Changes().click(0, "/a", 5, RowOp::kInsert, 3).click(0, kNull, 5, RowOp::kInsert, 3));
  commit(*sink);
  write(*sink, Changes().click(0, "/a", 5, RowOp::kRetract, 2).click(0, kNull, 5, RowOp::kRetract, 3));
  write(*sink, Changes().click(1, "/never", 5, RowOp::kRetract, 2));
  commit(*sink);
  EXPECT_EQ(clicks(), "00|/a|5|3|on_time|1") << "a retract of an older version is ignored";
  write(*sink, Changes().click(0, kNull, 5, RowOp::kInsert, 3).click(1, "/never", 5, RowOp::kInsert, 1));
  commit(*sink);
  EXPECT_EQ(clicks(), "00|/a|5|3|on_time|1");
  write(*sink, Changes().click(0, kNull, 6, RowOp::kInsert, 4));
  commit(*sink);
  EXPECT_EQ(clicks(), "00|/a|5|3|on_time|1 00|NULL|6|4|on_time|1") << "NULL is one key";
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_EQ(query("SELECT count(*) FROM " + table("minutes_rows")), "2") << "a finished run sweeps";
}

TEST_F(PostgresSinkTest, AChangelogEndsWithTheSameTable) {
  const std::unique_ptr<Sink> sink = make(SinkMode::kChangelog);
  ASSERT_TRUE(sink->open(kClicks, "clicks_per_minute", 1).has_value());
  write(*sink, Changes()
                   .click(0, "/a", 100)
                   .click(0, "/a", 100, RowOp::kRetract, 1)
                   .click(0, "/a", 105, RowOp::kInsert, 2, RowStatus::kCorrection));
  commit(*sink);
  write(*sink, Changes()
                   .click(0, "/a", 105, RowOp::kRetract, 2)
                   .click(0, "/a", 106, RowOp::kInsert, 3, RowStatus::kCorrection)
                   .click(1, "/gone", 1, RowOp::kInsert, 1)
                   .click(1, "/gone", 1, RowOp::kRetract, 1));
  commit(*sink);
  EXPECT_EQ(clicks(), "00|/a|106|3|correction|1");
}

TEST_F(PostgresSinkTest, AppendedRowsWithoutIdentityOfAnOlderRunGoWithTheFirstNewOnes) {
  const std::vector<OutputColumn> columns = {{"n", Type::bigint(), false}};
  EXPECT_THAT(open_error(1, columns).message, HasSubstr("no identity"));
  const auto run = [&](int64_t generation, int64_t n) {
    const std::unique_ptr<Sink> sink = make(SinkMode::kAppend);
    ASSERT_TRUE(sink->open(columns, "clicks_per_minute", generation).has_value());
    write(*sink, Changes(generation, columns).add({n}).add({n}));
    EXPECT_EQ(query("SELECT n FROM " + table()), generation == 1 ? "" : "1 1 3");
    commit(*sink);
    write(*sink, Changes(generation, columns).add({int64_t{3}}));
    commit(*sink);
    EXPECT_EQ(query("SELECT n FROM " + table()), format("{0} {0} 3", n));
  };
  run(1, 1);
  run(2, 2);
}

TEST_F(PostgresSinkTest, AFinishedRunRemovesWhatItDidNotWriteAgain) {
  {
    const std::unique_ptr<Sink> sink = open(1);
    write(*sink, Changes(1).click(0, "/a", 1).click(0, "/gone", 1));
    ASSERT_TRUE(sink->close(true).has_value());
  }
  {
    const std::unique_ptr<Sink> sink = open(2);
    write(*sink, Changes(2).click(0, "/a", 2));
    commit(*sink);
    ASSERT_TRUE(sink->close(false).has_value());
  }
  EXPECT_EQ(clicks(), "00|/a|2|1|on_time|2 00|/gone|1|1|on_time|1") << "a run that failed removes nothing";
  EXPECT_EQ(query("SELECT generation, status FROM " + table("_wrackline_sinks")), "2|failed");
  {
    const std::unique_ptr<Sink> sink = open(3);
    write(*sink, Changes(3).click(0, "/a", 3));
    ASSERT_TRUE(sink->close(true).has_value());
  }
  EXPECT_EQ(clicks(), "00|/a|3|1|on_time|3");
}

TEST_F(PostgresSinkTest, AnOlderOrEqualGenerationIsRefusedAndAZombieIsFenced) {
  const std::unique_ptr<Sink> old = open(4);
  write(*old, Changes(4).click(0, "/a", 1));
  commit(*old);
  const std::unique_ptr<Sink> fresh = open(5);
  write(*old, Changes(4).click(0, "/a", 2, RowOp::kUpdate, 2));
  const Status fenced = old->commit();
  ASSERT_FALSE(fenced.has_value());
  EXPECT_EQ(fenced.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(fenced.error().message, StartsWith("generation 4 is fenced: a newer run has taken over table"));
  EXPECT_TRUE(old->close(true).has_value()) << "it ends quietly, and as a failed one";
  EXPECT_EQ(clicks(), "00|/a|1|1|on_time|4") << "nothing of the fenced tick was written";
  for (const int64_t generation : {4, 5}) {
    const Error error = open_error(generation);
    EXPECT_EQ(error.code, ErrorCode::kUnavailable);
    EXPECT_THAT(error.message, HasSubstr(format("generation 5, this run is generation {}", generation)));
    EXPECT_THAT(error.hint, HasSubstr("--state"));
  }
  EXPECT_EQ(open_error(6, kClicks, "others").message,
            format("table \"{}.minutes\" in database \"postgres\" on host \"{}\" belongs to view "
                   "\"clicks_per_minute\", not to \"others\"",
                   schema_, server_->folder()));
  write(*fresh, Changes(5).click(0, "/a", 3));
  ASSERT_TRUE(fresh->close(true).has_value());
  EXPECT_EQ(clicks(), "00|/a|3|1|on_time|5");
  server_->execute(format("DROP TABLE {} CASCADE", table("minutes_rows")));
  EXPECT_TRUE(open(1)->close(true).has_value()) << "a dropped table begins anew";
}

TEST_F(PostgresSinkTest, AFinishIsFencedToo) {
  const std::unique_ptr<Sink> old = open(1);
  const std::unique_ptr<Sink> fresh = open(2);
  write(*fresh, Changes(2).click(0, "/a", 3));
  commit(*fresh);
  const Status fenced = old->close(true);
  ASSERT_FALSE(fenced.has_value());
  EXPECT_THAT(fenced.error().message, StartsWith("generation 1 is fenced"));
  EXPECT_EQ(clicks(), "00|/a|3|1|on_time|2");
}

TEST_F(PostgresSinkTest, EveryTypeIsKeptExactly) {
  const std::vector<OutputColumn> columns = {
      {"k", Type::bigint(), true},
      {"b", Type::boolean(), false},
      {"d", Type::real64(), false},
      {"f", {.kind = TypeKind::kDouble, .bits = 32}, false},
      {"s", {.kind = TypeKind::kInteger, .bits = 16}, false},
      {"m", Type::integer(), false},
      {"n", Type::numeric(), false},
      {"money", {.kind = TypeKind::kNumeric, .precision = 30, .scale = 2}, false},
      {"t", Type::text(), false},
      {"v", {.kind = TypeKind::kText, .precision = 5}, false},
      {"z", Type::timestamptz(), false},
      {"l", Type::timestamp(), false},
      {"day", Type::date(), false},
      {"i", Type::interval(), false},
      {"j", Type::json(), false}};
  const std::unique_ptr<Sink> sink = open(1, columns);
  const __int128 wide = static_cast<__int128>(INT64_MAX) * 1000 + 7;
  Changes changes(1, columns);
  changes
      .add({INT64_MIN, true, 0.1, 0.5, int64_t{-32768}, int64_t{INT32_MIN}, Decimal{42, 0}, Decimal{150, 2},
            "\"{},\\ \n\xc3\xa4'", "", kNoon, kNoon + 1, int64_t{19844}, Interval{14, -3, 4'500'000},
            "{\"a\": 1}"})
      .add({int64_t{2}, false, std::nan(""), -std::numeric_limits<double>::infinity(), int64_t{7},
            int64_t{-1}, Decimal{-wide, 5}, Decimal{wide, 2}, "", "abcde", kMicrosMax, kMicrosMin, int64_t{0},
            Interval{}, "[]"})
      .add({int64_t{3}, kNull, kNull, kNull, kNull, kNull, Decimal{5, 7}, kNull, kNull, kNull, kNull, kNull,
            kNull, kNull, kNull})
      // Year 12345 and 44 BC, as PostgreSQL writes them.
      .add({int64_t{4}, true, 1e308, 1.0, int64_t{0}, int64_t{0}, Decimal{0, 0}, Decimal{0, 2}, "", "",
            days_from_civil(12345, 1, 2) * 86'400'000'000, days_from_civil(-43, 3, 15) * 86'400'000'000,
            days_from_civil(-43, 3, 15), Interval{}, "\"\""});
  write(*sink, changes);
  commit(*sink);
  ASSERT_TRUE(sink->close(true).has_value());
  const auto columns_of = [&](const std::string& list) {
    return query(format("SELECT {} FROM {} ORDER BY k", list, table()));
  };
  EXPECT_EQ(columns_of("k, b, d, f, s, m"),
            "-9223372036854775808|t|0.1|0.5|-32768|-2147483648 2|f|NaN|-Infinity|7|-1 "
            "3|NULL|NULL|NULL|NULL|NULL 4|t|1e+308|1|0|0");
  EXPECT_EQ(columns_of("n, money"),
            "42|1.50 -92233720368547758.07007|92233720368547758070.07 0.0000005|NULL 0|0.00");
  EXPECT_EQ(columns_of("t, v, j"),
            "\"{},\\ \n\xc3\xa4'||{\"a\": 1} |abcde|[] NULL|NULL|NULL |"
            "|\"\"");
  EXPECT_EQ(columns_of("z, l"),
            "2024-05-01 12:00:00+00|2024-05-01 12:00:00.000001 infinity|-infinity NULL|NULL 12345-01-02 "
            "00:00:00+00|0044-03-15 00:00:00 BC");
  EXPECT_EQ(
      columns_of("day, i"),
      "2024-05-01|1 year 2 mons -3 days +00:00:04.5 1970-01-01|00:00:00 NULL|NULL 0044-03-15 BC|00:00:00");
  EXPECT_EQ(
      query("SELECT string_agg(format_type(atttypid, atttypmod), ',' ORDER BY attnum) FROM pg_attribute "
            "WHERE attnum > 0 AND attrelid = '" +
            table() + "'::regclass"),
      "bigint,boolean,double precision,real,smallint,integer,numeric,numeric(30,2),text,character "
      "varying(5),timestamp with time zone,timestamp without time "
      "zone,date,interval,jsonb,bigint,text,bigint");
}

TEST_F(PostgresSinkTest, ValuesThatPostgresqlCannotHoldAreNamed) {
  {
    const std::unique_ptr<Sink> sink = open(1);
    const Status status = sink->write(Changes().click(0, std::string("a\0b", 3), 1).batch());
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, ErrorCode::kData);
    EXPECT_THAT(status.error().message, HasSubstr("column \"page\""));
    EXPECT_THAT(status.error().message, HasSubstr("NUL"));
  }
  {
    const std::unique_ptr<Sink> sink = open(2);
    std::string noise;  // that does not compress
    std::mt19937 random(1);
    for (int i = 0; i < 9000; ++i) noise += static_cast<char>('!' + random() % 90);
    write(*sink, Changes(2).click(0, noise, 1));
    const Status status = sink->commit();
    ASSERT_FALSE(status.has_value());
    EXPECT_THAT(status.error().to_string(), HasSubstr("2,700 bytes"));
  }
  const std::vector<OutputColumn> columns = {{"k", Type::bigint(), true}, {"j", Type::json(), false}};
  server_->execute(format("DROP TABLE {} CASCADE", table("minutes_rows")));
  const std::unique_ptr<Sink> sink = open(3, columns);
  write(*sink, Changes(3, columns).add({int64_t{1}, "\"a\\u0000\""}));
  const Status status = sink->commit();
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().to_string(), HasSubstr("NUL"));
  EXPECT_EQ(query("SELECT count(*) FROM " + table()), "0");
}

TEST_F(PostgresSinkTest, TablesThatDoNotFitAreRefusedByTheDifference) {
  server_->execute(
      format("CREATE TABLE {} (window_start timestamptz, page varchar(9), extra int, _version bigint, "
             "_status text, _generation bigint, _deleted boolean)",
             table("minutes_rows")));
  Error error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_THAT(error.message, HasSubstr("has other columns than the view"));
  EXPECT_EQ(
      error.detail,
      "There column \"page\" is character varying(9), and the view's is text; column \"clicks\" (bigint) is "
      "missing; column \"extra\" (integer) is not in the view.");
  server_->execute(
      format("DROP TABLE {0}; CREATE TABLE {0} (window_start timestamptz, page text, clicks bigint, "
             "_version bigint, _status text, _generation bigint, _deleted boolean, UNIQUE NULLS NOT "
             "DISTINCT (page))",
             table("minutes_rows")));
  error = open_error();
  EXPECT_EQ(error.detail,
            "Its unique key is (page); the view's rows are told apart by (page, window_start).");
  server_->execute(format("DROP TABLE {}; CREATE TABLE {} (n int)", table("minutes_rows"), table()));
  EXPECT_THAT(open_error().message, HasSubstr("exists and was not made by this sink"));
  server_->execute(format("DROP TABLE {0}; CREATE VIEW {0} AS SELECT 1 AS one", table()));
  EXPECT_THAT(open_error().message, HasSubstr("does not read"));
  EXPECT_EQ(query("SELECT count(*) FROM pg_class WHERE relnamespace = '\"" + schema_ + "\"'::regnamespace"),
            "1")
      << "a refused open leaves nothing";
  server_->execute(format("DROP VIEW {}", table()));
  EXPECT_THAT(open_error(1, {{"_version", Type::bigint(), true}}).message,
              HasSubstr("taken by the sink itself"));
  EXPECT_TRUE(open()->close(true).has_value());
}

TEST_F(PostgresSinkTest, WhatKeepsItOutIsSaid) {
  const auto says = [&](const std::string& url) { return open_error(1, kClicks, "v", url).to_string(); };
  const std::string nobody = says("host=/nowhere dbname=clicks user=ann password=secret");
  EXPECT_THAT(nobody,
              StartsWith("cannot connect to database \"clicks\" on host \"/nowhere\" as user \"ann\", for "
                         "table \"WhatKeepsItOutIsSaid.minutes\""));
  EXPECT_THAT(nobody, HasSubstr("the server runs"));
  EXPECT_THAT(nobody, testing::Not(HasSubstr("secret")));
  EXPECT_THAT(says(server_->url("wrackline", "none")), HasSubstr("createdb"));
  EXPECT_THAT(says(server_->url("nobody_known")), HasSubstr("createuser"));
  server_->execute("DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN");
  const std::string denied = says(server_->url("reader"));
  EXPECT_THAT(denied, HasSubstr("permission denied for schema"));
  EXPECT_THAT(denied, HasSubstr("GRANT"));
  const auto other = make_postgres_sink({.url = server_->url(), .table = "no_such_schema.minutes"});
  EXPECT_EQ((*other)->open(kClicks, "v", 1).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(make_postgres_sink({.url = "", .table = "minutes"}).has_value());
  EXPECT_FALSE(make_postgres_sink({.url = "postgresql://[::1/clicks", .table = "minutes"}).has_value());
  for (const std::string name : {"", "x.", ".x", "pg_x", "_wrackline_sinks"})
    EXPECT_FALSE(make_postgres_sink({.url = server_->url(), .table = name}).has_value()) << name;
}

// Connections are cut while ticks are under way; each tick is there once, in order, and none twice.
TEST_F(PostgresSinkTest, LostConnectionsAreMadeAgain) {
  const std::unique_ptr<Sink> sink = open();
  std::atomic<bool> done = false;
  std::thread killer([&] {
    while (!done) {
      server_->query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'wrackline' "
          "AND pid <> pg_backend_pid() AND query LIKE '%_wrackline_sinks%' OR query = 'COMMIT'");
      std::this_thread::sleep_for(std::chrono::milliseconds(40));
    }
  });
  constexpr int64_t kTicks = 600;
  for (int64_t tick = 1; tick <= kTicks; ++tick) {
    write(*sink, Changes().click(0, "/a", tick, RowOp::kUpdate, tick).click(tick, "/b", tick));
    commit(*sink);
    if (HasFatalFailure()) break;
  }
  done = true;
  killer.join();
  EXPECT_EQ(query("SELECT committed_tick FROM " + table("_wrackline_sinks")), format("{}", kTicks));
  EXPECT_EQ(query("SELECT count(*), max(clicks) FILTER (WHERE page = '/a') FROM " + table()),
            format("{}|{}", kTicks + 1, kTicks));
}

TEST_F(PostgresSinkTest, AServerThatIsKilledAndStartedAgainIsGoneOnWith) {
  const std::unique_ptr<Sink> sink = open();
  std::atomic<bool> done = false;
  int64_t ticks = 0;
  std::thread writer([&] {
    while (!done && !HasFatalFailure()) {
      ++ticks;
      write(*sink, Changes().click(0, "/a", ticks, RowOp::kUpdate, ticks).click(ticks, "/b", 1));
      commit(*sink);
    }
  });
  for (int i = 0; i < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    server_->kill();
    server_->start();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  done = true;
  writer.join();
  EXPECT_GT(ticks, 10);
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_EQ(query("SELECT count(*), max(clicks) FROM " + table()), format("{}|{}", ticks + 1, ticks));
}

TEST_F(PostgresSinkTest, AServerThatStaysAwayEndsTheRun) {
  const std::unique_ptr<Sink> sink = make(SinkMode::kUpsert, "", 0);
  ASSERT_TRUE(sink->open(kClicks, "clicks_per_minute", 1).has_value());
  write(*sink, Changes().click(0, "/a", 100));
  commit(*sink);
  server_->kill(SIGQUIT);  // takes its processes along; after a SIGKILL ours may live long enough to commit
  write(*sink, Changes().click(0, "/a", 105, RowOp::kUpdate, 2));
  const Status status = sink->commit();
  EXPECT_TRUE(sink->close(false).has_value());
  server_->start();
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(status.error().message, StartsWith("lost the connection to database \"postgres\" on host"));
  EXPECT_THAT(status.error().message, HasSubstr(".minutes\""));
  EXPECT_EQ(clicks(), "00|/a|100|1|on_time|1");
}

// Random changes over several runs, against a map.
TEST_F(PostgresSinkTest, RandomChangesEndAsAMapSays) {
  std::mt19937 random(20240501);
  for (int64_t generation = 1; generation <= 3; ++generation) {
    const std::unique_ptr<Sink> sink = open(generation);
    std::map<std::pair<int64_t, std::string>, std::pair<int64_t, int64_t>> truth;  // version, clicks; 0: none
    for (int tick = 0; tick < 20; ++tick) {
      Changes changes(generation);
      for (int i = 0; i < 40; ++i) {
        const auto minute = static_cast<int64_t>(random() % 8);
        const std::string page(1, static_cast<char>('a' + random() % 4));
        auto& [version, clicks] = truth[{minute, page}];
        const bool retract = version > 0 && random() % 4 == 0;
        clicks = retract ? 0 : 1 + static_cast<int64_t>(random() % 100);
        changes.click(minute, page, clicks, retract ? RowOp::kRetract : RowOp::kUpdate, ++version);
      }
      write(*sink, changes);
      if (random() % 3 == 0) write(*sink, changes);  // a repetition
      commit(*sink);
    }
    ASSERT_TRUE(sink->close(true).has_value());
    std::string want;
    for (const auto& [key, value] : truth) {
      if (value.second == 0) continue;
      want += format("{}{}|{}|{}|{}|{}", want.empty() ? "" : " ", key.first, key.second, value.second,
                     value.first, generation);
    }
    EXPECT_EQ(
        query(format("SELECT (extract(epoch FROM window_start) - {})::int / 60, page, clicks, _version, "
                     "_generation FROM {} ORDER BY 1, 2",
                     kNoon / 1'000'000, table())),
        want);
  }
}

}  // namespace
}  // namespace wrackline::connectors
