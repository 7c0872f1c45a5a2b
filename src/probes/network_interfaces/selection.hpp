/// Variables that select the network devices of a library, in each library's own grammar. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::network {

/// How a library reads its list.
enum class Grammar {
  nccl,   ///< beginnings of names; `=` before the list: whole names; `^`: all but these; `name:port` of adapters
  exact,  ///< whole names, each of which has to be there (Gloo)
  ucx,    ///< whole names, `mlx5_0:1`, or `all`; `^`: all but these
};

struct Variable {
  std::string_view name;
  Grammar grammar;
  bool names_adapters;    ///< RDMA devices
  bool names_interfaces;  ///< network interfaces
};
inline constexpr Variable variables[] = {
    {"NCCL_SOCKET_IFNAME", Grammar::nccl, false, true},
    {"GLOO_SOCKET_IFNAME", Grammar::exact, false, true},
    {"NCCL_IB_HCA", Grammar::nccl, true, false},
    {"UCX_NET_DEVICES", Grammar::ucx, true, true},
};

struct Selection {
  bool is_exact = false;  ///< whole names, not beginnings
  bool is_exclusion = false;
  bool is_all = false;
  std::vector<std::string> names;  ///< without ports
  friend bool operator==(const Selection&, const Selection&) = default;
};
[[nodiscard]] Selection parse_selection(Grammar grammar, std::string_view text);
[[nodiscard]] bool matches(const Selection& selection, const std::string& entry, std::string_view name);
/// Those of `names` that it chooses, in their order.
[[nodiscard]] std::vector<std::string> chosen(const Selection& selection, std::span<const std::string> names);

}  // namespace muster::network
