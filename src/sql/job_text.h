// The text of a job file and errors that point into it.
//
// Units: offsets are bytes from 0; lines and columns count from 1, columns in characters (code points).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace wrackline::sql {

struct TextPlace {
  int64_t line = 1;
  int64_t column = 1;
};

// Borrows the text, which must outlive it.
class JobText {
 public:
  JobText(std::string_view text, std::string_view path) : text_(text), path_(path) {}

  std::string_view text() const { return text_; }
  std::string_view path() const { return path_; }

  // The place of the character that the byte `offset` belongs to; past the end: behind the last character.
  TextPlace place(size_t offset) const;

  // The line of `offset` with its number and a caret under the place:
  //     7 |   watermark_dealy = '30 s'
  //       |   ^
  // A long line is cut around the place; tabs stay tabs, so that the caret stands right at any tab width.
  std::string code_frame(size_t offset) const;

  // An error with its place and code frame.
  Error error(size_t offset, ErrorCode code, std::string message, std::string hint = {}) const;
  // Gives `error`, made without a place (by an expression maker, say), the place and the code frame. A detail
  // that it has already goes before its hint.
  Error placed(size_t offset, Error error) const;

 private:
  std::string_view text_;
  std::string_view path_;
};

}  // namespace wrackline::sql
