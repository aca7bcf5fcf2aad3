#include "expr/expression_reader_test.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>

#include "data/decimal.h"
#include "expr/casts.h"

namespace wrackline::expr {
namespace {

// Only tests read with this, so a failure may throw: it is caught in read_expression.
struct Failed {
  Error error;
};

ExprPtr unwrap(Result<ExprPtr> result) {
  if (!result) throw Failed{result.error()};
  return std::move(*result);
}
[[noreturn]] void syntax(std::string_view what, std::string_view rest) {
  throw std::invalid_argument("test expression: expected " + std::string(what) + " at: " + std::string(rest));
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::vector<ExprPtr> list_of(ExprPtr a, ExprPtr b = nullptr) {
  std::vector<ExprPtr> list;
  list.push_back(std::move(a));
  if (b) list.push_back(std::move(b));
  return list;
}

class Reader {
 public:
  Reader(std::string_view text, std::span<const Type> columns) : text_(text), columns_(columns) { advance(); }

  ExprPtr all() {
    ExprPtr expr = inner();
    if (kind_ != Kind::kEnd) syntax("the end", text_.substr(token_start_));
    return expr;
  }

 private:
  enum class Kind { kEnd, kWord, kQuoted, kText, kNumber, kSymbol, kColumn };

  void advance() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    token_start_ = at_;
    token_.clear();
    if (at_ == text_.size()) {
      kind_ = Kind::kEnd;
      return;
    }
    const char c = text_[at_];
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') {
      kind_ = Kind::kWord;
      take_while([](char x) { return std::isalnum(static_cast<unsigned char>(x)) != 0 || x == '_'; });
      token_ = lower(token_);
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      kind_ = Kind::kNumber;
      take_while(
          [](char x) { return std::isdigit(static_cast<unsigned char>(x)) != 0 || x == '.' || x == 'e'; });
      if (token_.back() == 'e') take_exponent();
    } else if (c == '\'' || c == '"') {
      kind_ = c == '\'' ? Kind::kText : Kind::kQuoted;
      take_quoted(c);
    } else if (c == '$') {
      kind_ = Kind::kColumn;
      ++at_;
      take_while([](char x) { return std::isdigit(static_cast<unsigned char>(x)) != 0; });
    } else if (std::string_view("(),").find(c) != std::string_view::npos) {
      kind_ = Kind::kSymbol;
      token_ = text_.substr(at_++, 1);
    } else {
      kind_ = Kind::kSymbol;
      take_while(
          [](char x) { return std::string_view("+-*/%^<>=!~@#&|:?").find(x) != std::string_view::npos; });
      if (token_.empty()) syntax("a token", text_.substr(at_));
    }
  }
  template <class Keep>
  void take_while(Keep keep) {
    while (at_ < text_.size() && keep(text_[at_])) token_ += text_[at_++];
  }
  void take_exponent() {
    if (at_ < text_.size() && text_[at_] == '-') token_ += text_[at_++];
    take_while([](char x) { return std::isdigit(static_cast<unsigned char>(x)) != 0; });
  }
  void take_quoted(char quote) {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote) {
        if (at_ + 1 < text_.size() && text_[at_ + 1] == quote) {
          ++at_;
        } else {
          break;
        }
      }
      token_ += text_[at_];
    }
    ++at_;
  }

  bool is_word(std::string_view word) const { return kind_ == Kind::kWord && token_ == word; }
  bool is_symbol(std::string_view symbol) const { return kind_ == Kind::kSymbol && token_ == symbol; }
  bool accept(std::string_view token) {
    if (!is_word(token) && !is_symbol(token)) return false;
    advance();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) syntax(token, text_.substr(token_start_));
  }
  std::string take() {
    std::string token = token_;
    advance();
    return token;
  }

  // NOT x, op x, or x followed by what can follow an operand.
  ExprPtr inner() {
    if (accept("not")) return unwrap(make_logical(ExprKind::kNot, list_of(operand()), 0));
    if (kind_ == Kind::kSymbol && token_ != "(" && !starts_negative_number()) {
      const std::string name = take();
      return unwrap(make_call(name, list_of(operand()), 0));
    }
    ExprPtr left = operand();
    for (;;) {
      ExprPtr next = followed(left);
      if (!next) return left;
      left = std::move(next);
    }
  }

  bool starts_negative_number() const {
    return is_symbol("-") && at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0;
  }

  ExprPtr followed(ExprPtr& left) {
    if (is_word("and") || is_word("or")) return chain(left);
    if (accept("is")) return test(left);
    const bool negated = accept("not");
    if (accept("in")) return maybe_not(in_list(left), negated);
    if (is_word("like") || is_word("ilike")) return like(left, negated);
    if (accept("at")) {
      expect("time");
      expect("zone");
      ExprPtr zone = operand();
      return unwrap(make_call("timezone", list_of(std::move(zone), std::move(left)), 0));
    }
    if (kind_ != Kind::kSymbol || token_ == ")" || token_ == "," || token_ == "(") return nullptr;
    const std::string name = take();
    ExprPtr right = operand();
    return unwrap(make_call(name, list_of(std::move(left), std::move(right)), 0));
  }
  ExprPtr chain(ExprPtr& left) {
    const std::string word = token_;
    std::vector<ExprPtr> args = list_of(std::move(left));
    while (accept(word)) args.push_back(operand());
    return unwrap(make_logical(word == "and" ? ExprKind::kAnd : ExprKind::kOr, std::move(args), 0));
  }
  ExprPtr test(ExprPtr& left) {
    const bool negated = accept("not");
    if (accept("null")) {
      return unwrap(make_null_test(negated ? ExprKind::kIsNotNull : ExprKind::kIsNull, std::move(left), 0));
    }
    expect("distinct");
    expect("from");
    ExprPtr right = operand();
    return unwrap(make_distinct(negated ? ExprKind::kIsNotDistinct : ExprKind::kIsDistinct, std::move(left),
                                std::move(right), 0));
  }
  ExprPtr maybe_not(ExprPtr expr, bool negated) {
    return negated ? unwrap(make_logical(ExprKind::kNot, list_of(std::move(expr)), 0)) : std::move(expr);
  }
  ExprPtr in_list(ExprPtr& left) {
    std::vector<ExprPtr> args = list_of(std::move(left));
    expect("(");
    do args.push_back(inner());
    while (accept(","));
    expect(")");
    return unwrap(make_variadic(ExprKind::kIn, std::move(args), 0));
  }
  ExprPtr like(ExprPtr& left, bool negated) {
    const std::string name = std::string(negated ? "!" : "") + (take() == "like" ? "~~" : "~~*");
    ExprPtr pattern = operand();
    if (accept("escape"))
      pattern = unwrap(make_call("like_escape", list_of(std::move(pattern), operand()), 0));
    return unwrap(make_call(name, list_of(std::move(left), std::move(pattern)), 0));
  }

  ExprPtr operand() {
    ExprPtr expr = primary();
    while (accept("::")) expr = unwrap(make_cast(std::move(expr), type(take()), 0));
    return expr;
  }

  ExprPtr primary() {
    if (starts_negative_number()) {
      advance();
      return number("-" + take());
    }
    if (kind_ == Kind::kNumber) return number(take());
    if (kind_ == Kind::kText) return make_unknown(take(), 0);
    if (kind_ == Kind::kColumn) {
      const size_t index = std::stoul(take());
      return make_column(index, columns_[index], 0);
    }
    if (accept("(")) {
      ExprPtr expr = inner();
      expect(")");
      return expr;
    }
    if (kind_ == Kind::kQuoted) return call(take());
    if (kind_ != Kind::kWord) syntax("an operand", text_.substr(token_start_));
    return word(take());
  }

  ExprPtr word(const std::string& name) {
    if (name == "null") return make_null(0);
    if (name == "true" || name == "false") return make_literal({Type::boolean(), name == "true"}, 0);
    if (name == "case") return case_of();
    if (name == "cast") {
      expect("(");
      ExprPtr argument = inner();
      expect("as");
      const Type to = type(take());
      expect(")");
      return unwrap(make_cast(std::move(argument), to, 0));
    }
    if (is_type(name)) {
      const Type of = type(name);
      if (kind_ == Kind::kText) return unwrap(make_cast(make_unknown(take(), 0), of, 0));
      syntax("a literal after a type", text_.substr(token_start_));
    }
    return call(name);
  }

  ExprPtr case_of() {
    std::vector<ExprPtr> args;
    while (accept("when")) {
      args.push_back(inner());
      expect("then");
      args.push_back(inner());
    }
    const bool has_else = accept("else");
    if (has_else) args.push_back(inner());
    expect("end");
    return unwrap(make_case(std::move(args), has_else, 0));
  }

  ExprPtr call(const std::string& name) {
    expect("(");
    std::vector<ExprPtr> args;
    if (!is_symbol(")")) {
      do args.push_back(inner());
      while (accept(","));
    }
    expect(")");
    if (name == "coalesce") return unwrap(make_variadic(ExprKind::kCoalesce, std::move(args), 0));
    if (name == "nullif") return unwrap(make_variadic(ExprKind::kNullIf, std::move(args), 0));
    return unwrap(make_call(name, std::move(args), 0));
  }

  static ExprPtr number(const std::string& digits) {
    if (digits.find_first_of(".e") == std::string::npos && digits.size() < 19) {
      const int64_t value = std::stoll(digits);
      const Type type = value <= 2147483647 ? Type::integer() : Type::bigint();
      return make_literal({type, value}, 0);
    }
    return unwrap(make_cast(make_unknown(digits, 0), Type::numeric(), 0));
  }

  static bool is_type(const std::string& name) {
    constexpr auto kNames = std::to_array<std::string_view>(
        {"boolean", "bool",    "smallint",  "int2",        "integer", "int",      "int4",
         "bigint",  "int8",    "numeric",   "real",        "float4",  "double",   "float8",
         "text",    "varchar", "timestamp", "timestamptz", "date",    "interval", "jsonb"});
    return std::ranges::find(kNames, name) != kNames.end();
  }

  Type type(const std::string& name) {
    if (name == "boolean" || name == "bool") return Type::boolean();
    if (name == "smallint" || name == "int2") return {.kind = TypeKind::kInteger, .bits = 16};
    if (name == "integer" || name == "int" || name == "int4") return Type::integer();
    if (name == "bigint" || name == "int8") return Type::bigint();
    if (name == "numeric") return with_modifiers(Type::numeric());
    if (name == "real" || name == "float4") return {.kind = TypeKind::kDouble, .bits = 32};
    if (name == "double") expect("precision");
    if (name == "double" || name == "float8") return Type::real64();
    if (name == "text") return Type::text();
    if (name == "varchar") return with_modifiers(Type::text());
    if (name == "timestamp") return Type::timestamp();
    if (name == "timestamptz") return Type::timestamptz();
    if (name == "date") return Type::date();
    if (name == "interval") return Type::interval();
    if (name == "jsonb") return Type::json();
    syntax("a type", name);
  }
  Type with_modifiers(Type type) {
    if (!accept("(")) return type;
    type.precision = static_cast<int16_t>(std::stoi(take()));
    if (type.kind == TypeKind::kNumeric)
      type.scale = accept(",") ? static_cast<int16_t>(std::stoi(take())) : int16_t{0};
    expect(")");
    return type;
  }

  std::string_view text_;
  std::span<const Type> columns_;
  size_t at_ = 0;
  size_t token_start_ = 0;
  Kind kind_ = Kind::kEnd;
  std::string token_;
};

}  // namespace

Result<ExprPtr> read_expression(std::string_view text, std::span<const Type> columns) {
  try {
    return Reader(text, columns).all();
  } catch (Failed& failed) {
    return std::unexpected(std::move(failed.error));
  }
}

Evaluated evaluate_text(std::string_view text) {
  Evaluated result;
  auto expr = read_expression(text);
  if (!expr) {
    result.error = expr.error().to_string();
    return result;
  }
  const ExprPtr settled = settle_unknown(std::move(*expr));
  result.type = to_string(settled->type);
  Evaluator evaluator(*settled);
  RowErrors errors;
  const Column& column = evaluator.evaluate({}, 1, errors);
  if (!errors.empty()) {
    result.error = errors[0].message;
    result.reason = errors[0].reason;
  } else if (column.is_null(0)) {
    result.text = "NULL";
  } else {
    append_text(result.text, column, 0);
  }
  return result;
}

}  // namespace wrackline::expr
