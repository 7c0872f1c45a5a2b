#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/text.hpp"
#include "measure/gpu_data.hpp"

namespace muster::p2p {

namespace {

constexpr std::size_t most_culprits = 8;

/// Ranks by their value under a key.
std::map<std::string, std::vector<int>> reported_under(const CaseView& view, std::string_view key) {
  std::map<std::string, std::vector<int>> reported;
  for (std::size_t rank = 0; rank < view.observed.size(); ++rank) {
    const Observation* seen = view.measured(rank);
    if (seen == nullptr) continue;
    if (const std::string* value = seen->fact(key)) reported[*value].push_back(static_cast<int>(rank));
  }
  return reported;
}

std::string who(const CaseView& view, const std::vector<int>& ranks) {
  if (ranks.size() == view.ranks.size()) return fmt::format("all {} ranks", ranks.size());
  std::vector<std::string> names;
  for (const int rank : ranks)
    names.push_back(fmt::format("rank {} on {}", rank, view.ranks[static_cast<std::size_t>(rank)].host));
  return human_list(names, most_culprits);
}

/// As above, each with its GPU; for few ranks, as every name is long.
std::string who_with_gpus(const CaseView& view, const std::vector<int>& ranks) {
  constexpr std::size_t most_with_gpus = 4;
  if (ranks.size() > most_with_gpus) return who(view, ranks);
  std::vector<std::string> names;
  for (const int rank : ranks) {
    const std::string* gpu = view.observed[static_cast<std::size_t>(rank)]->fact("data.device");
    names.push_back(fmt::format("rank {} on {}", rank, view.ranks[static_cast<std::size_t>(rank)].host));
    if (gpu != nullptr) names.back() += ", " + printable_line(*gpu, 80);
  }
  return human_list(names);
}

void add_culprits(const CaseView& view, const std::vector<int>& ranks, Finding& finding) {
  for (const int rank : ranks)
    if (finding.culprits.size() < most_culprits)
      finding.culprits.push_back(rank_culprit(rank, view.ranks[static_cast<std::size_t>(rank)].host));
}

/// The variables that hide every GPU from these ranks, with their nodes; with the rank where it is the only one there.
void add_settings(const CaseView& view, const std::vector<int>& ranks, Finding& finding) {
  std::map<std::pair<std::string, std::string>, std::vector<int>> settings;
  for (const int rank : ranks)
    if (const std::string* setting = view.observed[static_cast<std::size_t>(rank)]->fact("data.setting"))
      settings[{printable_line(*setting, 60), view.ranks[static_cast<std::size_t>(rank)].host}].push_back(rank);
  for (const auto& [where, hidden_from] : settings)
    if (finding.culprits.size() < most_culprits)
      finding.culprits.push_back(
          {CulpritKind::setting, where.first, where.second, hidden_from.size() == 1 ? hidden_from[0] : -1});
}

void find_refusals(const CaseView& view, std::vector<Finding>& findings) {
  const auto reported = reported_under(view, "data.refused");
  std::vector<std::pair<std::string, std::vector<int>>> groups(reported.begin(), reported.end());
  // Lost peers last; then the rarest texts, which distinguish ranks from the rest.
  const auto order = [](const auto& group) {
    return std::pair(group.first.find(" returned 6: ") != std::string::npos, group.second.size());
  };
  std::stable_sort(groups.begin(), groups.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  for (const auto& [why, ranks] : groups) {
    Finding finding;
    finding.verdict = Verdict::error;
    finding.reason = fmt::format("no data on GPUs: {} ({})", printable_line(why, 400), who_with_gpus(view, ranks));
    add_settings(view, ranks, finding);
    if (finding.culprits.empty()) add_culprits(view, ranks, finding);
    const std::string* remedy = view.observed[static_cast<std::size_t>(ranks.front())]->fact("data.remedy");
    finding.remedy = remedy == nullptr ? "see the ranks' libraries by device_visibility" : printable_line(*remedy, 400);
    finding.remedy += "; on=host measures host memory";
    finding.subject = Subject::transport;
    findings.push_back(std::move(finding));
  }
}

/// By what the ranks report under `key`: data that leaves the network which the node has.
void find_detour(const CaseView& view, std::string_view key, std::string_view reason, std::string_view remedy,
                 std::vector<Finding>& findings) {
  for (const auto& [value, ranks] : reported_under(view, key)) {
    Finding finding;
    finding.reason =
        fmt::format("data between GPUs of different nodes goes through {} ({}, from the library's own log)",
                    fmt::format(fmt::runtime(reason), printable_line(value, 200)), who(view, ranks));
    add_culprits(view, ranks, finding);
    finding.remedy = remedy;
    finding.subject = Subject::transport;
    findings.push_back(std::move(finding));
  }
}

void find_sockets(const CaseView& view, std::vector<Finding>& findings) {
  find_detour(view, "data.sockets", "sockets, though {} is there",
              "let NCCL or RCCL use the fabric: NCCL_NET, NCCL_IB_HCA, NCCL_IB_DISABLE; with libfabric its network "
              "plugin (libnccl-net.so, aws-ofi-nccl) in LD_LIBRARY_PATH; network_interfaces looks at both",
              findings);
}

void find_provider(const CaseView& view, std::vector<Finding>& findings) {
  find_detour(view, "data.provider", "libfabric's provider {}, though the node has Slingshot's cxi",
              "let libfabric load the cxi provider: in a container bind libcxi.so.1 and /opt/cray; unset FI_PROVIDER, "
              "or export FI_PROVIDER=cxi; the log should contain \"Selected Provider is cxi\" (NCCL_DEBUG=INFO)",
              findings);
}

}  // namespace

bool judge_gpu_data(const CaseView& view, bool may_use_sockets, std::vector<Finding>& findings) {
  const bool is_refused =
      !reported_under(view, "data.refused").empty() || !reported_under(view, "data.stopped").empty();
  find_refusals(view, findings);
  if (is_refused) return true;
  find_detours(view, findings);
  if (!may_use_sockets) find_sockets(view, findings);
  if (!may_use_sockets) find_provider(view, findings);
  return false;
}

std::string gpu_data_evidence(const CaseView& view) {
  if (const auto host = reported_under(view, "data.host"); !host.empty()) {
    std::vector<std::string> whys;
    for (const auto& [why, ranks] : host)
      whys.push_back(fmt::format("{} ({})", printable_line(why, 200), who(view, ranks)));
    return "on host memory: " + human_list(whys, 4);
  }
  const auto carriers = reported_under(view, "data.carrier");
  if (carriers.empty()) return {};
  std::vector<std::string> names;
  for (const auto& [carrier, ranks] : carriers) names.push_back(printable_line(carrier, 80));
  std::set<std::pair<std::string, std::string>> gpus;
  for (const auto& [gpu, ranks] : reported_under(view, "data.device"))
    for (const int rank : ranks) gpus.emplace(view.ranks[static_cast<std::size_t>(rank)].host, gpu);
  std::vector<std::string> ways;
  for (const auto& [way, ranks] : reported_under(view, "data.connections")) ways.push_back(printable_line(way, 200));
  std::string text = fmt::format("memory of {} over {}", counted(gpus.size(), "GPU"), human_list(names, 4));
  if (!ways.empty()) text += fmt::format("; connections of a rank: {}", human_list(ways, 3));
  return text;
}

}  // namespace muster::p2p
