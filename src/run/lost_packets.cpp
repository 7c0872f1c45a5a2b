#include "run/lost_packets.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "base/text.hpp"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::size_t most_paths = 512;
constexpr std::string_view other_hosts = "others";
// A congested network loses some.
constexpr std::uint64_t least_resent = 8;
constexpr double least_share = 0.01;
// While ranks connect, hardly any are sent.
constexpr std::uint64_t least_resent_of_few = 4;
constexpr double least_share_of_few = 0.2;
// Beside the partner with most: of a node, not of one link.
constexpr std::uint64_t least_elsewhere = 3;
// Of what was sent again, on connections without the culprit; and of its share, theirs.
constexpr double most_outside = 0.1;
constexpr double most_share_outside = 0.2;
// That many would have been sent again there.
constexpr double least_expected_outside = 5;

}  // namespace

std::vector<PathLoss> losses_of(const std::vector<TcpConnection>& connections, const std::set<std::string>& inodes) {
  std::map<std::pair<std::string, std::string>, PathLoss> paths;
  for (const TcpConnection& one : connections) {
    const bool is_of_the_launch = inodes.count(std::to_string(one.inode)) > 0;
    if (one.local.host == one.remote.host || !is_of_the_launch) continue;
    PathLoss& path = paths[{one.local.host, one.remote.host}];
    path.local = one.local.host;
    path.remote = one.remote.host;
    path.sent += one.sent;
    path.resent += one.resent;
    path.is_waiting = path.is_waiting || (one.is_unanswered && one.resent > 0);
  }
  std::vector<PathLoss> found;
  for (auto& [ends, path] : paths) found.push_back(std::move(path));
  std::stable_sort(found.begin(), found.end(),
                   [](const PathLoss& a, const PathLoss& b) { return a.resent > b.resent; });
  std::map<std::string, PathLoss> others;
  for (std::size_t i = most_paths; i < found.size(); ++i) {
    PathLoss& sum = others[found[i].local];
    sum.local = found[i].local;
    sum.remote = other_hosts;
    sum.sent += found[i].sent;
    sum.resent += found[i].resent;
    sum.is_waiting = sum.is_waiting || found[i].is_waiting;
  }
  found.resize(std::min(found.size(), most_paths));
  for (auto& [local, sum] : others) found.push_back(std::move(sum));
  return found;
}

json to_json(const std::vector<PathLoss>& losses) {
  json array = json::array();
  for (const PathLoss& path : losses)
    array.push_back({path.local, path.remote, path.sent, path.resent, path.is_waiting});
  return array;
}

std::vector<PathLoss> path_losses_from_json(const json& array) {
  std::vector<PathLoss> losses;
  if (!array.is_array() || array.size() > 2 * most_paths)
    throw std::invalid_argument("losses is not an array of paths");
  for (const json& one : array) {
    if (!one.is_array() || one.size() != 5 || !one[2].is_number_unsigned() || !one[3].is_number_unsigned())
      throw std::invalid_argument("a path of losses has not two addresses, two counts and whether it waits");
    losses.push_back({printable_line(one[0].get<std::string>(), 60), printable_line(one[1].get<std::string>(), 60),
                      one[2].get<std::uint64_t>(), one[3].get<std::uint64_t>(), one[4].get<bool>()});
  }
  return losses;
}

namespace {

struct LossCount {
  std::uint64_t sent = 0;
  std::uint64_t resent = 0;
  bool is_waiting = false;

  void add(const LossCount& other) {
    sent += other.sent;
    resent += other.resent;
    is_waiting = is_waiting || other.is_waiting;
  }
  [[nodiscard]] double share() const { return sent == 0 ? 0 : static_cast<double>(resent) / static_cast<double>(sent); }
  [[nodiscard]] LossCount without(const LossCount& part) const { return {sent - part.sent, resent - part.resent}; }
};

struct NodePair {
  std::string one;  ///< of the nodes, the first by name
  std::string other;
  friend auto operator<=>(const NodePair&, const NodePair&) = default;

  [[nodiscard]] bool has(const std::string& node) const { return one == node || other == node; }
  [[nodiscard]] const std::string& partner_of(const std::string& node) const { return one == node ? other : one; }
};

/// A host that is not one of the nodes, as that of the launcher may be, goes by its address.
using LossesOfPairs = std::map<NodePair, LossCount>;

LossesOfPairs losses_of_pairs(const std::vector<NodeLosses>& nodes) {
  std::map<std::string, std::string> node_of;
  for (const NodeLosses& node : nodes)
    for (const std::string& host : node.hosts) node_of[host] = node.node;
  for (const NodeLosses& node : nodes)
    for (const PathLoss& path : node.paths) node_of[path.local] = node.node;
  LossesOfPairs pairs;
  for (const NodeLosses& node : nodes)
    for (const PathLoss& path : node.paths) {
      const auto known = node_of.find(path.remote);
      const std::string& peer = known == node_of.end() ? path.remote : known->second;
      if (peer == node.node) continue;
      pairs[{std::min(node.node, peer), std::max(node.node, peer)}].add({path.sent, path.resent, path.is_waiting});
    }
  return pairs;
}

/// This part of all loses packets, and the rest does not.
bool is_lossy(const LossCount& part, const LossCount& all) {
  const LossCount rest = all.without(part);
  const bool is_enough = (part.resent >= least_resent && part.share() >= least_share) ||
                         (part.resent >= least_resent_of_few && part.share() >= least_share_of_few);
  return part.is_waiting && is_enough &&
         static_cast<double>(rest.resent) <= most_outside * static_cast<double>(part.resent) &&
         rest.share() <= most_share_outside * part.share();
}

struct LossyNode {
  std::string node;
  LossCount count = {};
  LossCount most = {};                ///< with the partner that has most
  std::vector<std::string> partners;  ///< with which segments were sent again
  std::vector<Culprit> links;         ///< to these
  int all_partners = 0;

