#include "probes/gpu_copy/node_gpus.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/text.hpp"
#include "device/nvidia/nvml.hpp"
#include "system/this_machine.hpp"

namespace muster::gpu_copy {

const SeenGpu* NodeGpus::find(const std::string& key) const {
  const auto found = std::find_if(seen.begin(), seen.end(), [&](const SeenGpu& gpu) { return gpu.key == key; });
  return found == seen.end() ? nullptr : &*found;
}

const Device* NodeGpus::known(const SeenGpu& gpu) const {
  for (const Device& device : inventory.devices)
    if (gpu.about().address && device.address == *gpu.about().address) return &device;
  return nullptr;
}

NodeGpus open_node_gpus(RunContext& context) {
  NodeGpus node;
  context.recorder.step("inventory");
  const CallWatch watch(context.recorder);
  if (auto read = read_inventory(root_of("/"))) {
    // What the library says of itself is the business of device_visibility.
    add_nvml_links(*read, watch);
    for (Device& device : read->devices)
      if (device.kind == DeviceKind::gpu) node.inventory.devices.push_back(std::move(device));
    node.inventory.sources = read->sources;
  }
  node.runtimes = open_gpu_runtimes(watch);
  for (const GpuRuntime& runtime : node.runtimes) {
    node.inventory.libraries.push_back(runtime.library);
    for (std::size_t i = 0; runtime.gpus && i < runtime.gpus->devices().size(); ++i) {
      const GpuDevice& device = runtime.gpus->devices()[i];
      const std::string key = device.uuid.empty() ? device.label() : device.uuid;
      node.seen.push_back({runtime.gpus.get(), static_cast<int>(i), key});
    }
  }
  return node;
}

void add_facts(const NodeGpus& node, Observation& seen) {
  for (Fact& fact : to_facts(node.inventory)) seen.facts.push_back(std::move(fact));
  seen.facts.push_back({"visible", std::to_string(node.seen.size())});
  for (const GpuRuntime& runtime : node.runtimes)
    if (runtime.library.state == LibraryState::broken)
      seen.facts.push_back({"remedy." + runtime.vendor, runtime.remedy});
  if (!this_machine().simulated.empty() && std::getenv(env_drivers) == nullptr)
    seen.facts.push_back({"no_stand_ins", this_machine().simulated});
}

namespace {

using Keys = std::vector<std::string>;

/// The rank that sees the GPU and has the fewest so far; of those, the one whose place among the ranks is the GPU's.
int owner_for(const std::string& key, const std::vector<RankSight>& ranks, int node, std::map<int, int>& owned) {
  int best = -1;
  const auto rate = [&](int rank) {
    const RankSight& sight = ranks[static_cast<std::size_t>(rank)];
    const auto at = std::find(sight.keys.begin(), sight.keys.end(), key) - sight.keys.begin();
    return std::tuple(owned[rank], at == sight.local_rank ? 0 : 1, sight.local_rank);
  };
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int rank = static_cast<int>(i);
    if (ranks[i].node != node || std::find(ranks[i].keys.begin(), ranks[i].keys.end(), key) == ranks[i].keys.end())
      continue;
    if (best < 0 || rate(rank) < rate(best)) best = rank;
  }
  if (best >= 0) ++owned[best];
  return best;
}

bool sees(const RankSight& rank, const std::string& key) {
  return std::find(rank.keys.begin(), rank.keys.end(), key) != rank.keys.end();
}

void add_pairs(const std::vector<RankSight>& ranks, const Keys& keys, int node, Schedule& schedule) {
  auto& turns = schedule.nodes[static_cast<std::size_t>(node)];
  for (const std::string& from : keys)
    for (const std::string& to : keys) {
      if (from == to) continue;
      const int first = schedule.owner(node, from);
      const int second = schedule.owner(node, to);
      if (sees(ranks[static_cast<std::size_t>(first)], to))
        turns.push_back({first, from, to});
      else if (sees(ranks[static_cast<std::size_t>(second)], from))
        turns.push_back({second, from, to});
      else
        ++schedule.apart[static_cast<std::size_t>(node)];
    }
}

}  // namespace

