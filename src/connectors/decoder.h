// Compressed bytes back to plain ones, piece by piece. The one place that includes zlib and zstd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace wrackline::connectors {

enum class Compression : uint8_t { kNone, kGzip, kZstd };
std::string_view to_string(Compression compression);  // "gzip"

// What the file's name promises: .gz, .zst.
Compression compression_of_name(std::string_view name);

// What the first bytes of a file say about the rest. nullopt: they may become a mark of compression; give
// more. Requires, to be sure of an answer: kMarkBytes bytes, or `at_end`. Errors: kUnsupported for another
// compression or a file that is no text, by name ("bzip2", "Parquet", "UTF-16").
inline constexpr size_t kMarkBytes = 10;
Result<std::optional<Compression>> recognise(std::string_view head, bool at_end);

// Threads: one. After an error it stays in error.
class Decoder {
 public:
  struct Step {
    size_t eaten = 0;  // of the input
    size_t made = 0;   // bytes of output
  };
  virtual ~Decoder() = default;

  // Turns a part of `in` into a part of `out`. Nothing eaten and nothing made: it needs more input. What
  // stands before an error is made first; the error comes with the next call. The checksums of both formats
  // come at the end of a member or frame: damage that still decodes is made into wrong bytes before it is
  // found out, and the error is what says that they were wrong. Errors: kData; the message names the format
  // and the detail is a fragment that says what is wrong.
  virtual Result<Step> decode(std::string_view in, char* out, size_t out_size) = 0;

  // Whether the input may end here.
  virtual bool may_end() const = 0;
};

// Several members or frames one after another are one text, as for gzip -d and zstd -d. Zero bytes behind the
// last gzip member are padding; anything else is an error. Requires: compression is not kNone.
std::unique_ptr<Decoder> make_decoder(Compression compression);

}  // namespace wrackline::connectors
