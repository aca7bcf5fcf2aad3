// CHECK: a rule of our own that must hold. Always on; prints the place, the rule and the context, then
// aborts.
#pragma once

#include <string>

namespace wrackline {
[[noreturn]] void check_failed(const char* file, int line, const char* rule, const std::string& context);
}  // namespace wrackline

#define WRACKLINE_CHECK(condition, ...)                                                    \
  do {                                                                                     \
    if (!(condition)) [[unlikely]]                                                         \
      ::wrackline::check_failed(__FILE__, __LINE__, #condition, std::string{__VA_ARGS__}); \
  } while (false)

#ifdef NDEBUG
#define WRACKLINE_DCHECK(condition) static_cast<void>(0)
#else
#define WRACKLINE_DCHECK(condition) WRACKLINE_CHECK(condition)
#endif
