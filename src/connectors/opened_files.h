// Which files a source has taken on, so that a file that is renamed into the source's pattern is not read
// twice. Threads: one; shared by a source and its splits.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "data/snapshot.h"
#include "env/file.h"

namespace wrackline::connectors {

class OpenedFiles {
 public:
  // Notes that `name` reads this file. Returns the name that had taken it before, or an empty text.
  std::string take(const env::FileIdentity& identity, const std::string& name) {
    const auto [found, added] = names_.try_emplace(key(identity), name);
    return added ? std::string() : found->second;
  }

  void save(SnapshotWriter& out) const {
    out.u64(names_.size());
    for (const auto& [identity, name] : names_) {
      out.u64(identity.device);
      out.u64(identity.inode);
      out.i64(identity.birth_ns);
      out.text(name);
    }
  }
  void restore(SnapshotReader& from) {
    constexpr size_t kItemBytes = 4 * sizeof(uint64_t);
    for (size_t left = from.count(kItemBytes); left > 0; --left) {
      env::FileIdentity identity;
      identity.device = from.u64();
      identity.inode = from.u64();
      identity.birth_ns = from.i64();
      names_.insert_or_assign(identity, std::string(from.text()));
    }
  }

 private:
  // A disk's number may change when the machine starts; inode and birth stay.
  static env::FileIdentity key(env::FileIdentity identity) {
    if (identity.birth_ns != 0) identity.device = 0;
    return identity;
  }

  std::map<env::FileIdentity, std::string> names_;
};

}  // namespace wrackline::connectors
