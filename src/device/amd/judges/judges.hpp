/// Words and values that the findings about AMD's GPUs share, and its parts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure/node_devices.hpp"

namespace muster::visibility {

/// Empty: unknown.
[[nodiscard]] std::string value_of(const Device& device, std::string_view key);
/// 0: no number.
[[nodiscard]] double real_of(std::string_view text);
/// As rocm-smi prints it, `0x79ccd55167a2124a`; KFD has it in decimal. Empty: unknown.
[[nodiscard]] std::string unique_id_of(const Device& gpu);
/// `GPU 0000:c1:00.0 (unique id 0x79ccd55167a2124a) on nid001`.
[[nodiscard]] std::string named(const NodeView& node, const Device& gpu);
/// `0000:c1:00.0 (unique id 0x79ccd55167a2124a) and ...`.
[[nodiscard]] std::string names_of(const std::vector<const Device*>& gpus);

/// Data of AMD's libraries and its driver on each GPU.
void judge_amd(const NodeView& node, Findings& findings);
/// Links between AMD's GPUs, seen from both ends.
void judge_xgmi(const NodeView& node, Findings& findings);

}  // namespace muster::visibility
