/// The checkpoint of a training in progress: one rank writes it, and all go on from what can be read back.
#pragma once

#include <optional>

#include "base/files.hpp"
#include "probes/training/train.hpp"

namespace muster::training {

struct ReadCheckpoint {
  Checkpoint checkpoint;
  std::size_t bytes = 0;
};

/// Collective: rank 0 reads `path` and sends it to all. Fails on every rank alike, with the path and the reason.
[[nodiscard]] Result<ReadCheckpoint> read_checkpoint(Comm& comm, const Identity& identity, const std::string& path);

/// Local, on the node of rank 0. Fails with kind `usage` where the folder is not there, or where there is something
/// that muster has not written: a name given by mistake must not cost anybody a file.
[[nodiscard]] Result<void> may_write_checkpoint(const std::string& path);

class Saving {
 public:
  /// `path` empty: a temporary file of rank 0's, gone when this is.
  Saving(const Parts& parts, const Identity& identity, std::string path);
  Saving(const Saving&) = delete;
  Saving& operator=(const Saving&) = delete;
  ~Saving();

  /// Collective. The ranks that are to write do, beside the file and renamed; that it fails is noted in `saved`.
  [[nodiscard]] Result<void> save(const Replica& replica, int epoch, SavedState& saved);
  /// Collective. nullopt: it can't be read, or another run wrote it, according to `saved`.
  [[nodiscard]] Result<std::optional<State>> read_back(SavedState& saved);

 private:
  [[nodiscard]] Result<void> agree();
  [[nodiscard]] Result<void> write(const Replica& replica, int epoch) const;

  const Parts& parts_;
  const Identity& identity_;
  std::string path_;
  bool is_temporary_;
  std::uint64_t run_ = 0;
};

}  // namespace muster::training
