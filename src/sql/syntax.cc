#include "sql/syntax.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sql/pg_tree.h"
#include "sql/syntax_reader.h"

namespace wrackline::sql {
namespace {

constexpr std::string_view kWindowHint =
    "A view reads one source through a window: FROM TUMBLE(clicks, at, INTERVAL '1 minute').";

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

class StatementReader {
 public:
  StatementReader(const JobText& text, const Statement& statement)
      : reader_(text, statement), text_(text), statement_(statement) {}

  Result<JobStatement> read(PgNode root) const {
    JobStatement made{.begin = statement_.begin, .end = statement_.end, .body = {}};
    if (root.kind() == "CreateStmt") {
      WRACKLINE_ASSIGN(made.body, create_table(root));
    } else if (root.kind() == "CreateTableAsStmt") {
      WRACKLINE_ASSIGN(made.body, create_view(root));
    } else if (root.kind() == "InsertStmt") {
      WRACKLINE_ASSIGN(made.body, insert(root));
    } else {
      return refuse_statement(root);
    }
    return made;
  }

 private:
  std::unexpected<Error> refuse_statement(const PgNode& root) const {
    std::string words;
    for (size_t i = 0; i < std::min<size_t>(2, statement_.tokens.size()); ++i) {
      if (statement_.tokens[i].kind != TokenKind::kWord) break;
      words += (i == 0 ? "" : " ") + upper(tokens_text(text_, statement_, i, i + 1));
    }
    auto refused = reader_.refuse(root, format("the statement {} is not supported", words));
    Error& error = refused.error();
    if (error.hint.empty()) {
      error.hint =
          "A job has three kinds of statement: CREATE TABLE, CREATE MATERIALIZED VIEW and INSERT INTO.";
    }
    return fail(text_.error(statement_.begin, error.code, error.message, error.hint));
  }

  // ---- tables and options

  Result<Name> table_name(PgNode range) const {
    Name name{range.text("relname"), reader_.position(range.number("location"))};
    if (range.number("inh") == 0) {
      return reader_.unsupported(name.position, "ONLY is not supported",
                                 "Leave it out: tables of a job have no children.");
    }
    if (range.text("relpersistence") != "p") {
      return reader_.unsupported(statement_.begin, "TEMPORARY and UNLOGGED tables are not supported",
                                 "Leave the word out: a job owns no tables.");
    }
    WRACKLINE_TRY(reader_.finish(range));
    return name;
  }

  Result<std::vector<OptionSyntax>> options(const std::vector<PgNode>& nodes) const {
    std::vector<OptionSyntax> made;
    for (PgNode node : nodes) {
      WRACKLINE_ASSIGN(OptionSyntax option, this->option(node));
      made.push_back(std::move(option));
    }
    return made;
  }

  Result<OptionSyntax> option(PgNode node) const {
    OptionSyntax made;
    made.name = {node.text("defname"), reader_.position(node.number("location"))};
    made.value_position = value_position(made.name.position);
    PgNode value = node.node("arg");
    WRACKLINE_TRY(reader_.finish(node));
    if (!value) {
      made.value = "true";
    } else if (value.kind() == "String") {
      made.value = value.text("sval");
    } else if (value.kind() == "Integer") {
      made.value = format("{}", value.number("ival"));
    } else if (value.kind() == "Float") {
      made.value = value.text("fval");
    } else if (value.kind() == "TypeName") {  // a bare word
      WRACKLINE_ASSIGN(const TypeSyntax word, reader_.type(value));
      made.value = word.name;
      if (word.array || !word.modifiers.empty()) return bad_value(made);
    } else {
      return bad_value(made);
    }
    return made;
  }

  std::unexpected<Error> bad_value(const OptionSyntax& option) const {
    return fail(
        text_.error(option.value_position, ErrorCode::kInvalid,
                    format("value of option \"{}\" is not a text, a number or a word", option.name.text),
                    format("Write it in quotes: {} = '...'.", option.name.text)));
  }

  // Behind `name =`, or the name itself when nothing follows it.
  size_t value_position(size_t name_position) const {
    const auto& tokens = statement_.tokens;
    const auto name = std::ranges::find(tokens, name_position, &Token::begin);
    if (name == tokens.end() || tokens.end() - name < 3 || text_.text()[name[1].begin] != '=')
      return name_position;
    return name[2].begin;
  }

  Result<CreateTable> create_table(PgNode node) const {
    CreateTable made;
    WRACKLINE_ASSIGN(made.name, table_name(node.node("relation")));
    const std::vector<PgNode> elements = node.list("table_elts");
    WRACKLINE_ASSIGN(made.options, options(node.list("options")));
    WRACKLINE_TRY(reader_.finish(node));
    for (const PgNode& element : elements) {
      if (element.kind() != "ColumnDef")
        return reader_.refuse(element, "only columns are supported in a table");
      WRACKLINE_ASSIGN(ColumnSyntax column, this->column(element));
      made.columns.push_back(std::move(column));
    }
    return made;
  }

