#include "base/names.hpp"
#include "muster/launcher.hpp"

namespace muster {

constexpr std::string_view bind_kind_names[] = {"cores", "node", "none", "masks"};

std::string_view to_string(BindKind kind) {
  return enum_name(bind_kind_names, kind);
}

}  // namespace muster
