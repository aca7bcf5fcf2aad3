// Guards before PostgreSQL's parser sees a text: it recurses over operators, cuts long names and knows no
// limits.
//
// The lexer here follows PostgreSQL's (standard_conforming_strings on) closely enough to count tokens,
// operators and nesting, to find long names and to split the text into statements. Where it should ever
// disagree with PostgreSQL's, the worst is a less fitting error: the parser sees every statement whole.
//
// Measured: the protobuf output of libpg_query 15-4.0.0 overflows a stack of 8 MB at 5,000 chained operators.
// The caps below keep every tree, ours included, shallower than kOperatorsMax + kNestingMax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sql/job_text.h"

namespace wrackline::sql {

inline constexpr size_t kJobBytesMax = size_t{1} << 20;
inline constexpr size_t kStatementBytesMax = size_t{64} << 10;
inline constexpr size_t kTokensMax = 20'000;
inline constexpr size_t kOperatorsMax =
    1'000;  // operators and the words that nest like them: AND, NOT, CASE, JOIN, UNION
inline constexpr size_t kNestingMax = 100;         // brackets
inline constexpr size_t kIdentifierBytesMax = 63;  // PostgreSQL's NAMEDATALEN - 1

enum class TokenKind : uint8_t { kWord, kQuotedWord, kString, kNumber, kParameter, kOperator, kPunctuation };

struct Token {
  TokenKind kind = TokenKind::kWord;
  size_t begin = 0;  // bytes of the job text
  size_t end = 0;
  size_t depth = 0;  // open brackets before it
};

struct Statement {
  size_t begin = 0;  // first token
  size_t end = 0;    // behind the last token, the semicolon left out
  std::vector<Token> tokens;
};

// The statements of the text, empty ones left out.
// Errors: kInvalid for NUL bytes, invalid UTF-8, what is never closed (string, name, comment, bracket), long
// names;
//         kOutOfRange beyond the limits above.
// Cost: one pass.
Result<std::vector<Statement>> split_statements(const JobText& text);

// Is `token` the unquoted word `word` (given in lower case)?
bool is_word(const JobText& text, const Token& token, std::string_view word);

// Where the unquoted word `word` stands first in `statement` at or after the byte `from`; of several, one in
// the fewest brackets.
std::optional<size_t> find_word(const JobText& text, const Statement& statement, std::string_view word,
                                size_t from = 0);

// Tokens [first, last) as text: comments dropped, blanks between tokens made one.
std::string tokens_text(const JobText& text, const Statement& statement, size_t first, size_t last);

}  // namespace wrackline::sql
