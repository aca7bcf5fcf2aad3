// Syntax that PostgreSQL's grammar takes and a job does not: how each is called, and what to write instead.
#pragma once

#include <span>
#include <string_view>

namespace wrackline::sql {

struct Refusal {
  std::string_view where;    // "SelectStmt.having_clause" for a field, "SubLink" for a whole node
  std::string_view message;  // "HAVING is not supported yet"
  std::string_view word;     // the keyword that the caret goes under, in lower case ("union|except": which is
                             // there); empty: the place of the node
  std::string_view hint;
};

std::span<const Refusal> all_refusals();

// The entry of `where`, or null: then the caller says the general thing.
const Refusal* find_refusal(std::string_view where);

}  // namespace wrackline::sql
