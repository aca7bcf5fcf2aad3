// The files of checkpoints: their names, which there are, which may go.
//
// Used by: checkpoint_store and its writer only.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "env/disk.h"
#include "state/checkpoint_manifest.h"

namespace wrackline::state {

struct CheckpointFile {
  std::string name;
  bool is_manifest = false;
  int64_t run = 0;
  int64_t number = 0;
};

std::string checkpoint_folder(const std::string& directory);
// "00000003-000012"
std::string checkpoint_name(int64_t run, int64_t number);
std::string manifest_path(const std::string& directory, int64_t run, int64_t number);
std::string pieces_path(const std::string& directory, int64_t run, int64_t number);

// Those of all runs, in the order of their names. Other files are left out.
Result<std::vector<CheckpointFile>> checkpoint_files(env::Disk& disk, const std::string& directory);

// Errors: kNotFound, kUnavailable, kData, kUnsupported.
Result<CheckpointManifest> read_manifest(env::Disk& disk, const std::string& directory, int64_t run,
                                         int64_t number);

// Whether every file that the manifest names is there and has its size. The message of an error is a
// fragment.
Status check_sizes(env::Disk& disk, const std::string& directory, const CheckpointManifest& manifest);
// And whether every byte that it names is what was written. Cost: reads all of it, in blocks.
Status check_bytes(env::Disk& disk, const std::string& directory, const CheckpointManifest& manifest);

struct CheckpointRetention {
  std::string directory;
  int64_t run = 0;
  size_t kept = 2;
  std::set<int64_t> passed_over;             // not whole, though their sizes may be right
  std::optional<std::string> needed_folder;  // swept of files that nothing names
};

struct CheckpointsKept {
  // What a restore may have to read: from the oldest checkpoint kept on, or from the beginning when there are
  // fewer than there should be.
  uint64_t tick_log_from = 0;
  int64_t ledger_from = 0;
};

// Removes what is not kept: older manifests, then what only they named. A manifest that cannot be read
// protects every file until enough newer ones stand. Requires: nothing is being written. Errors: of the disk;
// what was removed until then was right to go.
Result<CheckpointsKept> retire_checkpoints(env::Disk& disk, const CheckpointRetention& retention);

}  // namespace wrackline::state
