/// Where nodes are in the networks between them.
#pragma once

#include <string>
#include <vector>

namespace muster {

/// An interface with one of its addresses.
struct NetworkPlace {
  std::string interface;
  std::string address;  ///< IPv4: `10.78.1.2`
  int prefix = 0;       ///< bits of its network
  std::string state;    ///< why it carries nothing: `down`, `no carrier`; empty: it could
  friend bool operator==(const NetworkPlace&, const NetworkPlace&) = default;
};

/// `10.78.1.0/24`; empty where address or prefix are none.
[[nodiscard]] std::string network_of(const NetworkPlace& place);

struct NodePlaces {
  std::string node;
  std::vector<NetworkPlace> places;
};

}  // namespace muster
