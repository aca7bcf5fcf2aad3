// Signals that ask the process to stop.
#pragma once

namespace wrackline::env {

// Calls `on_stop(context)` at the first SIGINT or SIGTERM, from the signal handler: it may only set flags. A
// second signal ends the process at once, as if there were no handler. Also ignores SIGPIPE, so that a closed
// pipe is an error of the write. Call once, from main.
void handle_stop_signals(void (*on_stop)(void* context), void* context);

}  // namespace wrackline::env
