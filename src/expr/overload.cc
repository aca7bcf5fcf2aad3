#include "expr/overload.h"

#include <algorithm>

namespace wrackline::expr {
namespace {

using Candidates = std::vector<const Function*>;

bool takes_count(const Function& function, size_t count) {
  return function.is_variadic() ? count >= function.params.size() : count == function.params.size();
}

bool is_exact(const Function& function, std::span<const TypeId> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (parameter_type(function, i) != arguments[i]) return false;
  }
  return true;
}

bool can_call(const Function& function, std::span<const TypeId> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!converts_implicitly(arguments[i], parameter_type(function, i))) return false;
  }
  return true;
}

// Step 2a: an unknown literal beside a known operand is first assumed to have its type.
const Function* find_exact(const Candidates& candidates, std::vector<TypeId> arguments,
                           bool is_operator_call) {
  if (is_operator_call && arguments.size() == 2) {
    if (arguments[0] == TypeId::kUnknown) {
      arguments[0] = arguments[1];
    } else if (arguments[1] == TypeId::kUnknown) {
      arguments[1] = arguments[0];
    }
  }
  const auto found =
      std::ranges::find_if(candidates, [&](const Function* f) { return is_exact(*f, arguments); });
  return found == candidates.end() ? nullptr : *found;
}

// Keeps the candidates with the highest score.
template <class Score>
void keep_best(Candidates& candidates, Score score) {
  int best = 0;
  for (const Function* candidate : candidates) best = std::max(best, score(*candidate));
  std::erase_if(candidates, [&](const Function* candidate) { return score(*candidate) < best; });
}

// Steps 3c and 3d: the most exact matches, then the most exact or preferred types.
void keep_closest(Candidates& candidates, std::span<const TypeId> arguments) {
  const auto count = [&](const Function& function, bool preferred_counts) {
    int matches = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] == TypeId::kUnknown) continue;
      const TypeId parameter = parameter_type(function, i);
      const bool preferred =
          preferred_counts && is_preferred(parameter) && category(parameter) == category(arguments[i]);
      matches += parameter == arguments[i] || preferred ? 1 : 0;
    }
    return matches;
  };
  keep_best(candidates, [&](const Function& function) { return count(function, false); });
  if (candidates.size() > 1)
    keep_best(candidates, [&](const Function& function) { return count(function, true); });
}

struct UnknownSlot {
  TypeCategory wanted = TypeCategory::kUnknown;
  bool has_preferred = false;
  bool conflict = false;
};

// Step 3e: what the candidates accept where the argument is an unknown literal; text wins over everything.
UnknownSlot look_at_slot(const Candidates& candidates, size_t index) {
  UnknownSlot slot;
  for (const Function* candidate : candidates) {
    const TypeId parameter = parameter_type(*candidate, index);
    const TypeCategory offered = category(parameter);
    if (slot.wanted == TypeCategory::kUnknown ||
        (offered == TypeCategory::kString && slot.wanted != offered)) {
      slot.wanted = offered;
      slot.has_preferred = is_preferred(parameter);
    } else if (offered == slot.wanted) {
      slot.has_preferred |= is_preferred(parameter);
    } else {
      slot.conflict = true;
    }
  }
  if (slot.wanted == TypeCategory::kString) slot.conflict = false;
  return slot;
}

void keep_for_unknowns(Candidates& candidates, std::span<const TypeId> arguments) {
  Candidates kept = candidates;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] != TypeId::kUnknown) continue;
    const UnknownSlot slot = look_at_slot(candidates, i);
    if (slot.conflict) return;
    std::erase_if(kept, [&](const Function* candidate) {
      const TypeId parameter = parameter_type(*candidate, i);
      return category(parameter) != slot.wanted || (slot.has_preferred && !is_preferred(parameter));
    });
  }
  if (!kept.empty()) candidates = std::move(kept);
}

// Step 3f: if all known arguments have one type, the unknown ones are assumed to have it too.
void keep_for_same_type(Candidates& candidates, std::span<const TypeId> arguments) {
  TypeId known = TypeId::kUnknown;
  for (const TypeId argument : arguments) {
    if (argument == TypeId::kUnknown) continue;
    if (known != TypeId::kUnknown && known != argument) return;
    known = argument;
  }
  if (known == TypeId::kUnknown) return;
  const std::vector<TypeId> assumed(arguments.size(), known);
  Candidates kept;
  std::ranges::copy_if(candidates, std::back_inserter(kept),
                       [&](const Function* f) { return can_call(*f, assumed); });
  if (kept.size() == 1) candidates = std::move(kept);
}

}  // namespace

TypeId parameter_type(const Function& function, size_t index) {
  return function.params[std::min(index, function.params.size() - 1)];
}

bool is_operator(std::string_view name) {
  const char c = name.empty() ? 'a' : name[0];
  return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80);
}

OverloadChoice choose_overload(std::string_view name, std::span<const TypeId> arguments) {
  Candidates candidates;
  for (const Function& function : overloads_of(name)) {
    if (takes_count(function, arguments.size())) candidates.push_back(&function);
  }
  const std::vector<TypeId> types(arguments.begin(), arguments.end());
  if (const Function* exact = find_exact(candidates, types, is_operator(name))) return {exact};
  std::erase_if(candidates, [&](const Function* candidate) { return !can_call(*candidate, arguments); });
  if (candidates.size() > 1) keep_closest(candidates, arguments);
  const bool has_unknown = std::ranges::find(arguments, TypeId::kUnknown) != arguments.end();
  if (candidates.size() > 1 && has_unknown) keep_for_unknowns(candidates, arguments);
  if (candidates.size() > 1 && has_unknown) keep_for_same_type(candidates, arguments);
  if (candidates.size() == 1) return {candidates[0]};
  return {nullptr, candidates.size() > 1};
}

}  // namespace wrackline::expr
