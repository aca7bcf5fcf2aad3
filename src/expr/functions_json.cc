#include "expr/functions.h"

namespace wrackline::expr {

void add_json_functions(FunctionTable&) {}

}  // namespace wrackline::expr