int Schedule::owner(int node, const std::string& gpu) const {
  for (const Turn& turn : nodes[static_cast<std::size_t>(node)])
    if (turn.gpu == gpu && turn.to.empty()) return turn.rank;
  return -1;
}

std::size_t Schedule::turns() const {
  std::size_t most = 0;
  for (const auto& turns : nodes) most = std::max(most, turns.size());
  return most;
}

Schedule schedule_of(const std::vector<RankSight>& ranks, bool with_pairs) {
  Schedule schedule;
  for (const RankSight& rank : ranks)
    if (schedule.nodes.size() <= static_cast<std::size_t>(rank.node))
      schedule.nodes.resize(static_cast<std::size_t>(rank.node) + 1);
  schedule.apart.resize(schedule.nodes.size());
  for (std::size_t node = 0; node < schedule.nodes.size(); ++node) {
    Keys keys;
    for (const RankSight& rank : ranks)
      for (const std::string& key : rank.keys)
        if (rank.node == static_cast<int>(node) && std::find(keys.begin(), keys.end(), key) == keys.end())
          keys.push_back(key);
    std::map<int, int> owned;
    for (const std::string& key : keys)
      schedule.nodes[node].push_back({owner_for(key, ranks, static_cast<int>(node), owned), key, {}});
    if (with_pairs) add_pairs(ranks, keys, static_cast<int>(node), schedule);
  }
  return schedule;
}

