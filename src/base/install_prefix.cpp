#include "base/install_prefix.hpp"

namespace muster {

fs::path install_prefix() {
  const auto program = own_executable();
  return program.is_absolute() ? program.parent_path().parent_path() : fs::path();
}

}  // namespace muster
