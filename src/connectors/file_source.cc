#include "connectors/file_source.h"

#include <algorithm>
#include <deque>
#include <set>
#include <span>
#include <utility>

#include "base/text.h"
#include "connectors/file_reader.h"
#include "connectors/opened_files.h"
#include "env/file.h"
#include "env/glob.h"

namespace wrackline::connectors {
namespace {

constexpr std::string_view kStandardInput = "-";

struct FoundFile {
  std::string name;
  std::string path;
  uint64_t size_bytes = 0;
  bool has_size = false;  // a stream has none
};

Result<formats::Format> format_of(const FileSourceOptions& options, const std::string& name) {
  if (options.format) return *options.format;
  return formats::guess_format(name);
}

// Requires: the format can be told; the source has seen to that.
Result<std::unique_ptr<FileReader>> make_reader(const FileSourceOptions& options, const FoundFile& file,
                                                const std::shared_ptr<OpenedFiles>& opened) {
  FileReaderOptions reader;
  reader.name = file.name;
  reader.path = file.path;
  WRACKLINE_ASSIGN(reader.format, format_of(options, file.name));
  reader.parser = options.parser;
  reader.follow = options.follow;
  return std::make_unique<FileReader>(std::move(reader), opened);
}

void append(std::vector<std::string>& to, std::vector<std::string> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void save_total(const std::optional<uint64_t>& total, SnapshotWriter& out) {
  out.u8(total ? 1 : 0);
  out.u64(total.value_or(0));
}

std::optional<uint64_t> load_total(SnapshotReader& from) {
  const bool has = from.u8() != 0;
  const uint64_t total = from.u64();
  return has ? std::optional(total) : std::nullopt;
}

// ---- one file, one split ----

class FileSplit final : public SplitReader {
 public:
  FileSplit(std::unique_ptr<FileReader> reader, std::optional<uint64_t> bytes_total,
            std::shared_ptr<std::vector<std::string>> notices)
      : reader_(std::move(reader)), bytes_total_(bytes_total), notices_(std::move(notices)) {}

  Result<ReadState> read(Batch& batch, size_t rows_max) override { return reader_->read(batch, rows_max); }
  const std::string& name() const override { return reader_->name(); }
  uint64_t bytes_read() const override { return reader_->bytes_read(); }
  std::optional<uint64_t> bytes_total() const override { return bytes_total_; }
  std::vector<std::string> take_notices() override {
    std::vector<std::string> notices = std::exchange(*notices_, {});
    append(notices, reader_->take_notices());
    return notices;
  }
  std::vector<std::string> fields_seen() const override { return reader_->fields_seen(); }
  void save(SnapshotWriter& out, uint64_t taken) const override {
    out.text(reader_->name());
    save_total(bytes_total_, out);
    reader_->save(out, taken);
  }

 private:
  std::unique_ptr<FileReader> reader_;
  std::optional<uint64_t> bytes_total_;
  std::shared_ptr<std::vector<std::string>> notices_;  // of the source: the split that asks first tells them
};

// ---- all files, one split ----

// What the source adds to while the split reads.
struct FileQueue {
  std::deque<FoundFile> waiting;
  std::vector<std::string> notices;
  std::vector<FoundFile> left;  // read to an end that was taken for the last; size as of then
  std::string last_begun;
};

class SequenceSplit final : public SplitReader {
 public:
  SequenceSplit(const FileSourceOptions& options, std::shared_ptr<FileQueue> queue,
                std::shared_ptr<OpenedFiles> opened, std::optional<uint64_t> bytes_total)
      : options_(options), queue_(std::move(queue)), opened_(std::move(opened)), bytes_total_(bytes_total) {
    for (const std::string& path : options_.paths) name_ += (name_.empty() ? "" : ", ") + path;
  }

  Result<ReadState> read(Batch& batch, size_t rows_max) override {
    for (;;) {
      if (reader_ == nullptr) {
        if (queue_->waiting.empty()) {
          batch.reset(options_.parser.fields);
          batch.file = {};
          return options_.follow ? ReadState::kCaughtUp : ReadState::kEnded;
        }
        WRACKLINE_TRY(begin());
      }
      WRACKLINE_ASSIGN(const ReadState state, reader_->read(batch, rows_max));
      if (state == ReadState::kRows) return state;
      if (state == ReadState::kCaughtUp) {
        const bool move_on = options_.follow && !queue_->waiting.empty();
        if (!move_on || finishing_ || !std::exchange(next_seen_, true)) return state;
        finishing_ = true;
        reader_->finish();
        continue;
      }
      leave();
    }
  }

  const std::string& name() const override { return name_; }
  uint64_t bytes_read() const override { return bytes_before_ + (reader_ ? reader_->bytes_read() : 0); }
  std::optional<uint64_t> bytes_total() const override { return bytes_total_; }
  std::vector<std::string> take_notices() override {
    std::vector<std::string> notices = std::exchange(queue_->notices, {});
    if (reader_ != nullptr) {
      for (const std::string& text : reader_->take_notices())
        notices.push_back(format("\"{}\": {}", reader_->name(), text));
    }
    return notices;
  }
  std::vector<std::string> fields_seen() const override {
    return reader_ ? reader_->fields_seen() : fields_seen_;
  }

  void save(SnapshotWriter& out, uint64_t taken) const override {
    save_total(bytes_total_, out);
    out.u64(bytes_before_);
    out.text(queue_->last_begun);
    out.u64(queue_->waiting.size());
    for (const FoundFile& file : queue_->waiting) out.text(file.name);
    out.u64(queue_->left.size());
    for (const FoundFile& file : queue_->left) {
      out.text(file.name);
      out.u64(file.size_bytes);
    }
    out.u8(reader_ ? 1 : 0);
    if (!reader_) return;
    out.text(current_.name);
    reader_->save(out, taken);
  }

  // Instead of reading from the first file of the queue, which is empty.
  Status restore(SnapshotReader& from, const std::vector<std::string>& others) {
    bytes_total_ = load_total(from);
    bytes_before_ = from.u64();
    queue_->last_begun = from.text();
    for (size_t left = from.count(sizeof(uint64_t)); left > 0; --left)
      queue_->waiting.push_back(named(from.text()));
    for (size_t left = from.count(2 * sizeof(uint64_t)); left > 0; --left) {
      queue_->left.push_back(named(from.text()));
      queue_->left.back().size_bytes = from.u64();
    }
    const bool reads = from.u8() != 0;
    WRACKLINE_TRY(from.status());
    if (!reads) return {};
    current_ = named(from.text());
    WRACKLINE_TRY(from.status());
    WRACKLINE_ASSIGN(reader_, make_reader(options_, current_, opened_));
    return reader_->restore(from, others);
  }

 private:
  FoundFile named(std::string_view name) const {
    std::string path = env::path_in(options_.folder, std::string(name));
    return {std::string(name), name == kStandardInput ? std::string(name) : std::move(path)};
  }

  Status begin() {
    current_ = std::move(queue_->waiting.front());
    queue_->waiting.pop_front();
    if (current_.name < queue_->last_begun) {
      queue_->notices.push_back(
          format("file \"{}\" appeared late: it is read after \"{}\"", current_.name, queue_->last_begun));
    }
    queue_->last_begun = std::max(queue_->last_begun, current_.name);
    next_seen_ = finishing_ = false;
    WRACKLINE_ASSIGN(reader_, make_reader(options_, current_, opened_));
    return {};
  }

  void leave() {
    for (const std::string& text : reader_->take_notices()) {
      queue_->notices.push_back(format("\"{}\": {}", reader_->name(), text));
    }
    bytes_before_ += reader_->bytes_read();
    fields_seen_ = reader_->fields_seen();
    if (options_.follow) {
      current_.size_bytes = reader_->bytes_read();
      queue_->left.push_back(std::move(current_));
    }
    reader_.reset();
  }

  FileSourceOptions options_;
  std::shared_ptr<FileQueue> queue_;
  std::shared_ptr<OpenedFiles> opened_;
  std::optional<uint64_t> bytes_total_;
  std::string name_;
  FoundFile current_;
  std::unique_ptr<FileReader> reader_;
  bool next_seen_ = false;  // at the look before
  bool finishing_ = false;
  uint64_t bytes_before_ = 0;
  std::vector<std::string> fields_seen_;
};

// ---- the source ----

class FileSource final : public Source {
 public:
  explicit FileSource(FileSourceOptions options) : options_(std::move(options)) {}

  Result<std::vector<std::unique_ptr<SplitReader>>> open() override {
    std::vector<FoundFile> files;
    if (reads_standard_input()) {
      files.push_back({std::string(kStandardInput), std::string(kStandardInput)});
      WRACKLINE_ASSIGN(const env::FileState state, env::InputFile::standard_input().state());
      files.back().size_bytes = state.size_bytes;
      files.back().has_size = state.kind == env::FileKind::kRegular;
    } else {
      WRACKLINE_ASSIGN(files, first_files());
    }
    if (options_.files == FilesMode::kSequence) return one_split(std::move(files));
    return splits_of(files);
  }

  Result<std::vector<std::unique_ptr<SplitReader>>> discover() override {
    std::vector<std::unique_ptr<SplitReader>> none;
    if (reads_standard_input()) return none;
    if (!options_.follow) {
      WRACKLINE_TRY(tell_of_what_appeared());
      return none;
    }
    WRACKLINE_ASSIGN(auto files, new_files());
    if (options_.files == FilesMode::kParallel) return splits_of(files);
    for (FoundFile& file : files) queue_->waiting.push_back(std::move(file));
    WRACKLINE_TRY(look_at_left_files());
    return none;
  }

  bool bounded() const override { return !options_.follow; }

  void save(SnapshotWriter& out) const override {
    out.section(kTag);
    out.u8(static_cast<uint8_t>(options_.files));
    out.u8(options_.follow ? 1 : 0);
    opened_->save(out);
    // Of files side by side, the splits are those that are known.
    const bool named = options_.files == FilesMode::kSequence;
    out.u64(named ? known_.size() : 0);
    for (const std::string& name : known_) {
      if (named) out.text(name);
    }
  }

  Status restore(SnapshotReader& from) override {
    from.section(kTag);
    const bool same_files = from.u8() == static_cast<uint8_t>(options_.files);
    const bool same_follow = (from.u8() != 0) == options_.follow;
    opened_->restore(from);
    for (size_t left = from.count(sizeof(uint64_t)); left > 0; --left) known_.emplace(from.text());
    WRACKLINE_TRY(from.status());
    if (!same_files || !same_follow) {
      return fail(ErrorCode::kInvalid,
                  format("the checkpoint is of files that were {}",
                         !same_follow ? (options_.follow ? "not followed" : "followed")
                                      : "read in another way (files = 'parallel' or 'sequence')"),
                  {}, "Start the job as it was, or begin a new run without --resume.");
    }
    restored_ = true;
    if (reads_standard_input()) return {};
    for (const std::string& pattern : options_.paths) {
      WRACKLINE_ASSIGN(const auto names, env::match_glob(pattern, options_.folder));
      for (const std::string& name : names) others_.push_back(env::path_in(options_.folder, name));
    }
    return {};
  }

  Result<std::unique_ptr<SplitReader>> open_at(SnapshotReader& from) override {
    if (options_.files == FilesMode::kSequence) {
      auto split = std::make_unique<SequenceSplit>(options_, queue_, opened_, std::nullopt);
      WRACKLINE_TRY(split->restore(from, others_));
      return split;
    }
    const std::string name(from.text());
    const std::optional<uint64_t> total = load_total(from);
    WRACKLINE_TRY(from.status());
    const FoundFile file{name, name == kStandardInput ? name : env::path_in(options_.folder, name)};
    WRACKLINE_ASSIGN(auto reader, make_reader(options_, file, opened_));
    WRACKLINE_TRY(reader->restore(from, others_));
    known_.insert(name);
    return std::make_unique<FileSplit>(std::move(reader), total, notices_);
  }

  std::vector<std::string> take_notices() override { return std::exchange(own_notices_, {}); }

 private:
  static constexpr std::string_view kTag = "FSRC";

  // A run of bounded input is of the files that were there when it began.
  Status tell_of_what_appeared() {
    if (!std::exchange(restored_, false)) return {};
    for (const std::string& pattern : options_.paths) {
      WRACKLINE_ASSIGN(const auto names, env::match_glob(pattern, options_.folder));
      for (const std::string& name : names) {
        if (!known_.insert(name).second) continue;
        own_notices_.push_back(
            format("file \"{}\" appeared after the run began and is not part of it; a new run reads it "
                   "(without --resume)",
                   name));
      }
    }
    return {};
  }

  bool reads_standard_input() const { return options_.paths.front() == kStandardInput; }

  Result<std::vector<std::unique_ptr<SplitReader>>> splits_of(const std::vector<FoundFile>& files) {
    std::vector<std::unique_ptr<SplitReader>> splits;
    for (const FoundFile& file : files) {
      WRACKLINE_ASSIGN(auto reader, make_reader(options_, file, opened_));
      splits.push_back(std::make_unique<FileSplit>(std::move(reader), total_of({&file, 1}), notices_));
    }
    return splits;
  }

  Result<std::vector<std::unique_ptr<SplitReader>>> one_split(std::vector<FoundFile> files) {
    const auto total = total_of(files);
    for (FoundFile& file : files) {
      WRACKLINE_TRY(format_of(options_, file.name));
      queue_->waiting.push_back(std::move(file));
    }
    std::vector<std::unique_ptr<SplitReader>> splits;
    splits.push_back(std::make_unique<SequenceSplit>(options_, queue_, opened_, total));
    return splits;
  }

  std::optional<uint64_t> total_of(std::span<const FoundFile> files) const {
    if (options_.follow) return std::nullopt;
    uint64_t total = 0;
    for (const FoundFile& file : files) {
      if (!file.has_size) return std::nullopt;
      total += file.size_bytes;
    }
    return total;
  }

  // What is there at the start: every path must match something that can be opened.
  Result<std::vector<FoundFile>> first_files() {
    std::vector<FoundFile> files;
    for (const std::string& pattern : options_.paths) {
      const bool may_be_empty = options_.follow && env::has_wildcard(pattern);
      WRACKLINE_ASSIGN(const auto names, may_be_empty ? env::match_glob(pattern, options_.folder)
                                                      : env::expand_glob(pattern, options_.folder));
      for (const std::string& name : names) {
        if (!known_.insert(name).second) continue;  // two patterns match it
        WRACKLINE_ASSIGN(auto file, look_at(name));
        if (file) files.push_back(std::move(*file));
      }
    }
    std::ranges::sort(files, {}, &FoundFile::name);
    return files;
  }

  Result<std::vector<FoundFile>> new_files() {
    std::vector<FoundFile> files;
    for (const std::string& pattern : options_.paths) {
      WRACKLINE_ASSIGN(const auto names, env::match_glob(pattern, options_.folder));
      for (const std::string& name : names) {
        if (known_.contains(name)) continue;
        WRACKLINE_ASSIGN(auto file, look_at(name));
        known_.insert(name);
        if (file && tells_format(name)) files.push_back(std::move(*file));
      }
    }
    std::ranges::sort(files, {}, &FoundFile::name);
    return files;
  }

  // Opens the file to see that it can be, and notes it. nullopt: it is read under another name already, or is
  // gone.
  Result<std::optional<FoundFile>> look_at(const std::string& name) {
    FoundFile file{name, env::path_in(options_.folder, name)};
    WRACKLINE_ASSIGN(const auto named, env::file_state(file.path));
    if (!named) return std::optional<FoundFile>();
    if (named->kind == env::FileKind::kRegular) {  // opening a pipe would take its writer away
      auto opened = env::InputFile::open(file.path);
      if (!opened) return std::unexpected(std::move(opened).error());
      file.has_size = true;
      file.size_bytes = named->size_bytes;
    }
    const std::string reader = opened_->take(named->identity, name);
    if (reader.empty() || reader == name || !options_.follow) return file;
    notices().push_back(
        format("file \"{}\" is already read as \"{}\" (it was renamed, or is linked); it is not read twice",
               name, reader));
    return std::optional<FoundFile>();
  }

  // At the start a name that tells no format is an error; a live source goes on without it.
  bool tells_format(const std::string& name) {
    const auto known = format_of(options_, name);
    if (!known) notices().push_back(known.error().message + "; it is not read");
    return known.has_value();
  }

  // A file of a sequence that grows after the next one was begun has records that nobody reads: say so, once
  // per change.
  Status look_at_left_files() {
    for (FoundFile& file : queue_->left) {
      WRACKLINE_ASSIGN(const auto state, env::file_state(file.path));
      if (!state || state->size_bytes <= file.size_bytes) continue;
      queue_->notices.push_back(
          format("file \"{}\" grew by {} bytes after the next one was begun; they are not read", file.name,
                 state->size_bytes - file.size_bytes));
      file.size_bytes = state->size_bytes;
    }
    return {};
  }

  std::vector<std::string>& notices() {
    return options_.files == FilesMode::kSequence ? queue_->notices : *notices_;
  }

  FileSourceOptions options_;
  std::set<std::string> known_;      // names matched so far
  bool restored_ = false;            // and what appeared since was not told
  std::vector<std::string> others_;  // restored: paths under which a renamed file may be found
  std::vector<std::string> own_notices_;
  std::shared_ptr<OpenedFiles> opened_ = std::make_shared<OpenedFiles>();
  std::shared_ptr<FileQueue> queue_ = std::make_shared<FileQueue>();
  std::shared_ptr<std::vector<std::string>> notices_ = std::make_shared<std::vector<std::string>>();
};

Status check_standard_input(const FileSourceOptions& options) {
  if (std::ranges::find(options.paths, kStandardInput) == options.paths.end()) return {};
  if (options.paths.size() > 1) {
    return fail(ErrorCode::kInvalid, "standard input cannot be read together with files",
                "\"-\" stands among other paths.",
                "Give \"-\" alone, or save standard input to a file first.");
  }
  if (options.format) return {};
  return fail(ErrorCode::kInvalid, "standard input has no name that tells its format", {},
              "Name the format with format = 'jsonl' or 'csv', or --format.");
}

}  // namespace

Result<std::unique_ptr<Source>> make_file_source(FileSourceOptions options) {
  if (options.paths.empty()) {
    return fail(ErrorCode::kInvalid, "no input is named", {},
                "Give a file, a pattern like 'data/*.jsonl', or - for standard input.");
  }
  WRACKLINE_TRY(check_standard_input(options));
  // A name that tells no format is known at once, unless the name is still to be found.
  for (const std::string& path : options.paths) {
    if (!env::has_wildcard(path) && path != kStandardInput) WRACKLINE_TRY(format_of(options, path));
  }
  return std::make_unique<FileSource>(std::move(options));
}

}  // namespace wrackline::connectors
