/// What NVIDIA's driver means by the numbers of its errors (Xid).
#pragma once

#include <string>
#include <string_view>

namespace muster {

enum class XidBlame : unsigned char {
  program,  ///< may come of the program that ran: no fault of the device by itself
  device,
};

struct XidMeaning {
  int code = 0;
  XidBlame blame = XidBlame::device;
  std::string_view words;   ///< `an uncorrected memory error`
  std::string_view remedy;  ///< a sentence without a full stop
};

/// NVIDIA, "XID Errors" (docs.nvidia.com/deploy/xid-errors). A number that is not known is taken for the device's.
[[nodiscard]] XidMeaning xid_meaning(int code);

}  // namespace muster
