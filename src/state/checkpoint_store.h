// Checkpoints of one run: state made durable, and brought back (docs/formats/checkpoints.md).
//
// A checkpoint is a manifest and the pieces that it names. Pieces that stand in the checkpoint before are
// named again and not written again; so a checkpoint costs what has changed since the last one. The manifest
// is put in place by one rename, when everything that it names is durable: a checkpoint is there wholly or
// not at all.
//
// The store lives in the process that runs the job. A CheckpointWriter may live in a forked child (it changes
// files, and nothing of the store), which then has to call nothing but begin() and the writer:
//
//   const int64_t number = store.next_number();                        // parent
//   task = start_task(kForked, [&] {                                   // child
//     auto writer = store.begin(meta_with(number));
//     writer->part("runner", [&](SnapshotWriter& out) { ... });
//     return writer->complete()'s figures, to_bytes();
//   });
//   if (task says it is done) store.completed(number);                 // parent
//
// Invariants:
//   1. What newest_whole() gives was completed, and every byte of it is what was written.
//   2. Nothing that one of the kept checkpoints names is removed.
//   3. At most one checkpoint is being written at a time; its number is above those of all files.
// Threads: one.
// Cost:    a part or piece is copied once, into the writer's memory, and summed twice; writing is in blocks
// of a
//          megabyte. Pieces files with more dead bytes than live ones are written anew piece by piece, so the
//          disk holds at most about twice the state for each checkpoint kept.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "data/snapshot.h"
#include "env/disk.h"
#include "state/checkpoint_manifest.h"

namespace wrackline::state {

struct CheckpointRetention;

struct CheckpointFigures {
  int64_t number = 0;
  uint64_t bytes_written = 0;     // pieces, parts and manifest
  uint64_t bytes_referenced = 0;  // of pieces that an earlier checkpoint wrote
  uint64_t pieces_written = 0;
  uint64_t pieces_referenced = 0;
  int64_t files = 0;  // pieces files that it reads from, its own one included

  // What a restore may have to read from now on; what stands before may go (TickLogWriter::drop_before,
  // Ledger::settle). 0 until as many checkpoints stand as are kept.
  uint64_t tick_log_from = 0;
  int64_t ledger_from = 0;

  // What a forked child hands to its parent.
  std::string to_bytes() const;
  static Result<CheckpointFigures> from_bytes(std::string_view bytes);
};

// One checkpoint being written. Destroyed before complete() has gone well, it leaves nothing that counts.
class CheckpointWriter : public PieceWriter {
 public:
  ~CheckpointWriter() override;

  // Adds a part: what `write` writes, its pieces under "NAME/". Names are unique in the checkpoint (CHECK).
  void part(std::string_view name, const WritePiece& write);
  void put(std::string_view name, uint64_t revision, const WritePiece& write) override;
  void need_file(std::string_view path) override;

  // Makes everything durable, then the checkpoint valid; then removes what is not kept any more.
  // Errors: kUnavailable (the first failure, that of an earlier call included). The checkpoint may be there
  // even so, when its last step had an unknown outcome; it is then whole.
  Result<CheckpointFigures> complete();

 private:
  friend class CheckpointStore;
  struct Base;
  CheckpointWriter(env::Disk& disk, CheckpointRetention retention, CheckpointMeta meta, int64_t base);

  CheckpointExtent append(std::string_view bytes);
  void write_out();
  void write(std::string_view block);
  void note(Status status);
  bool refer(std::string_view name, uint64_t revision);

  env::Disk& disk_;
  std::unique_ptr<CheckpointRetention> retention_;
  CheckpointManifest manifest_;
  CheckpointFigures figures_;
  std::unique_ptr<env::GrowingFile> file_;
  std::unique_ptr<Base> base_;
  std::unordered_set<std::string> names_;  // of pieces
  SnapshotWriter scratch_;
  std::string buffer_;
  uint64_t unsynced_bytes_ = 0;
  Status status_;
  bool published_ = false;  // the manifest may be in place
};

// One checkpoint, all of which was verified when it was opened; and is again when it is read.
// Errors: kData for damage, kUnavailable; they name the checkpoint.
class CheckpointReader : public PieceReader {
 public:
  const CheckpointMeta& meta() const { return manifest_.meta; }
  const CheckpointManifest& manifest() const { return manifest_; }
  bool has_part(std::string_view name) const { return parts_.contains(std::string(name)); }
  // Reads a part with `read`, which must leave nothing of it. Errors: kNotFound without such a part; those of
  // `read`; kData for damage.
  Status part(std::string_view name, const std::function<Status(SnapshotReader&)>& read);
  Result<std::string> get(std::string_view name) override;  // of a piece

 private:
  friend class CheckpointStore;
  CheckpointReader(env::Disk& disk, std::string directory, CheckpointManifest manifest);
  Result<std::string> read(const CheckpointExtent& at, std::string_view name) const;

  env::Disk* disk_;
  std::string directory_;
  CheckpointManifest manifest_;
  std::unordered_map<std::string, CheckpointExtent> parts_;
  std::unordered_map<std::string, CheckpointExtent> pieces_;
};

class CheckpointStore {
 public:
  struct Options {
    std::string directory;  // the state directory; checkpoints lie in a folder of it
    int64_t run = 0;
    size_t kept = 2;  // checkpoints; at least 1
  };

  // Makes the folder. Errors: kUnavailable. Borrows the disk.
  static Result<CheckpointStore> open(env::Disk& disk, Options options);

  // The newest checkpoint of the run that is whole, all of whose bytes have been read; nullopt without one.
  // The next one written builds on it. `notices` says of each newer one why it was passed over: then more of
  // the run stood in a checkpoint than is given back. Errors: kUnavailable when the folder cannot be read.
  Result<std::optional<CheckpointReader>> newest_whole(std::vector<std::string>& notices);

  // Makes durable what newest_whole() gave, then removes what no checkpoint that could be restored needs:
  // unfinished ones, those of earlier runs, files in `needed_folder` (a path in the state directory, such as
  // "cold") that no checkpoint of this run names. Requires: nothing is being written, and newest_whole() has
  // been asked. Errors: kUnavailable.
  Status sweep(std::string_view needed_folder);

  // For a new run, instead of newest_whole() and sweep(): removes every checkpoint there is and the files in
  // `needed_folder`. None is of this run, whatever its number says: numbers begin anew when the ledger that
  // gives them is lost. Errors: kUnavailable.
  Status clear(std::string_view needed_folder);

  // The number of the checkpoint to write next; each is given once.
  int64_t next_number() { return next_number_++; }
  // Begins it, on top of the one that was restored or completed last. `meta` has the number; run and
  // parent are set here. Never fails: the first failure shows in complete(). Keeps nothing of the store by
  // reference.
  std::unique_ptr<CheckpointWriter> begin(CheckpointMeta meta) const;
  // That checkpoint was completed (by a child, perhaps): the next one builds on it.
  void completed(int64_t number) { base_ = number; }

 private:
  CheckpointStore(env::Disk& disk, Options options) : disk_(&disk), options_(std::move(options)) {}
  CheckpointRetention retention() const;

  env::Disk* disk_;
  Options options_;
  int64_t next_number_ = 1;
  int64_t base_ = 0;               // 0: none
  std::set<int64_t> passed_over_;  // not whole, though their manifests may be
};

}  // namespace wrackline::state
