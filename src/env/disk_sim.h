// A disk in memory that crashes, tears, loses, flips and fills up as told, the same way for the same seed.
//
// Model of what a crash of the machine leaves, as POSIX allows and file systems have been seen to do
// (T. S. Pillai et al., "All File Systems Are Not Created Equal", OSDI 2014):
//   - of a file, what stood in it when sync() last went well; of what was appended since, nothing, all, a
//   part cut
//     at any byte, or the right length with sectors in it that are zero or garbage;
//   - of a name, what it meant when its folder was last synced, or any of the things it has meant since,
//     whatever became of other names; so a removed file may be back, and a new one may be gone;
//   - of a rename, the old content or the new, and the neighbour as well, perhaps.
// Every change counts as one effect or more (create: name, folder; replace: neighbour, sync, rename, folder;
// and so on), and a crash can be put before any of them. Files only grow here, for our own do; nothing else
// is written. Not modelled: slow disks (time belongs to the clock), damage within one folder's list of names.
// Used by: tests. Threads: one. Outlives the files that it opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "env/disk.h"

namespace wrackline::env {

// Chances in a thousand, for each call; 0: never.
struct DiskFaults {
  uint32_t write_fails = 0;       // some of the bytes are there even so
  uint32_t sync_fails = 0;        // and later ones of the same file say that they went well, and did nothing
  uint32_t sync_lost = 0;         // says that it went well, and did nothing
  uint32_t folder_sync_lost = 0;  // the same for names
  uint32_t remove_fails = 0;
  uint32_t read_fails = 0;
  uint32_t read_stale = 0;            // what stood there earlier
  uint32_t read_flipped = 0;          // one bit is wrong, this time
  std::optional<uint64_t> bytes_max;  // of all files
};

enum class CrashKind : uint8_t {
  kProcess,   // killed: everything it did is there; of the last append, some
  kSynced,    // the machine: nothing that was not durable is there
  kAnything,  // the machine: whatever the model allows, by chance
};

class DiskSim : public Disk {
 public:
  explicit DiskSim(uint64_t seed, DiskFaults faults = {});
  ~DiskSim() override;

  Result<std::unique_ptr<GrowingFile>> create(const std::string& path) override;
  Status replace(const std::string& path, std::string_view bytes) override;
  Status sync(const std::string& path) override;
  Result<std::string> read(const std::string& path, size_t size_max) override;
  Result<std::string> read_range(const std::string& path, uint64_t offset, size_t size) override;
  Result<std::optional<uint64_t>> size_bytes(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& folder) override;
  Status remove(const std::string& path) override;
  Status make_folder(const std::string& path) override;

  // Crashes before that effect, counted from the first one since the construction. 0: never.
  void crash_at(uint64_t effect) { crash_at_ = effect; }
  uint64_t effects() const { return effects_; }
  // While it is, every call fails (kUnavailable).
  bool crashed() const { return crashed_; }
  // Crashes if it has not yet; then comes up again with what survived. Files that are open stay dead.
  void restart(CrashKind kind);
  void set_faults(const DiskFaults& faults) { faults_ = faults; }

  // Flips a bit where it lies. Requires: the file has it.
  void flip(const std::string& path, uint64_t bit);
  // Cuts a file off. Requires: it is not shorter.
  void cut(const std::string& path, uint64_t size);
  std::vector<std::string> paths() const;
  uint64_t bytes() const;
  // Of all calls and what came of them: the same for the same seed and the same calls.
  uint64_t trace_hash() const { return trace_; }

 private:
  struct Content;
  struct Name;
  class File;

  bool chance(uint32_t per_thousand);
  Status effect();
  Status append_to(Content& content, const std::string& path, std::string_view bytes);
  Status sync_content(Content& content, const std::string& path);
  void give_name(const std::string& path, std::shared_ptr<Content> content);
  Status sync_folder(const std::string& path_in_it);
  Result<std::string> looked_up(const std::string& path);
  void crash_content(Content& content, CrashKind kind);
  void trace(std::string_view call, std::string_view path, uint64_t number, bool good);
  Status refused(std::string_view call, const std::string& path, std::string why);

  std::mt19937_64 random_;
  DiskFaults faults_;
  std::map<std::string, Name> names_;
  std::set<std::string> folders_;
  uint64_t effects_ = 0;
  uint64_t crash_at_ = 0;
  uint64_t life_ = 0;  // restarts so far
  bool crashed_ = false;
  uint64_t trace_ = 0xcbf29ce484222325U;
};

}  // namespace wrackline::env
