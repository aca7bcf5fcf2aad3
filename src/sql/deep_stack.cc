#include "sql/deep_stack.h"

#include <pthread.h>

namespace wrackline::sql {
namespace {

void* run(void* work) {
  (*static_cast<const std::function<void()>*>(work))();
  return nullptr;
}

}  // namespace

Status run_on_deep_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  if (const int error = pthread_attr_init(&attributes); error != 0) {
    return fail(system_error("cannot start a thread to parse the job", error));
  }
  pthread_attr_setstacksize(&attributes, kDeepStackBytes);
  pthread_t thread{};
  const int error = pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work));
  pthread_attr_destroy(&attributes);
  if (error != 0) return fail(system_error("cannot start a thread to parse the job", error));
  pthread_join(thread, nullptr);
  return {};
}

}  // namespace wrackline::sql
