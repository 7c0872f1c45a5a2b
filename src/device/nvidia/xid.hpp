/// What NVIDIA's driver means by the numbers of its errors (Xid), and how each is judged.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "muster/verdict.hpp"

namespace muster {

/// One Xid of one GPU, as the kernel's log has it.
struct LoggedXid {
  int code = 0;
  std::string_view message;  ///< `NVRM: Xid (PCI:0000:c1:00): 149, NETIR_LINK_EVT Fatal ... (0x... 0x...)`
};

struct XidMeaning {
  int code = 0;
  Verdict verdict = Verdict::fail;  ///< pass: a note
  std::string words;                ///< `an uncorrected memory error`
  std::string remedy;               ///< a sentence without a full stop
};

/// By NVIDIA's catalogue. `message` is the driver's line (empty: only the number is known), which sub-codes of NVLink
/// and the recovery of Xid 154 stand in; `others` are the other Xids of the same GPU: some numbers only accompany them.
/// A number that is not used, or that the catalogue names no action for, is `unmeasured`.
[[nodiscard]] XidMeaning xid_meaning(int code, std::string_view message = {}, std::span<const LoggedXid> others = {});

}  // namespace muster
