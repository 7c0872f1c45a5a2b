// Nodes where a rank sees no GPU, and GPUs that no rank sees.
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "measure/gpu_facts.hpp"
#include "measure/node_devices.hpp"
#include "measure/node_gpus.hpp"
#include "model/fact_fields.hpp"
#include "model/gpu_vendor.hpp"

namespace muster::gpu_copy {

namespace {

/// One rank's report on its node.
struct RankView {
  const RankPlace* place = nullptr;
  const Observation* seen = nullptr;
  Inventory inventory;

  [[nodiscard]] std::size_t gpus_of(std::string_view vendor) const {
    return static_cast<std::size_t>(
        std::count_if(inventory.devices.begin(), inventory.devices.end(),
                      [&](const Device& device) { return vendor_of(device) == vendor && !device.is_lost; }));
  }
};

/// Of the rank's setting where that hides every GPU from it, whatever the library's code is; else of its node.
Finding about_node(const RankView& rank, Verdict verdict, std::string reason, std::string remedy) {
  Finding finding{verdict, std::move(reason), {}, std::move(remedy)};
  const std::string* setting = rank.seen->fact("hidden_by");
  if (setting != nullptr)
    finding.culprits.push_back(
        {CulpritKind::setting, printable_line(*setting, 60), rank.place->host, rank.place->rank});
  else
    finding.culprits.push_back({CulpritKind::node, rank.place->host, rank.place->host, rank.place->rank});
  // Where GPUs are missing or closed, this is not news.
  finding.subject = Subject::mapping;
  return finding;
}

/// That whose runtime it is.
const GpuVendor& vendor_of_library(const LibraryReport& library) {
  for (const GpuVendor* vendor : gpu_vendors())
    if (!vendor->runtime_library.empty() && library.name.starts_with(vendor->runtime_library)) return *vendor;
  return terms_of_vendor({});
}

/// Codes of runtimes for the absence of devices, of all vendors; a toolkit on a node without GPUs is not a fault.
bool means_no_device(int code) {
  const auto all = gpu_vendors();
  return std::any_of(all.begin(), all.end(), [&](const GpuVendor* one) {
    const auto& codes = one->no_device_codes;
    return is_in(code, codes);
  });
}

/// Nothing for a library that works, or that is not needed.
void judge_library(const RankView& rank, const LibraryReport& library, std::vector<Finding>& findings) {
  const GpuVendor& vendor = vendor_of_library(library);
  const std::size_t there = rank.gpus_of(vendor.name);
  const std::string host = rank.place->host;
  if (library.state == LibraryState::absent && there > 0)
    findings.push_back(about_node(
        rank, Verdict::fail,
        fmt::format("{} is not on {}, which has {}", printable_line(library.name, 60), host, counted(there, "GPU")),
        std::string(vendor.runtime_missing)));
  if (library.state != LibraryState::broken || (there == 0 && means_no_device(library.code))) return;
  const std::string* remedy = rank.seen->fact(fmt::format("remedy.{}", vendor.name));
  findings.push_back(about_node(rank, there > 0 ? Verdict::fail : Verdict::unmeasured,
                                fmt::format("{} on {} is unusable: {}", printable_line(library.name, 60), host,
                                            printable_line(library.error, 300)),
                                remedy == nullptr ? std::string("see the kernel log of the node") : *remedy));
}

/// Of a node where this rank sees no GPU.
void judge_blind(const CaseView& view, const RankView& rank, std::vector<Finding>& findings) {
  const std::size_t before = findings.size();
  if (const std::string* machine = rank.seen->fact("no_stand_ins")) {
    Finding finding = about_node(
        rank, Verdict::skip, fmt::format("the simulated machine {} has no GPU libraries", printable_line(*machine, 80)),
        "name a folder with stand-ins in MUSTER_DRIVERS");
    finding.culprits.clear();
    return findings.push_back(std::move(finding));
  }
  for (const LibraryReport& library : rank.inventory.libraries) judge_library(rank, library, findings);
  if (findings.size() > before) return;
  const std::size_t there = rank.inventory.devices.size();
  const int expected = view.node.gpus ? view.node.gpus->count : 0;
  if (there > 0)
    findings.push_back(about_node(rank, Verdict::unmeasured,
                                  fmt::format("no runtime shows any of the {} of {} to rank {}", counted(there, "GPU"),
                                              rank.place->host, rank.place->rank),
                                  fmt::format("see what {} leave visible, and device_visibility",
                                              of_all_vendors(&GpuVendor::visible_variable, " or "))));
  else if (expected > 0)
    findings.push_back(about_node(rank, Verdict::fail,
                                  fmt::format("{} has no GPU, {} expected by the profile", rank.place->host, expected),
                                  "see device_visibility"));
}

/// What all ranks of a node reported together.
struct NodeSight {
  std::string host;
  std::set<std::string> tested;  ///< addresses
  std::vector<RankView> blind;
  std::vector<Device> gpus;  ///< healthy according to the kernel, and open to this job
};

bool is_usable_here(const Device& gpu) {
  return !gpu.is_lost && std::all_of(gpu.files.begin(), gpu.files.end(),
                                     [](const DeviceFile& file) { return file.access == FileAccess::open; });
}

std::map<int, NodeSight> sights_of(const CaseView& view) {
  std::map<int, NodeSight> nodes;
  for (std::size_t i = 0; i < view.ranks.size(); ++i) {
    const Observation* seen = view.measured(i);
    if (seen == nullptr) continue;
    NodeSight& node = nodes[view.ranks[i].node_index];
    const bool is_first = node.host.empty();
    node.host = view.ranks[i].host;
    for (const auto& [address, uuid] : tested_by(*seen).uuids) node.tested.insert(address);
    const std::string* visible = seen->fact("visible");
    const bool is_blind = visible != nullptr && *visible == "0";
    if (!is_blind && !is_first) continue;
    std::vector<std::string> faults;
    RankView rank{&view.ranks[i], seen, parse_inventory(seen->facts, faults)};
    if (is_first)
      std::copy_if(rank.inventory.devices.begin(), rank.inventory.devices.end(), std::back_inserter(node.gpus),
                   is_usable_here);
    if (is_blind) node.blind.push_back(std::move(rank));
  }
  return nodes;
}

/// `GPU 0000:c1:00.0 (GPU-...)` of the untested ones. None where the kernel's addresses are not the runtime's.
std::vector<std::string> untested_of(const NodeSight& node) {
  const auto is_known = [&](const std::string& address) {
    return std::any_of(node.gpus.begin(), node.gpus.end(),
                       [&](const Device& gpu) { return to_string(gpu.address) == whole_of(address); });
  };
  if (!std::all_of(node.tested.begin(), node.tested.end(), is_known)) return {};
  TestedGpus named;
  std::vector<std::string> names;
  for (const Device& gpu : node.gpus) {
    const std::string address = to_string(gpu.address);
    if (terms_of_vendor(vendor_of(gpu)).is_uuid_of_runtime && !gpu.uuid.empty())
      named.uuids[address] = printable_line(gpu.uuid, 60);
    const int parts = gpu.partitions > 1 ? gpu.partitions : 0;
    for (int part = 0; part < parts; ++part)
      if (const auto its = fmt::format("{}/{}", address, part); node.tested.count(its) == 0)
        names.push_back(named(its));
    if (parts == 0 && node.tested.count(address) == 0) names.push_back(named(address));
  }
  return names;
}

/// The last whose GPUs the rank's node has; without any, the first.
std::string_view vendor_of_runtime(const RankView& rank) {
  std::string_view name;
  for (const GpuVendor* vendor : gpu_vendors())
    if (!vendor->runtime_library.empty() && (name.empty() || rank.gpus_of(vendor->name) > 0)) name = vendor->name;
  return name;
}

std::string why_blind(const RankView& rank) {
  for (const LibraryReport& library : rank.inventory.libraries)
    if (library.state == LibraryState::broken && rank.gpus_of(vendor_of_library(library).name) > 0)
      return fmt::format(": {} is unusable to it: {}", printable_line(library.name, 60),
                         printable_line(library.error, 300));
  return {};
}

/// Ranks that see nothing where others of their node do: the node's library is well, what they were given is not.
void judge_blind_among_others(const NodeSight& node, std::vector<Finding>& findings) {
  const auto untested = untested_of(node);
  std::map<std::string, std::vector<const RankView*>> alike;
  for (const RankView& rank : node.blind) alike[why_blind(rank)].push_back(&rank);
  for (const auto& [why, ranks] : alike) {
    std::vector<std::string> numbers;
    for (const RankView* rank : ranks) numbers.push_back(std::to_string(rank->place->rank));
    Finding finding;
    finding.verdict = why.empty() ? Verdict::unmeasured : Verdict::fail;
    finding.reason = fmt::format("{} {} on {} {} no GPU, where others see {}{}", ranks.size() == 1 ? "rank" : "ranks",
                                 human_list(numbers, 8), node.host, ranks.size() == 1 ? "sees" : "see",
                                 counted(node.tested.size(), "GPU"), why);
    if (!untested.empty()) finding.reason += fmt::format("; not tested: {}", human_list(untested, 8));
    for (const std::string& gpu : untested)
      if (finding.culprits.size() < 8) finding.culprits.push_back({CulpritKind::device, gpu, node.host, -1});
    for (const RankView* rank : ranks)
      if (finding.culprits.size() < 8) finding.culprits.push_back(rank_culprit(rank->place->rank, node.host));
    const std::string* remedy = ranks[0]->seen->fact(fmt::format("remedy.{}", vendor_of_runtime(*ranks[0])));
    finding.remedy = remedy == nullptr ? fmt::format("see what {} leave visible to it, and gpu_mapping",
                                                     of_all_vendors(&GpuVendor::visible_variable, " or "))
                                       : *remedy;
    finding.subject = Subject::mapping;
    findings.push_back(std::move(finding));
  }
}

/// GPUs of which a rank sees some partitions, and KFD does not show which: another rank may see others, and one of all
/// was tested.
void judge_unknown_parts(const CaseView& view, std::vector<Finding>& findings) {
  std::set<std::pair<int, std::string>> named;
  for (std::size_t i = 0; i < view.ranks.size() && i < view.observed.size(); ++i) {
    const Observation* seen = view.observed[i];
    const RankPlace& place = view.ranks[i];
    for (const UnknownParts& gpu :
         seen == nullptr ? std::vector<UnknownParts>() : facts_of<UnknownParts>(*seen, "part_unknown")) {
      if (!named.insert({place.node_index, gpu.address}).second) continue;
      findings.push_back(about_gpu(
          place, Verdict::unmeasured, gpu.address,
          fmt::format("of the {} partitions of GPU {} on {} rank {} sees {}, and which partition it is is unknown: "
                      "some may not have been tested",
                      gpu.all, gpu.address, place.host, place.rank, gpu.seen),
          "let each rank see all partitions of the node; see in device_visibility what KFD lists"));
    }
  }
}

}  // namespace

std::size_t judge_nodes(const CaseView& view, ProbeJudgement& judgement) {
  std::size_t tested = 0;
  std::set<std::string> without;
  judge_unknown_parts(view, judgement.findings);
  for (const Observation* seen : view.observed)
    for (const Fact& fact : seen == nullptr ? std::vector<Fact>() : seen->facts) tested += fact.key == "tested";
  for (const auto& [index, node] : sights_of(view)) {
    if (node.blind.empty()) {
      const auto untested = untested_of(node);
      if (!untested.empty() && !node.tested.empty())
        judgement.evidence.push_back(fmt::format("not tested on {}, as no rank sees {}: {}", node.host,
                                                 untested.size() == 1 ? "it" : "them", human_list(untested, 8)));
      continue;
    }
    if (!node.tested.empty()) {
      judge_blind_among_others(node, judgement.findings);
      continue;
    }
    // One rank speaks for its node.
    const std::size_t before = judgement.findings.size();
    judge_blind(view, node.blind.front(), judgement.findings);
    if (judgement.findings.size() == before) without.insert(node.host);
  }
  if (tested == 0 && judgement.findings.empty() && !without.empty()) {
    judgement.findings.push_back(
        visibility::no_gpus_expected(without.size(), "if there should be some, set gpus in the profile"));
  } else if (tested > 0 && !without.empty()) {
    judgement.evidence.push_back(counted(without.size(), "node") + " without a GPU");
  }
  return tested;
}

}  // namespace muster::gpu_copy
