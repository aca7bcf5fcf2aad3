// Who is at work, for records of what people did.
#pragma once

#include <string>

namespace wrackline::env {

// The name of the user that this process belongs to, with the one behind sudo in parentheses: "root (sudo by
// ann)". A user without a name is "user 1000".
std::string user_name();

}  // namespace wrackline::env
