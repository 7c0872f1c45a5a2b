#include "device/amd/hip.hpp"

namespace muster {

Result<std::string> compile_by_hiprtc() {
  // Until ROCm 5 the runtime itself was the compiler, too. Without an option it compiles for the device in use.
  const Library library = Library::open({"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libamdhip64.so.5"});
  return compile_kernels(library, {"hiprtc", "hiprtcGetCodeSize", "hiprtcGetCode"}, {});
}

}  // namespace muster
