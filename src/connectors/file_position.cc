#include "connectors/file_position.h"

#include <filesystem>

#include "base/text.h"
#include "operators/dedup_hash.h"

namespace wrackline::connectors {
namespace {

constexpr std::string_view kTag = "FPOS";

void save_identity(const env::FileIdentity& identity, SnapshotWriter& out) {
  out.u64(identity.device);
  out.u64(identity.inode);
  out.i64(identity.birth_ns);
}

void save_fields(const FilePosition& position, SnapshotWriter& out) {
  out.u8(static_cast<uint8_t>(position.phase));
  out.text(position.name);
  out.u64(position.bytes_before);
  out.i64(position.offset_base);
  if (position.phase != FilePosition::Phase::kContent) return;
  save_identity(position.identity, out);
  out.u8(static_cast<uint8_t>(position.compression));
  out.u64(position.stored_bytes);
  out.u64(position.byte);
  out.i64(position.place.records);
  out.i64(position.place.lines);
  out.u8(position.place.started ? 1 : 0);
  out.u8(position.place.header_read ? 1 : 0);
  out.u64(position.header.size());
  for (const std::string& name : position.header) out.text(name);
  out.u64(position.taken);
  out.u64(position.tail_bytes);
  out.u64(position.tail_hash);
}

// Of the fields, so that one that was changed does not pass records over in silence.
uint64_t hash_of_fields(const FilePosition& position) {
  SnapshotWriter fields;
  save_fields(position, fields);
  return hash64(fields.seal());
}

bool as_bool(SnapshotReader& from) {
  const uint8_t value = from.u8();
  if (value > 1) from.refuse("neither yes nor no");
  return value == 1;
}

void load_content(SnapshotReader& from, FilePosition& position) {
  position.identity.device = from.u64();
  position.identity.inode = from.u64();
  position.identity.birth_ns = from.i64();
  const uint8_t compression = from.u8();
  if (compression > static_cast<uint8_t>(Compression::kZstd)) from.refuse("a compression that is not known");
  position.compression = static_cast<Compression>(compression);
  position.stored_bytes = from.u64();
  position.byte = from.u64();
  position.place.records = from.i64();
  position.place.lines = from.i64();
  position.place.started = as_bool(from);
  position.place.header_read = as_bool(from);
  for (size_t left = from.count(sizeof(uint64_t)); left > 0; --left)
    position.header.emplace_back(from.text());
  position.taken = from.u64();
  position.tail_bytes = from.u64();
  position.tail_hash = from.u64();
  const bool counts = position.place.records >= 0 && position.place.lines >= 0 && position.offset_base >= 0;
  if (!counts || position.tail_bytes > std::min<uint64_t>(position.byte, kTailBytes))
    from.refuse("a position that cannot be");
}

std::string described(const FilePosition& position) {
  return format("The checkpoint stands at byte {} of its {}, before record {}.", position.byte,
                position.compression == Compression::kNone
                    ? "content"
                    : format("content (without {})", to_string(position.compression)),
                position.next_offset());
}

// Looks for the file under other names.
Result<std::optional<std::string>> other_name(const FilePosition& position, const std::string& path,
                                              const std::vector<std::string>& others) {
  std::vector<std::string> candidates = others;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder.empty() ? "." : folder, error), end;
       !error && entry != end; entry.increment(error)) {
    candidates.push_back(entry->path().string());
  }
  for (std::string& candidate : candidates) {
    WRACKLINE_ASSIGN(const auto state, env::file_state(candidate));
    if (state && is_same(state->identity, position.identity)) return std::optional(std::move(candidate));
  }
  return std::optional<std::string>();
}

std::unexpected<Error> is_gone(const FilePosition& position, bool searched) {
  std::string detail =
      searched ? format(
                     "It was inode {}, and no file of its folder or of the source's patterns is that one. "
                     "What was written to it after that place is lost to the run.",
                     position.identity.inode)
               : "The run has not read all of it.";
  return fail(cannot_go_on(position, ErrorCode::kNotFound, format("file \"{}\" is gone", position.name),
                           std::move(detail)));
}

}  // namespace

uint64_t hash_of_tail(std::string_view tail) {
  return hash64(tail, 1);
}

void save(const FilePosition& position, SnapshotWriter& out) {
  out.section(kTag);
  save_fields(position, out);
  out.u64(hash_of_fields(position));
}

Result<FilePosition> load_position(SnapshotReader& from) {
  from.section(kTag);
  FilePosition position;
  const uint8_t phase = from.u8();
  if (phase > static_cast<uint8_t>(FilePosition::Phase::kStream)) from.refuse("a phase that is not known");
  position.phase = static_cast<FilePosition::Phase>(phase);
  position.name = from.text();
  position.bytes_before = from.u64();
  position.offset_base = from.i64();
  if (position.phase == FilePosition::Phase::kContent && !from.failed()) load_content(from, position);
  const uint64_t hash = from.u64();
  if (!from.failed() && hash != hash_of_fields(position)) from.refuse("a position is damaged");
  WRACKLINE_TRY(from.status());
  return position;
}

bool is_same(const env::FileIdentity& a, const env::FileIdentity& b) {
  const bool born = a.birth_ns != 0 && b.birth_ns != 0;
  return a.inode == b.inode && a.birth_ns == b.birth_ns && (born || a.device == b.device);
}

Error cannot_go_on(const FilePosition& position, ErrorCode code, std::string message, std::string detail) {
  Error error{code, std::move(message), {}, {}, {}};
  error.detail = detail.empty() ? described(position) : format("{} {}", detail, described(position));
  error.hint =
      "Put the file back as it was and start again, or begin a new run without --resume: it reads everything "
      "from the first record.";
  error.where.file = position.name;
  error.where.offset = position.next_offset();
  return error;
}

Result<FoundAgain> find_again(const FilePosition& position, const std::string& path, bool search,
                              const std::vector<std::string>& others) {
  const bool standard_input = position.name == "-";
  std::string found = path;
  std::optional<env::FileState> named;
  if (!standard_input) {
    WRACKLINE_ASSIGN(named, env::file_state(path));
    // A file that is not followed may have been put back from a copy: what it holds decides.
    if (!search && !named) return is_gone(position, search);
    if (search && (!named || !is_same(named->identity, position.identity))) {
      WRACKLINE_ASSIGN(const auto other, other_name(position, path, others));
      if (!other) return is_gone(position, search);
      found = *other;
    }
  }
  auto file =
      standard_input ? Result<env::InputFile>(env::InputFile::standard_input()) : env::InputFile::open(found);
  if (!file) return std::unexpected(std::move(file).error());
  WRACKLINE_ASSIGN(const env::FileState state, file->state());
  if ((search || standard_input) && !is_same(state.identity, position.identity))
    return is_gone(position, search);
  if (state.kind != env::FileKind::kRegular) {
    return fail(cannot_go_on(position, ErrorCode::kUnsupported,
                             format("\"{}\" cannot be read a second time", position.name), {}));
  }
  if (state.size_bytes <
      std::max(position.stored_bytes, position.compression == Compression::kNone ? position.byte : 0)) {
    return fail(cannot_go_on(position, ErrorCode::kData,
                             format("file \"{}\" is shorter than it was at the checkpoint", position.name),
                             format("It has {} bytes and had {} or more: it was cut off or written anew.",
                                    state.size_bytes, position.stored_bytes)));
  }
  return FoundAgain{std::move(*file), state};
}

}  // namespace wrackline::connectors
