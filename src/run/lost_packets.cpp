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

constexpr std::size_t most_paths = 4096;
// A congested network loses some.
constexpr std::uint64_t least_resent = 10;
constexpr double least_share = 0.1;
// A process that is busy accepts connections late, which their openers repeat.
constexpr std::uint64_t of_opening = 3;

}  // namespace

std::vector<PathLoss> losses_of(const std::vector<TcpConnection>& connections, const std::set<std::string>& inodes) {
  std::map<std::pair<std::string, std::string>, PathLoss> paths;
  for (const TcpConnection& one : connections) {
    const bool is_of_the_launch = inodes.count(std::to_string(one.inode)) > 0;
    if (one.local.host == one.remote.host || !is_of_the_launch || !one.is_unanswered) continue;
    PathLoss& path = paths[{one.local.host, one.remote.host}];
    path.local = one.local.host;
    path.remote = one.remote.host;
    path.sent += one.sent;
    path.resent += one.resent - std::min(one.resent, of_opening);
  }
  std::vector<PathLoss> found;
  for (auto& [ends, path] : paths)
    if (found.size() < most_paths) found.push_back(std::move(path));
  return found;
}

json to_json(const std::vector<PathLoss>& losses) {
  json array = json::array();
  for (const PathLoss& path : losses) array.push_back({path.local, path.remote, path.sent, path.resent});
  return array;
}

std::vector<PathLoss> path_losses_from_json(const json& array) {
  std::vector<PathLoss> losses;
  if (!array.is_array() || array.size() > most_paths) throw std::invalid_argument("losses is not an array of paths");
  for (const json& one : array) {
    if (!one.is_array() || one.size() != 4 || !one[2].is_number_unsigned() || !one[3].is_number_unsigned())
      throw std::invalid_argument("a path of losses has not two addresses and two counts");
    losses.push_back({printable_line(one[0].get<std::string>(), 60), printable_line(one[1].get<std::string>(), 60),
                      one[2].get<std::uint64_t>(), one[3].get<std::uint64_t>()});
  }
  return losses;
}

namespace {

struct LossyPair {
  std::string one;  ///< of the nodes, the first by name
  std::string other;
  friend auto operator<=>(const LossyPair&, const LossyPair&) = default;
};

struct LossCount {
  std::uint64_t sent = 0;
  std::uint64_t resent = 0;
};

using LossyPairs = std::map<LossyPair, LossCount>;

LossyPairs lossy_pairs(const std::vector<NodeLosses>& nodes) {
  std::map<std::string, std::string> node_of;
  for (const NodeLosses& node : nodes)
    for (const PathLoss& path : node.paths) node_of[path.local] = node.node;
  LossyPairs pairs;
  for (const NodeLosses& node : nodes)
    for (const PathLoss& path : node.paths) {
      const auto peer = node_of.find(path.remote);
      const bool is_lossy = path.resent >= least_resent &&
                            static_cast<double>(path.resent) >= least_share * static_cast<double>(path.sent);
      if (!is_lossy || peer == node_of.end() || peer->second == node.node) continue;
      LossCount& count = pairs[{std::min(node.node, peer->second), std::max(node.node, peer->second)}];
      count.sent += path.sent;
      count.resent += path.resent;
    }
  return pairs;
}

Finding lossy(std::string reason, std::vector<Culprit> culprits, const std::string& where) {
  Finding finding;
  finding.reason = std::move(reason);
  finding.culprits = std::move(culprits);
  finding.remedy = fmt::format(
      "check cables, ports and switch of {}: error and drop counters (ip -s link, ethtool -S), and filters (nft list "
      "ruleset)",
      where);
  finding.subject = Subject::node;
  return finding;
}

}  // namespace

std::optional<Finding> explain_losses(const std::vector<NodeLosses>& nodes) {
  const LossyPairs pairs = lossy_pairs(nodes);
  if (pairs.empty()) return std::nullopt;
  LossCount all;
  for (const auto& [pair, count] : pairs) {
    all.sent += count.sent;
    all.resent += count.resent;
  }
  const std::string share = fmt::format("{} of {} segments were sent again", all.resent, all.sent);
  const LossyPair& first = pairs.begin()->first;
  if (pairs.size() == 1) {
    const std::string link = fmt::format("{} <-> {}", first.one, first.other);
    return lossy(fmt::format("connections of ranks between {} and {} lose packets: {}", first.one, first.other, share),
                 {{CulpritKind::link, link, "", -1}}, fmt::format("{} and {}", first.one, first.other));
  }
  for (const std::string& node : {first.one, first.other}) {
    std::vector<std::string> others;
    // With the links, no node is drained: what other users send can overload its link.
    std::vector<Culprit> culprits{{CulpritKind::node, node, node, -1}};
    for (const auto& [pair, count] : pairs) {
      if (pair.one != node && pair.other != node) continue;
      others.push_back(pair.one == node ? pair.other : pair.one);
      culprits.push_back({CulpritKind::link, fmt::format("{} <-> {}", pair.one, pair.other), "", -1});
    }
    if (others.size() != pairs.size()) continue;
    return lossy(fmt::format("connections of ranks on {} to {} lose packets: {}", node, human_list(others, 4), share),
                 std::move(culprits), node);
  }
  return std::nullopt;
}

}  // namespace muster
