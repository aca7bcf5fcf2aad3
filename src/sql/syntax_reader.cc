#include "sql/syntax_reader.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sql/refusals.h"

namespace wrackline::sql {
namespace {

SyntaxPtr make(SyntaxKind kind, size_t position) {
  auto made = std::make_unique<Syntax>();
  made->kind = kind;
  made->position = position;
  return made;
}

}  // namespace

size_t SyntaxReader::position(int64_t location) const {
  return statement_.begin + static_cast<size_t>(std::max<int64_t>(location, 0));
}

std::unexpected<Error> SyntaxReader::unsupported(size_t position, std::string message,
                                                 std::string hint) const {
  return fail(text_.error(position, ErrorCode::kUnsupported, std::move(message), std::move(hint)));
}

std::optional<size_t> SyntaxReader::find_keyword(std::string_view words, size_t from) const {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find('|'));
    if (const auto place = find_word(text_, statement_, word, from)) return place;
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
  return std::nullopt;
}

Status SyntaxReader::finish(const PgNode& node) const {
  const std::string_view field = node.unread();
  if (field.empty()) return {};
  const int64_t inside = node.leftmost(field);
  const size_t at = inside > 0 ? position(inside) : position(node);
  const Refusal* known = find_refusal(format("{}.{}", node.kind(), field));
  if (known == nullptr) {
    return unsupported(at, format("this form of {} is not supported ({})", node.kind(), field),
                       "docs/job-files.md says what a job may hold.");
  }
  const size_t from = node.kind() == "FuncCall" ? position(node) : 0;
  const auto place = find_keyword(known->word, from).value_or(at);
  return unsupported(place, std::string(known->message), std::string(known->hint));
}

std::unexpected<Error> SyntaxReader::refuse(const PgNode& node, std::string_view what) const {
  const Refusal* known = find_refusal(node.kind());
  if (known == nullptr) return unsupported(position(node), std::string(what), {});
  const size_t at = position(node);
  const std::optional<size_t> before = find_keyword(known->word, 0);
  const size_t place = find_keyword(known->word, at).value_or(before.value_or(at));
  return unsupported(place, std::string(known->message), std::string(known->hint));
}

Result<std::vector<std::string>> SyntaxReader::strings(const std::vector<PgNode>& nodes) const {
  std::vector<std::string> texts;
  for (PgNode node : nodes) {
    if (node.kind() != "String") return refuse(node, "a name was expected here");
    texts.push_back(node.text("sval"));
  }
  return texts;
}

Result<TypeSyntax> SyntaxReader::type(PgNode node) const {
  TypeSyntax type;
  type.position = position(node.number("location"));
  WRACKLINE_ASSIGN(std::vector<std::string> names, strings(node.list("names")));
  if (names.size() == 2 && names[0] == "pg_catalog") names.erase(names.begin());
  if (names.size() != 1)
    return unsupported(type.position, "schemas are not supported", "Name the type alone.");
  type.name = std::move(names[0]);
  node.number("typemod");  // -1: the modifiers stand in the list
  for (PgNode modifier : node.list("typmods")) {
    PgNode value = modifier.kind() == "A_Const" ? modifier.node("ival") : PgNode();
    if (!value)
      return refuse(modifier, format("a modifier of type \"{}\" that is not a number", printable(type.name)));
    type.modifiers.push_back(value.number("ival"));
  }
  type.array = !node.list("array_bounds").empty();
  WRACKLINE_TRY(finish(node));
  return type;
}

Status SyntaxReader::read_args(const std::vector<PgNode>& nodes, Syntax& into) const {
  for (const PgNode& node : nodes) {
    WRACKLINE_ASSIGN(SyntaxPtr arg, expression(node));
    into.args.push_back(std::move(arg));
  }
  return {};
}

Result<SyntaxPtr> SyntaxReader::expression(PgNode node) const {
  using Read = Result<SyntaxPtr> (SyntaxReader::*)(PgNode) const;
  constexpr std::pair<std::string_view, Read> kReaders[] = {
      {"A_Const", &SyntaxReader::constant},   {"ColumnRef", &SyntaxReader::column},
      {"A_Expr", &SyntaxReader::operation},   {"FuncCall", &SyntaxReader::call},
      {"BoolExpr", &SyntaxReader::logical},   {"TypeCast", &SyntaxReader::cast},
      {"CaseExpr", &SyntaxReader::case_of},   {"CoalesceExpr", &SyntaxReader::coalesce},
      {"NullTest", &SyntaxReader::null_test}, {"BooleanTest", &SyntaxReader::boolean_test},
      {"MinMaxExpr", &SyntaxReader::min_max},
  };
  const std::string_view kind = node.kind();
  for (const auto& [name, read] : kReaders) {
    if (kind == name) return (this->*read)(node);
  }
  return refuse(node, format("this kind of expression ({}) is not supported", kind));
}

