// Positions of arbitrary bytes: loading ends in an error or in a position that saves to the same bytes, and
// a source that is opened there reads on or says why not.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/check.h"
#include "connectors/file_position.h"
#include "connectors/file_source.h"

namespace wrackline::connectors {
namespace {

const std::string& folder() {
  static const std::string made = [] {
    std::string pattern = (std::filesystem::temp_directory_path() / "wrackline-fuzz-XXXXXX").string();
    WRACKLINE_CHECK(mkdtemp(pattern.data()) != nullptr, "no folder for the test's file");
    std::ofstream(pattern + "/a.jsonl") << "{\"v\":1}\n{\"v\":2}\n{\"v\":3}\n";
    static struct Remover {
      std::string path;
      ~Remover() { std::filesystem::remove_all(path); }
    } const remover{pattern};
    return pattern;
  }();
  return made;
}

void check_fields(std::string_view snapshot) {
  SnapshotReader from = SnapshotReader::open(snapshot).value();
  const auto position = load_position(from);
  if (!position || !from.finish()) return;
  SnapshotWriter again;
  save(*position, again);
  WRACKLINE_CHECK(again.finish() == snapshot, "a position saves to other bytes");
}

void check_source(std::string_view snapshot) {
  FileSourceOptions options;
  options.paths = {"a.jsonl"};
  options.folder = folder();
  options.parser.fields = {{"v", Type::bigint()}};
  for (const FilesMode mode : {FilesMode::kParallel, FilesMode::kSequence}) {
    options.files = mode;
    const auto source = make_file_source(options).value();
    SnapshotReader from = SnapshotReader::open(snapshot).value();
    if (!source->restore(from)) continue;
    const auto split = source->open_at(from);
    if (!split) continue;
    Batch batch;
    for (int reads = 0; reads < 10; ++reads) {
      const auto state = (*split)->read(batch, 2);
      if (!state || *state != ReadState::kRows) break;
    }
  }
}

}  // namespace
}  // namespace wrackline::connectors

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wrackline::SnapshotWriter out;
  out.bytes(data, size);
  const std::string snapshot = out.finish();
  wrackline::connectors::check_fields(snapshot);
  wrackline::connectors::check_source(snapshot);
  return 0;
}
