#include "measure/node_ranks.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "device/pci_address.hpp"
#include "measure/node_devices.hpp"

namespace muster::gpu_mapping {

namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> list;
  for (const std::string& word : split(text, ' '))
    if (!word.empty()) list.push_back(printable_line(word, 80));
  return list;
}

/// Empty when the facts can be understood; else the one that can't.
std::string fill(RankView& rank) {
  for (const Fact& fact : rank.seen->facts) {
    if (fact.key != "gpu") continue;
    const auto address = parse_pci_address(fact.value.substr(0, fact.value.find(';')));
    if (!address) return printable_line(fact.value, 80);
    rank.gpus.push_back(to_string(*address));
  }
  rank.closed = words(rank.fact("closed"));
  rank.unusable = words(rank.fact("unusable"));
  if (rank.has("visible")) rank.visible = words(rank.fact("visible"));
  return {};
}

std::string fault_of(RankView& rank) {
  const std::string damaged = fill(rank);
  if (!damaged.empty()) return fmt::format("reported malformed data {}: {}", on_nodes, damaged);
  const std::string bus = rank.fact("bus");
  if (bus == "shown" || !rank.gpus.empty()) return {};
  return fmt::format("{} {}", bus == "hidden" ? "sees no PCI bus" : "reported nothing on its GPUs", on_nodes);
}

}  // namespace

std::string RankView::fact(std::string_view key) const {
  const std::string* value = seen->fact(key);
  return value == nullptr ? std::string() : printable_line(*value, 800);
}

CpuMask RankView::cpus(std::string_view key) const {
  const auto mask = CpuMask::parse_list(fact(key));
  return mask ? *mask : CpuMask();
}

std::optional<std::size_t> RankView::processes() const {
  const std::string text = fact("torchrun");
  if (text.empty()) return 0;
  // As torch/distributed/run.py has them: with GPUs, auto is their number.
  if (text == "gpu" || text == "auto") return visible ? std::optional(visible->size()) : std::nullopt;
  constexpr std::string_view share = "gpu/";
  const bool is_share = text.starts_with(share);
  const auto number = parse_number_from<std::size_t>(is_share ? text.substr(share.size()) : text, 1);
  if (!number || !is_share) return number;
  return visible ? std::optional(visible->size() / *number) : std::nullopt;
}

std::optional<std::vector<std::string>> RankView::used() const {
  const auto count = processes();
  if (count == 0) return has("device.address") ? std::optional(std::vector{fact("device.address")}) : std::nullopt;
  if (!count || !visible) return std::nullopt;
  return std::vector(visible->begin(), visible->begin() + static_cast<long>(std::min(*count, visible->size())));
}

bool NodeRanks::is_explained() const {
  return std::any_of(ranks.begin(), ranks.end(), [](const RankView& rank) { return rank.is_explained; });
}

bool NodeRanks::has_fault() const {
  return std::any_of(ranks.begin(), ranks.end(), [](const RankView& rank) {
    return std::any_of(rank.seen->facts.begin(), rank.seen->facts.end(),
                       [](const Fact& fact) { return fact.key.rfind("fault.", 0) == 0; });
  });
}

Nodes nodes_of(const CaseView& view, std::vector<Finding>& findings) {
  std::map<int, NodeRanks> by_index;
  Tally tally;
  for (std::size_t i = 0; i < view.ranks.size(); ++i) {
    const Observation* seen = view.measured(i);
    if (seen == nullptr) continue;
    RankView rank;
    rank.place = &view.ranks[i];
    rank.seen = seen;
    const std::string fault = fault_of(rank);
    if (!fault.empty()) {
      const std::string who = fmt::format("local rank {} ", rank.place->local_rank);
      tally.add({who + fault, "see whether /sys is mounted there: a container may hide it", Verdict::unmeasured},
                rank.place->host, {culprit_of(rank)});
      continue;
    }
    NodeRanks& node = by_index[rank.place->node_index];
    node.host = rank.place->host;
    node.ranks.push_back(std::move(rank));
  }
  tally.move_to(findings);
  Nodes nodes;
  for (auto& [index, node] : by_index) {
    std::stable_sort(node.ranks.begin(), node.ranks.end(),
                     [](const RankView& a, const RankView& b) { return a.place->local_rank < b.place->local_rank; });
    nodes.push_back(std::move(node));
  }
  return nodes;
}

void Tally::add(Sentence sentence, const std::string& host, const std::vector<Culprit>& culprits) {
  auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.sentence.reason == sentence.reason && entry.sentence.remedy == sentence.remedy;
  });
  if (found == entries_.end()) found = entries_.insert(entries_.end(), Entry{std::move(sentence), {}, {}});
  if (!is_in(host, found->hosts)) found->hosts.push_back(host);
  found->culprits.insert(found->culprits.end(), culprits.begin(), culprits.end());
}

void Tally::move_to(std::vector<Finding>& findings) {
  for (Entry& entry : entries_) {
    Finding finding;
    finding.verdict = entry.sentence.verdict;
    finding.reason = std::move(entry.sentence.reason);
    const auto at = finding.reason.find(on_nodes);
    if (at != std::string::npos) finding.reason.replace(at, 1, "on " + human_list(entry.hosts, 4));
    finding.remedy = std::move(entry.sentence.remedy);
    finding.culprits = std::move(entry.culprits);
    findings.push_back(std::move(finding));
  }
  entries_.clear();
}

Culprit culprit_of(const RankView& rank) {
  return rank_culprit(rank.place->rank, rank.place->host);
}

Culprit setting_of(const RankView& rank, std::string_view name) {
  return {CulpritKind::setting, std::string(name), rank.place->host, rank.place->rank};
}

Culprit culprit_of(const NodeRanks& node) {
  return node_culprit(node.host);
}

std::string wanted_by(const ExpectedNode& promised, const std::vector<Fact>& facts) {
  if (promised.gpus && promised.gpus->count > 0 && promised.unverified.count("gpus") == 0)
    return fmt::format("{} expected by the profile", promised.gpus->count);
  visibility::NodeView job;
  for (const Fact& fact : facts)
    if (fact.key.rfind("env.", 0) == 0) job.job[fact.key.substr(4)] = fact.value;
  const auto granted = visibility::granted_to(job);
  return granted ? fmt::format("{} {}", granted->count, granted->by) : std::string();
}

const environment::StarterWords& starter_on(const NodeRanks& node) {
  return environment::words_of_starter(node.ranks.empty() ? "" : node.ranks[0].fact("torchrun.starter"));
}

std::string subject(const NodeRanks& node, const std::vector<const RankView*>& some) {
  if (some.size() == node.ranks.size() && some.size() > 2) return fmt::format("all {} ranks", some.size());
  std::vector<std::string> numbers;
  for (const RankView* rank : some) numbers.push_back(std::to_string(rank->place->local_rank));
  return (some.size() == 1 ? "local rank " : "local ranks ") + human_list(numbers);
}

}  // namespace muster::gpu_mapping