Result<SyntaxPtr> SyntaxReader::constant(PgNode node) const {
  const size_t at = position(node.number("location"));
  SyntaxPtr made = make(SyntaxKind::kNull, at);
  if (PgNode integer = node.node("ival")) {
    made->kind = SyntaxKind::kNumber;
    made->text = format("{}", integer.number("ival"));
  } else if (PgNode decimal = node.node("fval")) {
    made->kind = SyntaxKind::kNumber;
    made->text = decimal.text("fval");
  } else if (PgNode boolean = node.node("boolval")) {
    made->kind = SyntaxKind::kBoolean;
    made->flag = boolean.number("boolval") != 0;
  } else if (PgNode string = node.node("sval")) {
    made->kind = SyntaxKind::kString;
    made->text = string.text("sval");
  } else if (node.node("bsval")) {
    return unsupported(at, "bit strings are not supported", "Use an integer and the operators &, | and #.");
  }
  node.number("isnull");
  WRACKLINE_TRY(finish(node));
  return made;
}

Result<SyntaxPtr> SyntaxReader::column(PgNode node) const {
  SyntaxPtr made = make(SyntaxKind::kColumn, position(node.number("location")));
  std::vector<PgNode> fields = node.list("fields");
  if (!fields.empty() && fields.back().kind() == "A_Star") {
    made->kind = SyntaxKind::kStar;
    fields.pop_back();
  }
  WRACKLINE_ASSIGN(made->names, strings(fields));
  if (made->names.size() > 2) {
    return unsupported(made->position, "schemas are not supported", "Write column or table.column.");
  }
  WRACKLINE_TRY(finish(node));
  return made;
}

Result<SyntaxPtr> SyntaxReader::call(PgNode node) const {
  SyntaxPtr made = make(SyntaxKind::kCall, position(node.number("location")));
  WRACKLINE_ASSIGN(std::vector<std::string> names, strings(node.list("funcname")));
  node.choice("funcformat");  // how it was written: f(x) or EXTRACT(year FROM x)
  if (names.size() == 2 && names[0] == "pg_catalog") names.erase(names.begin());
  if (names.size() != 1)
    return unsupported(made->position, "schemas are not supported", "Name the function alone.");
  made->text = std::move(names[0]);
  made->star = node.number("agg_star") != 0;
  if (node.number("agg_within_group") !=
      0) {  // it has an ORDER BY too, which would be refused for a lesser reason
    return unsupported(find_keyword("within", made->position).value_or(made->position),
                       "WITHIN GROUP is not supported",
                       "Write approx_percentile(x, 0.95): a sketch that keeps no values, with an error of at "
                       "most 0.4 % of the result.");
  }
  made->distinct = node.number("agg_distinct") != 0;
  const std::vector<PgNode> sort = node.list("agg_order");
  const PgNode filter = node.node("agg_filter");
  const std::vector<PgNode> args = node.list("args");
  WRACKLINE_TRY(finish(node));
  WRACKLINE_TRY(read_args(args, *made));
  WRACKLINE_TRY(read_sort(sort, *made));
  if (filter) {
    WRACKLINE_ASSIGN(made->filter, expression(filter));
  }
  return made;
}

Status SyntaxReader::read_sort(const std::vector<PgNode>& nodes, Syntax& into) const {
  for (PgNode node : nodes) {
    const std::string_view direction = node.choice("sortby_dir");
    const std::string_view nulls = node.choice("sortby_nulls");
    const PgNode key = node.node("node");
    node.number("location");
    if (direction == "SORTBY_USING") {
      return unsupported(position(key), "ORDER BY ... USING is not supported", "Write ASC or DESC.");
    }
    WRACKLINE_TRY(finish(node));
    WRACKLINE_ASSIGN(SyntaxPtr made, expression(key));
    into.sort.push_back(std::move(made));
    const bool descending = direction == "SORTBY_DESC";
    const bool nulls_first = nulls == "SORTBY_NULLS_FIRST" || (descending && nulls != "SORTBY_NULLS_LAST");
    into.sort_directions.push_back({.descending = descending, .nulls_first = nulls_first});
  }
  return {};
}

Result<SyntaxPtr> SyntaxReader::operation(PgNode node) const {
  SyntaxPtr made = make(SyntaxKind::kOperator, position(node.number("location")));
  const std::string_view kind = node.choice("kind");
  WRACKLINE_ASSIGN(const std::vector<std::string> names, strings(node.list("name")));
  if (names.size() != 1) {
    return unsupported(made->position, "OPERATOR() is not supported", "Write the operator itself.");
  }
  made->text = names[0];
  if (kind == "AEXPR_IN" || kind.contains("BETWEEN")) return list_operation(node, kind, std::move(made));
  const PgNode left = node.node("lexpr");
  const PgNode right = node.node("rexpr");
  WRACKLINE_TRY(finish(node));
  if (kind == "AEXPR_OP_ANY" || kind == "AEXPR_OP_ALL") {
    return unsupported(made->position, "ANY and ALL are not supported", "Write x IN (1, 2, 3), or NOT IN.");
  }
  if (kind == "AEXPR_SIMILAR") {
    return unsupported(made->position, "SIMILAR TO is not supported", "Use LIKE: x LIKE 'a%'.");
  }
  if (left) {
    WRACKLINE_TRY(read_args({left}, *made));
  }
  WRACKLINE_TRY(read_args({right}, *made));
  if (kind == "AEXPR_OP") return made;
  if (kind == "AEXPR_LIKE" || kind == "AEXPR_ILIKE") {
    made->kind = kind == "AEXPR_LIKE" ? SyntaxKind::kLike : SyntaxKind::kILike;
    made->negated = made->text.starts_with('!');
    return made;
  }
  if (kind == "AEXPR_DISTINCT")
    made->kind = SyntaxKind::kIsDistinct;
  else if (kind == "AEXPR_NOT_DISTINCT")
    made->kind = SyntaxKind::kIsNotDistinct;
  else if (kind == "AEXPR_NULLIF")
    made->kind = SyntaxKind::kNullIf;
  else
    return unsupported(made->position, format("this operator ({}) is not supported", kind), {});
  return made;
}

