// Reads the parts of a statement that any other part may hold: expressions, types, and the refusal of
// everything else.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "sql/guard.h"
#include "sql/job_text.h"
#include "sql/pg_tree.h"
#include "sql/syntax.h"

namespace wrackline::sql {

class SyntaxReader {
 public:
  SyntaxReader(const JobText& text, const Statement& statement) : text_(text), statement_(statement) {}

  const JobText& text() const { return text_; }
  const Statement& statement() const { return statement_; }

  // A place in PostgreSQL's counting, bytes of the statement, as a byte of the job.
  size_t position(int64_t location) const;
  size_t position(const PgNode& node) const { return position(node.leftmost()); }

  // Refuses what `node` holds and nobody read. Call it on every node when all that matters was read.
  Status finish(const PgNode& node) const;
  std::unexpected<Error> unsupported(size_t position, std::string message, std::string hint) const;
  // The error for a whole node that cannot stand here; `what` is said when there is no entry for its kind.
  std::unexpected<Error> refuse(const PgNode& node, std::string_view what) const;

  Result<SyntaxPtr> expression(PgNode node) const;
  Result<SyntaxPtr> call(PgNode node) const;  // a FuncCall
  Result<TypeSyntax> type(PgNode node) const;
  // The texts of a list of String nodes.
  Result<std::vector<std::string>> strings(const std::vector<PgNode>& nodes) const;
  // The names of a column reference, a star left out of them.
  Result<SyntaxPtr> column(PgNode node) const;

 private:
  // Where the first of `words` ("union|except") that occurs stands.
  std::optional<size_t> find_keyword(std::string_view words, size_t from) const;
  Result<SyntaxPtr> constant(PgNode node) const;
  Result<SyntaxPtr> operation(PgNode node) const;
  Result<SyntaxPtr> list_operation(PgNode node, std::string_view kind, SyntaxPtr made) const;
  Result<SyntaxPtr> logical(PgNode node) const;
  Result<SyntaxPtr> null_test(PgNode node) const;
  Result<SyntaxPtr> boolean_test(PgNode node) const;
  Result<SyntaxPtr> case_of(PgNode node) const;
  Result<SyntaxPtr> coalesce(PgNode node) const;
  Result<SyntaxPtr> min_max(PgNode node) const;
  Result<SyntaxPtr> cast(PgNode node) const;
  Status read_args(const std::vector<PgNode>& nodes, Syntax& into) const;
  Status read_sort(const std::vector<PgNode>& nodes, Syntax& into) const;

  const JobText& text_;
  const Statement& statement_;
};

}  // namespace wrackline::sql
