#include "device/nvidia/cuda.hpp"

namespace muster {

Result<std::string> compile_by_nvrtc(const std::string& architecture) {
  // The toolkit's folder is seldom where the loader looks.
  const Library library =
      Library::open({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "/usr/local/cuda/lib64/libnvrtc.so.13",
                     "/usr/local/cuda/lib64/libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so.11.2"});
  return compile_kernels(library, {"nvrtc", "nvrtcGetPTXSize", "nvrtcGetPTX"}, {"--gpu-architecture=" + architecture});
}

}  // namespace muster
