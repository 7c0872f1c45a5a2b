#include "measure/node_gpus.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "device/gpu_backend.hpp"
#include "measure/gpu_facts.hpp"
#include "measure/node_devices.hpp"
#include "measure/rank_gpus.hpp"
#include "model/fact_fields.hpp"
#include "model/gpu_vendor.hpp"
#include "system/this_machine.hpp"

namespace muster::gpu_copy {

const SeenGpu* NodeGpus::find(const std::string& key) const {
  const auto found = std::find_if(seen.begin(), seen.end(), [&](const SeenGpu& gpu) { return gpu.key == key; });
  return found == seen.end() ? nullptr : &*found;
}

const Device* NodeGpus::known(const SeenGpu& gpu) const {
  return gpu.about().address ? known_at(inventory, *gpu.about().address) : nullptr;
}

const Device* known_at(const Inventory& inventory, const PciAddress& address) {
  const PciAddress whole{address.domain, address.bus, address.device, 0};
  for (const Device& device : inventory.devices)
    if (device.kind == DeviceKind::gpu && device.address == address) return &device;
  // AMD's drivers may number partitions where functions are.
  for (const Device& device : inventory.devices)
    if (device.kind == DeviceKind::gpu && device.address == whole && device.partitions > 1) return &device;
  return nullptr;
}

namespace {

int part_in(const std::string& slot) {
  const auto slash = slot.rfind('/');
  return slash == slot.npos ? -1 : std::atoi(slot.c_str() + slash + 1);
}

/// Those that ROCR counts.
std::vector<const Device*> counted_by_rocr(const Inventory& inventory) {
  std::vector<const Device*> gpus;
  for (const Device& device : inventory.devices)
    if (device.kind == DeviceKind::gpu && terms_of_vendor(vendor_of(device)).are_parts_devices && !device.is_lost &&
        !visibility::is_withheld(device) && device.compute_order > 0)
      gpus.push_back(&device);
  return gpus;
}

void name_partitions(NodeGpus& node, const std::vector<std::size_t>& with_parts) {
  gpu_mapping::Variables variables;
  for (const std::string_view name : gpu_mapping::selection_variables())
    if (const char* value = std::getenv(std::string(name).c_str())) variables.emplace(name, value);
  std::vector<const Device*> of_runtime;
  for (const std::size_t index : with_parts) of_runtime.push_back(node.known(node.seen[index]));
  const NamedParts named = name_parts(of_runtime, node.inventory, variables);
  for (std::size_t i = 0; i < with_parts.size(); ++i) {
    if (named.parts[i] < 0) continue;
    SeenGpu& gpu = node.seen[with_parts[i]];
    gpu.part = named.parts[i];
    gpu.parts = of_runtime[i]->partitions;
    gpu.key += fmt::format("/{}", gpu.part);
  }
  for (const auto& [gpu, count] : named.unknown)
    node.unknown_parts.push_back(
        to_fact("part_unknown", UnknownParts{to_string(gpu->address), static_cast<int>(count), gpu->partitions}));
}

}  // namespace

NamedParts name_parts(const std::vector<const Device*>& of_runtime, const Inventory& inventory,
                      const gpu_mapping::Variables& variables) {
  NamedParts named;
  const auto is_part = [](const Device* device) { return device != nullptr && device->partitions > 1; };
  named.parts.resize(of_runtime.size(), -1);
  if (std::none_of(of_runtime.begin(), of_runtime.end(), is_part)) return named;
  const auto selection = gpu_mapping::select_devices(counted_by_rocr(inventory), variables);
  bool is_reported = selection.slots.size() == of_runtime.size();
  for (std::size_t i = 0; is_reported && i < of_runtime.size(); ++i)
    is_reported = selection.slots[i].device != nullptr && selection.slots[i].device == of_runtime[i];
  std::map<const Device*, int> counts;
  for (std::size_t i = 0; i < of_runtime.size(); ++i) {
    if (!is_part(of_runtime[i])) continue;
    const int counted = counts[of_runtime[i]]++;
    named.parts[i] = is_reported ? part_in(selection.slots[i].name) : counted;
  }
  for (const auto& [gpu, count] : counts)
    if (!is_reported && count < gpu->partitions) named.unknown.emplace(gpu, count);
  return named;
}

NodeGpus open_node_gpus(RunContext& context) {
  NodeGpus node;
  context.recorder.step("inventory");
  const CallWatch watch(context.recorder);
  if (auto read = read_inventory(root_of("/"))) {
    // device_visibility judges the library itself.
    add_gpu_links(*read, watch);
    for (Device& device : read->devices)
      if (device.kind == DeviceKind::gpu) node.inventory.devices.push_back(std::move(device));
    node.inventory.sources = read->sources;
  }
  node.runtimes = open_gpu_runtimes(watch);
  std::vector<std::size_t> with_parts;
  for (const GpuRuntime& runtime : node.runtimes) {
    node.inventory.libraries.push_back(runtime.library);
    for (std::size_t i = 0; runtime.gpus && i < runtime.gpus->devices().size(); ++i) {
      const GpuDevice& device = runtime.gpus->devices()[i];
      const std::string key = device.uuid.empty() ? device.label() : device.uuid;
      if (terms_of_vendor(runtime.vendor).are_parts_devices) with_parts.push_back(node.seen.size());
      node.seen.push_back({runtime.gpus.get(), static_cast<int>(i), key});
    }
  }
  name_partitions(node, with_parts);
  if (node.seen.empty())
    node.setting = gpu_mapping::hiding_setting(gpu_mapping::observe_here(context.place.local_rank));
  return node;
}

void add_facts(const NodeGpus& node, Observation& seen) {
  for (Fact& fact : to_facts(node.inventory)) seen.facts.push_back(std::move(fact));
  seen.facts.push_back({"visible", std::to_string(node.seen.size())});
  for (const GpuRuntime& runtime : node.runtimes)
    if (runtime.library.state == LibraryState::broken)
      seen.facts.push_back({"remedy." + runtime.vendor, runtime.remedy});
  for (const Fact& fact : node.unknown_parts) seen.facts.push_back(fact);
  if (!node.setting.empty()) seen.facts.push_back({"hidden_by", node.setting});
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
    if (ranks[i].node != node || !is_in(key, ranks[i].keys)) continue;
    if (best < 0 || rate(rank) < rate(best)) best = rank;
  }
  if (best >= 0) ++owned[best];
  return best;
}

