/// Clears up after a driver that was killed: a process of its own, which does nothing as long as the driver lives.
#pragma once

#include <string>
#include <utility>

namespace muster {

class CleanupProcess {
 public:
  /// Forks; call it before any thread starts. Where that fails there is none, and what a killed driver leaves stays
  /// until a later launch finds it (forget_old_launches).
  CleanupProcess();
  ~CleanupProcess();  ///< it ends at once
  CleanupProcess(const CleanupProcess&) = delete;
  CleanupProcess& operator=(const CleanupProcess&) = delete;

  /// As long as it lives the launch `tag` is in flight: should the driver die, the launcher, ranks, recorders and
  /// shared memory of that launch on this node are ended and removed (clean_this_node).
  class InFlight {
   public:
    InFlight(CleanupProcess& cleanup, std::string tag);
    ~InFlight();
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;

   private:
    CleanupProcess& cleanup_;
    std::string tag_;
  };

 private:
  void announce(char what, const std::string& tag) const;

  int socket_ = -1;
  int pid_ = -1;
};

}  // namespace muster
