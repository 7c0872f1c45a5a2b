/// Sums and messages between GPUs' memory: NCCL or RCCL behind `Comm`.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "device/collective_log.hpp"
#include "device/gpu.hpp"
#include "muster/comm.hpp"
#include "muster/params.hpp"

namespace muster {

struct CollectiveTable;

/// NCCL or RCCL on this node.
struct CollectiveLibrary {
  LibraryReport report;
  std::string remedy;                            ///< a sentence where the library is broken
  std::shared_ptr<const CollectiveTable> table;  ///< nullptr unless the library works
};

/// That of the vendor (GpuVendor::name): absent, broken or working. It asks for no device.
[[nodiscard]] CollectiveLibrary open_collectives(std::string_view vendor, const CallWatch& watch);

/// Control functions (rank, size, barrier, broadcast, gather, all_gather, all_true, split) are those of the
/// communicator below. all_reduce_sum, start_sum, send, receive, ping_pong and stream take memory of the device, and
/// end within the deadline: when it is up, or when the library reports an error, the communicator is aborted, and that
/// call and all later ones fail with kind `device`, or `protocol` where it is another rank that failed or did not come.
/// Messages have no tags: they arrive in the order in which they were sent.
class DeviceComm : public Comm {
 public:
  /// What the library reported of this rank's connections since this communicator was made. Not collective.
  [[nodiscard]] virtual Connections connections() const = 0;
  /// Not collective: aborts the communicator, as when its deadline is up. For who knows by other means that a rank
  /// will not come.
  virtual void abandon() = 0;
};

/// Collective over `base`, which must outlive it, as must `gpus`. Every rank brings a device of its own. Fails on all
/// ranks when it fails on one; on the others with kind `protocol`, naming that one. Where the library can (2.14 and
/// later) ranks first meet under the deadline; a call that never returns keeps the others waiting all the same, in
/// `base`.
[[nodiscard]] Result<std::unique_ptr<DeviceComm>> make_device_comm(Comm& base, const Gpus& gpus, int device,
                                                                   const CollectiveLibrary& library, CallWatch watch,
                                                                   Seconds deadline);

}  // namespace muster
