#include "expr/aggregate.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "data/decimal.h"
#include "expr/aggregate_accumulator.h"
#include "expr/aggregate_lists.h"
#include "expr/type_rules.h"

namespace wrackline::expr {
namespace {

enum class Family : uint8_t {
  kCount,
  kSum,
  kMean,
  kExtreme,
  kSpread,
  kVerdict,
  kEdge,
  kDistinctEstimate,
  kPercentile,
  kList,
};

struct Known {
  std::string_view name;
  Family family = Family::kCount;
};
constexpr std::array kKnown = {
    Known{"approx_count_distinct", Family::kDistinctEstimate},
    Known{"approx_percentile", Family::kPercentile},
    Known{"array_agg", Family::kList},
    Known{"avg", Family::kMean},
    Known{"bool_and", Family::kVerdict},
    Known{"bool_or", Family::kVerdict},
    Known{"count", Family::kCount},
    Known{"every", Family::kVerdict},
    Known{"first", Family::kEdge},
    Known{"jsonb_agg", Family::kList},
    Known{"last", Family::kEdge},
    Known{"max", Family::kExtreme},
    Known{"min", Family::kExtreme},
    Known{"stddev", Family::kSpread},
    Known{"stddev_pop", Family::kSpread},
    Known{"stddev_samp", Family::kSpread},
    Known{"string_agg", Family::kList},
    Known{"sum", Family::kSum},
    Known{"var_pop", Family::kSpread},
    Known{"var_samp", Family::kSpread},
    Known{"variance", Family::kSpread},
};

// What other systems call them, and what is not offered on purpose.
struct Elsewhere {
  std::string_view name;
  std::string_view hint;
};
constexpr std::array kElsewhere = {
    Elsewhere{"percentile_cont",
              "Write approx_percentile(x, 0.95): a sketch that keeps no values, with an error of at most "
              "0.4 % of the result."},
    Elsewhere{"percentile_disc",
              "Write approx_percentile(x, 0.95): a sketch that keeps no values, with an error of at most "
              "0.4 % of the result."},
    Elsewhere{"median", "Write approx_percentile(x, 0.5), whose error is at most 0.4 % of the result."},
    Elsewhere{"mode", "Group by the value too, and count."},
    Elsewhere{"json_agg", "Write jsonb_agg(x)."},
    Elsewhere{"first_value", "Write first(x): the value of the earliest record by event time."},
    Elsewhere{"last_value", "Write last(x): the value of the latest record by event time."},
    Elsewhere{"approx_distinct", "Write approx_count_distinct(x)."},
};

std::string all_names() {
  std::string names;
  for (const Known& known : kKnown) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

std::unexpected<Error> unknown_aggregate(std::string_view name) {
  std::string hint;
  if (const auto* known = std::ranges::find(kElsewhere, name, &Elsewhere::name); known != kElsewhere.end()) {
    hint = known->hint;
  } else if (const std::string nearest = nearest_name(name, aggregate_names()); !nearest.empty()) {
    hint = format("Did you mean \"{}\"?", nearest);
  } else {
    hint = format("Offered: {}.", all_names());
  }
  return fail(ErrorCode::kUnsupported, format("aggregate \"{}\" is not offered", name), {}, std::move(hint));
}

// The call with another argument: "sum(DISTINCT CAST(x AS numeric))".
std::string written(const Known& known, bool distinct, std::string_view argument) {
  const std::string_view second = known.family == Family::kPercentile ? ", 0.95"
                                  : known.name == "string_agg"        ? ", ', '"
                                                                      : "";
  return format("{}({}{}{})", known.name, distinct ? "DISTINCT " : "", argument, second);
}

std::string no_aggregate_hint(const Known& known, const Type* argument, bool distinct) {
  if (argument == nullptr) return format("Only count takes *; write {}(column).", known.name);
  const auto call = [&](std::string_view inner) { return written(known, distinct, inner); };
  const Family family = known.family;
  if (family == Family::kVerdict) return format("Write a condition: {}.", call("x > 0"));
  if (known.name == "string_agg") return format("Cast the values: {}.", call("CAST(x AS text)"));
  switch (argument->kind) {
    case TypeKind::kBoolean:
      return family == Family::kExtreme ? format("Write {}.", call("CAST(x AS integer)"))
                                        : format("Write {}.", call("CASE WHEN x THEN 1 ELSE 0 END"));
    case TypeKind::kText:
      return format("Cast the text: {}.", call("CAST(x AS numeric)"));
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
      return format("Write {}, or min(x), max(x), count(x).", call("extract(epoch FROM x)"));
    case TypeKind::kInterval:
      return format("Write {}, in seconds.", call("extract(epoch FROM x)"));
    case TypeKind::kJson:
      if (family == Family::kCount || family == Family::kDistinctEstimate || family == Family::kList) {
        return format("Equal jsonb may be written differently; take a field: {}.", call("x ->> 'field'"));
      }
      return format("Cast the value: {}.", call("CAST(x ->> 'field' AS numeric)"));
    default:
      return "Cast the argument.";
  }
}

// The percentile's second argument: a number from 0 to 1.
Result<Decimal> fraction_of(std::span<const Value> constants) {
  constexpr int kDigitsMax = 18;  // so that its product with any count fits 128 bits
  std::optional<Decimal> fraction;
  if (const auto* decimal = constants.empty() ? nullptr : std::get_if<Decimal>(&constants[0].data)) {
    fraction = rescale(*decimal, std::min(decimal->scale, kDigitsMax));
  } else if (const auto* whole = constants.empty() ? nullptr : std::get_if<int64_t>(&constants[0].data)) {
    fraction = decimal_from_int(*whole);
  } else if (const auto* real = constants.empty() ? nullptr : std::get_if<double>(&constants[0].data)) {
    fraction = decimal_from_double(*real);
    if (fraction) fraction = rescale(*fraction, std::min(fraction->scale, kDigitsMax));
  }
  if (fraction && compare(*fraction, {0, 0}) >= 0 && compare(*fraction, {1, 0}) <= 0) return *fraction;
  return fail(ErrorCode::kInvalid, "the second argument of approx_percentile is not a number from 0 to 1", {},
              "The 95th percentile is approx_percentile(x, 0.95).");
}

// string_agg's second argument; NULL stands for no separator, as in PostgreSQL.
Result<std::string> separator_of(std::span<const Value> constants) {
  if (!constants.empty() && constants[0].is_null()) return std::string();
  if (const auto* text = constants.empty() ? nullptr : std::get_if<std::string>(&constants[0].data)) {
    return *text;
  }
  return fail(ErrorCode::kInvalid, "the second argument of string_agg is not a constant text", {},
              "It stands between the values: string_agg(page, ', ').");
}

Result<MadeAggregate> make_list_of(std::string_view name, const Type& argument,
                                   const AggregateOptions& options) {
  ListOptions list{.distinct = options.distinct, .order = options.order};
  if (name == "string_agg") {
    list.form = ListForm::kText;
    WRACKLINE_ASSIGN(list.separator, separator_of(options.constants));
  }
  return make_list(argument, std::move(list));
}

// Null: there is no such aggregate of this type.
Result<MadeAggregate> make_known(const Known& known, const Type* argument, const AggregateOptions& options) {
  if (known.family == Family::kCount) return make_count(argument, options.distinct);
  if (argument == nullptr) return MadeAggregate();
  switch (known.family) {
    case Family::kSum:
      return make_sum(*argument, options.distinct);
    case Family::kMean:
      return make_mean(*argument, options.distinct);
    case Family::kExtreme:
      return make_extreme(*argument, known.name == "max");
    case Family::kSpread:
      return make_spread(known.name, *argument, options.distinct);
    case Family::kVerdict:
      return make_verdict(known.name, *argument);
    case Family::kEdge:
      return make_edge(*argument, known.name == "last");
    case Family::kDistinctEstimate:
      return make_distinct_estimate(*argument);
    case Family::kPercentile: {
      WRACKLINE_ASSIGN(const Decimal fraction, fraction_of(options.constants));
      return make_percentile(*argument, fraction);
    }
    case Family::kList:
      return make_list_of(known.name, *argument, options);
    case Family::kCount:
      break;
  }
  return MadeAggregate();
}

// DISTINCT and ORDER BY where they mean something; a call that they cannot change is the call without them.
Status check_options(const Known& known, const AggregateOptions& options) {
  if (options.distinct && (known.family == Family::kEdge || known.family == Family::kPercentile)) {
    return fail(ErrorCode::kUnsupported, format("DISTINCT in {} is not supported", known.name), {},
                known.family == Family::kEdge ? "It would not change the result: leave it out."
                                              : "Leave it out, or group by the value too.");
  }
  if (!options.order.empty() && known.family == Family::kEdge) {
    return fail(ErrorCode::kUnsupported, format("ORDER BY in {} is not supported", known.name), {},
                format("{} goes by event time, then partition and offset.", known.name));
  }
  const auto is_json = [](const SortKey& key) { return key.type.kind == TypeKind::kJson; };
  if (known.family == Family::kList && std::ranges::any_of(options.order, is_json)) {
    return fail(ErrorCode::kUnsupported, "ordering by jsonb is not supported", {},
                "Order by a field of it: x ->> 'name'.");
  }
  return {};
}

}  // namespace

Result<MadeAggregate> make_aggregate(std::string_view name, const Type* argument,
                                     const AggregateOptions& options) {
  const auto* known = std::ranges::find(kKnown, name, &Known::name);
  if (known == kKnown.end()) return unknown_aggregate(name);
  WRACKLINE_TRY(check_options(*known, options));
  WRACKLINE_ASSIGN(MadeAggregate made, make_known(*known, argument, options));
  if (made != nullptr) return made;
  const std::string given = argument == nullptr ? "*" : std::string(type_name(type_id(*argument)));
  return fail(ErrorCode::kUnsupported,
              format("function {}({}{}) does not exist", name, options.distinct ? "DISTINCT " : "", given),
              {}, no_aggregate_hint(*known, argument, options.distinct));
}

std::vector<std::string_view> aggregate_names() {
  std::vector<std::string_view> names;
  for (const Known& known : kKnown) names.push_back(known.name);
  return names;
}

bool is_aggregate(std::string_view name) {
  return std::ranges::find(kKnown, name, &Known::name) != kKnown.end();
}

bool is_aggregate_elsewhere(std::string_view name) {
  return std::ranges::find(kElsewhere, name, &Elsewhere::name) != kElsewhere.end();
}

size_t aggregate_arguments(std::string_view name) {
  return name == "approx_percentile" || name == "string_agg" ? 2 : 1;
}

}  // namespace wrackline::expr
