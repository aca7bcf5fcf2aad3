#include "sql/guard.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace wrackline::sql {
namespace {

constexpr std::string_view kOperatorCharacters = "~!@#^&|`?+-*/%<>=";

// Words that make PostgreSQL's tree deeper the way an operator does, without a bracket.
constexpr auto kNestingWords = std::to_array<std::string_view>(
    {"and", "at", "between", "case", "collate", "except", "ilike", "in", "intersect", "is", "isnull", "join",
     "like", "not", "notnull", "or", "overlaps", "similar", "union"});

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool starts_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool continues_word(char c) {
  return starts_word(c) || is_digit(c) || c == '$';
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equals_lower(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, {}, lower);
}

// One token, or nothing at the end of the text.
class Lexer {
 public:
  explicit Lexer(const JobText& job) : job_(job), text_(job.text()) {}

  Result<std::optional<Token>> next() {
    WRACKLINE_TRY(skip_blanks());
    if (at_ >= text_.size()) return std::nullopt;
    Token token{.begin = at_};
    WRACKLINE_TRY(eat(token));
    token.end = at_;
    return token;
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  std::unexpected<Error> unclosed(size_t from, std::string what, std::string hint) const {
    return fail(job_.error(from, ErrorCode::kInvalid, std::move(what) + " is never closed", std::move(hint)));
  }

  Status skip_blanks() {
    while (at_ < text_.size()) {
      if (is_blank(peek())) {
        ++at_;
      } else if (peek() == '-' && peek(1) == '-') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (peek() == '/' && peek(1) == '*') {
        WRACKLINE_TRY(skip_comment());
      } else {
        break;
      }
    }
    return {};
  }

  Status skip_comment() {
    const size_t from = at_;
    for (size_t level = 0; at_ < text_.size();) {
      if (peek() == '/' && peek(1) == '*') {
        ++level;
        at_ += 2;
      } else if (peek() == '*' && peek(1) == '/') {
        at_ += 2;
        if (--level == 0) return {};
      } else {
        ++at_;
      }
    }
    return unclosed(from, "comment", "Comments nest: each /* needs its own */.");
  }

  Status eat(Token& token) {
    const char c = peek();
    if (c == '\'') return eat_quoted(token, TokenKind::kString, false);
    if (c == '"') return eat_quoted(token, TokenKind::kQuotedWord, false);
    if (starts_word(c)) return eat_word(token);
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return eat_number(token);
    if (c == '$') return eat_dollar(token);
    if (kOperatorCharacters.contains(c)) return eat_operator(token);
    token.kind = TokenKind::kPunctuation;
    at_ += c == ':' && (peek(1) == ':' || peek(1) == '=') ? 2 : 1;
    if (text_[at_ - 1] == ':' && at_ - token.begin == 2) token.kind = TokenKind::kOperator;  // a cast nests
    return {};
  }

  // From the opening quote to the closing one; a doubled quote stands for one.
  Status eat_quoted(Token& token, TokenKind kind, bool backslashes) {
    token.kind = kind;
    const char quote = peek();
    const size_t from = at_++;
    while (at_ < text_.size()) {
      if (backslashes && peek() == '\\') {
        at_ += 2;
      } else if (peek() != quote) {
        ++at_;
      } else if (peek(1) == quote) {
        at_ += 2;
      } else {
        ++at_;
        return {};
      }
    }
    at_ = text_.size();
    if (quote == '"')
      return unclosed(from, "quoted name", "A name in double quotes ends with a double quote.");
    return unclosed(from, "string",
                    "A string ends with a single quote; a quote inside it is written twice: 'it''s'.");
  }

  Status eat_word(Token& token) {
    const size_t from = at_;
    while (continues_word(peek())) ++at_;
    const std::string_view word = text_.substr(from, at_ - from);
    const bool unicode = equals_lower(word, "u") && peek() == '&' && (peek(1) == '\'' || peek(1) == '"');
    if (unicode) {
      ++at_;
      return eat_quoted(token, peek() == '"' ? TokenKind::kQuotedWord : TokenKind::kString, false);
    }
    const bool prefix = word.size() == 1 && std::string_view("ebxn").contains(lower(word[0]));
    if (prefix && peek() == '\'') return eat_quoted(token, TokenKind::kString, lower(word[0]) == 'e');
    token.kind = TokenKind::kWord;
    return {};
  }

  Status eat_number(Token& token) {
    token.kind = TokenKind::kNumber;
    while (is_digit(peek())) ++at_;
    if (peek() == '.' && peek(1) != '.') {
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if (lower(peek()) == 'e' && is_digit(peek(1 + sign))) {
      at_ += 1 + sign;
      while (is_digit(peek())) ++at_;
    }
    return {};
  }

  // $1 or $tag$ any text $tag$.
  Status eat_dollar(Token& token) {
    const size_t from = at_++;
    if (is_digit(peek())) {
      token.kind = TokenKind::kParameter;
      while (is_digit(peek())) ++at_;
      return {};
    }
    while (continues_word(peek()) && peek() != '$') ++at_;
    if (peek() != '$') {  // no tag: a stray dollar sign, which the parser refuses
      token.kind = TokenKind::kPunctuation;
      at_ = from + 1;
      return {};
    }
    ++at_;
    const std::string_view tag = text_.substr(from, at_ - from);
    const size_t close = text_.find(tag, at_);
    if (close == text_.npos) {
      return unclosed(from, "string", format("A string that starts with {0} ends with {0}.", printable(tag)));
    }
    token.kind = TokenKind::kString;
    at_ = close + tag.size();
    return {};
  }

  // PostgreSQL's rule: an operator ends before a comment, and ends in + or - only if it has one of
  // ~!@#^&|`?%.
  Status eat_operator(Token& token) {
    token.kind = TokenKind::kOperator;
    const size_t from = at_;
    while (at_ < text_.size() && kOperatorCharacters.contains(peek())) {
      const bool comment = (peek() == '-' && peek(1) == '-') || (peek() == '/' && peek(1) == '*');
      if (comment && at_ > from) break;
      ++at_;
    }
    const bool may_end_in_sign = std::ranges::any_of(
        text_.substr(from, at_ - from), [](char c) { return std::string_view("~!@#^&|`?%").contains(c); });
    const auto ends_in_sign = [&] { return text_[at_ - 1] == '+' || text_[at_ - 1] == '-'; };
    while (!may_end_in_sign && at_ - from > 1 && ends_in_sign()) --at_;
    return {};
  }

  const JobText& job_;
  std::string_view text_;
  size_t at_ = 0;
};

// Bytes of a name: quotes and the U& prefix left out, doubled quotes counted once.
size_t name_bytes(std::string_view token) {
  if (!token.ends_with('"')) return token.size();
  token.remove_prefix(token.find('"') + 1);
  token.remove_suffix(1);
  return token.size() - static_cast<size_t>(std::ranges::count(token, '"')) / 2;
}

size_t first_invalid_byte(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    size_t length = 1;
    while (length < 4 && !is_valid_utf8(text.substr(at, length))) ++length;
    if (!is_valid_utf8(text.substr(at, length))) return at;
    at += length;
  }
  return text.size();
}

Status check_bytes(const JobText& job) {
  const std::string_view text = job.text();
  if (text.size() > kJobBytesMax) {
    return fail(
        ErrorCode::kOutOfRange,
        format("job file \"{}\" has {} bytes, more than the {} that a job may have", job.path(),
               with_thousands(static_cast<int64_t>(text.size())), with_thousands(kJobBytesMax)),
        {}, "Is it the job and not the data? Paths of the data stand in the job, in WITH (path = '...').");
  }
  if (const size_t nul = text.find('\0'); nul != text.npos) {
    return fail(job.error(nul, ErrorCode::kInvalid, "NUL byte in the job",
                          "A job is plain text in UTF-8. Is this file UTF-16, or not text at all?"));
  }
  if (!is_valid_utf8(text)) {
    const size_t at = first_invalid_byte(text);
    return fail(job.error(at, ErrorCode::kInvalid,
                          format("invalid UTF-8: byte 0x{:02x}", static_cast<unsigned char>(text[at])),
                          "Save the job as UTF-8."));
  }
  return {};
}

// Gathers tokens into statements and holds them to the limits.
class Splitter {
 public:
  explicit Splitter(const JobText& job) : job_(job) {}

