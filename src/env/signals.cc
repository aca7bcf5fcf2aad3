#include "env/signals.h"

#include <csignal>

namespace wrackline::env {
namespace {

void (*stop_function)(void*) = nullptr;
void* stop_context = nullptr;

extern "C" void on_signal(int signal) {
  std::signal(signal, SIG_DFL);
  if (stop_function != nullptr) stop_function(stop_context);
}

}  // namespace

void handle_stop_signals(void (*on_stop)(void* context), void* context) {
  stop_function = on_stop;
  stop_context = context;
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

}  // namespace wrackline::env
