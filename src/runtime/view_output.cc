#include "runtime/view_output.h"

#include <algorithm>

namespace wrackline::runtime {

Status ViewOutput::open(const std::vector<OutputColumn>& columns, std::string_view view,
                        const SinkStart& start) {
  for (SinkBinding& binding : sinks_) WRACKLINE_TRY(binding.sink->open(columns, view, start));
  return {};
}

void ViewOutput::save(SnapshotWriter& out) const {
  out.section("sink");
  out.u64(sinks_.size());
  for (const SinkBinding& binding : sinks_) binding.sink->save(out);
}

Status ViewOutput::restore(SnapshotReader& from) {
  from.section("sink");
  if (from.u64() != sinks_.size()) {
    return fail(ErrorCode::kInvalid, "the checkpoint was written with other sinks", {},
                "Give the view the sinks that it had, or begin a new run.");
  }
  for (SinkBinding& binding : sinks_) binding.sink->restore(from);
  return from.status();
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