  void add(const NodePair& pair, const LossCount& with_partner) {
    count.add(with_partner);
    ++all_partners;
    if (with_partner.resent == 0) return;
    if (with_partner.resent > most.resent) most = with_partner;
    partners.push_back(pair.partner_of(node));
    if (partners.back() != other_hosts)
      links.push_back({CulpritKind::link, fmt::format("{} <-> {}", pair.one, pair.other), "", -1});
  }
  /// With several partners; or with its only one, which has two others at least.
  [[nodiscard]] bool is_more_than_a_link(const LossesOfPairs& pairs) const {
    const LossCount elsewhere = count.without(most);
    if (elsewhere.resent >= least_elsewhere && elsewhere.share() >= least_share &&
        elsewhere.share() >= most_share_outside * most.share() &&
        static_cast<double>(elsewhere.resent) > most_outside * static_cast<double>(count.resent))
      return true;
    return all_partners == 1 && !partners.empty() && std::count_if(pairs.begin(), pairs.end(), [&](const auto& entry) {
                                                       return entry.first.has(partners.front());
                                                     }) > 2;
  }
};

/// Of these, the one with most of all segments that were sent again.
LossyNode lossiest_node(const std::vector<NodeLosses>& nodes, const LossesOfPairs& pairs) {
  std::map<std::string, LossyNode> all;
  for (const NodeLosses& node : nodes) all[node.node].node = node.node;
  for (const auto& [pair, count] : pairs)
    for (const std::string& name : {pair.one, pair.other})
      if (const auto node = all.find(name); node != all.end()) node->second.add(pair, count);
  LossyNode lossiest;
  for (auto& [name, node] : all)
    if (node.count.resent > lossiest.count.resent ||
        (node.count.resent == lossiest.count.resent && node.is_more_than_a_link(pairs)))
      lossiest = std::move(node);
  return lossiest;
}

/// Enough was sent without this part to see losses there, too.
bool can_compare(const LossCount& part, const LossCount& all) {
  return static_cast<double>(all.without(part).sent) * part.share() >= least_expected_outside;
}

/// This link's ends are both of the nodes.
bool is_between(const std::vector<NodeLosses>& nodes, const NodePair& pair) {
  return 2 == std::count_if(nodes.begin(), nodes.end(), [&](const NodeLosses& node) { return pair.has(node.node); });
}

std::string share_words(const LossCount& count) {
  return fmt::format("{} of {} segments were sent again", count.resent, count.sent);
}

Finding lossy(std::string reason, std::vector<Culprit> culprits, const std::string& where) {
  return {Verdict::fail, std::move(reason), std::move(culprits),
          fmt::format("check cables, ports and switch of {}: error and drop counters (ip -s link, ethtool -S), and "
                      "filters (nft list ruleset)",
                      where),
          Subject::node};
}

}  // namespace

std::optional<Finding> explain_losses(const std::vector<NodeLosses>& nodes) {
  const LossesOfPairs pairs = losses_of_pairs(nodes);
  LossCount all;
  for (const auto& [pair, count] : pairs) all.add(count);
  LossyNode node = lossiest_node(nodes, pairs);
  if (is_lossy(node.count, all) && can_compare(node.count, all) && node.is_more_than_a_link(pairs)) {
    // With the links, no node is drained: what other users send can overload its link.
    std::vector<Culprit> culprits{node_culprit(node.node)};
    culprits.insert(culprits.end(), node.links.begin(), node.links.end());
    return lossy(fmt::format("connections of {} to {} lose packets: {}", node.node, human_list(node.partners, 4),
                             share_words(node.count)),
                 std::move(culprits), node.node);
  }
  for (const auto& [pair, count] : pairs) {
    if (!is_lossy(count, all) || !is_between(nodes, pair)) continue;
    return lossy(
        fmt::format("connections between {} and {} lose packets: {}", pair.one, pair.other, share_words(count)),
        {{CulpritKind::link, fmt::format("{} <-> {}", pair.one, pair.other), "", -1}},
        fmt::format("{} and {}", pair.one, pair.other));
  }
  return std::nullopt;
}

std::string loss_words(const std::vector<NodeLosses>& nodes, const std::string& node) {
  constexpr std::uint64_t least = 3;
  constexpr double least_share_of_it = 0.1;
  LossCount its, others;
  for (const auto& [pair, count] : losses_of_pairs(nodes)) (pair.has(node) ? its : others).add(count);
  const bool is_clear =
      its.resent >= least && its.share() >= least_share_of_it && others.share() <= most_share_outside * its.share();
  return is_clear ? share_words(its) : "";
}

}  // namespace muster
