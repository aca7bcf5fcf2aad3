#include "expr/functions.h"

namespace wrackline::expr {

void add_text_functions(FunctionTable&) {}

}  // namespace wrackline::expr
