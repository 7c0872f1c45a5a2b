/// NVIDIA's Xid catalogue as data: the vendor's remedy for each number
/// (docs.nvidia.com/deploy/xid-errors, October 2025). The words are muster's own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace muster {

enum class XidAction : unsigned char {
  none,             ///< the catalogue names no action
  ignore,           ///< IGNORE
  restart_app,      ///< RESTART_APP
  reset_gpu,        ///< RESET_GPU
  restart_vm,       ///< RESTART_VM
  restart_node,     ///< RESTART_BM
  contact_support,  ///< CONTACT_SUPPORT
  check_power,      ///< CHECK_MECHANICALS
  update,           ///< UPDATE_SWFW
  workflow,         ///< WORKFLOW_*, XID_154, CHECK_UVM: what else is in the log decides
};

struct XidEntry {
  int code = 0;
  XidAction action = XidAction::none;
  std::string_view words;  ///< `an uncontained memory error`; empty: not in use
};

/// By code, without gaps from 1 on.
[[nodiscard]] std::span<const XidEntry> xid_catalogue();

/// The lowest bits of a word.
struct LowBits {
  std::uint32_t value = 0;
  int count = 0;
};

/// A sub-code of Xid 144 to 150 (NVLink 5): the first word behind the code carries unit and reason, the second the
/// status.
struct NvlinkSubcode {
  int xid = 0;
  std::string_view unit;
  std::uint32_t reason = 0;  ///< bits 20 to 25
  LowBits unit_bits;         ///< as older drivers write them
  LowBits newer_unit_bits;
  std::uint32_t status = 0;
  XidAction action = XidAction::none;    ///< ignore, reset_gpu, workflow: that of Xid 154
  XidAction if_fatal = XidAction::none;  ///< where the driver calls it fatal
};

[[nodiscard]] std::span<const NvlinkSubcode> nvlink_subcodes();

}  // namespace muster
