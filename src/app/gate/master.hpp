/// MASTER_ADDR of the command that `muster gate` starts: never a node that the gate rejected. docs/gate.md
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/result.hpp"

namespace muster {

struct GateMaster {
  std::optional<std::string> value;  ///< what MASTER_ADDR becomes; nullopt: it stays as it is
  std::string note;                  ///< printed for the user; empty: none
};

struct MasterAsked {
  std::optional<std::string> set;  ///< MASTER_ADDR in the environment
  bool stays = false;              ///< --no-master
};

/// `chosen`: not empty, the first one has rank 0. `nodes`: all that there were. A value that names a chosen node stays;
/// any other becomes the first chosen node. With `stays` nothing changes, and a value that does not name a chosen node
/// is refused with kind `usage`. Names are compared with and without domain and with what follows a `-`
/// (`nid001-hsn0`), in any case, and with a port; an address is that of the node to which `addresses_of` resolves it.
[[nodiscard]] Result<GateMaster> choose_master(const MasterAsked& asked, const std::vector<std::string>& nodes,
                                               const std::vector<std::string>& chosen,
                                               std::vector<std::string> (*addresses_of)(const std::string& name));

/// Numeric addresses of a name, by the system's resolver, which may take seconds; empty: it does not resolve.
[[nodiscard]] std::vector<std::string> resolved_addresses(const std::string& name);

}  // namespace muster
