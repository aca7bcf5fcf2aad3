#include "sql/bind_type.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace wrackline::sql {
namespace {

struct PlainType {
  std::string_view name;
  Type type;
};
constexpr PlainType kPlainTypes[] = {
    {"bool", Type::boolean()},
    {"int2", {.kind = TypeKind::kInteger, .bits = 16}},
    {"int4", Type::integer()},
    {"int8", Type::bigint()},
    {"float4", {.kind = TypeKind::kDouble, .bits = 32}},
    {"float8", Type::real64()},
    {"text", Type::text()},
    {"timestamptz", Type::timestamptz()},
    {"timestamp", Type::timestamp()},
    {"date", Type::date()},
    {"interval", Type::interval()},
    {"json", Type::json()},
    {"jsonb", Type::json()},
};

struct OtherType {
  std::string_view name;
  std::string_view hint;
};
constexpr OtherType kOtherTypes[] = {
    {"bpchar", "Use text or varchar(n): char(n) pads with blanks."},
    {"char", "Use text or varchar(n)."},
    {"name", "Use text."},
    {"citext", "Use text, and lower(x) where case should not count."},
    {"uuid", "Use text."},
    {"inet", "Use text."},
    {"cidr", "Use text."},
    {"macaddr", "Use text."},
    {"bytea", "Use text."},
    {"bit", "Use bigint, or text."},
    {"varbit", "Use bigint, or text."},
    {"xml", "Use text."},
    {"point", "Use two columns of type double precision, or jsonb."},
    {"money", "Use numeric(p, s)."},
    {"time", "Use text, or a timestamptz of the whole instant."},
    {"timetz", "Use text, or a timestamptz of the whole instant."},
    {"serial", "Use bigint: records bring their numbers along."},
    {"bigserial", "Use bigint: records bring their numbers along."},
    {"smallserial", "Use bigint: records bring their numbers along."},
    {"oid", "Use bigint."},
    {"string", "Use text."},
    {"varchar2", "Use text or varchar(n)."},
    {"datetime", "Use timestamptz, or timestamp with the source option time_zone."},
    {"timestamp_ltz", "Use timestamptz."},
    {"long", "Use bigint."},
    {"double", "Use double precision."},
    {"number", "Use numeric, numeric(p, s) or bigint."},
};

constexpr int kDigitsMax = 38;
constexpr int64_t kCharactersMax = 32'767;

std::string known_types() {
  return "The types are boolean, smallint, integer, bigint, numeric(p, s), real, double precision, text, "
         "varchar(n), "
         "timestamptz, timestamp, date, interval and jsonb.";
}

// PostgreSQL packs the fields of INTERVAL '4' SECOND into bits: 1 << (its number of the field).
struct IntervalField {
  int64_t mask;
  std::string_view name;
};
constexpr IntervalField kIntervalFields[] = {
    {int64_t{1} << 2, "YEAR"},  {int64_t{1} << 1, "MONTH"},   {int64_t{1} << 3, "DAY"},
    {int64_t{1} << 10, "HOUR"}, {int64_t{1} << 11, "MINUTE"}, {int64_t{1} << 12, "SECOND"},
};

bool is_number(std::string_view text, bool fraction) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const size_t point = fraction ? text.find('.') : text.npos;
  const auto digits = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == part.npos;
  };
  if (point == text.npos) return digits(text);
  return digits(text.substr(0, point)) && digits(text.substr(point + 1));
}

class TypeBinder {
 public:
  TypeBinder(const JobText& text, const TypeSyntax& type) : text_(text), type_(type) {}

  Result<Type> bind() const {
    if (type_.array)
      return unsupported("arrays are not supported", "Use jsonb, and read elements with -> and ->>.");
    if (type_.name == "numeric") return numeric();
    if (type_.name == "varchar") return varchar();
    const auto* plain = std::ranges::find(kPlainTypes, type_.name, &PlainType::name);
    if (plain != std::end(kPlainTypes)) {
      if (!type_.modifiers.empty()) return plain_with_modifiers(plain->type);
      return plain->type;
    }
    const auto* other = std::ranges::find(kOtherTypes, type_.name, &OtherType::name);
    if (other != std::end(kOtherTypes)) {
      return unsupported(format("type \"{}\" is not supported", type_.name), std::string(other->hint));
    }
    return unknown();
  }

