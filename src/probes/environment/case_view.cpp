#include "probes/environment/case_view.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"
#include "measure/variables.hpp"

namespace muster::environment {

std::optional<std::string> SeenRank::fact(std::string_view key) const {
  const auto found = facts.find(key);
  return found == facts.end() ? std::nullopt : std::optional(std::string(found->second));
}

EnvironmentView::EnvironmentView(const CaseView& view) : view_(view) {
  all_.reserve(view.ranks.size());  // ranks_ points into it
  for (std::size_t i = 0; i < view.ranks.size(); ++i) {
    const Observation* observed = view.measured(i);
    if (observed == nullptr) continue;
    SeenRank& rank = all_.emplace_back();
    rank.place = &view.ranks[i];
    for (const Fact& fact : observed->facts) rank.facts.try_emplace(fact.key, fact.value);
    ++on_node_[rank.place->node_index];
  }
  for (const SeenRank& rank : all_) ranks_.push_back(&rank);
}

const SeenRank* EnvironmentView::first() const {
  return ranks_.empty() || ranks_.front()->place->rank != 0 ? nullptr : ranks_.front();
}

const SeenRank* EnvironmentView::speaker(int node_index, std::string_view key) const {
  const auto found = std::find_if(ranks_.begin(), ranks_.end(), [&](const SeenRank* rank) {
    return rank->place->node_index == node_index && rank->facts.count(key) != 0;
  });
  return found == ranks_.end() ? nullptr : *found;
}

int EnvironmentView::in_job(int count) const {
  const auto nodes = static_cast<int>(params().integer("job_nodes"));
  return nodes > 0 && nodes < node_count() ? count / node_count() * nodes : count;
}

std::optional<std::string> EnvironmentView::variable(const SeenRank& rank, std::string_view name) const {
  const std::string key = fmt::format("env.{}", name);
  if (auto own = rank.fact(key)) return own;
  if (rank.fact(fmt::format("lacks.{}", name))) return std::nullopt;
  // A rank leaves out what is the same as rank 0's, but never a variable that may differ from rank to rank.
  return first() == nullptr || is_own_variable(name) ? std::nullopt : first()->fact(key);
}

RankList EnvironmentView::with_variable(std::string_view name) const {
  RankList some;
  for (const SeenRank* rank : ranks_)
    if (variable(*rank, name)) some.push_back(rank);
  return some;
}

std::vector<Group> EnvironmentView::groups(
    const std::function<std::optional<std::string>(const SeenRank&)>& value) const {
  std::vector<Group> found;
  for (const SeenRank* rank : ranks_) {
    auto mine = value(*rank);
    auto group = std::find_if(found.begin(), found.end(), [&](const Group& one) { return one.value == mine; });
    if (group == found.end()) group = found.insert(found.end(), Group{std::move(mine), {}});
    group->ranks.push_back(rank);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Group& a, const Group& b) { return a.ranks.size() > b.ranks.size(); });
  return found;
}

std::vector<EnvironmentView::Part> EnvironmentView::parts(const RankList& some) const {
  std::map<int, std::size_t> chosen;
  for (const SeenRank* rank : some) ++chosen[rank->place->node_index];
  std::vector<Part> list;
  for (const SeenRank* rank : some) {
    const int node = rank->place->node_index;
    const std::size_t ranks = on_node_.at(node);
    if (ranks < 2 || chosen[node] < ranks) {
      list.push_back({rank->place, false, 1});
    } else if (std::none_of(list.begin(), list.end(),
                            [&](const Part& part) { return part.place->node_index == node; })) {
      list.push_back({rank->place, true, ranks});
    }
  }
  return list;
}

std::string EnvironmentView::describe(const RankList& some) const {
  if (some.size() == ranks_.size() && some.size() > 1) return fmt::format("all {} ranks", some.size());
  std::vector<std::string> words;
  for (const Part& part : parts(some))
    words.push_back(part.is_whole_node ? fmt::format("all {} ranks on {}", part.ranks, part.place->host)
                                       : fmt::format("rank {} on {}", part.place->rank, part.place->host));
  return human_list(words);
}

Finding EnvironmentView::about(std::string_view setting, const RankList& some, std::string reason,
                               std::string remedy) const {
  Finding finding;
  finding.reason = std::move(reason);
  finding.remedy = std::move(remedy);
  const std::string name(setting);
  if (some.size() == ranks_.size() && node_count() > 1) {
    finding.culprits.push_back({CulpritKind::setting, name, "", -1});
    return finding;
  }
  for (const Part& part : parts(some))
    finding.culprits.push_back(
        {CulpritKind::setting, name, part.place->host, part.is_whole_node ? -1 : part.place->rank});
  return finding;
}

Finding EnvironmentView::differs(std::string_view name, const std::vector<Group>& groups, std::string remedy) const {
  const Group& most = groups.front();
  const bool is_tie = groups.size() > 1 && groups[1].ranks.size() == most.ranks.size();
  const auto words = [&](const Group& group, std::string_view other) {
    return group.value ? in_quotes(*group.value, other) : std::string("not set");
  };
  const std::string other = groups.size() > 1 ? groups[1].value.value_or("") : std::string();
  std::vector<std::string> odd;
  RankList culprits = is_tie ? most.ranks : RankList{};
  for (std::size_t i = 1; i < groups.size(); ++i) {
    odd.push_back(fmt::format("{} on {}", words(groups[i], most.value.value_or("")), describe(groups[i].ranks)));
    culprits.insert(culprits.end(), groups[i].ranks.begin(), groups[i].ranks.end());
  }
  std::sort(culprits.begin(), culprits.end(),
            [](const SeenRank* a, const SeenRank* b) { return a->place->rank < b->place->rank; });
  const std::string where =
      is_tie ? describe(most.ranks) : fmt::format("{} of {} ranks", most.ranks.size(), ranks_.size());
  return about(name, culprits, fmt::format("{} is {} on {}, but {}", name, words(most, other), where, human_list(odd)),
               std::move(remedy));
}

std::string in_quotes(std::string_view value, std::string_view other) {
  constexpr std::size_t most = 80;
  if (value.size() <= most) return fmt::format("\"{}\"", printable_line(value));
  std::size_t same = 0;
  while (same < value.size() && same < other.size() && value[same] == other[same]) ++same;
  if (same < most / 2) return fmt::format("\"{}\"", printable_line(value, most));
  // From the last entry of the path that is alike, so that what differs is seen whole.
  const std::size_t colon = value.rfind(':', same == value.size() ? same : same - 1);
  const std::size_t from = colon == std::string_view::npos ? same : colon + 1;
  return fmt::format("\"...{}\"", printable_line(value.substr(from), most));
}

std::string_view plural(std::size_t count, std::string_view one, std::string_view many) {
  return count == 1 ? one : many;
}

}  // namespace muster::environment
