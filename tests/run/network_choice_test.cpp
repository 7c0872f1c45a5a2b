// Which networks between nodes count.
#include "run/network_choice.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string not_set(const char*) {
  return {};
}

std::string of_open_mpi(const char* name) {
  const std::string_view asked = name;
  if (asked == "OMPI_MCA_btl_tcp_if_include") return "hsn0, 10.79.0.0/16";
  if (asked == "OMPI_MCA_btl_tcp_if_exclude") return "eth0";
  return {};
}

std::string of_ucx_beside_open_mpi(const char* name) {
  return std::string_view(name) == "UCX_NET_DEVICES" ? "mlx5_0:1" : of_open_mpi(name);
}

std::string of_libfabric(const char* name) {
  return std::string_view(name) == "FI_TCP_IFACE" ? "hsn0" : "";
}

std::vector<NodePlaces> three_networks() {
  return {{"nid001", {{"eth0", "10.77.1.1", 24, ""}, {"hsn0", "10.78.1.1", 24, ""}, {"san0", "10.79.1.1", 24, "down"}}},
          {"nid002", {{"eth0", "10.77.1.2", 24, ""}, {"hsn0", "10.78.1.2", 24, ""}, {"san0", "10.79.1.2", 24, ""}}}};
}

std::vector<std::string> kept_on_first(const NetworkChoice& choice) {
  auto nodes = three_networks();
  keep_chosen(choice, nodes);
  std::vector<std::string> kept;
  for (const NetworkPlace& place : nodes[0].places) kept.push_back(place.interface);
  return kept;
}

using Names = std::vector<std::string>;

TEST(NetworkChoice, TheProfileTakesPrecedenceOverVariables) {
  EXPECT_EQ(choose_networks({"hsn*"}, {}, {}, of_open_mpi), (NetworkChoice{{"hsn*"}, {}}));
  EXPECT_EQ(choose_networks({}, {}, {}, not_set), NetworkChoice());
}

TEST(NetworkChoice, WhatMpiIsRestrictedToCounts) {
  // As Open MPI has it, the list of those that are left out does not count beside the other.
  EXPECT_EQ(choose_networks({}, {}, {}, of_open_mpi), (NetworkChoice{{"hsn0", "10.79.0.0/16"}, {}}));
  EXPECT_EQ(choose_networks({}, {}, {"--mca", "btl_tcp_if_include", "eth0"}, of_open_mpi),
            (NetworkChoice{{"eth0"}, {}}))
      << "an option comes before a variable";
  EXPECT_EQ(choose_networks({}, {}, {"--mca", "btl_tcp_if_exclude", "lo,san0"}, not_set),
            (NetworkChoice{{}, {"lo", "san0"}}));
  EXPECT_EQ(choose_networks({}, {}, {"-iface", "hsn0"}, not_set), (NetworkChoice{{"hsn0"}, {}}));
}

TEST(NetworkChoice, VariablesThatMayNameAdaptersAreToldFromOthers) {
  EXPECT_EQ(choose_networks({}, {}, {}, of_ucx_beside_open_mpi),
            (NetworkChoice{{"hsn0", "10.79.0.0/16"}, {}, {"mlx5_0:1"}}));
  EXPECT_EQ(choose_networks({}, {}, {"-iface", "eth0"}, of_libfabric), (NetworkChoice{{"eth0"}, {}, {"hsn0"}}));
}

TEST(NetworkChoice, OptionsOfALaunchLineCountInPlaceOfOthers) {
  const auto of_line = [](std::string_view text, const Argv& launcher_options) {
    return choose_networks({}, *parse_given_line(text), launcher_options, not_set);
  };
  EXPECT_EQ(of_line("nice mpirun -n 4 --mca btl_tcp_if_include hsn0", {}), (NetworkChoice{{"hsn0"}, {}}));
  EXPECT_EQ(of_line("mpirun --mca btl_tcp_if_exclude san0 -n 4", {}), (NetworkChoice{{}, {"san0"}}));
  EXPECT_EQ(of_line("mpiexec.hydra -iface hsn0 -n 4", {"-iface", "eth0"}), (NetworkChoice{{"hsn0"}, {}}));
  EXPECT_EQ(of_line("mpirun -n 4", {"-iface", "eth0"}), NetworkChoice());
}

TEST(NetworkChoice, OnlyChosenPlacesAreKept) {
  EXPECT_EQ(kept_on_first({}), (Names{"eth0", "hsn0", "san0"}));
  EXPECT_EQ(kept_on_first({{"hsn*"}, {}}), Names{"hsn0"});
  EXPECT_EQ(kept_on_first({{"10.78.1.77/24"}, {}}), Names{"hsn0"});
  EXPECT_EQ(kept_on_first({{"10.76.0.0/14"}, {}}), (Names{"eth0", "hsn0", "san0"}));
  EXPECT_EQ(kept_on_first({{}, {"san0"}}), (Names{"eth0", "hsn0"}));
  EXPECT_EQ(kept_on_first({{}, {"10.79.1.0/24", "eth0"}}), Names{"hsn0"});
}

TEST(NetworkChoice, WhereAnAdapterIsNamedAllNetworksAreKept) {
  for (const Names& devices : {Names{"eth0", "mlx5_0:1"}, Names{"mlx5_0:1"}, Names{"all"}, Names{"hsn0", "all"}}) {
    const std::string last = devices.back();
    EXPECT_EQ(kept_on_first({{}, {}, devices}), (Names{"eth0", "hsn0", "san0"})) << last;
    EXPECT_EQ(kept_on_first({{"eth0"}, {}, devices}), (Names{"eth0", "hsn0", "san0"})) << last;
    EXPECT_EQ(kept_on_first({{}, {"san0"}, devices}), (Names{"eth0", "hsn0", "san0"})) << last;
  }
}

TEST(NetworkChoice, DevicesThatAreInterfacesRestrict) {
  EXPECT_EQ(kept_on_first({{}, {}, {"hsn0"}}), Names{"hsn0"});
  EXPECT_EQ(kept_on_first({{}, {}, {"hsn0", "san0"}}), (Names{"hsn0", "san0"}));
  EXPECT_EQ(kept_on_first({{"eth0"}, {}, {"hsn0"}}), (Names{"eth0", "hsn0"}));
  EXPECT_EQ(kept_on_first({{}, {"hsn0"}, {"hsn0"}}), Names{"hsn0"}) << "what one transport leaves out another has";
}

TEST(NetworkChoice, NamesOfNoInterfaceDoNotCount) {
  for (const char* name : {"mlx5_0:1", "hsm0", "/24", "10.78.1.0/", "10.78.1.0/x", "*x"})
    EXPECT_EQ(kept_on_first({{name}, {}}), (Names{"eth0", "hsn0", "san0"})) << name;
}

}  // namespace
}  // namespace muster
