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

/// Collective: rank 0 reads `path` and tells all. Fails on every rank alike, with the path and the reason.
[[nodiscard]] Result<ReadCheckpoint> read_checkpoint(Comm& comm, const Identity& identity, const std::string& path);

class Saving {
 public:
  /// `path` empty: a temporary file of rank 0's.
  Saving(const Parts& parts, const Identity& identity, std::string path);

  /// Collective. The ranks that are to write do, beside the file and renamed; that it fails is noted in `saved`.
  [[nodiscard]] Result<void> save(const Replica& replica, int epoch, SavedState& saved);
  /// Collective. nullopt: it can't be read, as `saved.fault` says.
  [[nodiscard]] Result<std::optional<State>> read_back(SavedState& saved);
  /// Collective. A temporary file goes.
  [[nodiscard]] Result<void> remove();

 private:
  [[nodiscard]] Result<void> agree_on_path();

  const Parts& parts_;
  const Identity& identity_;
  std::string path_;
  bool is_temporary_;
};

}  // namespace muster::training
