#include "model/suspect.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/hostlist.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::string_view beginning = "run it once more without ";
constexpr std::string_view separator = "; ";

}  // namespace

Suspect find_suspect(const Mistake& mistake, Half half) {
  if (mistake.all_nodes < 2) return Suspect::job;
  if (mistake.is_rank_0_alone) return Suspect::rank_0;
  const std::size_t twice = 2 * mistake.nodes;
  const bool is_of_few = twice < mistake.all_nodes || (twice == mistake.all_nodes && half == Half::is_of_nodes);
  return is_of_few ? Suspect::nodes : Suspect::job;
}

Culprit rank_0_culprit() {
  return {CulpritKind::rank, "rank 0", "", 0};
}

bool is_about_rank_0_alone(const Finding& finding) {
  const auto& culprits = finding.culprits;
  return std::all_of(culprits.begin(), culprits.end(), [](const Culprit& one) { return one.node.empty(); }) &&
         std::count_if(culprits.begin(), culprits.end(),
                       [](const Culprit& one) { return one.kind == CulpritKind::rank; }) == 1 &&
         is_in(rank_0_culprit(), culprits);
}

std::string rank_0_remedy(const std::vector<std::string>& hosts) {
  std::vector<std::string> others;
  for (const std::string& host : hosts)
    if (host != hosts.front() && !is_in(host, others)) others.push_back(host);
  const std::string first = hosts.empty() ? "its node" : printable_line(hosts.front());
  return fmt::format(
      "{}{} (--nodes '{}'): if rank 0 fails there, too, correct what rank 0 alone does in the program, otherwise look "
      "at {}",
      beginning, first, printable_line(compress_hostlist(others), 200), first);
}

std::string rank_0_remedy(std::span<const RankPlace> ranks) {
  std::vector<std::string> hosts;
  for (const RankPlace& place : ranks) hosts.push_back(place.host);
  return rank_0_remedy(hosts);
}

std::string remedy_before_rank_0(std::string_view remedy) {
  remedy = remedy.substr(0, remedy.rfind(beginning));
  if (remedy.ends_with(separator)) remedy.remove_suffix(separator.size());
  return std::string(remedy);
}

}  // namespace muster
