#include "config/machine_devices.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <regex>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "config/machine_driver_lines.hpp"
#include "config/machine_fields.hpp"
#include "model/described_vendor.hpp"
#include "model/gpu_vendor.hpp"

namespace muster {

namespace {

/// One of `known`, else a complaint.
std::string read_word(Fields& fields, std::string_view key, const std::vector<std::string>& known) {
  const auto* entry = fields.need(key, fmt::format("{} = \"{}\"", key, known.front()));
  const auto word = fields.text(key);
  if (!word) return {};
  if (is_in(*word, known)) return *word;
  fields.complain(entry->value.at,
                  fmt::format("unknown {} \"{}\"{}", key, printable_line(*word, 60), suggestion(*word, known)));
  return {};
}

std::string read_pattern(Fields& fields, std::string_view key, const std::regex& pattern, std::string_view wanted) {
  const auto* entry = fields.find(key);
  const auto text = fields.text(key);
  if (!text) return {};
  if (text->size() < 200 && std::regex_match(*text, pattern)) return *text;
  fields.refuse(*entry, entry->value, wanted);
  return {};
}

std::string read_address(Fields& fields) {
  static const std::regex pattern("[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\\.[0-7]");
  return read_pattern(fields, "address", pattern, "a PCI address as the kernel writes it, such as \"0000:c1:00.0\"");
}

std::string read_id(Fields& fields) {
  static const std::regex pattern("[0-9a-f]{4}:[0-9a-f]{4}");
  return read_pattern(fields, "id", pattern, "vendor and device of the PCI ID list, such as \"1002:7408\"");
}

/// A name that becomes one of a file.
std::string read_file_name(Fields& fields, std::string_view key) {
  static const std::regex pattern("[A-Za-z][A-Za-z0-9_.-]{0,30}");
  return read_pattern(fields, key, pattern, "a name, such as \"hsn0\"");
}

/// Domain, and the CPUs that are near: by default those of the domain.
void read_place(Fields& fields, const MachineDescription& machine, int& domain, CpuMask& near) {
  const auto last = static_cast<double>(machine.domains.size()) - 1;
  domain = fields.integer("domain", {-1, std::max(last, 0.0)}).value_or(-1);
  if (domain >= 0 && static_cast<std::size_t>(domain) < machine.domains.size())
    near = machine.domains[static_cast<std::size_t>(domain)].cpus;
  if (auto cpus = read_cpus(fields, "cpus", machine)) near = std::move(*cpus);
}

const std::vector<Node>& items_of(Fields& fields, std::string_view key, std::string_view example) {
  static const std::vector<Node> none;
  const auto* entry = fields.need(key, example);
  if (entry == nullptr) return none;
  const auto& items = entry->value.items;
  const bool is_list = entry->value.kind == NodeKind::array && !items.empty() &&
                       std::all_of(items.begin(), items.end(), [](const Node& n) { return n.kind == NodeKind::table; });
  if (is_list) return items;
  fields.refuse(*entry, entry->value, fmt::format("an array of tables, written {}", example));
  return none;
}

bool is_taken(const MachineDescription& machine, const DescribedGpus& gpus, const std::string& address) {
  const auto same = [&](const auto& device) { return device.address == address; };
  return !address.empty() && (std::any_of(machine.nics.begin(), machine.nics.end(), same) ||
                              std::any_of(gpus.devices.begin(), gpus.devices.end(), same));
}

std::vector<std::string> files_of(const std::string& vendor, std::size_t index, int partitions) {
  const DescribedVendor* described = terms_of_vendor(vendor).described;
  return described == nullptr ? std::vector<std::string>() : described->files_of(index, partitions);
}

void read_partitions(Fields& fields, DescribedGpus& gpus) {
  gpus.partitions = fields.integer("partitions", {1, 8}).value_or(1);
  gpus.compute_partition = fields.text("compute_partition").value_or("");
  gpus.memory_partition = fields.text("memory_partition").value_or("");
  if (fields.find("partition_bits") != nullptr)
    gpus.is_partition_low = read_word(fields, "partition_bits", {"high", "low"}) == "low";
}

/// `5` or `[5, 6]`: numbers of GPUs.
std::vector<int> read_gpu_numbers(Fields& fields, std::string_view key, std::size_t count) {
  std::vector<int> numbers;
  const auto* entry = fields.find(key);
  if (entry == nullptr) return numbers;
  std::vector<Node> items = entry->value.items;
  if (entry->value.kind != NodeKind::array) items = {entry->value};
  for (const Node& item : items) {
    if (item.kind == NodeKind::integer && item.number >= 0 && item.number < static_cast<double>(count))
      numbers.push_back(static_cast<int>(item.integer));
    else
      fields.refuse(*entry, item,
                    count == 0 ? "left out: there is no GPU" : fmt::format("numbers of GPUs, from 0 to {}", count - 1));
  }
  return numbers;
}

/// `[[0, 1, 4], [0, 2, 1]]`: two GPUs by their numbers, and how many links there are between them.
std::vector<DescribedLinks> read_links(Fields& fields, const DescribedGpus& gpus) {
  std::vector<DescribedLinks> links;
  const auto* entry = fields.find("links");
  if (entry == nullptr) return links;
  constexpr std::string_view wanted =
      "pairs of GPUs with a number of links from 1 to 64, written [[0, 1, 4], [0, 2, 1]]";
  if (entry->value.kind != NodeKind::array) fields.refuse(*entry, entry->value, wanted);
  const auto last = static_cast<double>(gpus.devices.size()) - 1;
  for (const Node& item : entry->value.items) {
    const auto& three = item.items;
    const auto is_within = [&](std::size_t i, double least, double most) {
      return three[i].kind == NodeKind::integer && three[i].number >= least && three[i].number <= most;
    };
    if (item.kind == NodeKind::array && three.size() == 3 && is_within(0, 0, last) && is_within(1, 0, last) &&
        three[0].integer != three[1].integer && is_within(2, 1, 64))
      links.push_back({gpus.devices[static_cast<std::size_t>(three[0].integer)].address,
                       gpus.devices[static_cast<std::size_t>(three[1].integer)].address,
                       static_cast<int>(three[2].integer)});
    else
      fields.refuse(*entry, item, wanted);
  }
  return links;
}

/// `"hsn2"` or `["hsn2"]`: names of NICs.
std::vector<std::string> read_nic_names(Fields& fields, std::string_view key, const MachineDescription& machine) {
  std::vector<std::string> names;
  const auto* entry = fields.find(key);
  if (entry == nullptr) return names;
  std::vector<std::string> known;
  for (const DescribedNic& nic : machine.nics)
    for (const std::string& name : {nic.name, nic.device})
      if (!name.empty()) known.push_back(name);
  std::vector<Node> items = entry->value.items;
  if (entry->value.kind != NodeKind::array) items = {entry->value};
  for (const Node& item : items) {
    if (item.kind == NodeKind::text && is_in(item.text, known))
      names.push_back(item.text);
    else
      fields.complain(item.at,
                      fmt::format("unknown NIC \"{}\"{}", printable_line(item.text, 60), suggestion(item.text, known)));
  }
  return names;
}

}  // namespace

DescribedGpus read_gpus(const Entry& entry, const MachineDescription& machine, DocumentErrors& errors) {
  DescribedGpus gpus;
  Fields fields(entry.value, entry.at, "[gpus]", errors);
  gpus.vendor = read_word(fields, "vendor", described_vendors());
  (void)fields.need("model", "model = \"AMD Instinct MI250X\"");
  gpus.model = fields.text("model").value_or("");
  (void)fields.need("id", "id = \"1002:7408\"");
  gpus.id = read_id(fields);
  gpus.driver_version = fields.text("driver_version").value_or("");
  gpus.firmware = fields.text("firmware").value_or("");
  gpus.memory = read_bytes(fields, "memory").value_or(0);
  const int lanes = fields.integer("lanes", {1, 32}).value_or(16);
  read_partitions(fields, gpus);
  for (const Node& item : items_of(fields, "devices", "devices = [{ address = \"0000:c1:00.0\", domain = 3 }]")) {
    Fields one(item, item.at, "\"devices\" of [gpus]", errors);
    DescribedGpu gpu;
    const auto* place = one.need("address", "address = \"0000:c1:00.0\"");
    gpu.address = read_address(one);
    if (is_taken(machine, gpus, gpu.address))
      errors.add(place->value.at, fmt::format("another device is at {}, too", gpu.address));
    read_place(one, machine, gpu.domain, gpu.near);
    gpu.files = files_of(gpus.vendor, gpus.devices.size(), gpus.partitions);
    gpu.lanes = lanes;
    one.finish();
    gpus.devices.push_back(std::move(gpu));
  }
  gpus.links = read_links(fields, gpus);
  gpus.driver = read_driver_lines(fields, gpus);
  fields.finish();
  return gpus;
}

void read_nics(const Node& table, MachineDescription& machine, DocumentErrors& errors) {
  Fields fields(table, table.at, "[[nics]]", errors);
  DescribedNic common;
  common.kind = read_word(fields, "kind", {"slingshot", "infiniband", "ethernet"});
  common.id = read_id(fields);
  common.driver_version = fields.text("driver_version").value_or("");
  common.rate = fields.number("rate").value_or(0);
  for (const Node& item : items_of(fields, "devices", "devices = [{ name = \"hsn0\", address = \"0000:c5:00.0\" }]")) {
    Fields one(item, item.at, "\"devices\" of [[nics]]", errors);
    DescribedNic nic = common;
    (void)one.need("name", "name = \"hsn0\"");
    nic.name = read_file_name(one, "name");
    nic.device = read_file_name(one, "device");
    nic.inet = one.text("inet").value_or("");
    const auto* place = one.find("address");
    nic.address = read_address(one);
    if (is_taken(machine, machine.gpus, nic.address))
      errors.add(place->value.at, fmt::format("another device is at {}, too", nic.address));
    if (!nic.address.empty() && common.id.empty())
      errors.add(table.at, "[[nics]] with an address has no \"id\"; write for example id = \"17db:0501\"");
    read_place(one, machine, nic.domain, nic.near);
    one.finish();
    machine.nics.push_back(std::move(nic));
  }
  fields.finish();
}

MachineFault read_fault(const Entry& entry, const MachineDescription& machine, DocumentErrors& errors) {
  MachineFault fault;
  fault.name = entry.key;
  if (!is_name(fault.name))
    errors.add(entry.at, fmt::format("the name \"{}\" {}", printable_line(fault.name, 60), name_rule));
  if (entry.value.kind != NodeKind::table) {
    errors.add(entry.value.at, fmt::format("a fault is a table, written [fault.{}]", printable_line(fault.name, 60)));
    return fault;
  }
  const std::string parent = fmt::format("[fault.{}]", printable_line(fault.name, 60));
  Fields fields(entry.value, entry.at, parent, errors);
  fault.summary = fields.text("summary").value_or("");
  const auto gpus = machine.gpus.devices.size();
  fault.gpu_missing = read_gpu_numbers(fields, "gpu_missing", gpus);
  fault.gpu_lost = read_gpu_numbers(fields, "gpu_lost", gpus);
  fault.gpu_without_file = read_gpu_numbers(fields, "gpu_without_file", gpus);
  fault.gpu_closed = read_gpu_numbers(fields, "gpu_closed", gpus);
  fault.gpu_narrow = read_gpu_numbers(fields, "gpu_narrow", gpus);
  fault.gpu_whole = read_gpu_numbers(fields, "gpu_whole", gpus);
  fault.nic_missing = read_nic_names(fields, "nic_missing", machine);
  fault.nic_down = read_nic_names(fields, "nic_down", machine);
  fault.nic_slow = read_nic_names(fields, "nic_slow", machine);
  fault.nics_swapped = read_nic_names(fields, "nics_swapped", machine);
  if (!fault.nics_swapped.empty() && fault.nics_swapped.size() != 2)
    errors.add(entry.at, "nics_swapped of " + parent + " names two NICs");
  fault.library_missing = fields.texts("library_missing");
  fault.masks_shifted = fields.integer("masks_shifted", {0, 4096}).value_or(0);
  fault.masks_moved = fields.integer("masks_moved", {0, 4096}).value_or(0);
  fault.masks = read_masks(fields, "masks", machine);
  fault.cpu_quota = fields.number("cpu_quota").value_or(0);
  fault.kernel = fields.text("kernel").value_or("");
  fault.driver_version = fields.text("driver_version").value_or("");
  fault.gpu_model = fields.text("gpu_model").value_or("");
  fault.driver = read_driver_lines(fields, machine.gpus);
  if (const auto* environment = fields.table("environment")) fault.environment = read_environment(*environment, errors);
  fault.unset = fields.texts("unset");
  if (const auto* limits = fields.table("limits"))
    fault.limits = read_limits(*limits, "\"limits\" of " + parent, errors);
  fields.finish();
  MachineFault harmless;
  harmless.name = fault.name;
  harmless.summary = fault.summary;
  if (errors.empty() && fault == harmless)
    errors.add(entry.at, parent + " changes nothing; write for example gpu_missing = [5]");
  return fault;
}

}  // namespace muster
