// Where the reader of a file stands, as bytes, and how it is found again.
//
// A position is a byte of the plain content that lies between two records, what the parser knew there, and
// how many records behind it were taken: a reader goes there, and passes over those. So a position costs
// nothing while reading, and a batch of which a part was taken needs no offsets of its own.
// Two checksums go with it: one of its own fields, and one of the last bytes before it, which must be in the
// file again. An edit further ahead in the past is not seen.
// Stored: in checkpoints; never renumber.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "connectors/decoder.h"
#include "data/snapshot.h"
#include "env/file.h"
#include "formats/parser.h"

namespace wrackline::connectors {

inline constexpr size_t kTailBytes = 4096;

struct FilePosition {
  enum class Phase : uint8_t {
    kNotBegun = 0,
    kContent = 1,  // within a file's content
    kBetween = 2,  // a followed file's content has ended, and there is no new one yet
    kEnded = 3,
    kStream = 4,  // cannot be read again
  };
  Phase phase = Phase::kNotBegun;
  std::string name;           // of the file, as matched
  uint64_t bytes_before = 0;  // of contents already ended, stored form
  int64_t offset_base = 0;    // records of contents already ended

  // Of kContent.
  env::FileIdentity identity;
  Compression compression = Compression::kNone;
  uint64_t stored_bytes = 0;  // that the file had at least
  uint64_t byte = 0;          // of the plain content
  formats::ParserPlace place;
  std::vector<std::string> header;
  uint64_t taken = 0;  // records behind `byte`
  uint64_t tail_bytes = 0;
  uint64_t tail_hash = 0;

  int64_t next_offset() const { return offset_base + place.records + static_cast<int64_t>(taken); }
};

uint64_t hash_of_tail(std::string_view tail);

void save(const FilePosition& position, SnapshotWriter& out);
// Errors: kData.
Result<FilePosition> load_position(SnapshotReader& from);

// The same file, perhaps after a start of the machine that gave its disks other numbers.
bool is_same(const env::FileIdentity& a, const env::FileIdentity& b);

// The file that the position is in, open: `path`, or with `search`, when that is another file by now, a file
// of its folder or one of `others`, whatever its name. Without `search` a file may have been put back from a
// copy: its content decides (hash_of_tail). Errors: kNotFound when it is gone; kData when it is shorter than
// it was; kUnsupported for a stream; kUnavailable.
struct FoundAgain {
  env::InputFile file;
  env::FileState state;
};
Result<FoundAgain> find_again(const FilePosition& position, const std::string& path, bool search,
                              const std::vector<std::string>& others);

// An error about going on at `position`; adds file, offset, and what can be done.
Error cannot_go_on(const FilePosition& position, ErrorCode code, std::string message, std::string detail);

}  // namespace wrackline::connectors
