#include "env/disk_sim.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace wrackline::env {
namespace {

constexpr size_t kSectorBytes = 512;

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::unexpected<Error> not_found(const std::string& path) {
  return fail(ErrorCode::kNotFound, format("cannot read file \"{}\"", path), "No such file.");
}

}  // namespace

// What an inode is elsewhere: the bytes, whatever names them.
struct DiskSim::Content {
  std::string bytes;
  size_t synced = 0;          // so many are durable
  std::vector<size_t> sizes;  // that it has had
  bool sync_failed = false;   // then no sync means anything any more
  bool appending = false;     // the last append was under way when the machine stopped
};

struct DiskSim::Name {
  std::shared_ptr<Content> durable;             // null: no such file
  std::vector<std::shared_ptr<Content>> later;  // what it has meant since its folder was synced
  std::shared_ptr<Content> before;              // what it meant before the last change

  const std::shared_ptr<Content>& now() const { return later.empty() ? durable : later.back(); }
};

class DiskSim::File : public GrowingFile {
 public:
  File(DiskSim& disk, std::string path, std::shared_ptr<Content> content)
      : disk_(disk), path_(std::move(path)), content_(std::move(content)), life_(disk.life_) {}
  Status append(std::string_view bytes) override {
    if (life_ != disk_.life_) return disk_.refused("append", path_, "It was opened before the crash.");
    return disk_.append_to(*content_, path_, bytes);
  }
  Status sync() override {
    if (life_ != disk_.life_) return disk_.refused("sync", path_, "It was opened before the crash.");
    return disk_.sync_content(*content_, path_);
  }
  const std::string& path() const override { return path_; }

 private:
  DiskSim& disk_;
  std::string path_;
  std::shared_ptr<Content> content_;
  uint64_t life_;
};

DiskSim::DiskSim(uint64_t seed, DiskFaults faults) : random_(seed), faults_(faults) {}

DiskSim::~DiskSim() = default;

bool DiskSim::chance(uint32_t per_thousand) {
  return per_thousand > 0 && random_() % 1000 < per_thousand;
}

void DiskSim::trace(std::string_view call, std::string_view path, uint64_t number, bool good) {
  const auto take = [this](uint8_t byte) { trace_ = (trace_ ^ byte) * 0x100000001b3U; };
  for (const char c : call) take(static_cast<uint8_t>(c));
  for (const char c : path) take(static_cast<uint8_t>(c));
  for (int shift = 0; shift < 64; shift += 8) take(static_cast<uint8_t>(number >> shift));
  take(good ? 1 : 0);
}

Status DiskSim::refused(std::string_view call, const std::string& path, std::string why) {
  trace(call, path, 0, false);
  return fail(ErrorCode::kUnavailable, format("cannot {} file \"{}\"", call, path), std::move(why));
}

// Before a change. Errors: the machine has stopped, now or earlier.
Status DiskSim::effect() {
  if (!crashed_) crashed_ = ++effects_ == crash_at_;
  if (crashed_) return fail(ErrorCode::kUnavailable, "the simulated machine has stopped");
  return {};
}

Status DiskSim::append_to(Content& content, const std::string& path, std::string_view bytes) {
  if (crashed_) return effect();
  const Status going = effect();
  size_t fits = bytes.size();
  if (faults_.bytes_max) {
    const uint64_t used = this->bytes();
    fits = static_cast<size_t>(
        std::min<uint64_t>(fits, *faults_.bytes_max - std::min(used, *faults_.bytes_max)));
  }
  const bool full = fits < bytes.size();
  const bool fails = chance(faults_.write_fails);
  if (fails && fits > 0) fits = random_() % fits;
  content.sizes.push_back(content.bytes.size());
  content.bytes += bytes.substr(0, fits);
  content.appending = !going;
  WRACKLINE_TRY(going);
  if (full || fails) return refused("write", path, full ? "No space left on device." : "Input/output error.");
  trace("append", path, bytes.size(), true);
  return {};
}

Status DiskSim::sync_content(Content& content, const std::string& path) {
  WRACKLINE_TRY(effect());
  if (chance(faults_.sync_fails)) {
    content.sync_failed = true;
    return refused("sync", path, "Input/output error.");
  }
  if (!content.sync_failed && !chance(faults_.sync_lost)) content.synced = content.bytes.size();
  trace("sync", path, content.bytes.size(), true);
  return {};
}

