// Saved profiles as inputs and outputs of commands.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "wrackline/delay_profile.h"

namespace wrackline::cli {

// True when every path is a file that begins like a saved profile, and there is at least one.
bool are_profiles(const std::vector<std::string>& paths);
// Reads one profile, or merges several. Errors: those of the files; kData for what is no profile.
Result<ProfileReport> read_profiles(const std::vector<std::string>& paths);
// Writes the whole file or leaves it as it was.
Status write_profile(const std::string& path, const ProfileReport& report);

}  // namespace wrackline::cli
