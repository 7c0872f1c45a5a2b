/// NCCL or RCCL behind `Comm`, once all ranks have their ends of the communicator. Used by collectives.cpp alone.
#pragma once

#include <memory>

#include "device/collective_capture.hpp"
#include "device/collective_rank.hpp"
#include "device/collectives.hpp"

namespace muster {

/// `base` must outlive it. `capture` began before the communicator was made.
[[nodiscard]] std::unique_ptr<DeviceComm> comm_over(Comm& base, std::shared_ptr<CollectiveRank> rank,
                                                    CollectiveCapture capture);

}  // namespace muster
