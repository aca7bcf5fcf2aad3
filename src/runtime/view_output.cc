#include "runtime/view_output.h"

#include <algorithm>

namespace wrackline::runtime {

Status ViewOutput::open(const std::vector<OutputColumn>& columns, std::string_view view, int64_t generation) {
  for (SinkBinding& binding : sinks_) WRACKLINE_TRY(binding.sink->open(columns, view, generation));
  return {};
}

Status ViewOutput::take(const ChangeBatch& changes) {
  for (DerivedSource* source : derived_) source->take(changes);
  for (SinkBinding& binding : sinks_) {
    if (binding.mode != SinkMode::kChangelog) WRACKLINE_TRY(binding.sink->write(changes));
  }
  return {};
}

Status ViewOutput::take_changelog(const ChangeBatch& changes) {
  for (SinkBinding& binding : sinks_) {
    if (binding.mode == SinkMode::kChangelog) WRACKLINE_TRY(binding.sink->write(changes));
  }
  return {};
}

Status ViewOutput::commit() {
  for (SinkBinding& binding : sinks_) WRACKLINE_TRY(binding.sink->commit());
  return {};
}

Status ViewOutput::close(bool finished) {
  Status first;
  for (SinkBinding& binding : sinks_) {
    Status closed = binding.sink->close(finished);
    if (!closed && first) first = std::move(closed);
  }
  return first;
}

bool ViewOutput::wants_changelog() const {
  return std::ranges::any_of(sinks_, [](const SinkBinding& b) { return b.mode == SinkMode::kChangelog; });
}

}  // namespace wrackline::runtime
