// The table of contents of a checkpoint, and its bytes (docs/formats/checkpoints.md).
//
// Used by: checkpoint_store only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace wrackline::state {

inline constexpr uint32_t kCheckpointVersion = 1;

// Which state it is, and what belongs to it outside.
struct CheckpointMeta {
  int64_t run = 0;
  int64_t generation = 0;  // of the attempt that wrote it
  int64_t number = 0;      // rises within the run
  int64_t parent = 0;      // the checkpoint whose pieces it could refer to; 0: none
  int64_t wall_us = 0;
  std::string job_path;
  std::string job_text;
  std::vector<std::pair<std::string, std::string>> overrides;  // option and value, as on the command line
  uint64_t tick_log_sequence = 0;                              // of the first entry that is not in the state
  int64_t ledger_seq = 0;                                      // Ledger::last_seq()
};

// Bytes in a pieces file.
struct CheckpointExtent {
  int64_t file = 0;  // number of the checkpoint that wrote it
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t crc = 0;
};

struct CheckpointPart {
  std::string name;
  CheckpointExtent at;
};

struct CheckpointPiece {
  std::string name;
  uint64_t revision = 0;
  CheckpointExtent at;
};

struct CheckpointManifest {
  CheckpointMeta meta;
  std::map<int64_t, uint64_t> file_bytes;  // pieces files by number
  std::vector<CheckpointPart> parts;
  std::vector<CheckpointPiece> pieces;
  std::vector<std::pair<std::string, uint64_t>> needed;  // paths in the state directory, and their sizes
};

inline constexpr size_t kManifestHeadBytes = 8 + 4 + 4;  // before the snapshot with the contents

std::string encode_manifest(const CheckpointManifest& manifest);
// Errors: kData for damage (checksums, extents outside of their files, names twice); kUnsupported for a
// format that this program does not know. Messages are fragments that can follow "because".
Result<CheckpointManifest> decode_manifest(std::string_view bytes);

// What a pieces file begins with, so that it says whose it is.
std::string pieces_head(const CheckpointMeta& meta);
inline constexpr size_t kPiecesHeadBytes = 8 + 4 + 8 + 8 + 4;

}  // namespace wrackline::state
