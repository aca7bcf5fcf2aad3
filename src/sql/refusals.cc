#include "sql/refusals.h"

#include <algorithm>
#include <iterator>

namespace wrackline::sql {
namespace {

constexpr std::string_view kOnlyNamesAndTypes =
    "A table of a job only names its columns and their types; a record that does not fit goes to the ledger "
    "with its "
    "reason.";
constexpr std::string_view kDropIt = "Leave it out: a job is read afresh at each start and owns no tables.";

constexpr Refusal kRefusals[] = {
    // SELECT
    {"SelectStmt.distinct_clause", "SELECT DISTINCT is not supported", "distinct",
     "GROUP BY gives each group once: put the columns there and leave DISTINCT out."},
    {"SelectStmt.into_clause", "SELECT INTO is not supported", "into",
     "Use INSERT INTO sink SELECT * FROM view."},
    {"SelectStmt.window_clause", "window functions are not supported", "window",
     "Windows of time stand in FROM: TUMBLE(clicks, at, INTERVAL '1 minute')."},
    {"SelectStmt.values_lists", "VALUES is not supported", "values",
     "Records come from a source, a table WITH a connector."},
    {"SelectStmt.sort_clause", "ORDER BY is not supported", "order",
     "Rows come out as windows close, corrections after them; sort what the sink received."},
    {"SelectStmt.limit_count", "LIMIT is not supported", "limit|fetch",
     "A stream has no first rows; limit what the sink received."},
    {"SelectStmt.limit_offset", "OFFSET is not supported", "offset",
     "A stream has no first rows; skip in what the sink received."},
    {"SelectStmt.limit_option", "FETCH FIRST is not supported", "fetch",
     "A stream has no first rows; limit what the sink received."},
    {"SelectStmt.locking_clause", "FOR UPDATE and its kin are not supported", "for",
     "A view locks nothing; leave it out."},
    {"SelectStmt.with_clause", "WITH queries are not supported", "with",
     "Write the query as one SELECT over TUMBLE(...)."},
    {"SelectStmt.op", "UNION, INTERSECT and EXCEPT are not supported", "union|intersect|except",
     "Write one view per query; several files of one source fit into one path, such as 'clicks/*.jsonl'."},
    {"SelectStmt.group_distinct", "GROUP BY DISTINCT is not supported", "distinct", "Leave DISTINCT out."},
    {"GroupingSet", "GROUPING SETS, ROLLUP and CUBE are not supported", "",
     "Write one view for each grouping."},
    // FROM
    {"RangeSubselect", "a subquery in FROM is not supported", "",
     "Write the view over one window: FROM TUMBLE(clicks, at, INTERVAL '1 minute')."},
    {"RangeTableSample", "TABLESAMPLE is not supported", "tablesample", "A view accounts for every record."},
    {"RangeTableFunc", "XMLTABLE is not supported", "", "Use FROM TUMBLE(clicks, at, INTERVAL '1 minute')."},
    {"RangeFunction.lateral", "LATERAL is not supported", "lateral", "Leave LATERAL out."},
    {"RangeFunction.ordinality", "WITH ORDINALITY is not supported", "ordinality",
     "Records have no number that every run agrees on."},
    {"RangeFunction.is_rowsfrom", "ROWS FROM is not supported", "rows",
     "Write FROM TUMBLE(clicks, at, INTERVAL '1 minute')."},
    {"RangeFunction.coldeflist", "a column definition list in FROM is not supported", "as",
     "The columns are those of the source."},
    // Functions and operators
    {"FuncCall.over", "window functions (OVER) are not supported", "over",
     "Windows of time stand in FROM: TUMBLE(clicks, at, INTERVAL '1 minute')."},
    {"FuncCall.func_variadic", "VARIADIC arguments are not supported", "variadic",
     "Write the arguments one by one."},
    {"NamedArgExpr", "named arguments are not supported", "", "Give the arguments by their place."},
    {"SubLink", "subqueries are not supported", "",
     "Compute from the columns of the one source that the view reads."},
    {"ParamRef", "parameters ($1) are not supported", "",
     "Write the value, or set an option with --set name.option=value."},
    {"A_ArrayExpr", "arrays are not supported", "array",
     "To test against several values write x IN (1, 2, 3)."},
    {"RowExpr", "row values are not supported", "", "Compare column by column: a = 1 AND b = 2."},
    {"A_Indirection", "subscripts and fields of values are not supported", "",
     "Fields of JSON are read with ->> 'name', parts of text with split_part or substring."},
    {"GroupingFunc", "GROUPING is not supported", "", "There are no grouping sets to tell apart."},
    {"CollateClause", "COLLATE is not supported", "collate",
     "Text is compared by its bytes in UTF-8, as with COLLATE \"C\"."},
    {"XmlExpr", "XML is not supported", "", "Keep it as text."},
    {"XmlSerialize", "XML is not supported", "", "Keep it as text."},
    {"SetToDefault", "DEFAULT is not supported here", "", "Write the value."},
    {"CurrentOfExpr", "CURRENT OF is not supported", "", "There are no cursors."},
    {"MultiAssignRef", "assignments are not supported", "", "Write an expression."},
    {"SQLValueFunction", "the clock and the user of the machine are not to be had in a query", "",
     "A result must not depend on when it is computed. Use a column: the event time, or the arrival time."},
    // Tables
    {"CreateStmt.inh_relations", "INHERITS is not supported", "inherits", "List the columns in each table."},
    {"CreateStmt.partbound", "PARTITION OF is not supported", "partition",
     "The option partition = 'column' names what splits a source."},
    {"CreateStmt.partspec", "PARTITION BY is not supported", "partition",
     "The option partition = 'column' names what splits a source."},
    {"CreateStmt.of_typename", "CREATE TABLE OF is not supported", "of", "List the columns."},
    {"CreateStmt.oncommit", "ON COMMIT is not supported", "commit", kDropIt},
    {"CreateStmt.tablespacename", "TABLESPACE is not supported", "tablespace", kDropIt},
    {"CreateStmt.access_method", "USING is not supported", "using", kDropIt},
    {"CreateStmt.if_not_exists", "IF NOT EXISTS is not supported", "if", kDropIt},
    {"CreateStmt.constraints", "table constraints are not supported", "", kOnlyNamesAndTypes},
    {"Constraint", "constraints (NOT NULL, DEFAULT, PRIMARY KEY and the like) are not supported", "",
     kOnlyNamesAndTypes},
    {"TableLikeClause", "LIKE in a table is not supported", "like", "List the columns in each table."},
    {"ColumnDef.coll_clause", "COLLATE is not supported", "collate",
     "Text is compared by its bytes in UTF-8, as with COLLATE \"C\"."},
    {"ColumnDef.compression", "COMPRESSION is not supported", "compression", kOnlyNamesAndTypes},
    {"ColumnDef.fdwoptions", "column options are not supported", "options", kOnlyNamesAndTypes},
    {"RangeVar.schemaname", "schemas are not supported", "", "Name the table alone."},
    {"RangeVar.catalogname", "databases are not supported", "", "Name the table alone."},
    {"RangeVar.relpersistence", "TEMPORARY and UNLOGGED are not supported", "temporary|temp|unlogged",
     "Leave it out: a job owns no tables."},
    {"RangeVar.inh", "ONLY is not supported", "only", "Leave it out: tables of a job have no children."},
    {"DefElem.defnamespace", "an option has no dots in its name", "",
     "Option names are single words: watermark_delay."},
    {"TypeName.setof", "SETOF is not supported", "setof", kOnlyNamesAndTypes},
    {"TypeName.pct_type", "%TYPE is not supported", "", "Write the type."},
    // Views
    {"CreateTableAsStmt.if_not_exists", "IF NOT EXISTS is not supported", "if", kDropIt},
    {"IntoClause.access_method", "USING is not supported", "using", kDropIt},
    {"IntoClause.table_space_name", "TABLESPACE is not supported", "tablespace", kDropIt},
    {"IntoClause.on_commit", "ON COMMIT is not supported", "commit", kDropIt},
    {"IntoClause.skip_data", "WITH NO DATA is not supported", "no",
     "A view is computed from its source; leave it out."},
    // INSERT
    {"InsertStmt.on_conflict_clause", "ON CONFLICT is not supported", "conflict",
     "The sink's option mode says what becomes of a row that is there: 'upsert', 'changelog' or 'append'."},
    {"InsertStmt.returning_list", "RETURNING is not supported", "returning", "Leave it out."},
    {"InsertStmt.with_clause", "WITH queries are not supported", "with",
     "Write INSERT INTO sink SELECT * FROM view."},
    {"InsertStmt.override", "OVERRIDING is not supported", "overriding", "Leave it out."},
    // Statements
    {"SelectStmt", "a SELECT alone is not supported", "",
     "Give it a name: CREATE MATERIALIZED VIEW name AS SELECT ...; without an INSERT it prints to standard "
     "output."},
    {"ViewStmt", "CREATE VIEW is not supported", "",
     "Write CREATE MATERIALIZED VIEW: its result is kept and corrected."},
    {"CreateForeignTableStmt", "CREATE FOREIGN TABLE is not supported", "",
     "A source is CREATE TABLE name (columns) WITH (connector = 'file', ...)."},
    {"VariableSetStmt", "SET is not supported", "",
     "Options stand in WITH (...) or come from --set name.option=value."},
    {"ExplainStmt", "EXPLAIN is not supported", "", "`wrackline check` explains the whole job."},
};

}  // namespace

std::span<const Refusal> all_refusals() {
  return kRefusals;
}

const Refusal* find_refusal(std::string_view where) {
  const auto* found = std::ranges::find(kRefusals, where, &Refusal::where);
  return found == std::end(kRefusals) ? nullptr : found;
}

}  // namespace wrackline::sql
