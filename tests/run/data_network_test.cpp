// Which node a network has lost, from who answers whom.
#include "run/data_network.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace muster {
namespace {

NetworkPlace at_address(const std::string& interface, const std::string& address, const std::string& state = "") {
  return {interface, address, 24, state};
}

/// nid001 to nid00`count`, each with eth0 and hsn0.
std::vector<NodePlaces> nodes_with_two_networks(int count) {
  std::vector<NodePlaces> nodes;
  for (int i = 1; i <= count; ++i) {
    const std::string number = std::to_string(i);
    nodes.push_back(
        {"nid00" + number, {at_address("eth0", "10.77.1." + number), at_address("hsn0", "10.78.1." + number)}});
  }
  return nodes;
}

/// What all nodes would call, answered unless one of the two addresses is of `silent`.
std::vector<NetworkCall> calls_of_all(const std::vector<NodePlaces>& nodes, const std::vector<std::string>& silent,
                                      const std::vector<std::string>& driver = {}) {
  const auto is_silent = [&](const std::string& one) {
    return std::find(silent.begin(), silent.end(), one) != silent.end();
  };
  std::vector<NetworkCall> calls;
  for (const NodePlaces& node : nodes)
    for (NetworkCall& call : calls_of(node.places, shared_networks(nodes), driver)) {
      call.is_answered = !is_silent(call.from) && !is_silent(call.to);
      calls.push_back(call);
    }
  return calls;
}

std::vector<std::string> cut_off_names(const std::vector<CutOffNode>& cut_off) {
  std::vector<std::string> found;
  for (const CutOffNode& one : cut_off) found.push_back(one.node);
  return found;
}

TEST(DataNetwork, ANetworkIsThatOfItsBits) {
  EXPECT_EQ(network_of({"hsn0", "10.78.1.9", 24, ""}), "10.78.1.0/24");
  EXPECT_EQ(network_of({"hsn0", "172.31.255.1", 12, ""}), "172.16.0.0/12");
  EXPECT_EQ(network_of({"hsn0", "10.0.0.1", 32, ""}), "10.0.0.1/32");
  EXPECT_EQ(network_of({"hsn0", "10.0.0.1", 0, ""}), "");
  EXPECT_EQ(network_of({"hsn0", "nonsense", 24, ""}), "");
}

TEST(DataNetwork, AddressesThatAllNodesHaveAreOfNoNetworkBetweenThem) {
  auto nodes = nodes_with_two_networks(3);
  for (NodePlaces& node : nodes) node.places.push_back(at_address("docker0", "172.17.0.1", "no carrier"));
  nodes[1].places.push_back(at_address("cni0", "10.244.2.1"));
  EXPECT_EQ(shared_networks(nodes), (std::vector<std::vector<std::string>>{{"10.77.1.1", "10.77.1.2", "10.77.1.3"},
                                                                           {"10.78.1.1", "10.78.1.2", "10.78.1.3"}}));
}

TEST(DataNetwork, CallsGoToTwoNeighboursOnEitherSideAndToTheDriver) {
  const auto nodes = nodes_with_two_networks(9);
  const auto calls =
      calls_of({at_address("hsn0", "10.78.1.1")}, shared_networks(nodes), {"10.78.1.254", "192.168.0.1"});
  std::vector<std::string> to;
  for (const NetworkCall& call : calls) to.push_back(call.to);
  EXPECT_EQ(to, (std::vector<std::string>{"10.78.1.2", "10.78.1.9", "10.78.1.3", "10.78.1.8", "10.78.1.254"}));
  EXPECT_TRUE(calls_of({at_address("hsn0", "10.79.1.1")}, shared_networks(nodes), {}).empty());
}

TEST(DataNetwork, OneNodeIsLost) {
  const auto nodes = nodes_with_two_networks(4);
  const auto cut_off = find_cut_off(nodes, calls_of_all(nodes, {"10.78.1.2"}));
  ASSERT_EQ(cut_off_names(cut_off), std::vector<std::string>{"nid002"});
  EXPECT_EQ(
      lost_to_network(cut_off[0]).reason(),
      "nid002 can't be reached over the data network 10.78.1.0/24: interface hsn0, address 10.78.1.2; nid001, nid003 "
      "and nid004 answer there");
  EXPECT_EQ(lost_to_network(cut_off[0]).remedy,
            "check cable and switch port of hsn0 on nid002, and its state: ip -s link show hsn0");
}

TEST(DataNetwork, NeighboursOfLostNodesAreNotAccused) {
  const auto nodes = nodes_with_two_networks(8);
  EXPECT_EQ(cut_off_names(find_cut_off(nodes, calls_of_all(nodes, {"10.78.1.3", "10.78.1.4"}))),
            (std::vector<std::string>{"nid003", "nid004"}));
  EXPECT_TRUE(find_cut_off(nodes, calls_of_all(nodes, {})).empty());
}

TEST(DataNetwork, ANodeWhoseNeighboursAreAllLostIsNotAccused) {
  const auto nodes = nodes_with_two_networks(8);
  const std::vector<std::string> lost{"10.78.1.1", "10.78.1.2", "10.78.1.4", "10.78.1.5"};
  EXPECT_EQ(cut_off_names(find_cut_off(nodes, calls_of_all(nodes, lost))),
            (std::vector<std::string>{"nid001", "nid002", "nid004", "nid005"}));
}

TEST(DataNetwork, ANodeWhoseAnswerIsMissingIsNotAccused) {
  const auto nodes = nodes_with_two_networks(4);
  auto calls = calls_of_all(nodes, {"10.78.1.2"});
  std::erase_if(calls, [](const NetworkCall& call) { return call.from == "10.78.1.2"; });
  EXPECT_TRUE(find_cut_off(nodes, calls).empty());
}

TEST(DataNetwork, OfSeveralPortsInOneNetworkOneAnswers) {
  auto nodes = nodes_with_two_networks(4);
  for (NodePlaces& node : nodes) node.places[0] = at_address("hsn1", "10.78.1.1" + node.places[1].address.substr(8));
  // The kernel sends what hsn1 answers through hsn0, and others drop it.
  EXPECT_TRUE(find_cut_off(nodes, calls_of_all(nodes, {"10.78.1.12"})).empty());
  for (NetworkPlace& place : nodes[1].places)
    if (place.interface == "hsn1") place.state = "no carrier";
  EXPECT_EQ(cut_off_names(find_cut_off(nodes, calls_of_all(nodes, {"10.78.1.12"}))),
            std::vector<std::string>{"nid002"});
}

TEST(DataNetwork, WhereNoCallIsAnsweredNothingTellsNodesApart) {
  const auto nodes = nodes_with_two_networks(3);
  EXPECT_TRUE(find_cut_off(nodes, calls_of_all(nodes, {"10.78.1.1", "10.78.1.2", "10.78.1.3"})).empty());
}

TEST(DataNetwork, OfTwoNodesTheDriverOrTheCarrierTells) {
  auto nodes = nodes_with_two_networks(2);
  EXPECT_TRUE(find_cut_off(nodes, calls_of_all(nodes, {"10.78.1.2"})).empty());
  EXPECT_EQ(cut_off_names(find_cut_off(nodes, calls_of_all(nodes, {"10.78.1.2"}, {"10.78.1.254"}))),
            std::vector<std::string>{"nid002"});
  nodes[1].places[1].state = "no carrier";
  const auto cut_off = find_cut_off(nodes, calls_of_all(nodes, {"10.78.1.2"}));
  ASSERT_EQ(cut_off_names(cut_off), std::vector<std::string>{"nid002"});
  EXPECT_EQ(
      lost_to_network(cut_off[0]).reason(),
      "nid002 can't be reached over the data network 10.78.1.0/24: interface hsn0, address 10.78.1.2 (no carrier)");
}

TEST(DataNetwork, ANodeThatCallsOthersIsReachable) {
  const auto nodes = nodes_with_two_networks(3);
  auto calls = calls_of_all(nodes, {});
  for (NetworkCall& call : calls) call.is_answered = call.to != "10.78.1.2";  // its firewall drops calls
  EXPECT_TRUE(find_cut_off(nodes, calls).empty());
}

TEST(DataNetwork, WhatWasNotCalledIsNotAccused) {
  const auto nodes = nodes_with_two_networks(3);
  std::vector<NetworkCall> calls{{"10.78.1.1", "10.78.1.2", true}};
  EXPECT_TRUE(find_cut_off(nodes, calls).empty());
}

TEST(DataNetwork, ANodeReportsNoCallsOfOthers) {
  const auto nodes = nodes_with_two_networks(4);
  std::vector<NetworkCall> of_2{
      {"10.78.1.2", "10.78.1.1", true}, {"10.78.1.3", "10.78.1.1", false}, {"10.78.1.2", "10.78.1.3", false}};
  keep_own_calls(nodes, "nid002", of_2);
  EXPECT_EQ(of_2, (std::vector<NetworkCall>{{"10.78.1.2", "10.78.1.1", true}, {"10.78.1.2", "10.78.1.3", false}}));
  keep_own_calls(nodes, "nid005", of_2);
  EXPECT_TRUE(of_2.empty());
}

TEST(DataNetwork, PlacesSurviveTheWay) {
  const std::vector<NetworkPlace> places{at_address("eth0", "10.77.1.1"),
                                         at_address("hsn0", "10.78.1.1", "no carrier")};
  EXPECT_EQ(places_from_json(to_json(places)), places);
  EXPECT_TRUE(
      places_from_json(nlohmann::json::parse(R"([1, {"interface": "a"}, {"address": 3, "prefix": 24}])")).empty());
  EXPECT_TRUE(places_from_json(nlohmann::json()).empty());
}

TEST(DataNetwork, ThisMachineAnswersItself) {
  std::vector<NetworkCall> calls{{"127.0.0.1", "127.0.0.1", false}, {"nonsense", "127.0.0.1", false}};
  make_calls(calls);
  EXPECT_TRUE(calls[0].is_answered);
  EXPECT_FALSE(calls[1].is_answered);
}

}  // namespace
}  // namespace muster
