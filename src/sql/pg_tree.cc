#include "sql/pg_tree.h"

#include <pg_query.h>
#include <pg_query/pg_query.pb-c.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "base/text.h"

namespace wrackline::sql {
namespace {

const ProtobufCMessage& as_message(const void* message) {
  return *static_cast<const ProtobufCMessage*>(message);
}

template <class T>
const T& member(const void* message, size_t offset) {
  return *reinterpret_cast<const T*>(static_cast<const char*>(message) + offset);
}

// A Node is a box around one of all kinds of messages; the box itself says nothing.
const void* unboxed(const void* message) {
  if (message == nullptr || as_message(message).descriptor != &pg_query__node__descriptor) return message;
  const auto& node = *static_cast<const PgQuery__Node*>(message);
  return node.node_case == PG_QUERY__NODE__NODE__NOT_SET ? nullptr : node.alias;
}

bool is_in_use(const void* message, const ProtobufCFieldDescriptor& field) {
  const bool one_of = (field.flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
  return !one_of || member<uint32_t>(message, field.quantifier_offset) == field.id;
}

std::string_view enumerator(const ProtobufCFieldDescriptor& field, int value) {
  const auto* values = static_cast<const ProtobufCEnumDescriptor*>(field.descriptor);
  const ProtobufCEnumValue* found = protobuf_c_enum_descriptor_get_value(values, value);
  return found == nullptr ? "" : found->name;
}

bool is_neutral(std::string_view name) {
  constexpr std::string_view kNeutral[] = {"_DEFAULT", "_NONE", "_NOT_SET", "_NOOP", "_UNDEFINED", "_UNSPEC"};
  return std::ranges::any_of(kNeutral, [&](auto end) { return name.ends_with(end); });
}

size_t count_of(const void* message, const ProtobufCFieldDescriptor& field) {
  return member<size_t>(message, field.quantifier_offset);
}

bool is_set(const void* message, const ProtobufCFieldDescriptor& field) {
  if (!is_in_use(message, field)) return false;
  if (field.label == PROTOBUF_C_LABEL_REPEATED) return count_of(message, field) > 0;
  switch (field.type) {
    case PROTOBUF_C_TYPE_MESSAGE:
      return unboxed(member<const void*>(message, field.offset)) != nullptr;
    case PROTOBUF_C_TYPE_STRING:
      return *member<const char*>(message, field.offset) != '\0';
    case PROTOBUF_C_TYPE_BOOL:
      return member<protobuf_c_boolean>(message, field.offset) != 0;
    case PROTOBUF_C_TYPE_ENUM:
      return !is_neutral(enumerator(field, member<int>(message, field.offset)));
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
      return member<int64_t>(message, field.offset) != 0;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_UINT32:
      return member<int32_t>(message, field.offset) != 0;
    default:
      return true;  // no other type occurs; set is the safe answer
  }
}

bool is_location(const ProtobufCFieldDescriptor& field) {
  return field.type == PROTOBUF_C_TYPE_INT32 && std::strcmp(field.name, "location") == 0;
}

int64_t smaller_location(int64_t a, int64_t b) {
  return a <= 0 ? b : b <= 0 ? a : std::min(a, b);
}

int64_t leftmost_of(const void* message);

int64_t leftmost_of_field(const void* message, const ProtobufCFieldDescriptor& field) {
  if (is_location(field)) return member<int32_t>(message, field.offset);
  if (field.type != PROTOBUF_C_TYPE_MESSAGE || !is_in_use(message, field)) return 0;
  if (field.label != PROTOBUF_C_LABEL_REPEATED)
    return leftmost_of(member<const void*>(message, field.offset));
  int64_t best = 0;
  const auto* items = member<const void* const*>(message, field.offset);
  for (size_t i = 0; i < count_of(message, field); ++i) best = smaller_location(best, leftmost_of(items[i]));
  return best;
}

int64_t leftmost_of(const void* boxed) {
  const void* message = unboxed(boxed);
  if (message == nullptr) return 0;
  int64_t best = 0;
  const ProtobufCMessageDescriptor& kind = *as_message(message).descriptor;
  for (unsigned i = 0; i < kind.n_fields; ++i) {
    best = smaller_location(best, leftmost_of_field(message, kind.fields[i]));
  }
  return best;
}

// The byte where the character `ordinal` (from 1) of `text` begins; PostgreSQL counts characters in its
// errors.
size_t byte_of_character(std::string_view text, int64_t ordinal) {
  size_t at = 0;
  for (; at < text.size() && ordinal > 1; --ordinal) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  return at;
}

// What people write from habit of other dialects, by the word at which PostgreSQL's grammar stops.
struct Habit {
  std::string_view word;
  std::string_view hint;
};
constexpr Habit kHabits[] = {
    {"for", "A watermark is declared in options: WITH (event_time = 'at', watermark_delay = '30 s')."},
    {"source",
     "A source is a table with a connector: CREATE TABLE clicks (...) WITH (connector = 'file', ...)."},
    {"sink",
     "A sink is a table that is inserted into: CREATE TABLE minutes () WITH (connector = 'sqlite', ...)."},
    {"emit", "There is no EMIT: a window is published when it closes, and again with each correction."},
    {"asof", "As-of joins are planned, but not supported yet."},
    {"match_condition", "As-of joins are planned, but not supported yet."},
    {"descriptor", "Write the window as FROM TUMBLE(clicks, at, INTERVAL '1 minute')."},
};

std::string hint_for(const JobText& text, const Statement& statement, size_t at) {
  const auto token = std::ranges::find_if(statement.tokens, [&](const Token& t) { return t.end > at; });
  if (token == statement.tokens.end())
    return "The statement stops too early; is something missing before its end?";
  for (const Habit& habit : kHabits) {
    if (is_word(text, *token, habit.word)) return std::string(habit.hint);
  }
  if (token == statement.tokens.begin()) {
    return "A job has three kinds of statement: CREATE TABLE, CREATE MATERIALIZED VIEW and INSERT INTO.";
  }
  const std::string_view here = text.text().substr(token->begin, token->end - token->begin);
  if (here == ")" && text.text()[token[-1].begin] == ',') return "Is the comma before it one too many?";
  const auto options = find_word(text, statement, "with");
  if (options && *options < at && token->depth == 1) {
    return "Options are written WITH (name = 'value', name = 'value'): values in quotes, commas between "
           "them.";
  }
  return {};
}

Error parse_error(const JobText& text, const Statement& statement, const PgQueryError& error) {
  const std::string_view sql = text.text().substr(statement.begin, statement.end - statement.begin);
  const size_t at = error.cursorpos > 0 ? byte_of_character(sql, error.cursorpos) : 0;
  const bool has_place = error.cursorpos > 0;
  return text.error(statement.begin + at, ErrorCode::kInvalid, printable(error.message, 200),
                    has_place ? hint_for(text, statement, statement.begin + at) : std::string());
}

}  // namespace

// As pg_query.proto has it; the descriptor's short name is spelled for C ("AConst").
std::string_view PgNode::kind() const {
  if (message_ == nullptr) return {};
  const std::string_view name = as_message(message_).descriptor->name;
  return name.substr(name.rfind('.') + 1);
}

size_t PgNode::index_of(std::string_view field) const {
  WRACKLINE_CHECK(message_ != nullptr, "an absent node has no field " + std::string(field));
  const ProtobufCMessageDescriptor& kind = *as_message(message_).descriptor;
  for (unsigned i = 0; i < kind.n_fields; ++i) {
    if (kind.fields[i].name == field) return i;
  }
  check_failed(__FILE__, __LINE__, "the message has the field", format("{}.{}", kind.short_name, field));
}

// Each reader marks its field and finds it in the message.
#define WRACKLINE_READ_FIELD(descriptor, field)                                                \
  const size_t index = index_of(field);                                                        \
  const ProtobufCFieldDescriptor& descriptor = as_message(message_).descriptor->fields[index]; \
  read_ |= uint64_t{1} << index

PgNode PgNode::node(std::string_view field) {
  WRACKLINE_READ_FIELD(descriptor, field);
  WRACKLINE_CHECK(descriptor.type == PROTOBUF_C_TYPE_MESSAGE &&
                  descriptor.label != PROTOBUF_C_LABEL_REPEATED);
  if (!is_in_use(message_, descriptor)) return {};
  return PgNode(unboxed(member<const void*>(message_, descriptor.offset)));
}

std::vector<PgNode> PgNode::list(std::string_view field) {
  WRACKLINE_READ_FIELD(descriptor, field);
  WRACKLINE_CHECK(descriptor.type == PROTOBUF_C_TYPE_MESSAGE &&
                  descriptor.label == PROTOBUF_C_LABEL_REPEATED);
  std::vector<PgNode> nodes;
  const auto* items = member<const void* const*>(message_, descriptor.offset);
  for (size_t i = 0; i < count_of(message_, descriptor); ++i) nodes.emplace_back(unboxed(items[i]));
  return nodes;
}

std::string PgNode::text(std::string_view field) {
  WRACKLINE_READ_FIELD(descriptor, field);
  WRACKLINE_CHECK(descriptor.type == PROTOBUF_C_TYPE_STRING);
  return member<const char*>(message_, descriptor.offset);
}

int64_t PgNode::number(std::string_view field) {
  WRACKLINE_READ_FIELD(descriptor, field);
  switch (descriptor.type) {
    case PROTOBUF_C_TYPE_BOOL:
      return member<protobuf_c_boolean>(message_, descriptor.offset) != 0 ? 1 : 0;
    case PROTOBUF_C_TYPE_INT32:
      return member<int32_t>(message_, descriptor.offset);
    case PROTOBUF_C_TYPE_UINT32:
      return member<uint32_t>(message_, descriptor.offset);
    default:
      check_failed(__FILE__, __LINE__, "the field is a number", std::string(field));
  }
}

std::string_view PgNode::choice(std::string_view field) {
  WRACKLINE_READ_FIELD(descriptor, field);
  WRACKLINE_CHECK(descriptor.type == PROTOBUF_C_TYPE_ENUM);
  return enumerator(descriptor, member<int>(message_, descriptor.offset));
}

#undef WRACKLINE_READ_FIELD

std::string_view PgNode::unread() const {
  if (message_ == nullptr) return {};
  const ProtobufCMessageDescriptor& kind = *as_message(message_).descriptor;
  WRACKLINE_CHECK(kind.n_fields <= 64, kind.short_name);
  for (unsigned i = 0; i < kind.n_fields; ++i) {
    const ProtobufCFieldDescriptor& field = kind.fields[i];
    if ((read_ >> i & 1) == 0 && !is_location(field) && is_set(message_, field)) return field.name;
  }
  return {};
}

int64_t PgNode::leftmost() const {
  return leftmost_of(message_);
}

int64_t PgNode::leftmost(std::string_view field) const {
  return leftmost_of_field(message_, as_message(message_).descriptor->fields[index_of(field)]);
}

Result<PgTree> PgTree::parse(const JobText& text, const Statement& statement) {
  const std::string sql(text.text().substr(statement.begin, statement.end - statement.begin));
  PgQueryProtobufParseResult parsed = pg_query_parse_protobuf(sql.c_str());
  std::optional<Error> error;
  PgTree tree;
  if (parsed.error != nullptr) {
    error = parse_error(text, statement, *parsed.error);
  } else {
    tree.tree_.reset(pg_query__parse_result__unpack(
        nullptr, parsed.parse_tree.len, reinterpret_cast<const uint8_t*>(parsed.parse_tree.data)));
  }
  pg_query_free_protobuf_parse_result(parsed);
  if (error) return fail(*std::move(error));
  const auto* root = static_cast<const PgQuery__ParseResult*>(tree.tree_.get());
  if (root == nullptr)
    return fail(text.error(statement.begin, ErrorCode::kOutOfRange, "statement too large to parse"));
  if (root->n_stmts != 1 || !tree.statement()) {
    return fail(text.error(statement.begin, ErrorCode::kInvalid, "one statement was expected here"));
  }
  return tree;
}

PgNode PgTree::statement() const {
  const auto* root = static_cast<const PgQuery__ParseResult*>(tree_.get());
  return PgNode(unboxed(root->stmts[0]->stmt));
}

void PgTree::Free::operator()(void* tree) const {
  pg_query__parse_result__free_unpacked(static_cast<PgQuery__ParseResult*>(tree), nullptr);
}

}  // namespace wrackline::sql
