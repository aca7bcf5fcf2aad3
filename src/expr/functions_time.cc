#include "expr/functions.h"

namespace wrackline::expr {

void add_time_functions(FunctionTable&) {}

}  // namespace wrackline::expr
