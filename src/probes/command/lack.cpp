#include "probes/command/lack.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/files.hpp"
#include "base/text.hpp"
#include "probes/command/blame.hpp"
#include "probes/command/words.hpp"

namespace muster::program {

namespace {

constexpr const char* fact_name = "lack";
constexpr const char* fact_what = "lack_what";
constexpr std::size_t most_hosts = 16;

std::string describe_missing(const std::string& name) {
  std::error_code ignored;
  const std::string shown = printable_line(name, 300);
  if (name.find('/') == name.npos) return fmt::format("{} is not on PATH", shown);
  if (fs::is_directory(name, ignored)) return fmt::format("{} is a directory", shown);
  if (fs::exists(name, ignored)) return fmt::format("{} is not executable", shown);
  if (fs::path(name).is_absolute()) return fmt::format("{} does not exist", shown);
  return fmt::format("{} does not exist below {}", shown, printable_line(fs::current_path(ignored).string(), 300));
}

std::string remedy_for(const std::string& name) {
  const bool is_relative = name.find('/') != name.npos && name.front() != '/';
  if (is_relative)
    return fmt::format("write argv = [\"{{check}}/{}\"] for a file beside the check file, or give it an absolute path",
                       printable_line(fs::path(name).filename().string(), 100));
  if (name.find('/') == name.npos)
    return "correct its name, give it an absolute path, or install it on PATH of every node; ranks that are started by "
           "ssh have PATH of an ssh login";
  return "correct argv in the check file, or install it at the same place on every node";
}

Finding finding_of(const CaseView& view, const std::string& name, const std::vector<std::size_t>& ranks,
                   const std::vector<std::size_t>& all) {
  const Blame blame(view, all, ranks);
  Finding finding;
  const std::string what = printable_line(*view.observed[ranks.front()]->fact(fact_what), 400);
  std::vector<std::string> hosts;
  for (const std::size_t rank : ranks)
    if (const auto& host = view.ranks[rank].host; std::find(hosts.begin(), hosts.end(), host) == hosts.end())
      hosts.push_back(host);
  finding.verdict = blame.is_on_nodes() ? Verdict::fail : Verdict::error;
  finding.reason = blame.is_everywhere() ? what : fmt::format("{} on {}", what, human_list(hosts, 4));
  finding.remedy = remedy_for(name);
  if (!blame.is_on_nodes()) {
    finding.culprits.push_back({CulpritKind::file, printable_line(name, 200), "", -1});
    return finding;
  }
  finding.reason += ", most nodes have it";
  finding.remedy = "install or mount it there, or leave these nodes out";
  for (const auto& host : hosts)
    if (finding.culprits.size() < most_hosts)
      finding.culprits.push_back({CulpritKind::file, printable_line(name, 200), host, -1});
  return finding;
}

}  // namespace

std::optional<Lack> find_lack(const std::vector<std::string>& words, const std::vector<std::string>& given) {
  if (words[0] != python_word && find_program(words[0]).empty()) return Lack{words[0], describe_missing(words[0])};
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::error_code ignored;
    if (given[i] == words[i] || fs::exists(words[i], ignored)) continue;
    return Lack{words[i], fmt::format("{} does not exist", printable_line(words[i], 300))};
  }
  return std::nullopt;
}

Observation lacking(const Lack& lack) {
  Observation seen;
  seen.facts = {{fact_name, lack.name}, {fact_what, lack.what}};
  return seen;
}

std::vector<Finding> find_lacks(const CaseView& view) {
  std::map<std::string, std::vector<std::size_t>> by_name;
  std::vector<std::size_t> all;
  for (std::size_t rank = 0; rank < view.ranks.size() && rank < view.observed.size(); ++rank) {
    const Observation* seen = view.observed[rank];
    if (seen == nullptr || seen->state != ObservationState::measured) continue;
    all.push_back(rank);
    if (const std::string* name = seen->fact(fact_name); name != nullptr && seen->fact(fact_what) != nullptr)
      by_name[*name].push_back(rank);
  }
  std::vector<Finding> findings;
  for (const auto& [name, ranks] : by_name) findings.push_back(finding_of(view, name, ranks, all));
  return findings;
}

}  // namespace muster::program