void DiskSim::give_name(const std::string& path, std::shared_ptr<Content> content) {
  Name& name = names_[path];
  name.before = name.now();
  name.later.push_back(std::move(content));
}

Status DiskSim::sync_folder(const std::string& path_in_it) {
  WRACKLINE_TRY(effect());
  if (chance(faults_.folder_sync_lost)) return {};
  const std::string folder = folder_of(path_in_it);
  for (auto& [path, name] : names_) {
    if (folder_of(path) != folder) continue;
    name.durable = name.now();
    name.later.clear();
  }
  return {};
}

Result<std::unique_ptr<GrowingFile>> DiskSim::create(const std::string& path) {
  if (crashed_) WRACKLINE_TRY(effect());
  const Status going = effect();
  if (const auto found = names_.find(path); found != names_.end() && found->second.now() != nullptr)
    return fail(refused("make", path, "File exists.").error());
  if (!folders_.contains(folder_of(path))) return fail(refused("make", path, "No such folder.").error());
  auto content = std::make_shared<Content>();
  give_name(path, content);
  WRACKLINE_TRY(going);
  WRACKLINE_TRY(sync_folder(path));
  trace("create", path, 0, true);
  return std::make_unique<File>(*this, path, std::move(content));
}

Status DiskSim::replace(const std::string& path, std::string_view bytes) {
  if (crashed_) return effect();
  if (!folders_.contains(folder_of(path))) return refused("write", path, "No such folder.");
  const std::string neighbour = path + ".1.new";
  auto content = std::make_shared<Content>();
  give_name(neighbour, content);
  Status status = append_to(*content, neighbour, bytes);
  if (status) status = sync_content(*content, neighbour);
  if (!crashed_ && !status) give_name(neighbour, nullptr);
  WRACKLINE_TRY(status);
  const Status going = effect();
  give_name(path, std::move(content));
  give_name(neighbour, nullptr);
  WRACKLINE_TRY(going);
  WRACKLINE_TRY(sync_folder(path));
  trace("replace", path, bytes.size(), true);
  return {};
}

Status DiskSim::sync(const std::string& path) {
  if (crashed_) return effect();
  const auto found = names_.find(path);
  if (found == names_.end() || found->second.now() == nullptr) return not_found(path);
  WRACKLINE_TRY(sync_content(*found->second.now(), path));
  return sync_folder(path);
}

Result<std::string> DiskSim::looked_up(const std::string& path) {
  if (crashed_) WRACKLINE_TRY(effect());
  const auto found = names_.find(path);
  if (found == names_.end() || found->second.now() == nullptr) return not_found(path);
  if (chance(faults_.read_fails)) return fail(refused("read", path, "Input/output error.").error());
  const Name& name = found->second;
  std::string bytes = name.now()->bytes;
  if (chance(faults_.read_stale)) {
    if (name.before != nullptr && random_() % 2 == 0) {
      bytes = name.before->bytes;
    } else if (!name.now()->sizes.empty()) {
      bytes.resize(std::min(bytes.size(), name.now()->sizes[random_() % name.now()->sizes.size()]));
    }
  }
  if (!bytes.empty() && chance(faults_.read_flipped)) {
    const size_t bit = random_() % (bytes.size() * 8);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  }
  return bytes;
}

Result<std::string> DiskSim::read(const std::string& path, size_t size_max) {
  WRACKLINE_ASSIGN(std::string bytes, looked_up(path));
  trace("read", path, bytes.size(), bytes.size() <= size_max);
  if (bytes.size() > size_max) return fail(ErrorCode::kOutOfRange, format("file \"{}\" is too large", path));
  return bytes;
}

Result<std::string> DiskSim::read_range(const std::string& path, uint64_t offset, size_t size) {
  WRACKLINE_ASSIGN(const std::string bytes, looked_up(path));
  const bool there = offset <= bytes.size() && size <= bytes.size() - offset;
  trace("read", path, offset, there);
  if (!there) return fail(ErrorCode::kData, format("file \"{}\" is too short", path));
  return bytes.substr(offset, size);
}

Result<std::optional<uint64_t>> DiskSim::size_bytes(const std::string& path) {
  if (crashed_) WRACKLINE_TRY(effect());
  const auto found = names_.find(path);
  if (found == names_.end() || found->second.now() == nullptr) return std::optional<uint64_t>();
  return std::optional<uint64_t>(found->second.now()->bytes.size());
}

