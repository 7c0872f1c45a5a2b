/// A folder of this launch and user below /dev/shm, for the shared memory of Open MPI. Its own files there have names
/// that are known before: another user who makes them first could read and change messages, or keep ranks from using
/// it.
#pragma once

#include <string>

namespace muster {

class SharedFolder {
 public:
  /// Before MPI_Init. Makes the folder, or takes that of a rank that was here first, and directs Open MPI to it.
  /// Nothing where the user has chosen one, without a secret of the launch, or where it can't be made.
  SharedFolder();
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  ~SharedFolder();  ///< after MPI_Finalize; the last rank of the node removes it
  /// Below /dev/shm; empty: none.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// After MPI_Init: a report lists settings of the site, and these are muster's own.
  void hide_settings() const;

 private:
  std::string name_;
};

}  // namespace muster
