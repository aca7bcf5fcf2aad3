#include "connectors/sink_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "connectors/sink_rows.h"
#include "data/crc32c.h"

namespace wrackline::connectors {
namespace {

constexpr size_t kHeldBytes = size_t{1} << 20;
constexpr int64_t kTailBytes = 4096;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~Descriptor() { reset(); }
  void reset() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Where the bytes really go: a symbolic link stays one, its target is replaced.
std::string resolved(const std::string& path) {
  char* real = realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string found = real;
  std::free(real);
  return found;
}

bool is_out_of_space(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG;
}

Error cannot_write(const std::string& path, int error) {
  Error failure = system_error(format("cannot write file \"{}\"", path), error);
  if (error == ENOENT || error == ENOTDIR) {
    failure.code = ErrorCode::kNotFound;
    failure.detail = format("There is no folder \"{}\".", folder_of(path));
    failure.hint = "Make the folder first.";
  } else if (error == EACCES || error == EPERM || error == EROFS) {
    failure.hint = "Choose a folder that you may write to: the sink makes a new file there and renames it.";
  } else if (is_out_of_space(error)) {
    failure.message += ": disk full";
    failure.hint = "Free space on its file system and start again.";
  }
  return failure;
}

Error in_use(const std::string& path) {
  return {ErrorCode::kUnavailable,
          format("file \"{}\" is being written by another sink", path),
          {},
          "Wait for that run to end, or give this sink another path.",
          {}};
}

// Opens and locks the file that will get the rows, empty. A file that was renamed away between opening and
// locking it is not ours: look again.
Result<Descriptor> open_staging(const std::string& staging, const std::string& path, bool keep) {
  for (;;) {
    Descriptor file(::open(staging.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!file) return fail(cannot_write(staging, errno));
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) return fail(in_use(path));
    struct stat ours{};
    struct stat named{};
    if (fstat(file.get(), &ours) != 0) return fail(cannot_write(staging, errno));
    if (stat(staging.c_str(), &named) != 0 || ours.st_ino != named.st_ino || ours.st_dev != named.st_dev)
      continue;
    if (!keep && ftruncate(file.get(), 0) != 0) return fail(cannot_write(staging, errno));
    return file;
  }
}

enum class Target : uint8_t { kWhole, kLive, kDirect };

class FileSink final : public Sink {
 public:
  FileSink(FileSinkOptions options, bool csv) : options_(std::move(options)), csv_(csv) {}
  ~FileSink() override {
    if (file_) static_cast<void>(close(false).has_value());
  }

  SinkCapabilities capabilities() const override;
  Status open(const std::vector<OutputColumn>& columns, std::string_view view,
              const SinkStart& start) override;
  void save(SnapshotWriter& out) const override;
  void restore(SnapshotReader& from) override;
  Status write(const ChangeBatch& changes) override;
  Status commit() override;
  Status close(bool finished) override;

 private:
  Status open_target();
  Status open_direct();
  Status open_to_go_on();
  Status send();
  Status compare_held();
  bool stands_further_on() const;
  uint32_t tail_crc(int64_t end) const;
  std::unexpected<Error> changed(std::string what) const;
  Status take_place();  // renames the staging file onto the path
  Error write_failure(int error) const;
  int64_t kept_bytes() const { return std::max(committed_bytes_, standing_bytes_); }

