#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace wrackline {

void check_failed(const char* file, int line, const char* rule, const std::string& context) {
  std::fprintf(stderr, "wrackline: internal error at %s:%d: %s does not hold%s%s\n", file, line, rule,
               context.empty() ? "" : ": ", context.c_str());
  std::abort();
}

}  // namespace wrackline
