#include "stats/outliers.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"

namespace muster {

namespace {

using Groups = std::vector<std::pair<std::string, std::vector<const Vote*>>>;

/// By value, the largest group first.
Groups groups_of(const Question& question) {
  std::map<std::string, std::vector<const Vote*>> by_value;
  for (const Vote& vote : question.votes)
    if (!vote.value.empty()) by_value[vote.value].push_back(&vote);
  Groups groups(by_value.begin(), by_value.end());
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  return groups;
}

bool is_first_largest(const Groups& groups) {
  return groups.size() < 2 || groups[0].second.size() > groups[1].second.size();
}

std::string clause(const std::string& value, const std::vector<const Vote*>& votes) {
  std::vector<std::string> who;
  for (const Vote* vote : votes) who.push_back(vote->who);
  return fmt::format("{} {}", value, human_list(who, 4));
}

}  // namespace

bool has_majority(const Question& question) {
  return is_first_largest(groups_of(question));
}

std::optional<Finding> outlier_finding(const Question& question) {
  const Groups groups = groups_of(question);
  if (groups.size() < 2) return std::nullopt;
  const bool is_decided = is_first_largest(groups);
  Finding finding;
  std::vector<std::string> clauses;
  for (std::size_t i = is_decided ? 1 : 0; i < groups.size(); ++i) {
    clauses.push_back(clause(groups[i].first, groups[i].second));
    for (const Vote* vote : groups[i].second) finding.culprits.push_back(vote->culprit);
  }
  finding.reason = fmt::format("{} {} {}", question.what, is_decided ? "is" : "differs:", human_list(clauses, 4));
  if (is_decided)
    finding.reason += fmt::format(", but {} on {} {}", groups[0].first, groups[0].second.size(), question.others);
  finding.remedy = question.remedy;
  return finding;
}

}  // namespace muster
