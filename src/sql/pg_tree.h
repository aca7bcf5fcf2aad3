// PostgreSQL's parse tree, read so that nothing in it can be overlooked.
//
// A PgNode is a view of one protobuf message. Reading a field by its name marks it as read; what is set and
// was not read when the reader is done is something that the job says and we would ignore, so `unread()`
// names it and the reader refuses. A new kind of syntax is thereby refused until somebody reads its fields.
//
// Source: pg_query.proto of libpg_query 15-4.0.0. The only files that include the library are this room's
// pg_tree.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sql/guard.h"
#include "sql/job_text.h"

namespace wrackline::sql {

// Borrows from its PgTree. Field names are those of pg_query.proto; a name that the message does not have is
// a bug.
class PgNode {
 public:
  PgNode() = default;
  explicit PgNode(const void* message) : message_(message) {}  // a ProtobufCMessage, or null

  explicit operator bool() const { return message_ != nullptr; }
  // The message's name: "SelectStmt", "A_Expr"; empty for an absent node.
  std::string_view kind() const;

  PgNode node(std::string_view field);               // absent if not set
  std::vector<PgNode> list(std::string_view field);  // absent nodes in it stay
  std::string text(std::string_view field);          // empty if not set
  int64_t number(std::string_view field);            // 0 if not set; also for boolean fields
  std::string_view choice(std::string_view field);   // name of the enumerator

  // The first field that is set and was not read; empty if there is none. Zero, false, empty and enumerators
  // that stand for nothing in particular ("..._DEFAULT", "..._NONE", "..._NOT_SET", "..._NOOP") count as not
  // set.
  std::string_view unread() const;

  // The smallest location in the node or under it, in bytes of the statement; 0 when it has none.
  int64_t leftmost() const;
  // The same under one field.
  int64_t leftmost(std::string_view field) const;

 private:
  size_t index_of(std::string_view field) const;

  const void* message_ = nullptr;
  uint64_t read_ = 0;  // one bit a field, in the order of the descriptor
};

// One parsed statement.
// Threads: parsing needs a deep stack (see guard.h); the library keeps its state per thread.
class PgTree {
 public:
  // Errors: kInvalid with PostgreSQL's message at its place.
  static Result<PgTree> parse(const JobText& text, const Statement& statement);

  PgNode statement() const;

 private:
  struct Free {
    void operator()(void* tree) const;
  };
  std::unique_ptr<void, Free> tree_;
};

}  // namespace wrackline::sql
