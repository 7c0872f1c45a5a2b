/// What NVIDIA's driver means by the numbers of its errors (Xid), and how each is judged.
#pragma once

#include <span>
#include <string_view>

#include "device/driver_errors.hpp"

namespace muster {

using LoggedXid = LoggedError;
using XidMeaning = ErrorMeaning;

/// By NVIDIA's catalogue. `message` is the driver's line (empty: only the number is known), which sub-codes of NVLink
/// and the recovery of Xid 154 stand in; `others` are the other Xids of the same GPU: some numbers only accompany them.
/// A number that is not used, or that the catalogue names no action for, is `unmeasured`.
[[nodiscard]] XidMeaning xid_meaning(int code, std::string_view message = {}, std::span<const LoggedXid> others = {});
/// Xids of NVLink: the sub-code stands in the message.
[[nodiscard]] bool has_nvlink_subcode(int code);
/// Xid 154.
inline constexpr int xid_of_recovery = 154;

}  // namespace muster