  FileSinkOptions options_;
  bool csv_;
  std::unique_ptr<formats::RowWriter> writer_;
  int64_t run_ = 0;
  bool resumes_ = false;
  std::optional<int64_t> resume_at_;  // bytes that the checkpoint knows
  bool resume_in_place_ = false;      // of a live file: it has its name already
  uint32_t resume_crc_ = 0;           // of the bytes before
  int64_t standing_bytes_ = 0;        // that were there when we came: what is written up to there must equal
  Target target_ = Target::kWhole;
  std::string path_;     // resolved
  std::string staging_;  // path_.partial
  std::string writing_;  // the one of the two that file_ is now
  Descriptor file_;
  Descriptor guard_;  // locks the file that stands at path_ until it is replaced
  std::string held_;
  int64_t sent_bytes_ = 0;
  int64_t committed_bytes_ = 0;
  bool has_rows_ = false;
  bool failed_ = false;
};

SinkCapabilities FileSink::capabilities() const {
  const bool append = options_.mode == SinkMode::kAppend;
  return {
      .takes_updates = !append,
      .takes_retracts = !append,
      .promise =
          options_.live
              ? "Each committed tick is appended with one write; the first one replaces what an earlier run "
                "left. A run that is resumed goes on in the file."
              : "Readers see the rows of one finished run and nothing else: a run that fails leaves the old "
                "file and its own rows in a .partial file beside it."};
}

Status FileSink::open(const std::vector<OutputColumn>& columns, std::string_view /*view*/,
                      const SinkStart& start) {
  WRACKLINE_CHECK(writer_ == nullptr, "open twice");
  run_ = start.run;
  resumes_ = start.resumes();
  WRACKLINE_TRY(resume_at_ ? open_to_go_on() : open_target());
  const std::vector<formats::RowColumn> plain = row_columns(columns);
  writer_ = csv_ ? formats::make_csv_writer(plain) : formats::make_jsonl_writer(plain);
  writer_->begin(held_);
  if (sent_bytes_ > 0) held_.clear();  // the header stands there
  return {};
}

void FileSink::save(SnapshotWriter& out) const {
  out.section("file");
  out.i64(target_ == Target::kDirect ? 0 : committed_bytes_);
  out.u8(writing_ == path_ ? 1 : 0);
  out.u32(target_ == Target::kDirect ? 0 : tail_crc(committed_bytes_));
}

void FileSink::restore(SnapshotReader& from) {
  from.section("file");
  const int64_t bytes = from.i64();
  resume_in_place_ = from.u8() != 0;
  resume_crc_ = from.u32();
  if (bytes < 0) from.refuse("a file has a negative size");
  if (bytes > 0) resume_at_ = bytes;
}

// The file as the attempt before left it, behind the bytes of the checkpoint.
Status FileSink::open_to_go_on() {
  path_ = resolved(options_.path);
  staging_ = path_ + ".partial";
  target_ = options_.live ? Target::kLive : Target::kWhole;
  const bool in_place = target_ == Target::kLive && resume_in_place_;
  writing_ = in_place ? path_ : staging_;
  struct stat found{};
  // An attempt may have been cut short just after it had given the file its name.
  if (!in_place && stat(staging_.c_str(), &found) != 0 && stat(path_.c_str(), &found) == 0) {
    std::error_code copied;
    if (target_ == Target::kLive) {
      writing_ = path_;
    } else if (!std::filesystem::copy_file(path_, staging_, copied)) {
      return fail(system_error(format("cannot copy \"{}\" to \"{}\"", path_, staging_), copied.value()));
    }
  }
  if (stat(writing_.c_str(), &found) != 0) return changed("it is gone");
  WRACKLINE_ASSIGN(file_, open_staging(writing_, options_.path, true));
  if (fstat(file_.get(), &found) != 0) return fail(cannot_write(writing_, errno));
  standing_bytes_ = found.st_size;
  sent_bytes_ = committed_bytes_ = *resume_at_;
  if (standing_bytes_ < sent_bytes_) {
    return changed(format("it has {} bytes, and the run had written {}", with_thousands(standing_bytes_),
                          with_thousands(sent_bytes_)));
  }
  if (tail_crc(sent_bytes_) != resume_crc_)
    return changed(format("it holds other bytes before byte {}", with_thousands(sent_bytes_)));
  if (writing_ == staging_) {  // nobody reads it, so it may hold rows that were never committed
    if (ftruncate(file_.get(), sent_bytes_) != 0) return fail(cannot_write(writing_, errno));
    standing_bytes_ = sent_bytes_;
  }
  if (lseek(file_.get(), sent_bytes_, SEEK_SET) < 0) return fail(cannot_write(writing_, errno));
  return {};
}

// A live file of an earlier attempt that had come further than this one, which began at the first record:
// readers keep it until this one has caught up.
bool FileSink::stands_further_on() const {
  struct stat found{};
  if (!resumes_ || stat(path_.c_str(), &found) != 0 || found.st_size <= committed_bytes_) return false;
  const Descriptor standing(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  std::string ours(static_cast<size_t>(std::min(committed_bytes_, kTailBytes)), '\0');
  std::string theirs = ours;
  return standing && pread(file_.get(), ours.data(), ours.size(), 0) == static_cast<ssize_t>(ours.size()) &&
         pread(standing.get(), theirs.data(), theirs.size(), 0) == static_cast<ssize_t>(theirs.size()) &&
         ours == theirs;
}

// Of the last few thousand bytes before `end`.
uint32_t FileSink::tail_crc(int64_t end) const {
  std::string tail(static_cast<size_t>(std::min<int64_t>(end, kTailBytes)), '\0');
  const ssize_t got = pread(file_.get(), tail.data(), tail.size(), end - static_cast<int64_t>(tail.size()));
  return crc32c(std::string_view(tail).substr(0, got < 0 ? 0 : static_cast<size_t>(got)));
}

std::unexpected<Error> FileSink::changed(std::string what) const {
  return fail(ErrorCode::kData, format("file \"{}\" is not what the run had written", writing_),
              format("After the run was cut short it was changed: {}.", what),
              "Put the file back, or begin a new run without --resume.");
}

// Takes from held_ what stands in the file already.
Status FileSink::compare_held() {
  const auto due =
      static_cast<size_t>(std::min(static_cast<int64_t>(held_.size()), standing_bytes_ - sent_bytes_));
  std::string standing(due, '\0');
  for (size_t done = 0; done < due;) {
    const ssize_t got = pread(file_.get(), standing.data() + done, due - done,
                              static_cast<off_t>(sent_bytes_ + static_cast<int64_t>(done)));
    if (got <= 0) return fail(cannot_write(writing_, got < 0 ? errno : EIO));
    done += static_cast<size_t>(got);
  }
  if (!std::string_view(held_).starts_with(standing)) {
    failed_ = true;
    return changed(
        format("behind byte {} it has other rows than the run gives again", with_thousands(sent_bytes_)));
  }
  sent_bytes_ += static_cast<int64_t>(due);
  held_.erase(0, due);
  if (lseek(file_.get(), sent_bytes_, SEEK_SET) < 0) return fail(cannot_write(writing_, errno));
  return {};
}

Status FileSink::open_target() {
  path_ = resolved(options_.path);
  struct stat found{};
  const bool exists = stat(path_.c_str(), &found) == 0;
  if (exists && S_ISDIR(found.st_mode)) {
    return fail(ErrorCode::kUnavailable, format("path \"{}\" of a file sink is a folder", options_.path), {},
                "Name a file in it.");
  }
  if (exists && !S_ISREG(found.st_mode)) return open_direct();
  target_ = options_.live ? Target::kLive : Target::kWhole;
  staging_ = path_ + ".partial";
  WRACKLINE_ASSIGN(file_, open_staging(staging_, options_.path, false));
  writing_ = staging_;
  if (!exists) return {};
  guard_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (guard_ && flock(guard_.get(), LOCK_EX | LOCK_NB) != 0) {
    ::unlink(staging_.c_str());
    file_.reset();
    return fail(in_use(options_.path));
  }
  if (fchmod(file_.get(), found.st_mode & 07777) != 0) return fail(cannot_write(staging_, errno));
  return {};
}

Status FileSink::open_direct() {
  target_ = Target::kDirect;
  file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file_) return fail(cannot_write(options_.path, errno));
  writing_ = path_;
  return {};
}

Status FileSink::write(const ChangeBatch& changes) {
  WRACKLINE_CHECK(writer_ != nullptr && file_, "write to a sink that is not open");
  WRACKLINE_CHECK(changes.generation == run_, format("generation {}", changes.generation));
  has_rows_ = has_rows_ || changes.rows > 0;
  writer_->append(held_, rows_of(changes));
  // Nobody reads the staging file, so it may run ahead of the commit; a live one may not.
  if (target_ == Target::kWhole && held_.size() >= kHeldBytes) return send();
  return {};
}

Status FileSink::commit() {
  WRACKLINE_CHECK(writer_ != nullptr && file_, "commit of a sink that is not open");
  if (target_ != Target::kWhole && !has_rows_) return {};  // a header alone can wait
  WRACKLINE_TRY(send());
  committed_bytes_ = sent_bytes_;
  if (target_ == Target::kLive && writing_ == staging_ && !stands_further_on()) return take_place();
  return {};
}

Status FileSink::send() {
  if (sent_bytes_ < standing_bytes_) WRACKLINE_TRY(compare_held());
  const Written written = write_all(file_.get(), held_);
  held_.clear();
  sent_bytes_ += static_cast<int64_t>(written.bytes);
  if (written.error == 0) return {};
  failed_ = true;
  if (target_ != Target::kDirect && ftruncate(file_.get(), kept_bytes()) == 0) {
    static_cast<void>(lseek(file_.get(), kept_bytes(), SEEK_SET));
    sent_bytes_ = kept_bytes();
  }
  return fail(write_failure(written.error));
}

Error FileSink::write_failure(int error) const {
  Error failure = cannot_write(writing_, error);
  failure.detail = format("{}; {} bytes of committed ticks are in it.", std::strerror(error),
                          with_thousands(committed_bytes_));
  if (target_ == Target::kWhole) failure.detail += format(" \"{}\" is as it was.", options_.path);
  return failure;
}

Status FileSink::take_place() {
  if (fsync(file_.get()) != 0) return fail(write_failure(errno));
  if (rename(staging_.c_str(), path_.c_str()) != 0) {
    return fail(system_error(format("cannot rename \"{}\" to \"{}\"", staging_, path_), errno));
  }
  writing_ = path_;
  guard_.reset();
  // A folder that cannot be synced (some network file systems) still has the new name.
  const Descriptor folder(::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) static_cast<void>(fsync(folder.get()));
  return {};
}

Status FileSink::close(bool finished) {
  if (!file_) return {};
  finished = finished && !failed_;
  Status status;
  if (finished) {
    status = send();
    if (status) committed_bytes_ = sent_bytes_;
    if (status && sent_bytes_ < standing_bytes_) {
      status = changed(format("it has {} bytes, and the run ends at byte {}", with_thousands(standing_bytes_),
                              with_thousands(sent_bytes_)));
    }
  } else if (target_ != Target::kDirect && sent_bytes_ > committed_bytes_) {
    static_cast<void>(ftruncate(file_.get(), kept_bytes()));  // rows of a tick that never committed
  }
  if (status && finished && target_ != Target::kDirect) {
    if (writing_ == staging_) {
      status = take_place();
    } else if (fsync(file_.get()) != 0) {
      status = fail(write_failure(errno));
    }
  }
  if (writing_ == staging_ && target_ != Target::kDirect && committed_bytes_ == 0) ::unlink(staging_.c_str());
  file_.reset();
  guard_.reset();
  return status;
}

// True for CSV, false for JSON lines.
Result<bool> is_csv(const FileSinkOptions& options) {
  const std::string_view name = options.path;
  if (name.ends_with(".gz") || name.ends_with(".zst")) {
    return fail(ErrorCode::kUnsupported, format("file sink \"{}\" would have to be compressed", options.path),
                "Files are read compressed, but written plain.",
                "Drop the ending and compress the file afterwards.");
  }
  if (options.format == "csv") return true;
  if (options.format == "jsonl") return false;
  if (!options.format.empty()) {
    return fail(ErrorCode::kInvalid,
                format("unknown format \"{}\" of file sink \"{}\"", printable(options.format), options.path),
                {}, "Use \"jsonl\" or \"csv\".");
  }
  if (name.ends_with(".csv")) return true;
  if (name.ends_with(".jsonl") || name.ends_with(".ndjson") || name.ends_with(".json")) return false;
  return fail(ErrorCode::kInvalid,
              format("the name of file sink \"{}\" does not tell its format", options.path), {},
              "Set format = 'jsonl' or 'csv', or end the name with .jsonl or .csv.");
}

}  // namespace

Result<std::unique_ptr<Sink>> make_file_sink(const FileSinkOptions& options) {
  if (options.path.empty())
    return fail(ErrorCode::kInvalid, "file sink without a path", {}, "Set path = '...'.");
  WRACKLINE_ASSIGN(const bool csv, is_csv(options));
  return std::make_unique<FileSink>(options, csv);
}

}  // namespace wrackline::connectors
