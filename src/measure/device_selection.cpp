#include "measure/device_selection.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"
#include "measure/device_lists.hpp"
#include "model/gpu_vendor.hpp"

namespace muster::gpu_mapping {

namespace {

/// Of launchers and of Slurm.
constexpr std::string_view granting_variables[] = {"LOCAL_RANK",          "SLURM_LOCALID",      "SLURM_JOB_ID",
                                                   "SLURM_NNODES",        "SLURM_STEP_GPUS",    "SLURM_JOB_GPUS",
                                                   "SLURM_GPUS",          "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE",
                                                   "SLURM_GPUS_PER_TASK", "SLURM_GPU_BIND"};

const std::string* value_of(const Variables& variables, std::string_view name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : &found->second;
}

std::string text_of(const Variables& variables, std::string_view name) {
  const std::string* value = value_of(variables, name);
  return value == nullptr ? std::string() : *value;
}

std::vector<Slot> slots_of(const std::vector<const Device*>& gpus) {
  std::vector<Slot> slots;
  for (const Device* gpu : gpus) slots.push_back({to_string(gpu->address), gpu});
  return slots;
}

std::vector<Slot> nameless(std::string_view prefix, std::size_t count) {
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < count; ++i) slots.push_back({fmt::format("{}:{}", prefix, i), nullptr});
  return slots;
}

bool are_alike(const std::vector<const Device*>& gpus) {
  return std::all_of(gpus.begin(), gpus.end(), [&](const Device* gpu) { return gpu->device_id == gpus[0]->device_id; });
}

bool lacks_a_device(const std::vector<Slot>& slots) {
  return std::any_of(slots.begin(), slots.end(), [](const Slot& slot) { return slot.device == nullptr; });
}

/// A UUID is right whatever the order; the device of an ordinal is unknown where `by_order` has no devices.
std::vector<Slot> cuda_list_by(const std::vector<const Device*>& gpus, const std::vector<Slot>& by_order,
                               const std::string& value, std::vector<Fault>& faults) {
  const bool has_uuid = value.find("GPU-") != std::string::npos;
  return cuda_list({"CUDA_VISIBLE_DEVICES", value, has_uuid ? slots_of(gpus) : by_order}, faults);
}

Selection select_cuda(const std::vector<const Device*>& gpus, const Variables& variables) {
  Selection selection;
  selection.runtime = "CUDA";
  const bool is_bus_order = text_of(variables, "CUDA_DEVICE_ORDER") == "PCI_BUS_ID";
  const bool is_known = is_bus_order || are_alike(gpus);
  const std::vector<Slot> all = is_known ? slots_of(gpus) : nameless("cuda", gpus.size());
  const std::string* list = value_of(variables, "CUDA_VISIBLE_DEVICES");
  selection.slots = list == nullptr ? all : cuda_list_by(gpus, all, *list, selection.faults);
  if (!is_bus_order && is_known && gpus.size() > 1)
    selection.assumption =
        "CUDA_DEVICE_ORDER is not PCI_BUS_ID, so CUDA counts the fastest first; the GPUs are alike, and their order is "
        "taken to be that of their PCI addresses";
  if (!lacks_a_device(selection.slots)) return selection;
  selection.unknown =
      is_known
          ? "a MIG instance, or a GPU whose UUID the driver does not report, was named: no file of the kernel shows "
            "which GPU that is"
          : "the GPUs differ in model and CUDA_DEVICE_ORDER is not PCI_BUS_ID: CUDA counts the fastest first";
  return selection;
}

/// In the order in which KFD lists them, which is how the runtime counts.
std::vector<const Device*> in_compute_order(std::vector<const Device*> gpus) {
  std::stable_sort(gpus.begin(), gpus.end(),
                   [](const Device* a, const Device* b) { return a->compute_order < b->compute_order; });
  return gpus;
}

/// Partitions as ROCR counts them: KFD lists those of a GPU one after the other. Empty: it does not.
std::vector<Slot> partition_slots(const std::vector<const Device*>& gpus) {
  std::vector<Slot> slots;
  for (const Device* gpu : in_compute_order(gpus)) {
    if (gpu->compute_order != static_cast<int>(slots.size()) + 1) return {};
    for (int part = 0; part < gpu->partitions; ++part)
      slots.push_back({fmt::format("{}/{}", to_string(gpu->address), part), gpu});
  }
  return slots;
}

bool is_identity(const std::vector<Slot>& before, const std::vector<Slot>& after) {
  return std::equal(before.begin(), before.end(), after.begin(), after.end(),
                    [](const Slot& a, const Slot& b) { return a.name == b.name; });
}

std::string reported(const std::vector<Slot>& slots) {
  std::vector<std::string> names;
  for (const Slot& slot : slots) names.push_back(slot.name);
  return names.empty() ? "none is left" : human_list(names) + (names.size() == 1 ? " is left" : " are left");
}

/// HIP takes the first of its two variables that is not empty.
void filter_by_hip(const Variables& variables, Selection& selection) {
  const std::string hip = text_of(variables, "HIP_VISIBLE_DEVICES");
  const std::string cuda = text_of(variables, "CUDA_VISIBLE_DEVICES");
  const std::string_view name = hip.empty() ? "CUDA_VISIBLE_DEVICES" : "HIP_VISIBLE_DEVICES";
  const std::string& value = hip.empty() ? cuda : hip;
  if (!hip.empty() && !cuda.empty() && hip != cuda)
    selection.faults.push_back(
        {"differs", fmt::format("{} and {} differ: HIP follows the former", setting("HIP_VISIBLE_DEVICES", hip),
                                setting("CUDA_VISIBLE_DEVICES", cuda))});
  if (value.empty()) return;
  const std::string* rocr = value_of(variables, "ROCR_VISIBLE_DEVICES");
  std::vector<Fault> faults;
  std::vector<Slot> left = hip_list({name, value, selection.slots}, faults);
  if (rocr == nullptr) {
    selection.faults.insert(selection.faults.end(), faults.begin(), faults.end());
  } else if (!selection.slots.empty() && !is_identity(selection.slots, left)) {
    selection.faults.push_back({"filters", fmt::format("{} counts within {} that {} leaves: {}", setting(name, value),
                                                       range_of(selection.slots.size()),
                                                       setting("ROCR_VISIBLE_DEVICES", *rocr), reported(left))});
  }
  selection.slots = std::move(left);
}

Selection select_hip(const std::vector<const Device*>& gpus, const Variables& variables) {
  Selection selection;
  selection.runtime = "HIP";
  const bool is_partitioned =
      std::any_of(gpus.begin(), gpus.end(), [](const Device* gpu) { return gpu->partitions > 1; });
  if (is_partitioned) selection.slots = partition_slots(gpus);
  if (is_partitioned && selection.slots.empty()) {
    std::size_t count = 0;
    for (const Device* gpu : gpus) count += static_cast<std::size_t>(std::max(1, gpu->partitions));
    selection.slots = nameless("hip", count);
    selection.unknown = "GPUs are divided into partitions, whose order no file of the kernel shows";
  } else if (!is_partitioned) {
    selection.slots = slots_of(in_compute_order(gpus));
    if (std::any_of(gpus.begin(), gpus.end(), [](const Device* gpu) { return gpu->compute_order == 0; }))
      selection.assumption = "KFD does not list all GPUs: their order is taken to be that of their PCI addresses";
  }
  const std::vector<Slot> all = selection.slots;
  if (const std::string* list = value_of(variables, "ROCR_VISIBLE_DEVICES"))
    selection.slots = rocr_list({"ROCR_VISIBLE_DEVICES", *list, all}, selection.faults);
  filter_by_hip(variables, selection);
  return selection;
}

Selection select_level_zero(const std::vector<const Device*>& gpus, const Variables& variables) {
  Selection selection;
  selection.runtime = "Level Zero";
  const std::string mask = text_of(variables, "ZE_AFFINITY_MASK");
  if (text_of(variables, "ZE_FLAT_DEVICE_HIERARCHY") == "COMPOSITE") {
    selection.slots = slots_of(gpus);
    if (!mask.empty()) selection.slots = card_mask({"ZE_AFFINITY_MASK", mask, slots_of(gpus)}, selection.faults);
    if (gpus.size() > 1 && text_of(variables, "ZE_ENABLE_PCI_ID_DEVICE_ORDER") != "1")
      selection.assumption = "the driver's order is taken to be that of PCI addresses";
    return selection;
  }
  selection.unknown =
      "ZE_FLAT_DEVICE_HIERARCHY is not COMPOSITE: ordinals count tiles, and no file of the kernel shows how many a "
      "card "
      "has";
  selection.is_count_known = !mask.empty();
  for (const std::string& token : split(mask, ',')) selection.slots.push_back({"tile:" + printable_line(token, 20)});
  return selection;
}

/// Of a vendor whose runtime is unknown here.
Selection select_nothing(const std::vector<const Device*>& gpus) {
  Selection selection;
  selection.slots = nameless("gpu", gpus.size());
  selection.unknown = "how the runtime of these GPUs selects and orders them is not known";
  return selection;
}

}  // namespace

std::span<const std::string_view> selection_variables() {
  static const std::vector<std::string_view> all = [] {
    std::vector<std::string_view> names;
    for (const GpuVendor* vendor : gpu_vendors())
      names.insert(names.end(), vendor->selection_variables.begin(), vendor->selection_variables.end());
    names.insert(names.end(), std::begin(granting_variables), std::end(granting_variables));
    return names;
  }();
  return all;
}

Selection select_devices(const std::vector<const Device*>& gpus, const Variables& variables) {
  if (gpus.empty()) return {};
  switch (terms_of_vendor(vendor_of(*gpus[0])).selection) {
    case SelectionRules::cuda:
      return select_cuda(gpus, variables);
    case SelectionRules::hip:
      return select_hip(gpus, variables);
    case SelectionRules::level_zero:
      return select_level_zero(gpus, variables);
    case SelectionRules::none:
      break;
  }
  return select_nothing(gpus);
}

}  // namespace muster::gpu_mapping
