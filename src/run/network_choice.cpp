#include "run/network_choice.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/number.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

/// `10.78.1.0/24` has the address; `10.78.1.7/24` is the same network.
bool is_in_network(const NetworkPlace& place, std::string_view network) {
  const std::size_t slash = network.find('/');
  const auto prefix = slash == network.npos ? std::nullopt : leading_number<int>(network.substr(slash + 1));
  if (!prefix) return false;
  const std::string wanted = network_of({{}, std::string(network.substr(0, slash)), *prefix, {}});
  return !wanted.empty() && wanted == network_of({{}, place.address, *prefix, {}});
}

bool is_named(const NetworkPlace& place, std::string_view name) {
  if (name.find('/') != name.npos) return is_in_network(place, name);
  if (name.ends_with('*')) return place.interface.starts_with(name.substr(0, name.size() - 1));
  return place.interface == name;
}

bool is_named_by_any(const NetworkPlace& place, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return is_named(place, name); });
}

std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  for (const std::string& part : split(list, ','))
    if (const std::string_view name = trim(part); !name.empty()) names.emplace_back(name);
  return names;
}

/// `X` of `--mca btl_tcp_if_include X`, the last one.
std::string mca_option(const Argv& options, std::string_view name) {
  std::string value;
  for (std::size_t i = 0; i + 2 < options.size(); ++i) {
    const std::string_view option = options[i];
    if ((option == "--mca" || option == "-mca" || option == "--gmca" || option == "-gmca") && options[i + 1] == name)
      value = options[i + 2];
  }
  return value;
}

/// `X` of `-iface X`.
std::string hydra_interface(const Argv& options) {
  for (std::size_t i = 0; i + 1 < options.size(); ++i)
    if (options[i] == "-iface" || options[i] == "--iface") return options[i + 1];
  return {};
}

}  // namespace

NetworkChoice choose_networks(const std::vector<std::string>& of_profile, const std::optional<GivenLine>& line,
                              const Argv& launcher_options, std::string (*variable)(const char* name)) {
  if (!of_profile.empty()) return {of_profile, {}};
  const Argv& options = line ? line->argv : launcher_options;
  const auto either = [](std::string first, std::string second) { return first.empty() ? second : first; };
  NetworkChoice choice;
  const std::string include =
      either(mca_option(options, "btl_tcp_if_include"), variable("OMPI_MCA_btl_tcp_if_include"));
  const std::string exclude =
      either(mca_option(options, "btl_tcp_if_exclude"), variable("OMPI_MCA_btl_tcp_if_exclude"));
  for (const std::string& list : {include, hydra_interface(options)})
    for (std::string& name : names_in(list)) choice.only.push_back(std::move(name));
  for (const char* name : {"UCX_NET_DEVICES", "FI_TCP_IFACE"})
    for (std::string& device : names_in(variable(name))) choice.devices.push_back(std::move(device));
  if (include.empty()) choice.without = names_in(exclude);
  return choice;
}

void keep_chosen(const NetworkChoice& choice, std::vector<NodePlaces>& nodes) {
  const auto is_of_a_node = [&](const std::string& name) {
    return std::any_of(nodes.begin(), nodes.end(), [&](const NodePlaces& node) {
      return std::any_of(node.places.begin(), node.places.end(),
                         [&](const NetworkPlace& place) { return is_named(place, name); });
    });
  };
  if (!std::all_of(choice.devices.begin(), choice.devices.end(), is_of_a_node)) return;
  const bool is_restricted =
      !choice.devices.empty() || std::any_of(choice.only.begin(), choice.only.end(), is_of_a_node);
  for (NodePlaces& node : nodes)
    std::erase_if(node.places, [&](const NetworkPlace& place) {
      if (is_named_by_any(place, choice.devices)) return false;
      return is_named_by_any(place, choice.without) || (is_restricted && !is_named_by_any(place, choice.only));
    });
}

}  // namespace muster
