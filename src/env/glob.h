// Names of files from patterns, as a shell expands them.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace wrackline::env {

// Files that `pattern` (*, ?, [a-z]) names, without directories, in the order of their names' bytes. A
// pattern that names an existing file as it stands means that file. Names are as the pattern writes them:
// relative to `folder` unless they start with '/'; an empty folder is the working directory. Returns: at
// least one name. Errors: kNotFound when nothing matches, with the nearest name that exists; kInvalid when
// only directories do.
Result<std::vector<std::string>> expand_glob(const std::string& pattern, const std::string& folder = {});

// The same, where no match is no error: for a pattern that is looked at again and again.
Result<std::vector<std::string>> match_glob(const std::string& pattern, const std::string& folder = {});

// Whether the text holds a wildcard.
bool has_wildcard(const std::string& pattern);

// `name` seen from the working directory: behind `folder`, unless it is absolute or the folder is empty.
std::string path_in(const std::string& folder, const std::string& name);

}  // namespace wrackline::env
