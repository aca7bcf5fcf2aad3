// What a job file says, as a tree of our own: only the syntax that a job may use, every part with its place.
//
// PostgreSQL's tree ends here: everything it can hold and this tree cannot is refused on the way, with its
// place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "sql/guard.h"
#include "sql/job_text.h"

namespace wrackline::sql {

// A name as PostgreSQL reads it: folded to lower case unless it was quoted.
struct Name {
  std::string text;
  size_t position = 0;  // byte of the job text, as everywhere here
};

// A type as written: "numeric" with modifiers 10 and 2. pg_catalog is left out.
struct TypeSyntax {
  std::string name;
  std::vector<int64_t> modifiers;
  bool array = false;
  size_t position = 0;
};

enum class SyntaxKind : uint8_t {
  kColumn,   // names: [qualifier,] column
  kStar,     // `*`; names: [qualifier]
  kNumber,   // text: digits with sign, point and exponent as written
  kString,   // text
  kBoolean,  // flag
  kNull,
  kOperator,  // text: "+"; one or two args
  kCall,      // text: "sum"; args; star: count(*); filter; distinct; sort
  kCast,      // args[0] to type
  kAnd,
  kOr,
  kNot,
  kIsNull,
  kIsNotNull,
  kIsDistinct,
  kIsNotDistinct,
  kIsTrue,
  kIsFalse,
  kIsUnknown,  // args[0]; negated
  kLike,
  kILike,    // args[0] like args[1]; negated
  kIn,       // args[0] in args[1..]; negated
  kBetween,  // args[0] between args[1] and args[2]; negated; flag: SYMMETRIC
  kCase,     // [operand,] when, then, ..., [else]; flag: has an operand; has_else
  kCoalesce,
  kNullIf,
};

// How an expression of ORDER BY sorts; nulls_first as written, or what PostgreSQL takes then.
struct SortDirection {
  bool descending = false;
  bool nulls_first = false;
};

struct Syntax {
  SyntaxKind kind = SyntaxKind::kNull;
  size_t position = 0;
  std::string text;
  std::vector<std::string> names;
  TypeSyntax type;
  std::vector<std::unique_ptr<Syntax>> args;
  std::unique_ptr<Syntax> filter;
  std::vector<std::unique_ptr<Syntax>> sort;  // ORDER BY in a call
  std::vector<SortDirection> sort_directions;
  bool distinct = false;
  bool flag = false;
  bool negated = false;
  bool star = false;
  bool has_else = false;
};
using SyntaxPtr = std::unique_ptr<Syntax>;

// name = 'value' in WITH (...). A bare name is an option with the value "true".
struct OptionSyntax {
  Name name;
  std::string value;
  size_t value_position = 0;
};

struct ColumnSyntax {
  Name name;
  TypeSyntax type;
};

struct CreateTable {
  Name name;
  std::vector<ColumnSyntax> columns;
  std::vector<OptionSyntax> options;
};

struct SelectItem {
  SyntaxPtr expression;
  Name alias;        // empty text: none
  std::string text;  // as written, blanks made one
};

// The one function in FROM: TUMBLE(clicks, at, INTERVAL '1 minute').
struct WindowCall {
  Name function;
  std::vector<SyntaxPtr> args;
  Name alias;  // empty text: none
};

struct CreateView {
  Name name;
  std::vector<std::string> column_names;  // CREATE MATERIALIZED VIEW v (a, b): may be fewer than the columns
  std::vector<OptionSyntax> options;
  std::vector<SelectItem> items;
  WindowCall from;
  SyntaxPtr where;  // or null
  std::string where_text;
  std::vector<SyntaxPtr> group_by;
  std::vector<std::string> group_by_texts;
  SyntaxPtr having;  // or null
  std::string having_text;
  size_t group_position = 0;  // of GROUP BY, or of FROM if there is none
};

// INSERT INTO sink [(columns)] SELECT * | columns FROM view
struct Insert {
  Name sink;
  std::vector<Name> columns;
  Name view;
  bool star = false;
  std::vector<Name> selected;  // if not star
  size_t select_position = 0;
};

struct JobStatement {
  size_t begin = 0;
  size_t end = 0;
  std::variant<CreateTable, CreateView, Insert> body;
};

// Reads the whole job text.
// Errors: those of the guards and of PostgreSQL's grammar; kUnsupported for syntax that a job cannot use,
// with a hint. Threads: call with a stack of kParserStackBytes (run_on_deep_stack).
Result<std::vector<JobStatement>> parse_statements(const JobText& text);

}  // namespace wrackline::sql
