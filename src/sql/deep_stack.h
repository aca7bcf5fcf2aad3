// Runs a piece of work on a stack that is deep enough for PostgreSQL's parser, whatever thread asks for it.
#pragma once

#include <cstddef>
#include <functional>

#include "base/error.h"

namespace wrackline::sql {

// Only what is touched becomes memory. The caps of guard.h need about 2 MB of it.
inline constexpr size_t kDeepStackBytes = size_t{64} << 20;

// Waits until `work` is done. Errors: kUnavailable when the system gives no thread.
Status run_on_deep_stack(const std::function<void()>& work);

}  // namespace wrackline::sql
