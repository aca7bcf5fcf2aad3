#include "sql/pg_tree.h"

#include <gtest/gtest.h>
#include <pg_query/pg_query.pb-c.h>

#include <map>
#include <set>
#include <string>

#include "sql/deep_stack.h"
#include "sql/refusals.h"

namespace wrackline::sql {
namespace {

// Parses one statement and looks at its root.
void look_at(std::string_view sql, const std::function<void(PgNode)>& look) {
  const JobText text(sql, "job.sql");
  const auto statements = split_statements(text);
  ASSERT_TRUE(statements && statements->size() == 1);
  const auto tree = PgTree::parse(text, statements->at(0));
  ASSERT_TRUE(tree) << tree.error().to_string();
  look(tree->statement());
}

TEST(PgTree, ShowsWhatNobodyRead) {
  look_at("select a from t where b limit 5", [](PgNode node) {
    EXPECT_EQ(node.kind(), "SelectStmt");
    EXPECT_EQ(node.unread(), "target_list");
    EXPECT_EQ(node.list("target_list").size(), 1U);
    EXPECT_EQ(node.unread(), "from_clause");
    EXPECT_EQ(node.list("from_clause").size(), 1U);
    EXPECT_EQ(node.unread(), "where_clause");
    EXPECT_EQ(node.node("where_clause").kind(), "ColumnRef");
    EXPECT_EQ(node.unread(), "limit_count");
    EXPECT_TRUE(node.node("limit_count"));
    EXPECT_EQ(node.unread(), "limit_option") << "an enumerator other than the neutral one";
    EXPECT_EQ(node.choice("limit_option"), "LIMIT_OPTION_COUNT");
    EXPECT_EQ(node.unread(), "") << "op is SETOP_NONE";
  });
}

TEST(PgTree, SetFieldsOfEveryKindCount) {
  look_at("create table if not exists s.t () with (a = 1)", [](PgNode node) {
    PgNode relation = node.node("relation");
    EXPECT_EQ(relation.text("schemaname"), "s");
    EXPECT_EQ(relation.unread(), "relname");
    relation.text("relname");
    EXPECT_EQ(relation.unread(), "inh") << "a flag";
    relation.number("inh");
    EXPECT_EQ(relation.unread(), "relpersistence") << "a text";
    node.list("options");
    EXPECT_EQ(node.unread(), "if_not_exists");
  });
  look_at("select -5, 0, '', null, 1.5, true", [](PgNode node) {
    std::vector<PgNode> values = node.list("target_list");
    ASSERT_EQ(values.size(), 6U);
    const std::string_view fields[] = {"ival", "ival", "sval", "isnull", "fval", "boolval"};
    for (size_t i = 0; i < values.size(); ++i) {
      PgNode constant = values[i].node("val");
      EXPECT_EQ(constant.unread(), fields[i]) << "a zero and an empty text are there, too";
    }
    EXPECT_EQ(values[0].node("val").node("ival").number("ival"), -5)
        << "the JSON output of the library loses the sign";
  });
}

TEST(PgTree, AbsentNodesStayInLists) {
  look_at("select distinct a from t", [](PgNode node) {
    const std::vector<PgNode> distinct = node.list("distinct_clause");
    ASSERT_EQ(distinct.size(), 1U);
    EXPECT_FALSE(distinct[0]);
    EXPECT_EQ(distinct[0].kind(), "");
    EXPECT_FALSE(node.node("where_clause"));
  });
}

TEST(PgTree, FindsTheLeftmostPlace) {
  look_at("select a + b::int from t group by x having y > 1", [](PgNode node) {
    EXPECT_EQ(node.list("target_list")[0].leftmost(), 7);
    EXPECT_EQ(node.list("target_list")[0].node("val").node("rexpr").leftmost(), 11);
    EXPECT_EQ(node.leftmost("having_clause"), 43);
    EXPECT_EQ(node.leftmost("sort_clause"), 0);
  });
}

TEST(PgTreeDeathTest, AFieldThatIsNotThereIsABug) {
  look_at("select 1", [](PgNode node) { EXPECT_DEATH(node.list("targets"), "SelectStmt.targets"); });
}

// The fields of every message that a Node can hold, and of those in them, by the message's name.
void collect(const ProtobufCMessageDescriptor& message, std::map<std::string, std::set<std::string>>& into) {
  const std::string name = std::string(message.name).substr(std::string(message.package_name).size() + 1);
  if (!into.emplace(name, std::set<std::string>()).second) return;
  for (unsigned i = 0; i < message.n_fields; ++i) {
    const ProtobufCFieldDescriptor& field = message.fields[i];
    into[name].insert(field.name);
    if (field.type == PROTOBUF_C_TYPE_MESSAGE)
      collect(*static_cast<const ProtobufCMessageDescriptor*>(field.descriptor), into);
  }
}

TEST(PgTree, RefusalsNameWhatThereIs) {
  std::map<std::string, std::set<std::string>> fields;
  collect(pg_query__node__descriptor, fields);
  ASSERT_GT(fields.size(), 200U);
  for (const Refusal& refusal : all_refusals()) {
    const std::string where(refusal.where);
    const std::string message = where.substr(0, where.find('.'));
    ASSERT_TRUE(fields.contains(message)) << where;
    if (where.contains('.')) {
      EXPECT_TRUE(fields[message].contains(where.substr(where.find('.') + 1))) << where;
    }
    EXPECT_FALSE(refusal.message.empty() || refusal.hint.empty()) << where;
    EXPECT_EQ(find_refusal(refusal.where), &refusal) << where << " is there twice";
  }
}

TEST(DeepStack, RunsTheWork) {
  int ran = 0;
  ASSERT_TRUE(run_on_deep_stack([&] { ++ran; }));
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace wrackline::sql
