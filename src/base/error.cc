#include "base/error.h"

#include <cstring>

#include "base/text.h"

namespace wrackline {

namespace {

std::string compiler_form(const Error& error) {
  std::string text = format("{}:{}:{}: {}", error.where.file, error.where.line.value_or(1),
                            *error.where.column, error.message);
  if (!error.detail.empty()) text += "\n" + error.detail;
  if (!error.hint.empty()) text += "\nhint: " + error.hint;
  return text;
}

}  // namespace

std::string Error::to_string() const {
  if (where.column) return compiler_form(*this);
  std::string text = message;
  std::string place;
  const auto add = [&](std::string part) { place += (place.empty() ? "" : ", ") + part; };
  if (!where.source.empty()) add(format("source \"{}\"", where.source));
  if (!where.file.empty()) add(format("file \"{}\"", where.file));
  if (where.line) add(format("line {}", *where.line));
  if (!where.partition.empty()) add(format("partition \"{}\"", where.partition));
  if (where.offset) add(format("offset {}", *where.offset));
  if (!place.empty()) text += "\nwhere: " + place;
  if (!detail.empty()) text += "\ndetail: " + detail;
  if (!hint.empty()) text += "\nhint: " + hint;
  return text;
}

Error system_error(std::string message, int error_number) {
  const ErrorCode code = error_number == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable;
  return Error{code, std::move(message), std::strerror(error_number), {}, {}};
}

}  // namespace wrackline