Result<std::vector<std::string>> DiskSim::list(const std::string& folder) {
  if (crashed_) WRACKLINE_TRY(effect());
  std::vector<std::string> found;
  for (const auto& [path, name] : names_) {
    if (name.now() != nullptr && folder_of(path) == folder) found.push_back(path.substr(folder.size() + 1));
  }
  trace("list", folder, found.size(), true);
  return found;
}

Status DiskSim::remove(const std::string& path) {
  if (crashed_) return effect();
  const auto found = names_.find(path);
  if (found == names_.end() || found->second.now() == nullptr) return {};
  const Status going = effect();
  if (going && chance(faults_.remove_fails)) return refused("remove", path, "Input/output error.");
  give_name(path, nullptr);
  WRACKLINE_TRY(going);
  trace("remove", path, 0, true);
  return {};
}

// Folders do not get lost: they are made once, long before anything depends on them.
Status DiskSim::make_folder(const std::string& path) {
  if (folders_.contains(path) && !crashed_) return {};
  WRACKLINE_TRY(effect());
  for (std::string above = path; !above.empty(); above = folder_of(above)) folders_.insert(above);
  trace("folder", path, 0, true);
  return {};
}

void DiskSim::crash_content(Content& content, CrashKind kind) {
  const size_t size = content.bytes.size();
  if (kind == CrashKind::kProcess) {
    const size_t before = content.sizes.empty() ? 0 : content.sizes.back();
    if (content.appending) content.bytes.resize(before + random_() % (size - before + 1));
  } else if (kind == CrashKind::kSynced) {
    content.bytes.resize(content.synced);
  } else if (size > content.synced) {
    const uint64_t way = random_() % 4;
    if (way == 0) content.bytes.resize(content.synced);
    if (way == 1) content.bytes.resize(content.synced + random_() % (size - content.synced + 1));
    for (size_t at = content.synced; way == 2 && at < size; at = (at / kSectorBytes + 1) * kSectorBytes) {
      const uint64_t what = random_() % 3;
      const size_t end = std::min(size, (at / kSectorBytes + 1) * kSectorBytes);
      for (size_t i = at; what > 0 && i < end; ++i)
        content.bytes[i] = what == 1 ? '\0' : static_cast<char>(random_());
    }
  }
  if (kind != CrashKind::kProcess) content.synced = content.bytes.size();
  content.appending = false;
  std::erase_if(content.sizes, [&](size_t earlier) { return earlier > content.bytes.size(); });
}

void DiskSim::restart(CrashKind kind) {
  std::set<Content*> seen;
  for (auto& [path, name] : names_) {
    if (kind != CrashKind::kProcess) {
      std::shared_ptr<Content> left = name.durable;
      const size_t choices = name.later.size() + 1;
      if (kind == CrashKind::kAnything && choices > 1) {
        const size_t choice = random_() % choices;
        if (choice > 0) left = name.later[choice - 1];
      }
      name.durable = std::move(left);
      name.later.clear();
    }
    Content* content = name.now().get();
    if (content != nullptr && seen.insert(content).second) crash_content(*content, kind);
    trace("restart", path, content == nullptr ? 0 : content->bytes.size(), content != nullptr);
  }
  std::erase_if(names_, [](const auto& entry) {
    return entry.second.durable == nullptr && entry.second.later.empty();
  });
  crashed_ = false;
  crash_at_ = 0;
  ++life_;
}

void DiskSim::flip(const std::string& path, uint64_t bit) {
  std::string& bytes = names_.at(path).now()->bytes;
  WRACKLINE_CHECK(bit / 8 < bytes.size(), "the bit lies in the file");
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
}

void DiskSim::cut(const std::string& path, uint64_t size) {
  Content& content = *names_.at(path).now();
  WRACKLINE_CHECK(size <= content.bytes.size(), "a file is cut where it has bytes");
  content.bytes.resize(size);
  content.synced = std::min<size_t>(content.synced, size);
}

std::vector<std::string> DiskSim::paths() const {
  std::vector<std::string> found;
  for (const auto& [path, name] : names_) {
    if (name.now() != nullptr) found.push_back(path);
  }
  return found;
}

uint64_t DiskSim::bytes() const {
  uint64_t sum = 0;
  for (const auto& [path, name] : names_) {
    if (name.now() != nullptr) sum += name.now()->bytes.size();
  }
  return sum;
}

}  // namespace wrackline::env