  Result<ColumnSyntax> column(PgNode node) const {
    ColumnSyntax made;
    made.name = {node.text("colname"), reader_.position(node.number("location"))};
    node.number("is_local");  // always set: the column is not inherited
    WRACKLINE_ASSIGN(made.type, reader_.type(node.node("type_name")));
    for (const PgNode& constraint : node.list("constraints")) {
      return reader_.refuse(constraint, "constraints are not supported");
    }
    WRACKLINE_TRY(reader_.finish(node));
    return made;
  }

  // ---- views

  Result<CreateView> create_view(PgNode node) const {
    CreateView made;
    if (node.choice("objtype") != "OBJECT_MATVIEW") {
      return reader_.unsupported(statement_.begin, "CREATE TABLE AS is not supported",
                                 "Write CREATE MATERIALIZED VIEW: its result is kept and corrected.");
    }
    PgNode into = node.node("into");
    PgNode query = node.node("query");
    WRACKLINE_TRY(reader_.finish(node));
    WRACKLINE_ASSIGN(made.name, table_name(into.node("rel")));
    WRACKLINE_ASSIGN(made.column_names, reader_.strings(into.list("col_names")));
    WRACKLINE_ASSIGN(made.options, options(into.list("options")));
    WRACKLINE_TRY(reader_.finish(into));
    if (query.kind() != "SelectStmt") return reader_.refuse(query, "a view needs a SELECT");
    WRACKLINE_TRY(select(query, made));
    return made;
  }

  Status select(PgNode node, CreateView& into) const {
    const std::vector<PgNode> items = node.list("target_list");
    const std::vector<PgNode> from = node.list("from_clause");
    const PgNode where = node.node("where_clause");
    const std::vector<PgNode> group_by = node.list("group_clause");
    const PgNode having = node.node("having_clause");
    WRACKLINE_TRY(reader_.finish(node));
    WRACKLINE_TRY(read_from(node, from, into));
    WRACKLINE_TRY(read_items(items, into));
    if (where) {
      WRACKLINE_ASSIGN(into.where, reader_.expression(where));
    }
    for (const PgNode& item : group_by) {
      WRACKLINE_ASSIGN(SyntaxPtr key, reader_.expression(item));
      into.group_by.push_back(std::move(key));
    }
    if (having) {
      WRACKLINE_ASSIGN(into.having, reader_.expression(having));
    }
    read_texts(into);
    return {};
  }

  Status read_items(const std::vector<PgNode>& items, CreateView& into) const {
    for (PgNode node : items) {
      SelectItem item;
      item.alias = {node.text("name"), reader_.position(node.number("location"))};
      WRACKLINE_ASSIGN(item.expression, reader_.expression(node.node("val")));
      WRACKLINE_TRY(reader_.finish(node));
      into.items.push_back(std::move(item));
    }
    return {};
  }

  Status read_from(const PgNode& select, const std::vector<PgNode>& from, CreateView& into) const {
    if (from.empty()) {
      return reader_.unsupported(reader_.position(select), "a view without FROM is not supported",
                                 std::string(kWindowHint));
    }
    WRACKLINE_TRY(refuse_asof(from));
    if (from.size() > 1) {
      return reader_.unsupported(reader_.position(from[1]),
                                 "several tables in FROM (a join) are not supported yet",
                                 "Joins are planned. " + std::string(kWindowHint));
    }
    const PgNode& only = from[0];
    if (only.kind() == "JoinExpr") {
      return reader_.unsupported(find_word(text_, statement_, "join").value_or(reader_.position(only)),
                                 "joins are not supported yet",
                                 "They are planned. " + std::string(kWindowHint));
    }
    if (only.kind() == "RangeVar") return refuse_plain_table(only);
    if (only.kind() != "RangeFunction") return reader_.refuse(only, "this kind of FROM is not supported");
    return read_window(only, into);
  }

  std::unexpected<Error> refuse_plain_table(PgNode only) const {
    const std::string name = only.text("relname");
    return reader_.unsupported(
        reader_.position(only), format("\"{}\" in FROM without a window is not supported", printable(name)),
        format("Write FROM TUMBLE({}, <its event_time column>, INTERVAL '1 minute').", printable(name)));
  }