Result<SyntaxPtr> SyntaxReader::list_operation(PgNode node, std::string_view kind, SyntaxPtr made) const {
  const PgNode left = node.node("lexpr");
  PgNode right = node.node("rexpr");
  WRACKLINE_TRY(finish(node));
  if (right.kind() != "List") return refuse(right, "a list in parentheses was expected here");
  WRACKLINE_TRY(read_args({left}, *made));
  WRACKLINE_TRY(read_args(right.list("items"), *made));
  if (kind == "AEXPR_IN") {
    made->kind = SyntaxKind::kIn;
    made->negated = made->text == "<>";
  } else {
    made->kind = SyntaxKind::kBetween;
    made->negated = kind.contains("NOT_");
    made->flag = kind.ends_with("_SYM");
  }
  return made;
}

Result<SyntaxPtr> SyntaxReader::logical(PgNode node) const {
  const std::string_view kind = node.choice("boolop");
  const auto what = kind == "AND_EXPR"  ? SyntaxKind::kAnd
                    : kind == "OR_EXPR" ? SyntaxKind::kOr
                                        : SyntaxKind::kNot;
  SyntaxPtr made = make(what, position(node.number("location")));
  WRACKLINE_TRY(read_args(node.list("args"), *made));
  WRACKLINE_TRY(finish(node));
  return made;
}

Result<SyntaxPtr> SyntaxReader::null_test(PgNode node) const {
  const bool is_null = node.choice("nulltesttype") == "IS_NULL";
  SyntaxPtr made =
      make(is_null ? SyntaxKind::kIsNull : SyntaxKind::kIsNotNull, position(node.number("location")));
  WRACKLINE_TRY(read_args({node.node("arg")}, *made));
  WRACKLINE_TRY(finish(node));
  return made;
}

Result<SyntaxPtr> SyntaxReader::boolean_test(PgNode node) const {
  const std::string_view kind = node.choice("booltesttype");
  const auto what = kind.ends_with("TRUE")    ? SyntaxKind::kIsTrue
                    : kind.ends_with("FALSE") ? SyntaxKind::kIsFalse
                                              : SyntaxKind::kIsUnknown;
  SyntaxPtr made = make(what, position(node.number("location")));
  made->negated = kind.starts_with("IS_NOT");
  WRACKLINE_TRY(read_args({node.node("arg")}, *made));
  WRACKLINE_TRY(finish(node));
  return made;
}

Result<SyntaxPtr> SyntaxReader::case_of(PgNode node) const {
  SyntaxPtr made = make(SyntaxKind::kCase, position(node.number("location")));
  if (const PgNode operand = node.node("arg")) {
    made->flag = true;
    WRACKLINE_TRY(read_args({operand}, *made));
  }
  for (PgNode branch : node.list("args")) {
    WRACKLINE_TRY(read_args({branch.node("expr"), branch.node("result")}, *made));
    WRACKLINE_TRY(finish(branch));
  }
  if (const PgNode otherwise = node.node("defresult")) {
    made->has_else = true;
    WRACKLINE_TRY(read_args({otherwise}, *made));
  }
  WRACKLINE_TRY(finish(node));
  return made;
}

Result<SyntaxPtr> SyntaxReader::coalesce(PgNode node) const {
  SyntaxPtr made = make(SyntaxKind::kCoalesce, position(node.number("location")));
  WRACKLINE_TRY(read_args(node.list("args"), *made));
  WRACKLINE_TRY(finish(node));
  return made;
}

Result<SyntaxPtr> SyntaxReader::min_max(PgNode node) const {
  SyntaxPtr made = make(SyntaxKind::kCall, position(node.number("location")));
  made->text = node.choice("op") == "IS_GREATEST" ? "greatest" : "least";
  WRACKLINE_TRY(read_args(node.list("args"), *made));
  WRACKLINE_TRY(finish(node));
  return made;
}

Result<SyntaxPtr> SyntaxReader::cast(PgNode node) const {
  SyntaxPtr made = make(SyntaxKind::kCast, position(node));
  WRACKLINE_ASSIGN(made->type, type(node.node("type_name")));
  WRACKLINE_TRY(read_args({node.node("arg")}, *made));
  WRACKLINE_TRY(finish(node));
  return made;
}

}  // namespace wrackline::sql
