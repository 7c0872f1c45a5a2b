#include "evaluate/rank_map.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

#include "base/text.hpp"

namespace muster {

RankMap::RankMap(const World& world) {
  std::unordered_map<int, int> number_of;
  node_of_rank_.reserve(world.ranks.size());
  int last_index = -1;
  int last = -1;
  for (const RankPlace& place : world.ranks) {
    // Ranks of a node mostly follow each other.
    if (last < 0 || place.node_index != last_index) {
      const auto [found, is_new] = number_of.try_emplace(place.node_index, static_cast<int>(names_.size()));
      if (is_new) {
        names_.push_back(printable_line(place.host));
        ranks_on_.push_back(0);
      }
      last = found->second;
      last_index = place.node_index;
    }
    node_of_rank_.push_back(last);
    ++ranks_on_[static_cast<std::size_t>(last)];
  }
}

std::string RankMap::say(int rank) const {
  if (!has(rank)) return fmt::format("rank {}", rank);
  return fmt::format("rank {} on {}", rank, name_of(node_of(rank)));
}

Culprit RankMap::culprit(int rank) const {
  return rank_culprit(rank, has(rank) ? name_of(node_of(rank)) : "");
}

Finding RankMap::finding(Verdict verdict, const std::vector<int>& ranks, const std::string& what,
                         std::string remedy) const {
  std::vector<std::string> names;
  names.reserve(ranks.size());
  for (int rank : ranks) names.push_back(say(rank));
  Finding finding{verdict, human_list(names) + " " + what, {}, std::move(remedy)};
  for (std::size_t i = 0; i < std::min(ranks.size(), most_culprits); ++i) finding.culprits.push_back(culprit(ranks[i]));
  return finding;
}

}  // namespace muster