  Status add(Token token) {
    token.depth = open_.size();
    const std::string_view text = job_.text().substr(token.begin, token.end - token.begin);
    if (token.kind == TokenKind::kPunctuation && text == ";") return end_statement();
    if (current_.tokens.empty()) current_.begin = token.begin;
    current_.end = token.end;
    WRACKLINE_TRY(check_name(token, text));
    WRACKLINE_TRY(nest(token, text));
    current_.tokens.push_back(token);
    return check_limits(token);
  }

  Status end_statement() {
    if (!open_.empty()) {
      return fail(job_.error(open_.back(), ErrorCode::kInvalid,
                             format("\"{}\" is never closed", job_.text().substr(open_.back(), 1)),
                             "The statement ends before the bracket does."));
    }
    if (!current_.tokens.empty()) statements_.push_back(std::move(current_));
    current_ = {};
    operators_ = 0;
    return {};
  }

  std::vector<Statement> take() { return std::move(statements_); }

 private:
  Status check_name(const Token& token, std::string_view text) const {
    if (token.kind != TokenKind::kWord && token.kind != TokenKind::kQuotedWord) return {};
    const size_t bytes = name_bytes(text);
    if (bytes <= kIdentifierBytesMax) return {};
    return fail(job_.error(token.begin, ErrorCode::kInvalid,
                           format("name of {} bytes, more than the {} that PostgreSQL keeps of a name", bytes,
                                  kIdentifierBytesMax),
                           "PostgreSQL would cut it silently; choose a shorter one."));
  }