  // PostgreSQL reads `a ASOF JOIN b` as a join of b with a table a that is called asof.
  Status refuse_asof(const std::vector<PgNode>& from) const {
    for (PgNode node : from) {
      while (node.kind() == "JoinExpr") {
        const PgNode left = node.node("larg");
        WRACKLINE_TRY(refuse_asof({node.node("rarg")}));
        node = left;
      }
      if (node.kind() != "RangeVar" && node.kind() != "RangeFunction") continue;
      PgNode alias = node.node("alias");
      if (!alias || alias.text("aliasname") != "asof") continue;
      return reader_.unsupported(
          find_word(text_, statement_, "asof", reader_.position(node)).value_or(reader_.position(node)),
          "as-of joins are not supported yet",
          "PostgreSQL's grammar reads ASOF as an alias, which would run a plain join. As-of joins are "
          "planned; if you did mean an alias, choose another one.");
    }
    return {};
  }

  Status read_window(PgNode node, CreateView& into) const {
    PgNode alias = node.node("alias");
    std::vector<PgNode> functions = node.list("functions");
    WRACKLINE_TRY(reader_.finish(node));
    if (alias) {
      into.from.alias = {alias.text("aliasname"), reader_.position(node)};
      if (!alias.list("colnames").empty()) {
        return reader_.unsupported(into.from.alias.position, "renaming the columns of FROM is not supported",
                                   "Name columns in the SELECT list: page AS p.");
      }
      WRACKLINE_TRY(reader_.finish(alias));
    }
    if (functions.size() != 1) return reader_.refuse(node, "ROWS FROM is not supported");
    PgNode function = functions[0];
    if (function.kind() == "List") {  // the call, and a column definition list that coldeflist repeats
      std::vector<PgNode> parts = function.list("items");
      function = parts.empty() ? PgNode() : parts[0];
    }
    if (function.kind() != "FuncCall") {
      return reader_.unsupported(reader_.position(node), "this kind of FROM is not supported",
                                 std::string(kWindowHint));
    }
    WRACKLINE_ASSIGN(SyntaxPtr call, reader_.call(function));
    if (call->star || call->filter || call->distinct || !call->sort.empty()) {
      return reader_.unsupported(call->position, "this form of call is not supported in FROM",
                                 std::string(kWindowHint));
    }
    into.from.function = {call->text, call->position};
    into.from.args = std::move(call->args);
    return {};
  }

  // ---- the words of a SELECT, for explanations: token ranges between its keywords

  struct Range {
    size_t first = 0;
    size_t last = 0;
  };

  // The token `word` in the SELECT's brackets at or after `from`, or the end of the SELECT.
  size_t find_token(std::string_view word, size_t from, size_t depth) const {
    for (size_t i = from; i < statement_.tokens.size(); ++i) {
      const Token& token = statement_.tokens[i];
      if (token.depth < depth || is_closing(token, depth)) return i;
      const bool distinct_from =
          i > 0 && is_word(text_, statement_.tokens[i - 1], "distinct");  // IS DISTINCT FROM
      if (token.depth == depth && is_word(text_, token, word) && !distinct_from) return i;
    }
    return statement_.tokens.size();
  }

  bool is_closing(const Token& token, size_t depth) const {
    return token.depth == depth && depth > 0 && text_.text()[token.begin] == ')' &&
           token.kind == TokenKind::kPunctuation;
  }

  std::vector<Range> items_between(size_t first, size_t last, size_t depth) const {
    std::vector<Range> ranges;
    size_t begin = first;
    for (size_t i = first; i <= last; ++i) {
      const bool comma =
          i < last && statement_.tokens[i].depth == depth && text_.text()[statement_.tokens[i].begin] == ',';
      if (i < last && !comma) continue;
      if (i > begin) ranges.push_back({begin, i});
      begin = i + 1;
    }
    return ranges;
  }

  std::string text_of(Range range) const { return tokens_text(text_, statement_, range.first, range.last); }

  void read_texts(CreateView& into) const {
    const auto at = find_word(text_, statement_, "select");
    const auto select = std::ranges::find(statement_.tokens, at.value_or(0), &Token::begin);
    if (!at || select == statement_.tokens.end()) return;
    const size_t depth = select->depth;
    const auto first = static_cast<size_t>(select - statement_.tokens.begin()) + 1;
    const size_t end = find_token("with", first, depth);  // WITH DATA, or the end
    const size_t from = std::min(find_token("from", first, depth), end);
    const size_t where = std::min(find_token("where", from, depth), end);
    const size_t group = std::min(find_token("group", from, depth), end);
    const size_t having = std::min(find_token("having", from, depth), end);
    into.group_position =
        statement_.tokens[std::min(group < end ? group : from, statement_.tokens.size() - 1)].begin;
    read_item_texts(items_between(first, from, depth), into);
    if (where < group) into.where_text = text_of({where + 1, std::min(group, having)});
    if (having < end) into.having_text = text_of({having + 1, end});
    if (group + 2 > having) return;
    const std::vector<Range> keys = items_between(group + 2, having, depth);
    for (size_t i = 0; i < into.group_by.size(); ++i) {
      into.group_by_texts.push_back(i < keys.size() ? text_of(keys[i]) : std::string());
    }
  }

