#include "env/stop_signals.h"

#include <csignal>

#include "base/check.h"

namespace wrackline::env {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};

std::atomic<bool> alive = false;
std::atomic<int> arrived = 0;
std::atomic<void (*)(void*)> callback = nullptr;
std::atomic<void*> callback_context = nullptr;
struct sigaction before[2];
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<void*>::is_always_lock_free);

extern "C" void on_signal(int number) {
  if (arrived.exchange(number) != 0) {  // asked twice: do what the system does
    ::signal(number, SIG_DFL);
    ::raise(number);
    return;
  }
  if (auto* const call = callback.load()) call(callback_context.load());
}

}  // namespace

StopSignals::StopSignals(void (*on_stop)(void*), void* context) {
  WRACKLINE_CHECK(!alive.exchange(true), "a second StopSignals");
  arrived = 0;
  callback_context = context;
  callback = on_stop;
  struct sigaction action{};
  action.sa_handler = on_signal;
  ::sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < 2; ++i) {
    ::sigaction(kSignals[i], &action, &before[i]);
    // A shell makes its background jobs deaf to the keyboard: they stay so.
    if (before[i].sa_handler == SIG_IGN) ::sigaction(kSignals[i], &before[i], nullptr);
  }
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < 2; ++i) ::sigaction(kSignals[i], &before[i], nullptr);
  callback = nullptr;
  alive = false;
}

int StopSignals::signal() const {
  return arrived.load();
}

}  // namespace wrackline::env
