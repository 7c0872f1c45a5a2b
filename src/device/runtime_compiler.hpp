/// NVRTC and HIPRTC: the same functions under two prefixes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/library.hpp"
#include "muster/result.hpp"

namespace muster {

struct CompilerNames {
  std::string prefix;     ///< `nvrtc`
  std::string code_size;  ///< `nvrtcGetPTXSize`
  std::string code;       ///< `nvrtcGetPTX`
};

/// Code for the kernels of this program. Fails with kind `device`; a compiler's message is in the text.
[[nodiscard]] Result<std::string> compile_kernels(const Library& library, const CompilerNames& names,
                                                  const std::vector<std::string>& options);

}  // namespace muster
