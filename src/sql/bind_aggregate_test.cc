// What the binder makes of calls of aggregates and of HAVING. What it refuses is in testdata/refusals.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sql/job_script_test.h"

namespace wrackline::sql {
namespace {

ViewSpec view_of(const std::string& items, const std::string& having = "count(*) > 0") {
  const std::string sql =
      std::string(kSource) + "CREATE MATERIALIZED VIEW v AS SELECT window_start, page, " + items +
      " FROM TUMBLE(clicks, at, INTERVAL '1 minute') GROUP BY window_start, window_end, page" +
      (having.empty() ? "" : " HAVING " + having) + ";";
  Result<Job> job = parse_job(sql, "job.sql");
  EXPECT_TRUE(job) << (job ? "" : job.error().to_string());
  return job ? std::move(job->views[0]) : ViewSpec{};
}

TEST(BindAggregate, CallsThatSayTheSameAreOne) {
  const ViewSpec view = view_of(
      "count(user_id) AS a, count(DISTINCT user_id) AS b, count(DISTINCT user_id) AS c, "
      "approx_percentile(price, 0.5) AS d, approx_percentile(price, 0.9) AS e, approx_percentile(price, 0.5) "
      "AS f, "
      "array_agg(user_id ORDER BY price) AS g, array_agg(user_id ORDER BY price DESC) AS h, "
      "array_agg(user_id ORDER BY price ASC NULLS LAST) AS i, max(price ORDER BY at) AS j, max(price) AS k",
      "");
  EXPECT_EQ(view.aggregates.size(), 7U);
  const auto column = [&](size_t item) { return view.columns[2 + item].expression->column; };
  EXPECT_EQ(column(1), column(2));
  EXPECT_NE(column(0), column(1));
  EXPECT_EQ(column(3), column(5));
  EXPECT_NE(column(3), column(4));
  EXPECT_NE(column(6), column(7));
  EXPECT_EQ(column(6), column(8)) << "nulls come last unless DESC says otherwise";
  EXPECT_EQ(column(9), column(10)) << "an order cannot change a maximum";
}

TEST(BindAggregate, OrderReachesTheAggregateThatNeedsIt) {
  const ViewSpec view =
      view_of("array_agg(user_id ORDER BY price DESC, lower(page)) AS a, max(user_id ORDER BY ok) AS b");
  const AggregateCall& list = view.aggregates[0];
  ASSERT_EQ(list.sort_keys.size(), 2U);
  EXPECT_EQ(list.aggregate->sort_key_count(), 2U);
  EXPECT_TRUE(list.aggregate->needs_row_order());
  EXPECT_TRUE(list.sort_order[0].descending);
  EXPECT_TRUE(list.sort_order[0].nulls_first);
  EXPECT_FALSE(list.sort_order[1].nulls_first);
  EXPECT_TRUE(view.aggregates[1].sort_keys.empty());
  EXPECT_FALSE(view.aggregates[1].aggregate->needs_row_order());
}

TEST(BindAggregate, SortKeysAreRead) {
  const std::string sql =
      std::string(kSource) +
      "CREATE MATERIALIZED VIEW v AS SELECT window_start, array_agg(user_id ORDER BY price) AS a "
      "FROM TUMBLE(clicks, at, INTERVAL '1 minute') GROUP BY window_start, window_end;";
  const Result<Job> job = parse_job(sql, "job.sql");
  ASSERT_TRUE(job);
  const auto& fields = job->sources[0].fields;
  EXPECT_TRUE(std::ranges::find(fields, "price", &Field::name)->needed);
  EXPECT_FALSE(std::ranges::find(fields, "page", &Field::name)->needed);
}

// Over [window_start, window_end, page, aggregates], those of HAVING alone behind those of the SELECT list.
TEST(BindAggregate, HavingReadsTheRowOfTheView) {
  const ViewSpec view = view_of("count(*) AS n", "page <> '/' AND count(*) > 1 AND max(price) > 2");
  ASSERT_TRUE(view.having);
  EXPECT_EQ(view.having->type, Type::boolean());
  ASSERT_EQ(view.aggregates.size(), 2U);
  EXPECT_EQ(view.aggregates[1].name, "max");
  ASSERT_EQ(view.having->args.size(), 3U);
  EXPECT_EQ(view.having->args[0]->args[0]->column, 2U);
  EXPECT_EQ(view.having->args[1]->args[0]->column, 3U);
  EXPECT_EQ(view.having->args[2]->args[0]->column, 4U);
  EXPECT_FALSE(view_of("count(*) AS n", "").having);
}

TEST(BindAggregate, ConstantsMayBeComputed) {
  const ViewSpec view =
      view_of("approx_percentile(price, 1 - 0.05) AS a, string_agg(page, upper('x') || NULL) AS b");
  EXPECT_EQ(view.aggregates.size(), 3U);
}

}  // namespace
}  // namespace wrackline::sql
