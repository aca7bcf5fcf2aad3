// Fans a view's changes out to its sinks, each in the form that it takes.
#pragma once

#include <memory>
#include <vector>

#include "operators/sink.h"
#include "operators/view_operator.h"
#include "runtime/derived_source.h"

namespace wrackline::runtime {

struct SinkBinding {
  std::unique_ptr<Sink> sink;
  SinkMode mode = SinkMode::kUpsert;
};

class ViewOutput : public ChangeConsumer {
 public:
  explicit ViewOutput(std::vector<SinkBinding> sinks) : sinks_(std::move(sinks)) {}

  // The view's rows are records of other views, too. The source must outlive the output.
  void also_to(DerivedSource& source) { derived_.push_back(&source); }
  Status open(const std::vector<OutputColumn>& columns, std::string_view view, const SinkStart& start);
  // Of every sink, as Sink has them. Errors: kInvalid for another number of sinks.
  void save(SnapshotWriter& out) const;
  Status restore(SnapshotReader& from);
  Status take(const ChangeBatch& changes) override;
  Status take_changelog(const ChangeBatch& changes) override;
  Status commit();
  // Closes every sink, even after one of them failed; the first failure is returned.
  Status close(bool finished);
  bool wants_changelog() const;

 private:
  std::vector<SinkBinding> sinks_;
  std::vector<DerivedSource*> derived_;
};

}  // namespace wrackline::runtime
