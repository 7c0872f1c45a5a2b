#include "device/nvidia/xid.hpp"

#include <array>

namespace muster {

namespace {

constexpr std::string_view program =
    "see what the program did (compute-sanitizer); when it comes with other programs too, "
    "reset the GPU";
constexpr std::string_view reset = "drain the node and reset the GPU or reboot; have it replaced if it comes again";
constexpr std::string_view reseat =
    "drain and power-cycle the node; have the GPU reseated, then replaced, if it comes again";
constexpr std::string_view reboot = "drain and reboot the node; update driver and firmware if it comes again";
constexpr std::string_view replace = "drain the node and have the GPU replaced";

constexpr std::array meanings = {
    XidMeaning{13, XidBlame::program, "an exception of the graphics engine", program},
    XidMeaning{31, XidBlame::program, "a memory page fault", program},
    XidMeaning{32, XidBlame::device, "a corrupted push buffer", reset},
    XidMeaning{38, XidBlame::device, "a fault of the driver's firmware", reboot},
    XidMeaning{43, XidBlame::program, "the GPU stopped processing a program", program},
    XidMeaning{45, XidBlame::program, "a program was ended after earlier errors", program},
    XidMeaning{48, XidBlame::device, "an uncorrected memory error (double bit)", reset},
    XidMeaning{61, XidBlame::device, "a halt of the internal microcontroller", reset},
    XidMeaning{62, XidBlame::device, "a halt of the internal microcontroller", reset},
    XidMeaning{63, XidBlame::device, "a row of memory to be remapped or a page to be retired", reset},
    XidMeaning{64, XidBlame::device, "a row of memory could not be remapped, or a page not retired", replace},
    XidMeaning{68, XidBlame::program, "an exception of the video processor", program},
    XidMeaning{69, XidBlame::program, "an exception of the graphics engine's class", program},
    XidMeaning{74, XidBlame::device, "an NVLink error",
               "drain the node, see the link's counters (nvidia-smi nvlink -e), reset "
               "all GPUs of the node; have bridge or board replaced if it comes again"},
    XidMeaning{79, XidBlame::device, "it has fallen off the bus", reseat},
    XidMeaning{92, XidBlame::device, "a high rate of corrected memory errors", reset},
    XidMeaning{94, XidBlame::device, "a contained memory error",
               "end the program that met it and reset the GPU when it is "
               "idle; have it replaced if it comes again"},
    XidMeaning{95, XidBlame::device, "an uncontained memory error", reset},
    XidMeaning{109, XidBlame::program, "a context switch took too long", program},
    XidMeaning{119, XidBlame::device, "the GPU's system processor (GSP) does not answer", reboot},
    XidMeaning{120, XidBlame::device, "an error of the GPU's system processor (GSP)", reboot},
    XidMeaning{140, XidBlame::device, "an uncorrected memory error that recovery did not take", reset},
    XidMeaning{143, XidBlame::device, "the GPU could not be initialised", reseat},
    XidMeaning{154, XidBlame::device, "the driver asks for a recovery of the GPU", reset},
};

}  // namespace

XidMeaning xid_meaning(int code) {
  for (const XidMeaning& meaning : meanings)
    if (meaning.code == code) return meaning;
  return {code, XidBlame::device, "an error that muster has no words for", "look it up in NVIDIA's list of Xid errors"};
}

}  // namespace muster
