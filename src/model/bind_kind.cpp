#include "muster/launcher.hpp"

namespace muster {

std::string_view to_string(BindKind kind) {
  switch (kind) {
    case BindKind::cores:
      return "cores";
    case BindKind::node:
      return "node";
    case BindKind::none:
      return "none";
    case BindKind::masks:
      return "masks";
  }
  return "";
}

}  // namespace muster
