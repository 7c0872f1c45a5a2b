// Finding out which node a network has lost: pure.
#include "run/data_network.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/lists.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::size_t neighbours = 2;  // on either side

using nlohmann::json;

/// A node's place in a network: of which node, and which of its places.
struct Member {
  std::size_t node = 0;
  const NetworkPlace* place = nullptr;
};

/// Members by network and by which of a node's addresses in it they are.
std::map<std::pair<std::string, std::size_t>, std::vector<Member>> members_of(const std::vector<NodePlaces>& nodes) {
  std::map<std::string, std::set<std::size_t>> owners;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const NetworkPlace& place : nodes[i].places) owners[place.address].insert(i);
  std::map<std::pair<std::string, std::size_t>, std::vector<Member>> members;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::map<std::string, std::size_t> seen;
    for (const NetworkPlace& place : nodes[i].places) {
      const std::string network = network_of(place);
      if (network.empty() || owners[place.address].size() > 1) continue;
      members[{network, seen[network]++}].push_back({i, &place});
    }
  }
  std::erase_if(members, [](const auto& one) { return one.second.size() < 2; });
  return members;
}

}  // namespace

std::string network_of(const NetworkPlace& place) {
  in_addr bits{};
  if (inet_pton(AF_INET, place.address.c_str(), &bits) != 1 || place.prefix < 1 || place.prefix > 32) return {};
  const std::uint32_t network = ntohl(bits.s_addr) & (0xffffffffU << (32 - place.prefix));
  return fmt::format("{}.{}.{}.{}/{}", network >> 24, network >> 16 & 0xff, network >> 8 & 0xff, network & 0xff,
                     place.prefix);
}

json to_json(const std::vector<NetworkPlace>& places) {
  json array = json::array();
  for (const NetworkPlace& place : places)
    array.push_back({{"interface", printable_line(place.interface, 60)},
                     {"address", place.address},
                     {"prefix", place.prefix},
                     {"state", place.state}});
  return array;
}

std::vector<NetworkPlace> places_from_json(const json& array) {
  std::vector<NetworkPlace> places;
  if (!array.is_array()) return places;
  const auto text = [](const json& one, const char* key) {
    const auto found = one.find(key);
    return found != one.end() && found->is_string() ? printable_line(found->get<std::string>(), 60) : std::string();
  };
  for (const json& one : array) {
    if (!one.is_object() || !one.contains("prefix") || !one["prefix"].is_number_integer()) continue;
    NetworkPlace place{text(one, "interface"), text(one, "address"), one["prefix"].get<int>(), text(one, "state")};
    if (!network_of(place).empty()) places.push_back(std::move(place));
  }
  return places;
}

std::vector<std::vector<std::string>> shared_networks(const std::vector<NodePlaces>& nodes) {
  std::vector<std::vector<std::string>> networks;
  for (const auto& [network, members] : members_of(nodes)) {
    networks.emplace_back();
    for (const Member& member : members) networks.back().push_back(member.place->address);
  }
  return networks;
}

std::vector<NetworkCall> calls_of(const std::vector<NetworkPlace>& own,
                                  const std::vector<std::vector<std::string>>& networks,
                                  const std::vector<std::string>& driver) {
  std::vector<NetworkCall> calls;
  const auto call = [&](const std::string& from, const std::string& to) {
    const NetworkCall one{from, to, false};
    const bool is_own =
        std::any_of(own.begin(), own.end(), [&](const NetworkPlace& place) { return place.address == to; });
    if (!is_own && !is_in(one, calls)) calls.push_back(one);
  };
  for (const NetworkPlace& place : own) {
    const std::string& from = place.address;
    for (const auto& network : networks) {
      const auto found = std::find(network.begin(), network.end(), from);
      if (found == network.end()) continue;
      const std::size_t at = static_cast<std::size_t>(found - network.begin());
      for (std::size_t step = 1; step <= neighbours && step < network.size(); ++step) {
        call(from, network[(at + step) % network.size()]);
        call(from, network[(at + network.size() - step) % network.size()]);
      }
      for (const std::string& to : driver)
        if (network_of({{}, to, place.prefix, {}}) == network_of(place)) call(from, to);
    }
  }
  return calls;
}

