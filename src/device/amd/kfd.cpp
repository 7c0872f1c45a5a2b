// KFD, the computing half of amdgpu: /sys/class/kfd/kfd. Its GPUs, the links between them, and who uses them.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "device/amd/files.hpp"
#include "device/amd/numbers.hpp"
#include "device/parse.hpp"
#include "system/process_owner.hpp"

namespace muster {

namespace {

constexpr std::string_view topology = "sys/class/kfd/kfd/topology/nodes";
constexpr std::string_view processes = "sys/class/kfd/kfd/proc";
/// KFD's numbers for kinds of links.
constexpr std::uint64_t link_pcie = 2;
constexpr std::uint64_t link_xgmi = 11;

using Table = std::map<std::string, std::string, std::less<>>;

/// A processor, a GPU, or a share of a GPU that is cut in parts.
struct Node {
  std::string name;
  Table properties;
  std::optional<PciAddress> address;  ///< nullopt: a processor
};

/// By number, as the runtime counts them: 2 before 10.
std::vector<Node> read_nodes(const Machine& machine) {
  std::vector<std::string> names = machine.names(topology);
  std::stable_sort(names.begin(), names.end(),
                   [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  std::vector<Node> nodes;
  for (std::string& name : names) {
    Node node;
    node.properties = parse_table(machine.text(fmt::format("{}/{}/properties", topology, name)), ' ');
    node.address = kfd_address(node.properties);
    node.name = std::move(name);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

PciAddress first_function(PciAddress address) {
  address.function = 0;
  return address;
}

/// Partitions of one GPU share its slot and `unique_id`. By the kernel's version their number is in bits 28 to 31 of
/// `location_id`, where the address does not reach, or in the lowest three, where it looks like a function that no
/// device has. Functions that the bus has (virtual ones) stay what they are.
void fold_partitions(const Inventory& inventory, std::vector<Node>& nodes) {
  std::map<std::pair<PciAddress, std::string>, PciAddress> wholes;
  const auto slot_of = [](const Node& node) {
    return std::pair(first_function(*node.address), text_at(node.properties, "unique_id"));
  };
  const auto is_on_bus = [&](const PciAddress& address) {
    const Device* device = inventory.gpu_at(address);
    return device != nullptr && device->is_seen_by("pci");
  };
  for (const Node& node : nodes) {
    if (!node.address) continue;
    const auto [whole, is_first] = wholes.emplace(slot_of(node), *node.address);
    if (!is_first && (is_on_bus(*node.address) || !is_on_bus(whole->second)))
      whole->second = std::min(whole->second, *node.address);
  }
  for (Node& node : nodes) {
    if (!node.address || is_on_bus(*node.address)) continue;
    const auto [slot, unique] = slot_of(node);
    const bool is_reported = !unique.empty() && unique != "0";
    if (is_reported)
      node.address = wholes.at({slot, unique});
    else if (is_on_bus(slot))
      node.address = slot;
  }
}

std::string kind_of(std::uint64_t type) {
  return type == link_xgmi ? "xgmi" : type == link_pcie ? "pcie" : std::string();
}

/// KFD reports for a link the bandwidth of one lane bundle and of all together; a path over other GPUs has neither.
PeerLink link_of(const Table& properties, const PciAddress& to) {
  PeerLink link;
  link.to = to;
  link.kind = kind_of(number_at(properties, "type"));
  link.weight = static_cast<int>(std::min<std::uint64_t>(number_at(properties, "weight"), 1u << 20));
  const std::uint64_t least = number_at(properties, "min_bandwidth");
  const std::uint64_t most = number_at(properties, "max_bandwidth");
  link.rate = static_cast<double>(most) / 1000;
  if (link.kind == "xgmi") link.up = least == 0 ? 0 : static_cast<int>(std::min<std::uint64_t>(most / least, 64));
  return link;
}

/// The parts of two GPUs are linked several times by the same wires.
void add_peer(const PeerLink& link, Device& device) {
  const auto same = [&](const PeerLink& other) { return other.to == link.to && other.kind == link.kind; };
  const auto found = std::find_if(device.peers.begin(), device.peers.end(), same);
  if (found == device.peers.end())
    device.peers.push_back(link);
  else if (found->up < link.up)
    *found = link;
}

void add_links(const Machine& machine, const std::vector<Node>& nodes, const Node& node, Device& device) {
  for (const char* folder : {"io_links", "p2p_links"}) {
    const std::string path = fmt::format("{}/{}/{}", topology, node.name, folder);
    for (const std::string& name : machine.names(path)) {
      const auto properties = parse_table(machine.text(fmt::format("{}/{}/properties", path, name)), ' ');
      const std::string to = text_at(properties, "node_to");
      const auto other = std::find_if(nodes.begin(), nodes.end(), [&](const Node& one) { return one.name == to; });
      if (other == nodes.end() || kind_of(number_at(properties, "type")).empty()) continue;
      if (!other->address) {
        const std::uint64_t rate = number_at(properties, "max_bandwidth");
        if (folder == std::string_view("io_links") && rate > 0)
          device.values.emplace("host_link", fmt::format("{} {:g} GB/s", kind_of(number_at(properties, "type")),
                                                         static_cast<double>(rate) / 1000));
      } else if (*other->address != device.address) {
        add_peer(link_of(properties, *other->address), device);
      }
    }
  }
  std::sort(device.peers.begin(), device.peers.end(),
            [](const PeerLink& a, const PeerLink& b) { return std::pair(a.to, a.kind) < std::pair(b.to, b.kind); });
}

std::uint64_t memory_of(const Machine& machine, const Node& node) {
  std::uint64_t bytes = 0;
  const std::string path = fmt::format("{}/{}/mem_banks", topology, node.name);
  for (const std::string& name : machine.names(path))
    bytes += number_at(parse_table(machine.text(fmt::format("{}/{}/properties", path, name)), ' '), "size_in_bytes");
  return bytes;
}

void add_node(const Machine& machine, const Node& node, int order, Device& device) {
  if (device.vendor_id.empty()) device.vendor_id = "1002";
  if (device.compute_order == 0) device.compute_order = order;
  ++device.partitions;
  const std::string unique = text_at(node.properties, "unique_id");
  if (!unique.empty() && unique != "0" && device.uuid.empty()) device.uuid = unique;
  if (const auto hive = number_at(node.properties, "hive_id"); hive != 0)
    device.values["xgmi_hive"] = fmt::format("{:#x}", hive);
  if (const auto bytes = memory_of(machine, node); bytes > 0 && device.partitions == 1)
    device.values["memory_total"] = std::to_string(bytes >> 20);
  const std::string minor = text_at(node.properties, "drm_render_minor");
  if (minor.empty() || minor == "0" || device.is_lost) return;
  const std::string path = "/dev/dri/renderD" + minor;
  device.files.push_back({path, machine.access(path)});
}

/// The place of a node among all that compute, from 1 on, as the runtime counts them.
int order_of(const std::vector<Node>& nodes, const Node& node) {
  return 1 +
         static_cast<int>(std::count_if(nodes.data(), &node, [](const Node& one) { return one.address.has_value(); }));
}

/// The shares of GPUs that are cut in parts, as devices of their own.
void add_parts(const Machine& machine, const std::vector<Node>& nodes, Inventory& inventory) {
  std::map<PciAddress, int> counts;
  for (const Node& node : nodes) {
    const Device* whole = node.address ? inventory.gpu_at(*node.address) : nullptr;
    if (whole == nullptr || whole->partitions < 2) continue;
    Device part;
    part.parent = whole->uuid;
    part.vendor_id = whole->vendor_id;
    // Most drivers give all parts the number of their whole.
    if (const std::string unique = text_at(node.properties, "unique_id"); unique != whole->uuid) part.uuid = unique;
    if (const auto bytes = memory_of(machine, node); bytes > 0)
      part.values["memory_total"] = std::to_string(bytes >> 20);
    if (const auto minor = number_at(node.properties, "drm_render_minor"); minor != 0) {
      const std::string path = fmt::format("/dev/dri/renderD{}", minor);
      part.files.push_back({path, machine.access(path)});
    }
    part.compute_order = order_of(nodes, node);
    Device& seen = inventory.seen_part(*node.address, counts[*node.address]++, "kfd");
    seen.parent = part.parent;
    seen.vendor_id = part.vendor_id;
    seen.uuid = part.uuid;
    seen.values = part.values;
    seen.compute_order = part.compute_order;
    seen.files = part.files;
  }
}

/// Memory below this is what a runtime takes that waits, or a monitor.
constexpr std::uint64_t least_bytes = 16u << 20;

/// Ranks of this program are not strangers, but any user can give a program their name. A number that /proc does not
/// know is another container's.
void add_processes(const Machine& machine, const std::vector<Node>& nodes, Inventory& inventory) {
  for (const std::string& pid : machine.names(processes)) {
    const std::string name = machine.text(fmt::format("proc/{}/comm", pid));
    if (name.empty() ||
        (name.rfind("muster", 0) == 0 && is_status_of_this_user(machine.text(fmt::format("proc/{}/status", pid)))))
      continue;
    for (const Node& node : nodes) {
      if (!node.address) continue;
      const std::string id = machine.text(fmt::format("{}/{}/gpu_id", topology, node.name));
      const auto bytes = id.empty() ? 0 : to_number(machine.text(fmt::format("{}/{}/vram_{}", processes, pid, id)));
      if (bytes < least_bytes) continue;
      Device& device = inventory.seen(DeviceKind::gpu, *node.address, "kfd");
      device.values["process." + pid] = fmt::format("{} {}", bytes, name);
    }
  }
}

}  // namespace

void add_kfd(const Machine& machine, Inventory& inventory) {
  if (!machine.has(topology)) return;
  inventory.add_source("kfd");
  std::vector<Node> nodes = read_nodes(machine);
  fold_partitions(inventory, nodes);
  int order = 0;
  for (const Node& node : nodes) {
    if (!node.address) continue;
    Device& device = inventory.seen(DeviceKind::gpu, *node.address, "kfd");
    add_node(machine, node, ++order, device);
    add_links(machine, nodes, node, device);
  }
  add_parts(machine, nodes, inventory);
  add_processes(machine, nodes, inventory);
}

}  // namespace muster
