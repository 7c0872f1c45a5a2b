/// A made-up node for probes of GPUs.
#pragma once

#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "model/machine_description.hpp"

namespace muster {

/// Four GPUs of one node, whose runtime executes on the host by a clock that is made up.
inline MachineDescription four_gpus(std::vector<std::string> lines) {
  MachineDescription machine;
  machine.name = "four";
  machine.cores = 4;
  machine.domains.push_back({0, *CpuMask::parse_list("0-3"), std::uint64_t{1} << 34});
  machine.gpus.vendor = "nvidia";
  machine.gpus.model = "H100";
  machine.gpus.id = "10de:2330";
  machine.gpus.memory = std::uint64_t{80} << 30;
  machine.gpus.driver = std::move(lines);
  for (int i = 0; i < 4; ++i) {
    DescribedGpu gpu;
    gpu.address = fmt::format("0000:c{}:00.0", i + 1);
    gpu.domain = 0;
    gpu.files = {fmt::format("/dev/nvidia{}", i)};
    machine.gpus.devices.push_back(gpu);
  }
  return machine;
}

}  // namespace muster
