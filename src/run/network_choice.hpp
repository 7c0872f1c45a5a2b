/// Which of the networks between nodes their ranks use. A node is not set aside for others, such as that of its
/// storage.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/given_line.hpp"
#include "muster/launcher.hpp"
#include "run/network_place.hpp"

namespace muster {

/// Interfaces (`hsn0`, `hsn*`) and networks (`10.78.1.0/24`). All empty: all networks.
struct NetworkChoice {
  std::vector<std::string> only;
  std::vector<std::string> without;
  /// Of variables that name adapters (`mlx5_0:1`), too. An adapter has any network: all count then.
  std::vector<std::string> devices = {};
  friend bool operator==(const NetworkChoice&, const NetworkChoice&) = default;
};

/// Those of the profile, else what MPI is restricted to: Open MPI's btl_tcp_if_include and btl_tcp_if_exclude
/// (options, else the environment), Hydra's -iface, UCX_NET_DEVICES, FI_TCP_IFACE. Options are those of the user's own
/// launch line where there is one, as `launcher_options` have no part in it. `variable`: the value of a variable;
/// empty: not set. Pure.
[[nodiscard]] NetworkChoice choose_networks(const std::vector<std::string>& of_profile,
                                            const std::optional<GivenLine>& line, const Argv& launcher_options,
                                            std::string (*variable)(const char* name));

/// Leaves the places in the chosen networks. Where `only` names none that any node has (a misspelt name), it does not
/// count; where no node has an interface that one of `devices` names, all networks do. Pure.
void keep_chosen(const NetworkChoice& choice, std::vector<NodePlaces>& nodes);

}  // namespace muster
