/// Lists of devices as each runtime reads them.
#pragma once

#include "measure/device_selection.hpp"

namespace muster::gpu_mapping {

/// A variable and what its list picks from.
struct ListText {
  std::string_view name;
  std::string_view value;
  const std::vector<Slot>& from;
};

[[nodiscard]] std::vector<Slot> cuda_list(const ListText& list, std::vector<Fault>& faults);
[[nodiscard]] std::vector<Slot> rocr_list(const ListText& list, std::vector<Fault>& faults);
[[nodiscard]] std::vector<Slot> hip_list(const ListText& list, std::vector<Fault>& faults);
/// Of cards, each one device: the hierarchy COMPOSITE.
[[nodiscard]] std::vector<Slot> card_mask(const ListText& list, std::vector<Fault>& faults);

/// `NAME="value"`, for a sentence.
[[nodiscard]] std::string setting(std::string_view name, std::string_view value);
/// `the GPU`, `the 8 GPUs (0 to 7)`.
[[nodiscard]] std::string range_of(std::size_t count);

}  // namespace muster::gpu_mapping