  // `count(*) AS clicks` without the alias.
  void read_item_texts(const std::vector<Range>& ranges, CreateView& into) const {
    for (size_t i = 0; i < std::min(ranges.size(), into.items.size()); ++i) {
      Range range = ranges[i];
      if (!into.items[i].alias.text.empty() && range.last - range.first > 1) {
        into.items[i].alias.position = statement_.tokens[--range.last].begin;
        if (range.last - range.first > 1 && is_word(text_, statement_.tokens[range.last - 1], "as"))
          --range.last;
      }
      into.items[i].text = text_of(range);
    }
  }

  // ---- INSERT

  Result<Insert> insert(PgNode node) const {
    Insert made;
    WRACKLINE_ASSIGN(made.sink, table_name(node.node("relation")));
    for (PgNode column : node.list("cols")) {
      made.columns.push_back({column.text("name"), reader_.position(column.number("location"))});
      WRACKLINE_TRY(reader_.finish(column));
    }
    PgNode select = node.node("select_stmt");
    WRACKLINE_TRY(reader_.finish(node));
    if (select.kind() != "SelectStmt") {
      return reader_.unsupported(made.sink.position, "INSERT without SELECT is not supported",
                                 "Write INSERT INTO sink SELECT * FROM view.");
    }
    WRACKLINE_TRY(insert_select(select, made));
    return made;
  }

  Status insert_select(PgNode select, Insert& into) const {
    constexpr std::string_view kHint =
        "An INSERT only connects a view to a sink: INSERT INTO sink SELECT * FROM view. "
        "Compute, filter and name columns in the view.";
    into.select_position = find_word(text_, statement_, "select").value_or(statement_.begin);
    const std::vector<PgNode> items = select.list("target_list");
    const std::vector<PgNode> from = select.list("from_clause");
    if (select.node("where_clause") || !select.list("group_clause").empty()) {
      return reader_.unsupported(find_word(text_, statement_, "where").value_or(into.select_position),
                                 "INSERT with a query of its own is not supported", std::string(kHint));
    }
    WRACKLINE_TRY(reader_.finish(select));
    WRACKLINE_TRY(refuse_asof(from));
    if (from.size() != 1 || from[0].kind() != "RangeVar") {
      return reader_.unsupported(from.empty() ? into.select_position : reader_.position(from.back()),
                                 "INSERT with a query of its own is not supported", std::string(kHint));
    }
    PgNode view = from[0];
    const PgNode alias = view.node("alias");
    WRACKLINE_ASSIGN(into.view, table_name(view));
    if (alias)
      return reader_.unsupported(into.view.position, "an alias is not supported here", std::string(kHint));
    for (PgNode item : items) WRACKLINE_TRY(insert_item(item, items.size(), into));
    return {};
  }

  Status insert_item(PgNode item, size_t count, Insert& into) const {
    const size_t at = reader_.position(item);
    const std::string alias = item.text("name");
    PgNode value = item.node("val");
    WRACKLINE_TRY(reader_.finish(item));
    if (value.kind() == "ColumnRef" && alias.empty()) {
      WRACKLINE_ASSIGN(const SyntaxPtr column, reader_.column(value));
      const bool plain = column->names.size() < 2 || column->names[0] == into.view.text;
      if (column->kind == SyntaxKind::kStar && count == 1) {
        into.star = true;
        return {};
      }
      if (column->kind == SyntaxKind::kColumn && plain) {
        into.selected.push_back({column->names.back(), column->position});
        return {};
      }
    }
    return reader_.unsupported(
        at, "an INSERT takes the columns of its view as they are",
        "Write SELECT *, or the names of the view's columns; compute and rename in the view.");
  }

  SyntaxReader reader_;
  const JobText& text_;
  const Statement& statement_;
};

}  // namespace

Result<std::vector<JobStatement>> parse_statements(const JobText& text) {
  WRACKLINE_ASSIGN(const std::vector<Statement> statements, split_statements(text));
  std::vector<JobStatement> made;
  for (const Statement& statement : statements) {
    WRACKLINE_ASSIGN(const PgTree tree, PgTree::parse(text, statement));
    WRACKLINE_ASSIGN(JobStatement read, StatementReader(text, statement).read(tree.statement()));
    made.push_back(std::move(read));
  }
  return made;
}

}  // namespace wrackline::sql