void keep_own_calls(const std::vector<NodePlaces>& nodes, const std::string& node, std::vector<NetworkCall>& calls) {
  std::set<std::string> own;
  for (const NodePlaces& one : nodes)
    if (one.node == node)
      for (const NetworkPlace& place : one.places) own.insert(place.address);
  std::erase_if(calls, [&](const NetworkCall& call) { return own.count(call.from) == 0; });
}

namespace {

struct CallResults {
  std::set<std::string> called;    ///< addresses from or to which calls were made
  std::set<std::string> answered;  ///< from or to which one was answered
  std::set<std::string> in_vain;   ///< from which a call was made to one of `answered`, and not answered
};

CallResults results_of(const std::vector<NetworkCall>& calls) {
  CallResults results;
  for (const NetworkCall& call : calls)
    for (const std::string& end : {call.from, call.to}) {
      results.called.insert(end);
      if (call.is_answered) results.answered.insert(end);
    }
  for (const NetworkCall& call : calls)
    if (!call.is_answered && results.answered.count(call.to) > 0) results.in_vain.insert(call.from);
  return results;
}

bool has_answered(const NodePlaces& node, const std::string& network, const CallResults& results) {
  return std::any_of(node.places.begin(), node.places.end(), [&](const NetworkPlace& place) {
    return network_of(place) == network && results.answered.count(place.address) > 0;
  });
}

/// The nodes of one network that it has lost. Their own calls to others that answer must have failed: the answer of a
/// node that is not known, or neighbours that are all lost, give no evidence about it.
std::vector<CutOffNode> cut_off_from(const std::string& network, const std::vector<Member>& members,
                                     const std::vector<NodePlaces>& nodes, const CallResults& results) {
  std::vector<std::string> others;
  std::size_t carrying = 0;
  for (const Member& member : members) {
    if (results.answered.count(member.place->address) > 0) others.push_back(nodes[member.node].node);
    if (member.place->state.empty()) ++carrying;
  }
  std::vector<CutOffNode> found;
  for (const Member& member : members) {
    const NetworkPlace& place = *member.place;
    const bool was_called = results.called.count(place.address) > 0 && results.answered.count(place.address) == 0;
    const bool is_alone_without = !place.state.empty() && carrying + 1 == members.size();
    // Several ports of a node in one network: with a link on all, one may answer for the others.
    const bool is_reached_otherwise = place.state.empty() && has_answered(nodes[member.node], network, results);
    const bool called_in_vain = results.in_vain.count(place.address) > 0 && !others.empty();
    if (was_called && !is_reached_otherwise && (called_in_vain || is_alone_without))
      found.push_back({nodes[member.node].node, network, place, others});
  }
  return found;
}

}  // namespace

std::vector<CutOffNode> find_cut_off(const std::vector<NodePlaces>& nodes, const std::vector<NetworkCall>& calls) {
  const CallResults results = results_of(calls);
  std::vector<CutOffNode> found;
  for (const auto& [key, members] : members_of(nodes))
    for (CutOffNode& one : cut_off_from(key.first, members, nodes, results)) {
      const bool is_known =
          std::any_of(found.begin(), found.end(), [&](const CutOffNode& other) { return other.node == one.node; });
      if (!is_known) found.push_back(std::move(one));
    }
  return found;
}

LostNode lost_to_network(const CutOffNode& cut_off) {
  const NetworkPlace& place = cut_off.place;
  const std::string state = place.state.empty() ? "" : fmt::format(" ({})", place.state);
  std::string why = fmt::format("can't be reached over the data network {}: interface {}, address {}{}",
                                cut_off.network, place.interface, place.address, state);
  if (const auto& others = cut_off.others; !others.empty())
    why += fmt::format("; {} {} there", human_list(others, 4), others.size() == 1 ? "answers" : "answer");
  return {cut_off.node, std::move(why),
          fmt::format("check cable and switch port of {0} on {1}, and its state: ip -s link show {0}", place.interface,
                      cut_off.node)};
}

}  // namespace muster