 private:
  std::unexpected<Error> unsupported(std::string message, std::string hint) const {
    return fail(text_.error(type_.position, ErrorCode::kUnsupported, std::move(message), std::move(hint)));
  }
  std::unexpected<Error> invalid(std::string message, std::string hint) const {
    return fail(text_.error(type_.position, ErrorCode::kInvalid, std::move(message), std::move(hint)));
  }

  std::unexpected<Error> unknown() const {
    constexpr auto kNames = std::to_array<std::string_view>(
        {"boolean", "smallint", "integer", "bigint", "numeric", "real", "double precision", "text", "varchar",
         "timestamptz", "timestamp", "date", "interval", "jsonb"});
    const std::string nearest = nearest_name(type_.name, kNames);
    return invalid(format("type \"{}\" does not exist", printable(type_.name)),
                   nearest.empty() ? known_types() : format("did you mean \"{}\"?", nearest));
  }

  Result<Type> numeric() const {
    const auto& modifiers = type_.modifiers;
    if (modifiers.empty()) return Type::numeric();
    const int64_t precision = modifiers[0];
    const int64_t scale = modifiers.size() > 1 ? modifiers[1] : 0;
    if (modifiers.size() > 2 || precision < 1 || precision > kDigitsMax) {
      return invalid(format("numeric takes a precision of 1 to {} digits", kDigitsMax),
                     "Write numeric(12, 2), or numeric for no limit of its own.");
    }
    if (scale < 0 || scale > precision) {
      return invalid(format("numeric({}, {}) has no such scale", precision, scale),
                     "The scale, digits behind the point, is from 0 to the precision.");
    }
    Type type = Type::numeric();
    type.precision = static_cast<int16_t>(precision);
    type.scale = static_cast<int16_t>(scale);
    return type;
  }

  Result<Type> varchar() const {
    Type type = Type::text();
    if (type_.modifiers.empty()) return type;
    if (type_.modifiers.size() > 1 || type_.modifiers[0] < 1 || type_.modifiers[0] > kCharactersMax) {
      return invalid(format("varchar takes a length of 1 to {} characters", kCharactersMax),
                     "Use text for no limit.");
    }
    type.precision = static_cast<int16_t>(type_.modifiers[0]);
    return type;
  }

  std::unexpected<Error> plain_with_modifiers(const Type& type) const {
    if (type.kind == TypeKind::kTimestamp || type.kind == TypeKind::kInterval) {
      return unsupported(format("type \"{}\" with a precision or with fields is not supported", type_.name),
                         format("Times are kept to the microsecond: write {} alone.", type_.name));
    }
    return invalid(format("type \"{}\" takes no modifier", type_.name),
                   "Leave out what stands in parentheses.");
  }

  const JobText& text_;
  const TypeSyntax& type_;
};

}  // namespace

Result<Type> bind_type(const JobText& text, const TypeSyntax& type) {
  return TypeBinder(text, type).bind();
}

Result<std::string> interval_text(const JobText& text, const TypeSyntax& type, const std::string& value) {
  if (type.modifiers.empty()) return value;
  const auto* field = std::ranges::find(kIntervalFields, type.modifiers[0], &IntervalField::mask);
  const bool one_field = field != std::end(kIntervalFields) && type.modifiers.size() == 1;
  if (one_field && is_number(value, field->name == "SECOND")) return format("{} {}", value, field->name);
  return fail(text.error(
      type.position, ErrorCode::kUnsupported, "this form of interval is not supported",
      "One field with a number is read, INTERVAL '4' SECOND; otherwise write the units into the text: "
      "INTERVAL '1 min 30 s'."));
}

}  // namespace wrackline::sql
