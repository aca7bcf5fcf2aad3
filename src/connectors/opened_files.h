// Which files a source has taken on, so that a file that is renamed into the source's pattern is not read
// twice. Threads: one; shared by a source and its splits.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "env/file.h"

namespace wrackline::connectors {

class OpenedFiles {
 public:
  // Notes that `name` reads this file. Returns the name that had taken it before, or an empty text.
  std::string take(const env::FileIdentity& identity, const std::string& name) {
    const auto [found, added] = names_.try_emplace(identity, name);
    return added ? std::string() : found->second;
  }

 private:
  std::map<env::FileIdentity, std::string> names_;
};

}  // namespace wrackline::connectors