void add_pairs(const std::vector<RankSight>& ranks, const Keys& keys, int node, Schedule& schedule) {
  auto& turns = schedule.nodes[static_cast<std::size_t>(node)];
  for (const std::string& from : keys)
    for (const std::string& to : keys) {
      if (from == to) continue;
      const int first = schedule.owner(node, from);
      const int second = schedule.owner(node, to);
      if (is_in(to, ranks[static_cast<std::size_t>(first)].keys))
        turns.push_back({first, from, to});
      else if (is_in(from, ranks[static_cast<std::size_t>(second)].keys))
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

int Schedule::reporting_rank(int node, const std::string& whole) const {
  int lowest = -1;
  int rank = owner(node, whole);
  for (const Turn& turn : nodes[static_cast<std::size_t>(node)]) {
    if (!turn.to.empty() || turn.gpu == whole || whole_of(turn.gpu) != whole) continue;
    const int part = part_in(turn.gpu);
    if (lowest >= 0 && part >= lowest) continue;
    lowest = part;
    rank = turn.rank;
  }
  return rank;
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
        if (rank.node == static_cast<int>(node) && !is_in(key, keys)) keys.push_back(key);
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
    const auto reported = lines(text);
    RankSight rank;
    if (!reported.empty()) {
      const auto numbers = split(reported[0], ' ');
      rank.node = std::max(0, std::atoi(numbers[0].c_str()));
      rank.local_rank = numbers.size() > 1 ? std::atoi(numbers[1].c_str()) : 0;
      for (std::size_t i = 1; i < reported.size(); ++i) rank.keys.emplace_back(reported[i]);
    }
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

std::string address_of(const SeenGpu& gpu) {
  if (!gpu.about().address) return gpu.key;
  PciAddress address = *gpu.about().address;
  if (gpu.part < 0) return to_string(address);
  address.function = 0;
  return fmt::format("{}/{}", to_string(address), gpu.part);
}

std::string whole_of(const std::string& address) {
  return address.substr(0, address.rfind('/'));
}

Fact tested_fact(const SeenGpu& gpu) {
  return to_fact("tested",
                 TestedGpu{address_of(gpu), gpu.about().uuid.empty() ? "-" : gpu.about().uuid, gpu.about().name});
}

std::string TestedGpus::operator()(const std::string& address) const {
  const auto found = uuids.find(address);
  if (found == uuids.end() || found->second == "-") return "GPU " + address;
  return fmt::format("GPU {} ({})", address, found->second);
}

std::string TestedGpus::model_of(const std::string& whole) const {
  for (const auto& [address, model] : models)
    if (address == whole || whole_of(address) == whole) return model;
  return {};
}

TestedGpus tested_by(const Observation& seen) {
  TestedGpus tested;
  for (const TestedGpu& gpu : facts_of<TestedGpu>(seen, "tested")) {
    tested.uuids[gpu.address] = gpu.uuid;
    tested.models[gpu.address] = gpu.model;
    tested.only = gpu.address;
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

}  // namespace muster::gpu_copy
