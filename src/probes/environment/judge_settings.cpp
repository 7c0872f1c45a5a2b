// Settings of MPI and UCX in files of the nodes, which all nodes should have alike.
#include <algorithm>
#include <fmt/format.h>
#include <set>

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

/// What a variable set for the job would replace everywhere is named with all that differ.
Finding differs_in_files(const EnvironmentView& seen, const std::string& name, const std::vector<Group>& groups) {
  std::vector<std::string> words;
  RankList odd;
  const bool is_tie = groups[1].ranks.size() == groups[0].ranks.size();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    words.push_back(group_words(seen, name, groups[i]));
    if (i > 0 || is_tie) odd.insert(odd.end(), groups[i].ranks.begin(), groups[i].ranks.end());
  }
  std::sort(odd.begin(), odd.end(),
            [](const SeenRank* a, const SeenRank* b) { return a->place->rank < b->place->rank; });
  return seen.about(name, odd, fmt::format("{} in files of the nodes is {}", name, join(words, ", but ")),
                    fmt::format("give the nodes the same files, or export {} for the job, which replaces them; or name "
                                "it in may_differ",
                                name));
}

}  // namespace

void judge_settings(const EnvironmentView& seen, ProbeJudgement& judgement) {
  std::set<std::string> names;
  for (const SeenRank* rank : seen.ranks()) {
    if (speaker_of(seen, *rank) == nullptr) return;
    for (const auto& [key, value] : rank->facts)
      if (key.starts_with(setting_key)) names.emplace(key.substr(setting_key.size()));
  }
  const std::vector<std::string> may_differ = seen.params().texts("may_differ");
  std::vector<std::string> alike;
  for (const std::string& name : names) {
    const auto groups = seen.groups([&](const SeenRank& rank) { return setting_of(seen, rank, name); });
    if (groups.size() < 2) {
      alike.push_back(fmt::format("{}={}", name, groups.front().value.value_or("")));
      continue;
    }
    if (std::find(may_differ.begin(), may_differ.end(), name) != may_differ.end()) continue;
    Finding finding = differs_in_files(seen, name, groups);
    // Adapters of nodes may have different names.
    if (pins_to_device(name)) finding = note(std::move(finding.reason));
    judgement.findings.push_back(std::move(finding));
  }
  if (!alike.empty())
    judgement.evidence.push_back(fmt::format("files of the nodes set {} for MPI", human_list(alike, 8)));
}

}  // namespace muster::environment
