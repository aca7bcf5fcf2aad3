// What a job does, in words: the text that `wrackline check` prints.
#pragma once

#include <span>
#include <string>

#include "sql/binder.h"
#include "sql/job.h"
#include "sql/job_text.h"

namespace wrackline::sql {

// One paragraph for each source, view and sink: every option that plays a part, its value and where it came
// from; then what follows from it in a sentence or two.
std::string explain(const JobText& text, std::span<const BoundSource> sources,
                    std::span<const BoundView> views, std::span<const BoundSink> sinks,
                    std::span<const InsertSpec> inserts);

// "a record is on time while the watermark has not reached the end of its window; ..."
std::string late_policy_in_words(const ViewSpec& view);

}  // namespace wrackline::sql
