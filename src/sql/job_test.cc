#include "sql/job.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/time_text.h"
#include "data/value.h"
#include "expr/expr.h"

namespace wrackline::sql {
namespace {

constexpr std::string_view kClicks = R"(
CREATE TABLE clicks (id integer, page text, price numeric(10,2), ok boolean, score double precision, data jsonb,
                     at timestamptz, received timestamptz, day date)
  WITH (connector = 'file', path = 'a.jsonl', event_time = 'at', watermark_delay = '30 s');
)";

Job parsed(const std::string& sql, const JobOptions& options = {}) {
  Result<Job> job = parse_job(sql, "job.sql", options);
  EXPECT_TRUE(job) << (job ? "" : job.error().to_string()) << "\n" << sql;
  return job ? std::move(*job) : Job{};
}

std::string error_of(const std::string& sql) {
  const Result<Job> job = parse_job(sql, "job.sql");
  return job ? "(none)" : job.error().message;
}

Job view_of(std::string_view select, std::string_view group_by) {
  return parsed("CREATE MATERIALIZED VIEW v AS SELECT " + std::string(select) +
                " FROM TUMBLE(clicks, at, '1 min') GROUP BY " + std::string(group_by) + ";" +
                std::string(kClicks));
}

std::vector<std::string> needed(const SourceSpec& source) {
  std::vector<std::string> names;
  for (const Field& field : source.fields) {
    if (field.needed) names.push_back(field.name);
  }
  return names;
}

TEST(Job, SourceIsWhatItSays) {
  const Job job = parsed(R"(
    CREATE TABLE t (a smallint, b integer, c bigint, d numeric(10,2), e numeric, f real, g double precision, h boolean, i text,
                    j varchar(5), k varchar, l timestamptz, m timestamp, n date, o interval, p jsonb, q json, "R" int, s numeric(4))
    WITH (connector = 'file', path = 'x/*.csv, y.csv', format = 'csv', delimiter = '\t', header = 'off', null = 'NA',
          event_time = 'c', time_unit = 'us', time_missing = '-1', arrival_time = 'm', time_zone = 'Europe/Vienna', partition = 'i',
          files = 'sequence', order_by = 'arrival_time', watermark_delay = '1 min', max_future_skew = '1 s', max_future_accept = '2 s',
          idle_timeout = '3 s', max_record_bytes = '1 KiB');
    CREATE MATERIALIZED VIEW v AS SELECT window_start, window_end, sum(d) AS s FROM TUMBLE(t, c, '1 min')
    WHERE h GROUP BY 1, 2;)");
  ASSERT_EQ(job.sources.size(), 1U);
  const SourceSpec& source = job.sources[0];
  EXPECT_EQ(source.name, "t");
  std::string types;
  for (const Field& field : source.fields) types += field.name + " " + to_string(field.type) + "; ";
  EXPECT_EQ(types,
            "a smallint; b integer; c bigint; d numeric(10,2); e numeric; f real; g double precision; h "
            "boolean; i text; "
            "j character varying(5); k text; l timestamp with time zone; m timestamp without time zone; n "
            "date; o interval; "
            "p jsonb; q jsonb; R integer; s numeric(4,0); ");
  EXPECT_EQ(needed(source), std::vector<std::string>({"c", "d", "h", "i", "m"}));
  EXPECT_EQ(source.connector, SourceConnector::kFile);
  EXPECT_EQ(source.paths, std::vector<std::string>({"x/*.csv", "y.csv"}));
  EXPECT_EQ(source.format, "csv");
  EXPECT_EQ(source.delimiter, '\t');
  EXPECT_FALSE(source.header);
  EXPECT_EQ(source.null_text, "NA");
  EXPECT_EQ(source.files, FilesMode::kSequence);
  EXPECT_EQ(source.order, InputOrder::kArrivalTime);
  EXPECT_FALSE(source.follow);
  EXPECT_EQ(source.record_bytes_max, 1024U);
  EXPECT_EQ(source.time_zone->name(), "Europe/Vienna");
  EXPECT_EQ(source.event_time.column, 2U);
  EXPECT_EQ(source.event_time.unit, TimeUnit::kMicros);
  EXPECT_EQ(source.event_time.missing, -1);
  EXPECT_EQ(source.event_time.zone, nullptr);
  ASSERT_TRUE(source.arrival_time);
  EXPECT_EQ(source.arrival_time->column, 12U);
  EXPECT_EQ(source.arrival_time->unit, std::nullopt);
  EXPECT_EQ(source.arrival_time->missing, std::nullopt);
  EXPECT_EQ(source.arrival_time->zone, source.time_zone);
  EXPECT_EQ(source.partition, 8U);
  EXPECT_EQ(source.watermark_delay, seconds(60));
  EXPECT_EQ(source.max_future_skew, seconds(1));
  EXPECT_EQ(source.max_future_accept, seconds(2));
  EXPECT_EQ(source.idle_timeout, seconds(3));
}

TEST(Job, DefaultsAreThoseOfTheReference) {
  const Job job = view_of("window_start, window_end, count(*) AS n", "1, 2");
  const SourceSpec& source = job.sources[0];
  EXPECT_EQ(source.format, "");
  EXPECT_EQ(source.delimiter, ',');
  EXPECT_TRUE(source.header);
  EXPECT_EQ(source.files, FilesMode::kParallel);
  EXPECT_EQ(source.order, InputOrder::kAsRead);
  EXPECT_EQ(source.record_bytes_max, size_t{16} << 20);
  EXPECT_EQ(source.time_zone, nullptr);
  EXPECT_EQ(source.arrival_time, std::nullopt);
  EXPECT_EQ(source.partition, std::nullopt);
  EXPECT_EQ(source.max_future_skew, seconds(300));
  EXPECT_EQ(source.max_future_accept, seconds(86400));
  EXPECT_EQ(source.idle_timeout, seconds(60));
  const ViewSpec& view = job.views[0];
  EXPECT_EQ(view.late, LatePolicy::kCorrect);
  EXPECT_EQ(view.allowed_lateness, Duration());
  EXPECT_EQ(view.ledger_horizon, std::nullopt);
  EXPECT_TRUE(view.drop.empty());
  EXPECT_FALSE(view.emit_empty);
}

TEST(Job, ViewIsWhatItSays) {
  const Job job = parsed(std::string(kClicks) + R"(
    CREATE MATERIALIZED VIEW v WITH (late = 'correct', allowed_lateness = '2 h', ledger_horizon = '1 day', drop = 'future, unparseable') AS
    SELECT page, window_end AS until, count(*) AS n, sum(price) FILTER (WHERE ok) / count(*) AS share, upper(page) || '!' AS p
    FROM TUMBLE(clicks, at, INTERVAL '1 hour', INTERVAL '15 minutes') AS w
    WHERE w.score > 0.5
    GROUP BY window_start, window_end, page, upper(page);)");
  const ViewSpec& view = job.views[0];
  EXPECT_EQ(view.name, "v");
  EXPECT_EQ(view.windows.size.micros, 3'600'000'000);
  EXPECT_EQ(view.windows.offset, seconds(900));
  ASSERT_TRUE(view.where);
  EXPECT_EQ(view.where->type, Type::boolean());
  ASSERT_EQ(view.keys.size(), 2U);
  EXPECT_EQ(view.keys[0]->column, 1U);
  EXPECT_EQ(view.key_names, std::vector<std::string>({"page", "upper(page)"}));
  ASSERT_EQ(view.aggregates.size(), 2U) << "count(*) is computed once";
  EXPECT_EQ(view.aggregates[0].name, "count");
  EXPECT_FALSE(view.aggregates[0].argument);
  EXPECT_EQ(view.aggregates[1].name, "sum");
  EXPECT_EQ(view.aggregates[1].argument->column, 2U);
  EXPECT_EQ(view.aggregates[1].filter->column, 3U);
  ASSERT_EQ(view.columns.size(), 5U);
  EXPECT_EQ(view.columns[0].name, "page");
  EXPECT_TRUE(view.columns[0].identity);
  EXPECT_EQ(view.columns[0].expression->column, 2U);
  EXPECT_EQ(view.columns[1].name, "until");
  EXPECT_TRUE(view.columns[1].identity);
  EXPECT_EQ(view.columns[1].expression->column, 1U);
  EXPECT_EQ(view.columns[1].expression->type, Type::timestamptz());
  EXPECT_EQ(view.columns[2].expression->column, 4U) << "behind two window columns and two keys";
  EXPECT_FALSE(view.columns[2].identity);
  EXPECT_EQ(view.columns[3].expression->type.kind, TypeKind::kNumeric);
  EXPECT_FALSE(view.columns[4].identity);
  EXPECT_EQ(view.columns[4].expression->args[0]->column, 3U) << "the key upper(page), inside an expression";
  EXPECT_EQ(view.allowed_lateness, seconds(7200));
  EXPECT_EQ(view.ledger_horizon, seconds(86400));
  EXPECT_EQ(view.drop, (std::map<Reason, bool>{{Reason::kFuture, true}, {Reason::kUnparseable, true}}));
  EXPECT_EQ(needed(job.sources[0]), std::vector<std::string>({"page", "price", "ok", "score", "at"}));
}

TEST(Job, DroppingPolicyDropsLateRecordsOnly) {
  const Job job = parsed(
      "CREATE MATERIALIZED VIEW v WITH (late = drop) AS SELECT window_start, count(*) AS n FROM "
      "TUMBLE(clicks, at, '1 min') "
      "GROUP BY window_start, window_end;" +
      std::string(kClicks));
  EXPECT_EQ(job.views[0].late, LatePolicy::kDrop);
  EXPECT_EQ(job.views[0].drop,
            (std::map<Reason, bool>{{Reason::kLate, true}, {Reason::kLateAfterIdle, true}}));
}

TEST(Job, GroupsAsPostgresqlDoes) {
  struct Case {
    std::string_view select;
    std::string_view group_by;
    std::vector<std::string> key_names;
  };
  const Case cases[] = {
      {"window_start, window_end, page, count(*) AS n", "1, 2, 3", {"page"}},
      {"window_start AS s, window_end AS e, lower(page) AS l", "s, e, l", {"l"}},
      {"window_start, window_end, lower(page)", "1, 2, lower", {"lower"}},
      {"window_start, window_end, lower(page) AS page", "1, 2, page, lower(page)", {"page", "lower(page)"}},
      {"window_start, window_end, id + 1", "1, 2, id+1", {"?column?"}},
      {"window_start, id % 10 + 1 AS b", "window_start, window_end, id % 10", {"id % 10"}},
      {"window_start", "window_start, window_end, page, page, clicks.page", {"page"}},
      {"window_start, date_trunc('hour', window_start) AS h", "window_start, window_end", {}},
      {"clicks.window_start, CASE WHEN ok THEN 'y' ELSE 'n' END",
       "1, window_end, case when ok then 'y' else 'n' end",
       {"case"}},
  };
  for (const Case& c : cases) {
    const Job job = view_of(c.select, c.group_by);
    ASSERT_EQ(job.views.size(), 1U) << c.select;
    EXPECT_EQ(job.views[0].key_names, c.key_names) << c.select << " GROUP BY " << c.group_by;
  }
}

TEST(Job, NamesColumnsAsPostgresqlDoes) {
  const Job job = view_of(
      "window_start, page, count(*), id::text, coalesce(page, 'x'), nullif(page, 'y'), 1 + id, max(id), "
      "max(price)::bigint AS m, true, "
      "'x'::text, CASE WHEN ok THEN 1 END",
      "window_start, window_end, page, id, ok");
  std::string names;
  for (const ViewColumn& column : job.views[0].columns) names += column.name + " ";
  EXPECT_EQ(names, "window_start page count id coalesce nullif ?column? max m bool text case ");
  const Job renamed = parsed(
      "CREATE MATERIALIZED VIEW v (a, b) AS SELECT window_start, window_end, count(*) AS n FROM "
      "TUMBLE(clicks, at, '1 min') GROUP BY 1, 2;" +
      std::string(kClicks));
  EXPECT_EQ(renamed.views[0].columns[0].name, "a");
  EXPECT_EQ(renamed.views[0].columns[2].name, "n");
}

TEST(Job, WindowSizesAreReadInEveryForm) {
  struct Case {
    std::string_view size;
    int64_t micros;
  };
  const Case cases[] = {
      {"INTERVAL '1 minute'", 60'000'000},       {"'90 s'", 90'000'000},
      {"'1 h 30 min'::interval", 5'400'000'000}, {"CAST('1 day' AS interval)", 86'400'000'000},
      {"INTERVAL '4' SECOND", 4'000'000},        {"INTERVAL '1.5' SECOND", 1'500'000},
      {"INTERVAL '2' MINUTE", 120'000'000},      {"INTERVAL '3' HOUR", 10'800'000'000},
      {"INTERVAL '2' DAY", 172'800'000'000},     {"INTERVAL '250 ms'", 250'000},
      {"-INTERVAL '-5 s'", 5'000'000},           {"INTERVAL '00:00:10'", 10'000'000},
  };
  for (const Case& c : cases) {
    const Job job =
        parsed("CREATE MATERIALIZED VIEW v AS SELECT window_start, count(*) AS n FROM TUMBLE(clicks, at, " +
               std::string(c.size) + ") GROUP BY window_start, window_end;" + std::string(kClicks));
    ASSERT_EQ(job.views.size(), 1U);
    EXPECT_EQ(job.views[0].windows.size.micros, c.micros) << c.size;
  }
  for (const std::string_view refused : {"INTERVAL '1.5' MINUTE", "INTERVAL '1 2' DAY TO HOUR",
                                         "INTERVAL '4' SECOND(3)", "INTERVAL(3) '4 s'"}) {
    EXPECT_EQ(error_of("CREATE MATERIALIZED VIEW v AS SELECT window_start FROM TUMBLE(clicks, at, " +
                       std::string(refused) + ") GROUP BY window_start, window_end;" + std::string(kClicks)),
              "this form of interval is not supported")
        << refused;
  }
}

TEST(Job, SinksAndInserts) {
  const Job job = parsed(std::string(kClicks) + R"(
    INSERT INTO a SELECT * FROM v; -- before its view and its sink: a job is read as a whole
    CREATE MATERIALIZED VIEW v AS SELECT window_start, window_end, page, count(*) AS n, max(id) AS m, min(page) AS p
      FROM TUMBLE(clicks, at, '1 min') GROUP BY 1, 2, 3;
    CREATE TABLE a (window_start timestamptz, window_end timestamptz, page text, n bigint, m bigint, p text)
      WITH (connector = 'sqlite', path = 'x.db');
    CREATE TABLE b () WITH (connector = file, path = 'b.csv', mode = append);
    CREATE TABLE c () WITH (connector = 'stdout', format = 'csv', mode = 'changelog');
    INSERT INTO b (window_start, window_end, page, n, m, p) SELECT v.* FROM v;
    INSERT INTO c SELECT window_start, window_end, page, n, m, v.p FROM v;)");
  ASSERT_EQ(job.sinks.size(), 3U);
  EXPECT_EQ(job.sinks[0].connector, SinkConnector::kSqlite);
  EXPECT_EQ(job.sinks[0].path, "x.db");
  EXPECT_EQ(job.sinks[0].table, "a");
  EXPECT_EQ(job.sinks[0].mode, "upsert");
  EXPECT_EQ(job.sinks[0].fields.size(), 6U);
  EXPECT_EQ(job.sinks[1].connector, SinkConnector::kFile);
  EXPECT_EQ(job.sinks[1].mode, "append");
  EXPECT_EQ(job.sinks[1].format, "");
  EXPECT_EQ(job.sinks[2].connector, SinkConnector::kStdout);
  EXPECT_EQ(job.sinks[2].format, "csv");
  ASSERT_EQ(job.inserts.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(job.inserts[i].sink, i);
    EXPECT_EQ(job.inserts[i].view, 0U);
  }
}

TEST(Job, AFileIsASinkWhenItIsInsertedInto) {
  const std::string view =
      "CREATE MATERIALIZED VIEW v AS SELECT window_start, count(*) AS n FROM TUMBLE(clicks, at, '1 min') "
      "GROUP BY window_start, window_end;";
  const Job job =
      parsed(std::string(kClicks) + view +
             "CREATE TABLE f () WITH (connector = 'file', path = 'f.csv'); INSERT INTO f SELECT * FROM v;");
  EXPECT_EQ(job.sinks.size(), 1U);
  EXPECT_EQ(job.sources.size(), 1U);
}

TEST(Job, OverridesReplaceWhatTheJobSays) {
  JobOptions options;
  options.set = {{"clicks.path", "b.jsonl"},
                 {"clicks.partition", "page"},
                 {"v.allowed_lateness", "5 min"},
                 {"clicks.path", "c.csv"}};
  options.follow = true;
  const std::string sql =
      "CREATE MATERIALIZED VIEW v WITH (allowed_lateness = '1 h') AS SELECT window_start, count(*) AS n FROM "
      "TUMBLE(clicks, at, '1 min') "
      "GROUP BY window_start, window_end;" +
      std::string(kClicks);
  const Job job = parsed(sql, options);
  EXPECT_EQ(job.sources[0].paths, std::vector<std::string>({"c.csv"})) << "the last one holds";
  EXPECT_EQ(job.sources[0].partition, 1U);
  EXPECT_TRUE(job.sources[0].follow);
  EXPECT_EQ(job.views[0].allowed_lateness, seconds(300));
  EXPECT_EQ(job.path, "job.sql");
  EXPECT_EQ(job.text, sql);
}

TEST(Job, TextOfAnotherEditor) {
  const std::string sql =
      "CREATE MATERIALIZED VIEW v AS\r\nSELECT window_start, count(*) AS n FROM TUMBLE(clicks, at, '1 "
      "min')\r\n"
      "GROUP BY window_start, window_end;" +
      std::string(kClicks);
  EXPECT_EQ(parsed("\xEF\xBB\xBF" + sql).views.size(), 1U) << "a byte order mark is no part of the text";
  const auto job = parse_job(
      "\xEF\xBB\xBF"
      "CREATE\r\nTABEL",
      "job.sql");
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().to_string(), "job.sql:2:1: syntax error at or near \"TABEL\"\n  2 | TABEL\n    | ^");
}

TEST(Job, FoldsNamesUnlessTheyAreQuoted) {
  const Job job = parsed(
      "CREATE TABLE T (\"userId\" bigint, AT timestamptz) WITH (connector = file, path = 'x.csv', event_time "
      "= at, watermark_delay = '1 s');"
      "CREATE MATERIALIZED VIEW V AS SELECT Window_Start, sum(\"userId\") AS \"Sum\" FROM Tumble(t, At, '1 "
      "min') GROUP BY WINDOW_START, window_end;");
  EXPECT_EQ(job.sources[0].name, "t");
  EXPECT_EQ(job.sources[0].fields[0].name, "userId");
  EXPECT_EQ(job.views[0].columns[1].name, "Sum");
}

// ---- expressions, by what they compute: each is a grouping key over one record

std::string computed(std::string_view expression) {
  const Result<Job> job = parse_job(
      "CREATE MATERIALIZED VIEW v AS SELECT window_start, window_end FROM TUMBLE(clicks, at, '1 min') GROUP "
      "BY 1, 2, (" +
          std::string(expression) + ");" + std::string(kClicks),
      "job.sql");
  if (!job) return "error: " + job.error().message;
  const std::vector<Field>& fields = job->sources[0].fields;
  Batch batch;
  batch.reset(fields);
  const ValueData values[] = {int64_t{7},
                              std::string("/home"),
                              Decimal{1250, 2},
                              true,
                              2.5,
                              std::string(R"({"a":{"b":[1,"x"]}})"),
                              int64_t{1'714'564'800'000'000},
                              std::monostate{},
                              int64_t{19'844}};
  for (size_t i = 0; i < fields.size(); ++i) {
    batch.columns[i].resize(1);
    set_value(batch.columns[i], 0, {fields[i].type, values[i]}, batch.arena);
  }
  if (job->views[0].keys.size() != 1) return "no key";
  expr::Evaluator evaluator(*job->views[0].keys[0]);
  expr::RowErrors errors;
  const Column& result = evaluator.evaluate(batch.columns, 1, errors);
  if (!errors.empty()) return "row error: " + errors[0].message;
  if (result.is_null(0)) return "null";
  std::string text;
  append_text(text, result, 0);
  return text;
}

TEST(Job, ComputesAsPostgresqlDoes) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"1 + 2 * 3", "7"},
      {"-id", "-7"},
      {"-5 - -3", "-2"},
      {"id % 4", "3"},
      {"id / 2", "3"},
      {"id / 2.0", "3.5000000000000000"},
      {"2147483647::bigint + 1", "2147483648"},
      {"2147483648 + id", "2147483655"},
      {"99999999999999999999 + id", "100000000000000000006"},
      {"1e3 + id", "1007"},
      {"price * 2", "25.00"},
      {"price > 12.4 AND ok", "t"},
      {"price > 20 OR score < 3", "t"},
      {"NOT ok", "f"},
      {"id BETWEEN 5 AND 7", "t"},
      {"id NOT BETWEEN 5 AND 7", "f"},
      {"id BETWEEN 9 AND 5", "f"},
      {"id BETWEEN SYMMETRIC 9 AND 5", "t"},
      {"id NOT BETWEEN SYMMETRIC 9 AND 5", "f"},
      {"id IN (1, 7)", "t"},
      {"id NOT IN (1, 7)", "f"},
      {"page IN ('/home', '/x')", "t"},
      {"page LIKE '/h%'", "t"},
      {"page NOT LIKE '/h%'", "f"},
      {"page ILIKE '/H%'", "t"},
      {"page NOT ILIKE '/H%'", "f"},
      {"'10%' LIKE '10!%' ESCAPE '!'", "t"},
      {"page || '!' || id", "/home!7"},
      {"page = '/home'", "t"},
      {"page <> '/home'", "f"},
      {"page != '/home'", "f"},
      {"page IS NULL", "f"},
      {"received IS NULL", "t"},
      {"received IS NOT NULL", "f"},
      {"received = at", "null"},
      {"received IS DISTINCT FROM at", "t"},
      {"received IS NOT DISTINCT FROM NULL", "t"},
      {"ok IS TRUE", "t"},
      {"ok IS NOT TRUE", "f"},
      {"ok IS FALSE", "f"},
      {"(received = at) IS UNKNOWN", "t"},
      {"(received = at) IS NOT UNKNOWN", "f"},
      {"(received = at) IS NOT FALSE", "t"},
      {"CASE WHEN id > 5 THEN 'big' ELSE 'small' END", "big"},
      {"CASE id WHEN 1 THEN 'one' WHEN 7 THEN 'seven' END", "seven"},
      {"CASE page WHEN 'x' THEN 1 END", "null"},
      {"COALESCE(received, at) = at", "t"},
      {"NULLIF(id, 7)", "null"},
      {"GREATEST(id, 3, 9)", "9"},
      {"LEAST(id, 3, 9)", "3"},
      {"'12'::int + id", "19"},
      {"CAST(score AS integer)", "2"},
      {"CAST('12.345' AS numeric(6,2))", "12.35"},
      {"id::text || 'x'", "7x"},
      {"data ->> 'a'", R"({"b": [1, "x"]})"},
      {"data -> 'a' -> 'b' ->> 1", "x"},
      {"lower('ABC')", "abc"},
      {"substring(page FROM 2 FOR 3)", "hom"},
      {"trim(BOTH '/' FROM page)", "home"},
      {"position('o' IN page)", "3"},
      {"split_part(page, '/', 2)", "home"},
      {"extract(hour FROM at)", "12"},
      {"date_trunc('day', at)", "2024-05-01T00:00:00Z"},
      {"at AT TIME ZONE 'Europe/Vienna'", "2024-05-01T14:00:00"},
      {"at + INTERVAL '90' SECOND", "2024-05-01T12:01:30Z"},
      {"at - INTERVAL '1 day' > TIMESTAMPTZ '2024-04-30T11:00:00Z'", "t"},
      {"DATE '2024-05-01' = day", "t"},
      {"1 / (id - 7)", "row error: division by zero"},
      {"page::integer", "row error: invalid input syntax for type integer: \"/home\""},
      {"page + 1", "error: operator does not exist: text + integer"},
      {"nope(1)", "error: function nope(integer) does not exist"},
      {"pg_catalog.lower('A')", "a"},
      {"other.lower('A')", "error: schemas are not supported"},
      {"id OPERATOR(pg_catalog.+) 1", "error: OPERATOR() is not supported"},
      {"b'01'", "error: bit strings are not supported"},
  };
  for (const auto& [expression, expected] : cases) EXPECT_EQ(computed(expression), expected) << expression;
}

}  // namespace
}  // namespace wrackline::sql
