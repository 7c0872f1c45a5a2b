// Files of /proc/net, interfaces as a rank tells them, and lists of devices as a person writes them.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "device/interfaces.hpp"
#include "device/parse.hpp"
#include "model/fact_fields.hpp"
#include "probes/network_interfaces/node_view.hpp"
#include "probes/network_interfaces/selection.hpp"
#include "probes/network_plugin/plugin.hpp"

namespace {

void require(bool claim) {
  if (!claim) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Two files in one input.
  const auto half = text.find('\f');
  const std::string_view second = half == text.npos ? text : text.substr(half + 1);
  for (const ListedAddress& one : parse_addresses(text.substr(0, half), second))
    require(!network_of(one.address).empty());
  for (const ListedAddress& one : parse_addresses6(text)) require(!one.interface.empty() && !one.address.text.empty());
  if (const auto one = parse_interface(text)) require(parse_interface(to_text(*one)).has_value());
  if (const auto one = network_plugin::parse_library(text))
    require(network_plugin::parse_library(network_plugin::to_text(*one)).has_value());
  if (const auto one = read_fact<network::Counted>(text))
    require(read_fact<network::Counted>(to_fact("counter", *one).value).has_value());
  require(parse_lanes(text) >= 0 && parse_lanes(text) < 100);
  const std::vector<std::string> names{"lo", "eth0", "hsn0", "mlx5_0"};
  for (const auto grammar : {network::Grammar::nccl, network::Grammar::exact, network::Grammar::ucx}) {
    const auto selection = network::parse_selection(grammar, text);
    for (const auto& name : selection.names) require(!name.empty());
    require(network::chosen(selection, names).size() <= names.size());
  }
  (void)network_plugin::file_names(text);
  return 0;
}
