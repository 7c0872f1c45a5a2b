/// Keeps runs from overlapping: two of one system that have a node in common do not measure at the same time.
///
/// One file holds a line for each run that goes on. The sign of an active run is not the line, but a lock of the
/// kernel on a byte of the file, which ends with the process that holds it, however that ends; a line without its lock
/// is dropped by the next run. Only write locks count: a user who may not write the file has none. A new file is for
/// its owner alone. Byte 0 is locked while lines are read and written. The locks are those that belong to an open file
/// (F_OFD_SETLK): over NFS the server keeps them, and where it keeps none that is an error, not a lock.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/owned_descriptor.hpp"
#include "muster/result.hpp"

namespace muster {

/// A run as the lock file knows it.
struct LockedRun {
  std::string run;
  std::string system;
  std::vector<std::string> nodes;  ///< empty: all of the system
  std::string host;                ///< where its driver is
  int pid = 0;
  std::string since;    ///< RFC 3339, UTC
  int turned_away = 0;  ///< runs that it has kept from starting
  friend bool operator==(const LockedRun&, const LockedRun&) = default;
};

/// They are of one system and have a node in common; a run that nothing is known of (`run` is empty) is in every way.
[[nodiscard]] bool overlap(const LockedRun& one, const LockedRun& other);

/// It began more than that ago, by its own word and the clock of the day; a run that nothing is known of has not.
[[nodiscard]] bool has_lasted(const LockedRun& run, double seconds);

/// Its end gives the lock back; so does the end of the process.
class RunLock {
 public:
  /// Enters `run`, unless another one is in its way: then that one, counted as having turned one more away, and the
  /// lock is not held. Waits at most `patience_s` for others that look at the file at the same time. Fails with kind
  /// `system`: the file can't be created, is not a lock file, or its file system has no locks.
  [[nodiscard]] static Result<std::optional<LockedRun>> take(RunLock& lock, const fs::path& file, const LockedRun& run,
                                                             double patience_s = 10);

 private:
  OwnedDescriptor descriptor_;
};

}  // namespace muster