  Status nest(const Token& token, std::string_view text) {
    const bool nests = token.kind == TokenKind::kOperator ||
                       (token.kind == TokenKind::kWord && std::ranges::any_of(kNestingWords, [&](auto word) {
                          return equals_lower(text, word);
                        }));
    if (nests) ++operators_;
    if (token.kind != TokenKind::kPunctuation) return {};
    if (text == "(" || text == "[") open_.push_back(token.begin);
    if ((text == ")" || text == "]") && !open_.empty()) open_.pop_back();
    return {};
  }

  std::unexpected<Error> too_much(const Token& token, std::string_view what, size_t limit) const {
    return fail(
        job_.error(token.begin, ErrorCode::kOutOfRange,
                   format("statement of more than {} {}", with_thousands(static_cast<int64_t>(limit)), what),
                   "The limit keeps the parser's memory in bounds; split the statement, or move the list or "
                   "the computation into a column of the data."));
  }

  Status check_limits(const Token& token) const {
    if (current_.end - current_.begin > kStatementBytesMax)
      return too_much(token, "bytes", kStatementBytesMax);
    if (current_.tokens.size() > kTokensMax) return too_much(token, "words and signs", kTokensMax);
    if (operators_ > kOperatorsMax) return too_much(token, "operators", kOperatorsMax);
    if (open_.size() > kNestingMax) return too_much(token, "brackets inside each other", kNestingMax);
    return {};
  }

  const JobText& job_;
  std::vector<Statement> statements_;
  Statement current_;
  std::vector<size_t> open_;  // where each open bracket stands
  size_t operators_ = 0;
};

}  // namespace

Result<std::vector<Statement>> split_statements(const JobText& text) {
  WRACKLINE_TRY(check_bytes(text));
  Lexer lexer(text);
  Splitter splitter(text);
  while (true) {
    WRACKLINE_ASSIGN(const std::optional<Token> token, lexer.next());
    if (!token) break;
    WRACKLINE_TRY(splitter.add(*token));
  }
  WRACKLINE_TRY(splitter.end_statement());
  return splitter.take();
}

bool is_word(const JobText& text, const Token& token, std::string_view word) {
  return token.kind == TokenKind::kWord &&
         equals_lower(text.text().substr(token.begin, token.end - token.begin), word);
}

std::optional<size_t> find_word(const JobText& text, const Statement& statement, std::string_view word,
                                size_t from) {
  const Token* best = nullptr;
  for (const Token& token : statement.tokens) {
    if (token.begin < from || !is_word(text, token, word)) continue;
    if (best == nullptr || token.depth < best->depth) best = &token;
  }
  if (best == nullptr) return std::nullopt;
  return best->begin;
}

std::string tokens_text(const JobText& text, const Statement& statement, size_t first, size_t last) {
  std::string out;
  for (size_t i = first; i < last; ++i) {
    const Token& token = statement.tokens[i];
    if (i > first && token.begin > statement.tokens[i - 1].end) out += ' ';
    out.append(text.text().substr(token.begin, token.end - token.begin));
  }
  return out;
}

}  // namespace wrackline::sql