Result<std::vector<RankSight>> exchange_sight(RunContext& context, const NodeGpus& node) {
  std::string mine = fmt::format("{} {}", context.place.node_index, context.place.local_rank);
  for (const SeenGpu& gpu : node.seen) mine += "\n" + gpu.key;
  context.recorder.step("exchange GPUs");
  auto all = context.comm.all_gather(std::as_bytes(std::span(mine)));
  if (!all) return tl::unexpected(all.error());
  std::vector<RankSight> ranks;
  for (const ByteVector& bytes : *all) {
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto told = lines(text);
    RankSight rank;
    if (!told.empty()) {
      const auto numbers = split(told[0], ' ');
      rank.node = std::max(0, std::atoi(numbers[0].c_str()));
      rank.local_rank = numbers.size() > 1 ? std::atoi(numbers[1].c_str()) : 0;
      for (std::size_t i = 1; i < told.size(); ++i) rank.keys.emplace_back(told[i]);
    }
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

std::string address_of(const SeenGpu& gpu) {
  return gpu.about().address ? to_string(*gpu.about().address) : gpu.key;
}

Fact tested_fact(const SeenGpu& gpu) {
  return {"tested", fmt::format("{} {} {}", address_of(gpu), gpu.about().uuid.empty() ? "-" : gpu.about().uuid,
                                gpu.about().name)};
}

std::string TestedGpus::operator()(const std::string& address) const {
  const auto found = uuids.find(address);
  if (found == uuids.end() || found->second == "-") return "GPU " + address;
  return fmt::format("GPU {} ({})", address, found->second);
}

TestedGpus tested_by(const Observation& seen) {
  TestedGpus tested;
  for (const Fact& fact : seen.facts) {
    if (fact.key != "tested") continue;
    std::string text = printable_line(fact.value, 200);
    const std::string address = take_word(text);
    tested.uuids[address] = take_word(text);
    tested.models[address] = text;
    tested.only = address;
  }
  return tested;
}

std::string take_word(std::string& text) {
  const auto blank = text.find(' ');
  std::string word = text.substr(0, blank);
  text = blank == std::string::npos ? std::string() : text.substr(blank + 1);
  return word;
}

Finding about_gpu(const RankPlace& place, Verdict verdict, const std::string& address, std::string reason,
                  std::string remedy) {
  Finding finding{verdict, std::move(reason), {}, std::move(remedy)};
  finding.culprits.push_back({CulpritKind::device, printable_line("GPU " + address, 80), place.host, place.rank});
  finding.subject = Subject::devices;
  return finding;
}

namespace {

/// What one rank told of its node.
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

Finding about_node(const RankView& rank, Verdict verdict, std::string reason, std::string remedy) {
  Finding finding{verdict, std::move(reason), {}, std::move(remedy)};
  finding.culprits.push_back({CulpritKind::node, rank.place->host, rank.place->host, rank.place->rank});
  // Where GPUs are missing or closed, this is no news.
  finding.subject = Subject::mapping;
  return finding;
}

std::string_view vendor_of_library(const LibraryReport& library) {
  return library.name.rfind("libamdhip64", 0) == 0 ? "amd" : "nvidia";
}

std::string of_gpus(std::size_t count) {
  return counted(count, "GPU");
}

/// How runtimes say that there is nothing for them here, both vendors alike; a toolkit on a node without GPUs is no
/// fault. 3: not initialized, 34: a stub, 35: no driver, 100: no device, 101: no device 0 (ROCm 5).
bool says_no_device(int code) {
  return code == 3 || code == 34 || code == 35 || code == 100 || code == 101;
}

/// Nothing for a library that works, or that nobody misses.
void judge_library(const RankView& rank, const LibraryReport& library, std::vector<Finding>& findings) {
  const std::string vendor(vendor_of_library(library));
  const std::size_t there = rank.gpus_of(vendor);
  const std::string host = rank.place->host;
  if (library.state == LibraryState::absent && there > 0)
    findings.push_back(
        about_node(rank, Verdict::fail,
                   fmt::format("{} is not on {}, which has {}", printable_line(library.name, 60), host, of_gpus(there)),
                   vendor == "amd"
                       ? "install ROCm's runtime (hip-runtime-amd) there, or load the module that has it; in a "
                         "container, have it in the image"
                       : "install the driver's libraries (libcuda.so.1) there, of the version of its kernel module; in "
                         "a container, pass them to it (nvidia-container-toolkit)"));
  if (library.state != LibraryState::broken || (there == 0 && says_no_device(library.code))) return;
  const std::string* remedy = rank.seen->fact("remedy." + vendor);
  findings.push_back(about_node(rank, there > 0 ? Verdict::fail : Verdict::unmeasured,
                                fmt::format("{} on {} is of no use: {}", printable_line(library.name, 60), host,
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
    findings.push_back(
        about_node(rank, Verdict::unmeasured,
                   fmt::format("no runtime shows any of the {} of {} to rank {}", of_gpus(there), rank.place->host,
                               rank.place->rank),
                   "see what CUDA_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES leave visible, and device_visibility"));
  else if (expected > 0)
    findings.push_back(about_node(rank, Verdict::fail,
                                  fmt::format("{} has no GPU, {} expected by the profile", rank.place->host, expected),
                                  "see device_visibility"));
}

}  // namespace

std::size_t judge_nodes(const CaseView& view, ProbeJudgement& judgement) {
  std::size_t tested = 0;
  std::set<int> told;
  std::set<std::string> without;
  for (std::size_t i = 0; i < view.ranks.size() && i < view.observed.size(); ++i) {
    const Observation* seen = view.observed[i];
    if (seen == nullptr || seen->state != ObservationState::measured) continue;
    for (const Fact& fact : seen->facts) tested += fact.key == "tested";
    const std::string* visible = seen->fact("visible");
    if (visible == nullptr || *visible != "0") continue;
    // One rank speaks for its node.
    if (!told.insert(view.ranks[i].node_index).second) continue;
    std::vector<std::string> faults;
    const RankView rank{&view.ranks[i], seen, parse_inventory(seen->facts, faults)};
    const std::size_t before = judgement.findings.size();
    judge_blind(view, rank, judgement.findings);
    if (judgement.findings.size() == before) without.insert(rank.place->host);
  }
  if (tested == 0 && judgement.findings.empty() && !without.empty()) {
    Finding finding;
    finding.verdict = Verdict::skip;
    finding.reason = without.size() == 1 ? "no GPU on this node and none expected"
                                         : fmt::format("no GPU on these {} nodes and none expected", without.size());
    finding.remedy = "if there should be some, say so: gpus in the profile";
    judgement.findings.push_back(std::move(finding));
  } else if (tested > 0 && !without.empty()) {
    judgement.evidence.push_back(counted(without.size(), "node") + " without a GPU");
  }
  return tested;
}

}  // namespace muster::gpu_copy
