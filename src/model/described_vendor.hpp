/// How GPUs of one vendor show in the files of a described machine, and what stand-ins of its libraries follow. Of each
/// vendor in `src/device/<vendor>/terms/described.cpp`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/tree_writer.hpp"
#include "model/machine_description.hpp"

namespace muster {

/// What one GPU of a machine is called in its files.
struct DescribedPlace {
  std::string folder;      ///< of its function on the PCI bus, below the root
  std::string uuid;        ///< as `uuid_of` wrote it
  std::uint64_t hive = 0;  ///< of all GPUs that links join; 0: none does
};

struct DescribedVendor {
  std::string_view class_code;  ///< on the PCI bus: `038000`
  std::string_view calls;       ///< functions of its libraries, with `*` behind those that are about no GPU
  std::vector<std::string> (*files_of)(std::size_t index, int partitions);  ///< device files of a GPU, by its number
  std::string (*uuid_of)(std::uint64_t unique);                             ///< as its driver writes it
  void (*write_driver)(const DescribedGpus& gpus, const std::string& version, TreeWriter& tree);
  void (*write_gpu)(const DescribedGpus& gpus, std::size_t index, const DescribedPlace& place, TreeWriter& tree);
};

/// The digits at the end of a device file.
[[nodiscard]] inline std::string minor_of(const std::string& file) {
  return file.substr(file.find_last_not_of("0123456789") + 1);
}

}  // namespace muster
