// What went wrong, whose fault it is and what to do about it: the one error type of the project.
//
// Text form (to_string), lines without a value left out:
//   message
//   where: file "clicks.jsonl", line 12, partition "a", offset 11
//   detail: a sentence.
//   hint: a sentence that says what to do.
// With `where.column` set the place is one in a text that a person wrote, and the form is the one compilers
// use; the detail is then the line with a caret under the place:
//   clicks.sql:7:3: message
//     7 |   watermark_dealy = '30 s'
//       |   ^
//   hint: a sentence that says what to do.
// `message` is a short fragment in lower case without a full stop; names are quoted with their kind.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>

namespace wrackline {

// Stored: no. Add a code only if some caller acts differently on it.
enum class ErrorCode : uint8_t {
  kInvalid,      // the user's job, option or argument; exit 1 (2 for a command-line usage)
  kUsage,        // the command line itself; exit 2
  kNotFound,     // a file, table or column that is not there
  kUnavailable,  // the outside world refused: permission, disk full, a lock held
  kData,         // a value that cannot be used (a record's fault)
  kOutOfRange,   // a number or time too large for its type
  kUnsupported,  // understood, but not something this version does
};

struct ErrorPlace {
  std::string source;             // name of the table
  std::string file;               // path as the user wrote it
  std::optional<int64_t> line;    // from 1
  std::optional<int64_t> column;  // from 1, in characters
  std::string partition;
  std::optional<int64_t> offset;  // from 0
};

struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;
  std::string detail;
  std::string hint;
  ErrorPlace where;

  std::string to_string() const;
};

// A value or an Error; a Result that is not looked at is a compile error.
template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
};
using Status = Result<void>;

inline std::unexpected<Error> fail(ErrorCode code, std::string message, std::string detail = {},
                                   std::string hint = {}) {
  return std::unexpected(Error{code, std::move(message), std::move(detail), std::move(hint), {}});
}
inline std::unexpected<Error> fail(Error error) {
  return std::unexpected(std::move(error));
}

// An Error for a failed system call: `message` names the action and the thing, the detail is strerror(errno).
Error system_error(std::string message, int error_number);

}  // namespace wrackline

#define WRACKLINE_CONCAT_(a, b) a##b
#define WRACKLINE_CONCAT(a, b) WRACKLINE_CONCAT_(a, b)

// WRACKLINE_TRY(expression): returns from the enclosing function if the expression failed.
#define WRACKLINE_TRY(...)                                         \
  do {                                                             \
    if (auto wrackline_status = (__VA_ARGS__); !wrackline_status)  \
      return std::unexpected(std::move(wrackline_status).error()); \
  } while (false)

// WRACKLINE_ASSIGN(auto x, expression): x is the value, or the enclosing function returns the error.
#define WRACKLINE_ASSIGN(target, ...) \
  WRACKLINE_ASSIGN_(WRACKLINE_CONCAT(wrackline_result_, __LINE__), target, __VA_ARGS__)
#define WRACKLINE_ASSIGN_(name, target, ...)                  \
  auto name = (__VA_ARGS__);                                  \
  if (!name) return std::unexpected(std::move(name).error()); \
  target = std::move(*name)
