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
  EXPECT_EQ(choose_networks({"hsn*"}, {}, of_open_mpi), (NetworkChoice{{"hsn*"}, {}}));
  EXPECT_EQ(choose_networks({}, {}, not_set), NetworkChoice());
}

TEST(NetworkChoice, WhatMpiIsRestrictedToCounts) {
  // As Open MPI has it, the list of those that are left out does not count beside the other.
  EXPECT_EQ(choose_networks({}, {}, of_open_mpi), (NetworkChoice{{"hsn0", "10.79.0.0/16"}, {}}));
  EXPECT_EQ(choose_networks({}, {"--mca", "btl_tcp_if_include", "eth0"}, of_open_mpi), (NetworkChoice{{"eth0"}, {}}))
      << "an option comes before a variable";
  EXPECT_EQ(choose_networks({}, {"--mca", "btl_tcp_if_exclude", "lo,san0"}, not_set),
            (NetworkChoice{{}, {"lo", "san0"}}));
  EXPECT_EQ(choose_networks({}, {"-iface", "hsn0"}, not_set), (NetworkChoice{{"hsn0"}, {}}));
}

TEST(NetworkChoice, OnlyChosenPlacesAreKept) {
  EXPECT_EQ(kept_on_first({}), (Names{"eth0", "hsn0", "san0"}));
  EXPECT_EQ(kept_on_first({{"hsn*"}, {}}), Names{"hsn0"});
  EXPECT_EQ(kept_on_first({{"10.78.1.77/24"}, {}}), Names{"hsn0"});
  EXPECT_EQ(kept_on_first({{"10.76.0.0/14"}, {}}), (Names{"eth0", "hsn0", "san0"}));
  EXPECT_EQ(kept_on_first({{}, {"san0"}}), (Names{"eth0", "hsn0"}));
  EXPECT_EQ(kept_on_first({{}, {"10.79.1.0/24", "eth0"}}), Names{"hsn0"});
}

TEST(NetworkChoice, NamesOfNoInterfaceDoNotCount) {
  for (const char* name : {"mlx5_0:1", "hsm0", "/24", "10.78.1.0/", "10.78.1.0/x", "*x"})
    EXPECT_EQ(kept_on_first({{name}, {}}), (Names{"eth0", "hsn0", "san0"})) << name;
}

}  // namespace
}  // namespace muster
