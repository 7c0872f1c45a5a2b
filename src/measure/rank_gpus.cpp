#include "measure/rank_gpus.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>

#include "base/number.hpp"
#include "base/text.hpp"
#include "measure/node_devices.hpp"
#include "system/this_machine.hpp"

namespace muster::gpu_mapping {

namespace {

using Gpus = std::vector<const Device*>;

std::string addresses(const Gpus& gpus) {
  std::vector<std::string> names;
  for (const Device* gpu : gpus) names.push_back(to_string(gpu->address));
  return join(names, " ");
}

/// Of the vendor that most GPUs are of; of equally many, the one whose name comes last.
Gpus of_one_vendor(const Gpus& gpus) {
  std::map<std::string, Gpus> by_vendor;
  for (const Device* gpu : gpus) by_vendor[vendor_of(*gpu)].push_back(gpu);
  Gpus most;
  for (const auto& [vendor, some] : by_vendor)
    if (some.size() >= most.size()) most = some;
  return most;
}

struct Sorted {
  Gpus usable;
  Gpus closed;
  Gpus broken;
};

Sorted sort_out(const Inventory& inventory) {
  const visibility::NodeView node{{}, inventory, {}};
  Sorted sorted;
  for (const Device& device : inventory.devices) {
    if (device.kind != DeviceKind::gpu) continue;
    if (visibility::is_withheld(device))
      sorted.closed.push_back(&device);
    else if (visibility::is_usable(node, device))
      sorted.usable.push_back(&device);
    else
      sorted.broken.push_back(&device);
  }
  return sorted;
}

std::string line_of(const Device& gpu) {
  std::string model = printable_line(model_of(gpu), 60);
  std::replace(model.begin(), model.end(), ';', ',');
  return fmt::format("{}; numa {}; {}", to_string(gpu.address), gpu.numa_node, model);
}

void add(std::vector<Fact>& facts, std::string key, std::string_view value) {
  if (!value.empty()) facts.push_back({std::move(key), printable_line(value, 800)});
}

void add_device(const Machine& machine, const Inventory& inventory, const Slot& slot, std::vector<Fact>& facts) {
  add(facts, "device", slot.name);
  if (slot.device == nullptr) return;
  add(facts, "device.address", to_string(slot.device->address));
  add(facts, "device.uuid", slot.device->uuid);
  add(facts, "device.nic", nearest_nics(inventory, *slot.device));
  if (slot.device->numa_node < 0) return;
  add(facts, "device.numa", std::to_string(slot.device->numa_node));
  add(facts, "device.cpus",
      machine.text(fmt::format("sys/devices/system/node/node{}/cpulist", slot.device->numa_node)));
}

void add_selection(const Selection& selection, std::vector<Fact>& facts) {
  std::vector<std::string> names;
  for (const Slot& slot : selection.slots) names.push_back(slot.name);
  add(facts, "runtime", selection.runtime);
  if (selection.is_count_known) facts.push_back({"visible", printable_line(join(names, " "), 800)});
  add(facts, "assumed", selection.assumption);
  add(facts, "unknown", selection.unknown);
  for (const Fault& fault : selection.faults) add(facts, "fault." + fault.kind, fault.text);
}

double rate_of(const Device& nic) {
  double rate = 0;
  for (const NetPort& port : nic.ports) rate = std::max(rate, port.rate);
  return rate;
}

bool share_a_switch(const Device& a, const Device& b) {
  for (std::size_t i = 1; i < a.links.size(); ++i)
    for (std::size_t k = 1; k < b.links.size(); ++k)
      if (a.links[i].at == b.links[k].at) return true;
  return false;
}

std::string names_of_fastest(const Gpus& nics) {
  double fastest = 0;
  for (const Device* nic : nics) fastest = std::max(fastest, rate_of(*nic));
  std::vector<std::string> names;
  for (const Device* nic : nics)
    if (rate_of(*nic) == fastest) names.push_back(printable_line(label_of(*nic).substr(4), 60));
  return human_list(names, 4);
}

}  // namespace

Choice choose(const Selection& selection, const Variables& variables, int local_rank, const Habit& habit) {
  const auto message = variables.find("LOCAL_RANK");
  if (habit.choice == "first") return {"first", "0", 0};
  const bool is_only_one = selection.is_count_known && selection.slots.size() == 1;
  if (habit.choice == "auto" && message == variables.end() && is_only_one) return {"only one", "0", 0};
  Choice choice{"local rank", std::to_string(local_rank), local_rank};
  if (message != variables.end()) {
    const int index = parse_number_from(message->second, 0).value_or(-1);
    choice = {"LOCAL_RANK", printable_line(message->second, 40), index};
  }
  if (habit.goes_round && choice.index >= 0 && selection.is_count_known && !selection.slots.empty())
    choice.index %= static_cast<int>(selection.slots.size());
  return choice;
}

std::string nearest_nics(const Inventory& inventory, const Device& gpu) {
  Gpus beside;
  Gpus in_domain;
  for (const Device& device : inventory.devices) {
    if (device.kind != DeviceKind::nic || device.is_lost) continue;
    if (share_a_switch(gpu, device)) beside.push_back(&device);
    if (gpu.numa_node >= 0 && device.numa_node == gpu.numa_node) in_domain.push_back(&device);
  }
  if (!beside.empty()) return names_of_fastest(beside) + ", same switch";
  if (!in_domain.empty()) return names_of_fastest(in_domain) + ", same NUMA domain";
  return {};
}

std::vector<Fact> observe(const Machine& machine, const Inventory& inventory, const Asker& asker, const Habit& habit) {
  const Sorted sorted = sort_out(inventory);
  const Gpus gpus = of_one_vendor(sorted.usable);
  const Selection selection = select_devices(gpus, asker.variables);
  std::vector<Fact> facts;
  add(facts, "bus", inventory.has_source("pci") ? "shown" : "hidden");
  for (const Device* gpu : gpus) add(facts, "gpu", line_of(*gpu));
  add(facts, "closed", addresses(sorted.closed));
  add(facts, "unusable", addresses(sorted.broken));
  add(facts, "mask", asker.mask.list());
  for (const auto& [name, value] : asker.variables) facts.push_back({"env." + name, printable_line(value)});
  if (gpus.empty()) return facts;
  add_selection(selection, facts);
  const Choice choice = choose(selection, asker.variables, asker.local_rank, habit);
  facts.push_back({"chosen_by", choice.by});
  facts.push_back({"index", choice.index < 0 ? choice.value : std::to_string(choice.index)});
  const auto index = static_cast<std::size_t>(choice.index);
  if (choice.index >= 0 && index < selection.slots.size())
    add_device(machine, inventory, selection.slots[index], facts);
  else if (choice.index >= 0 && !selection.is_count_known)
    add_device(machine, inventory, {fmt::format("tile:{}", index), nullptr}, facts);
  return facts;
}

std::vector<Fact> observe_here(int local_rank) {
  const std::string root = root_of("/");
  const auto inventory = read_inventory(root);
  if (!inventory) return {};
  Variables variables;
  for (const std::string_view name : selection_variables())
    if (const char* value = std::getenv(std::string(name).c_str())) variables.emplace(name, value);
  auto facts = observe(Machine(root), *inventory, {local_rank, CpuMask(), std::move(variables)}, {"auto", false});
  for (const Device& device : inventory->devices)
    if (device.kind == DeviceKind::gpu) facts.push_back({"vendor", std::string(vendor_of(device))});
  return facts;
}

std::string hiding_setting(const std::vector<Fact>& facts) {
  const auto found =
      std::find_if(facts.begin(), facts.end(), [](const Fact& fact) { return fact.key == "fault.hides"; });
  return found == facts.end() ? std::string() : found->value.substr(0, found->value.find('='));
}

}  // namespace muster::gpu_mapping
