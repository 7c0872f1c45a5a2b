#include "probes/command/rank_agreement.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.hpp"
#include "probes/command/blame.hpp"

namespace muster::program {

namespace {

constexpr std::size_t most_entries = 32;
constexpr std::size_t longest_name = 60;
constexpr std::size_t longest_value = 300;
constexpr std::size_t most_culprits = 16;
constexpr std::string_view fact_start = "same.";

using RankMap = std::vector<const RankPlace*>;
struct Group {
  std::string value;
  RankMap ranks;
};

tl::unexpected<Error> malformed(std::string what) {
  return fail(ErrorKind::protocol, "", std::move(what));
}

/// Name -> value -> ranks.
std::map<std::string, std::map<std::string, RankMap>> read_case(const CaseView& view) {
  std::map<std::string, std::map<std::string, RankMap>> all;
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const Observation* seen = view.measured(rank);
    if (seen == nullptr) continue;
    for (const Fact& fact : seen->facts)
      if (fact.key.starts_with(fact_start))
        all[printable_line(fact.key.substr(fact_start.size()), longest_name)][printable_line(fact.value, longest_value)]
            .push_back(&view.ranks[rank]);
  }
  return all;
}

/// Largest first; of equal ones, that of the lowest rank.
std::vector<Group> sorted_groups(const std::map<std::string, RankMap>& values) {
  std::vector<Group> groups;
  for (const auto& [value, ranks] : values) groups.push_back({value, ranks});
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    if (a.ranks.size() != b.ranks.size()) return a.ranks.size() > b.ranks.size();
    return a.ranks.front()->rank < b.ranks.front()->rank;
  });
  return groups;
}

/// Whole nodes by name, else ranks.
std::string describe(const CaseView& view, const RankMap& some) {
  std::map<std::string, int> here, there;
  for (const RankPlace* place : some) ++here[place->host];
  for (const RankPlace& place : view.ranks) ++there[place.host];
  std::vector<std::string> words;
  std::set<std::string> reported;
  for (const RankPlace* place : some) {
    const bool is_whole = here[place->host] == there[place->host];
    if (is_whole && reported.insert(place->host).second) words.push_back(place->host);
    if (!is_whole) words.push_back(fmt::format("rank {} on {}", place->rank, place->host));
  }
  return human_list(words, 4);
}

void add_culprits(const CaseView& view, const RankMap& some, Finding& finding) {
  std::map<std::string, int> here, there;
  for (const RankPlace* place : some) ++here[place->host];
  for (const RankPlace& place : view.ranks) ++there[place.host];
  std::set<std::string> reported;
  for (const RankPlace* place : some) {
    if (finding.culprits.size() >= most_culprits) return;
    if (here[place->host] != there[place->host])
      finding.culprits.push_back(rank_culprit(place->rank, place->host));
    else if (reported.insert(place->host).second)
      finding.culprits.push_back(node_culprit(place->host));
  }
}

std::size_t count_nodes(const RankMap& some) {
  std::set<int> nodes;
  for (const RankPlace* place : some) nodes.insert(place->node_index);
  return nodes.size();
}

/// Nodes where most ranks agree and at most half of the nodes have other values: these differ, and not all by the
/// nature of the value.
Suspect suspect_of(const std::vector<Group>& groups) {
  RankMap all;
  for (const Group& group : groups) all.insert(all.end(), group.ranks.begin(), group.ranks.end());
  const RankMap odd(all.begin() + static_cast<std::ptrdiff_t>(groups.front().ranks.size()), all.end());
  if (2 * odd.size() >= all.size()) return Suspect::job;
  const bool is_rank_0_alone = odd.size() == 1 && odd.front()->rank == 0;
  return find_suspect({count_nodes(odd), count_nodes(all), is_rank_0_alone}, Half::is_of_nodes);
}

Finding difference(const CaseView& view, const std::string& name, const std::vector<Group>& groups) {
  const Group& most = groups.front();
  const bool is_tie = groups[1].ranks.size() == most.ranks.size();
  Finding finding;
  std::vector<std::string> odd;
  std::size_t ranks = most.ranks.size();
  for (std::size_t i = 1; i < groups.size(); ++i) {
    odd.push_back(fmt::format("\"{}\" on {}", groups[i].value, describe(view, groups[i].ranks)));
    ranks += groups[i].ranks.size();
  }
  finding.reason =
      fmt::format("{} is \"{}\" on {}, but {}", name, most.value,
                  is_tie ? describe(view, most.ranks) : fmt::format("{} of {} ranks", most.ranks.size(), ranks),
                  human_list(odd, 4));
  finding.remedy = "let all ranks use the same installation: the same modules, environment and container on every node";
  const Suspect suspect = suspect_of(groups);
  if (suspect == Suspect::rank_0) {
    finding.culprits.push_back(rank_0_culprit());
    finding.remedy += "; " + rank_0_remedy(view.ranks);
    return finding;
  }
  if (suspect == Suspect::nodes) {
    for (std::size_t i = 1; i < groups.size(); ++i) add_culprits(view, groups[i].ranks, finding);
    return finding;
  }
  const bool is_never_equal = groups.size() == ranks && ranks > 2;
  finding.culprits.push_back(is_never_equal ? Culprit{CulpritKind::program, program_name(view.params), "", -1}
                                            : Culprit{CulpritKind::setting, name, "", -1});
  if (is_never_equal)
    finding.remedy =
        fmt::format("print under \"same\" only what must be equal everywhere: {} differs on every rank", name);
  return finding;
}

}  // namespace

Result<std::vector<Fact>> read_same(std::string_view line) {
  const auto all = nlohmann::json::parse(line, nullptr, false);
  if (!all.is_object()) return malformed("is not JSON");
  if (all.size() != 1) return malformed("has further keys beside its own");
  const auto& entries = all.begin().value();
  if (!entries.is_object() || entries.empty()) return malformed("is not an object of texts");
  if (entries.size() > most_entries) return malformed(fmt::format("has more than {} entries", most_entries));
  std::vector<Fact> facts;
  for (const auto& [name, value] : entries.items()) {
    if (!value.is_string() || trim(name).empty())
      return malformed("has an entry whose name is empty or whose value is not a text");
    facts.push_back({fmt::format("{}{}", fact_start, printable_line(name, longest_name)),
                     printable_line(value.get<std::string>(), longest_value)});
  }
  return facts;
}

std::vector<Finding> find_differences(const CaseView& view) {
  std::vector<Finding> findings;
  for (const auto& [name, values] : read_case(view))
    if (values.size() > 1) findings.push_back(difference(view, name, sorted_groups(values)));
  return findings;
}

}  // namespace muster::program
