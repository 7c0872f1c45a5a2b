// Settings of MPI and UCX in files of the nodes, which all nodes should have alike.
#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "measure/variables.hpp"
#include "probes/environment/case_view.hpp"

namespace muster::environment {

namespace {

constexpr std::string_view setting_key = "setting.";

const SeenRank* speaker_of(const EnvironmentView& seen, const SeenRank& rank) {
  return seen.speaker(rank.place->node_index, "settings");
}

std::optional<std::string> setting_of(const EnvironmentView& seen, const SeenRank& rank, std::string_view name) {
  const SeenRank* speaker = speaker_of(seen, rank);
  return speaker == nullptr ? std::nullopt : speaker->fact(fmt::format("{}{}", setting_key, name));
}

/// `"tcp" on all 2 ranks on b (/etc/ucx/ucx.conf:1)`, `not set on all 2 ranks on a`
std::string group_words(const EnvironmentView& seen, std::string_view name, const Group& group) {
  const std::string where = seen.describe(group.ranks);
  const SeenRank* speaker = speaker_of(seen, *group.ranks.front());
  if (!group.value || speaker == nullptr) return "not set on " + where;
  return fmt::format("{} on {} ({})", in_quotes(*group.value), where,
                     speaker->fact(fmt::format("setting_place.{}", name)).value_or("?"));
}

std::size_t count_nodes(const RankList& ranks) {
  std::set<int> nodes;
  for (const SeenRank* rank : ranks) nodes.insert(rank->place->node_index);
  return nodes.size();
}

/// Of network cards, which nodes name differently, and of what mpirun alone reads, on one node.
bool may_differ_by_node(std::string_view name) {
  constexpr std::string_view of_launcher[] = {"OMPI_MCA_orte_", "OMPI_MCA_plm_",  "OMPI_MCA_ras_", "OMPI_MCA_rmaps_",
                                              "OMPI_MCA_odls_", "OMPI_MCA_prte_", "OMPI_MCA_oob_"};
  return pins_to_device(name) || choose_nics({{std::string(name), ""}}) || name.ends_with("_if_include") ||
         name.ends_with("_if_exclude") ||
         std::any_of(std::begin(of_launcher), std::end(of_launcher),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// What a variable set for the job would replace everywhere is named with all that differ.
Finding differs_in_files(const EnvironmentView& seen, const std::string& name, std::vector<Group> groups) {
  // Files are of nodes, however many ranks each has.
  std::stable_sort(groups.begin(), groups.end(), [](const Group& one, const Group& other) {
    return count_nodes(one.ranks) > count_nodes(other.ranks);
  });
  std::vector<std::string> words;
  RankList odd;
  const bool is_tie = count_nodes(groups[1].ranks) == count_nodes(groups[0].ranks);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    words.push_back(group_words(seen, name, groups[i]));
    if (i > 0 || is_tie) odd.insert(odd.end(), groups[i].ranks.begin(), groups[i].ranks.end());
  }
  std::sort(odd.begin(), odd.end(),
            [](const SeenRank* a, const SeenRank* b) { return a->place->rank < b->place->rank; });
  return seen.about(name, odd,
                    fmt::format("{} in files of the nodes is {}", name,
                                words.size() <= 8 ? join(words, ", but ") : human_list(words, 8)),
                    fmt::format("give the nodes the same files, or export {} for the job, which replaces them; or name "
                                "it in may_differ",
                                name));
}

}  // namespace

void judge_settings(const EnvironmentView& seen, ProbeJudgement& judgement) {
  std::set<std::string> names;
  const SeenRank* silent = nullptr;
  bool has_any = false;
  for (const SeenRank* rank : seen.ranks()) {
    if (speaker_of(seen, *rank) == nullptr)
      silent = rank;
    else
      has_any = true;
    for (const auto& [key, value] : rank->facts)
      if (key.starts_with(setting_key)) names.emplace(key.substr(setting_key.size()));
  }
  if (silent != nullptr) {
    if (has_any)
      judgement.findings.push_back(make_note("settings in files of the nodes are not compared, as " +
                                             seen.describe({silent}) + " reported none"));
    return;
  }
  const std::vector<std::string> may_differ = seen.params().texts("may_differ");
  std::vector<std::string> alike;
  for (const std::string& name : names) {
    const auto groups = seen.groups([&](const SeenRank& rank) { return setting_of(seen, rank, name); });
    if (groups.size() < 2) {
      alike.push_back(fmt::format("{}={}", name, groups.front().value.value_or("")));
      continue;
    }
    if (is_in(name, may_differ)) continue;
    Finding finding = differs_in_files(seen, name, groups);
    if (may_differ_by_node(name)) finding = make_note(std::move(finding.reason));
    judgement.findings.push_back(std::move(finding));
  }
  if (!alike.empty())
    judgement.evidence.push_back(fmt::format("files of the nodes set {} for MPI", human_list(alike, 8)));
}

}  // namespace muster::environment
