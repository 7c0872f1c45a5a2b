#include "system/layout.hpp"

#include <cstring>
#include <fmt/format.h>

#include "base/files.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "system/harmless_child.hpp"
#include "system/topology_handle.hpp"

namespace muster {

namespace {

constexpr std::string_view synthetic = "synthetic:";
constexpr std::string_view near_key = "near.";

/// Longer than hwloc takes for the largest machines.
constexpr double most_seconds = 10;
constexpr std::size_t most_bytes = 64u << 20;
/// Above the numbers of all kernels; HWLOC_UNKNOWN_INDEX is larger.
constexpr unsigned most_domains = 65536;

/// Where a topology comes from: a file was read, so that what was tried is what is used.
struct Source {
  std::string name;  ///< as read_layout() takes it
  std::string xml;   ///< empty: this machine, or a made-up one
};

/// Why hwloc does not take a text. That of a later hwloc is the usual reason.
std::string refusal_of(std::string_view xml) {
  constexpr std::string_view before = "<topology version=\"";
  const auto head = xml.substr(0, 4096);
  const auto at = head.find(before);
  if (at == head.npos) return "is not a topology that hwloc can read";
  const auto version = head.substr(at + before.size(), head.find('"', at + before.size()) - at - before.size());
  return fmt::format(
      "is a topology of form {}, which hwloc {}.{} can't read; write it anew with this hwloc's lstopo, or with "
      "lstopo --export-xml-flags v2 where it came from",
      printable_line(version, 16), hwloc_get_api_version() >> 16, hwloc_get_api_version() >> 8 & 0xff);
}

Result<TopologyHandle> load(const Source& source) {
  auto topology = new_topology();
  if (!topology) return topology;
  const hwloc_topology_t raw = topology->get();
  int chosen = 0;
  if (source.name.rfind(synthetic, 0) == 0)
    chosen = hwloc_topology_set_synthetic(raw, source.name.c_str() + synthetic.size());
  else if (!source.name.empty())
    chosen = hwloc_topology_set_xmlbuffer(raw, source.xml.c_str(), static_cast<int>(source.xml.size()) + 1);
  if (chosen != 0) return fail(ErrorKind::system, printable_line(source.name), "is not a topology that hwloc can read");
  (void)hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  // hwloc corrects machines whose firmware reports a device's place incompletely (the GPUs of EX235A blades).
  (void)hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(raw) == 0) return topology;
  if (source.name.empty()) return fail(ErrorKind::system, "hwloc", "can't read this machine's topology");
  return fail(ErrorKind::system, printable_line(source.name), refusal_of(source.xml));
}

CpuMask to_mask(hwloc_const_cpuset_t set) {
  CpuMask mask;
  // A set without an end would be a machine without one.
  for (int cpu = set == nullptr || hwloc_bitmap_weight(set) < 0 ? -1 : hwloc_bitmap_first(set); cpu >= 0;
       cpu = hwloc_bitmap_next(set, cpu))
    mask.add(cpu);
  return mask;
}

std::vector<CpuMask> masks_of(hwloc_topology_t machine, hwloc_obj_type_t type) {
  std::vector<CpuMask> masks;
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_obj_by_type(machine, type, object)) != nullptr;)
    if (CpuMask mask = to_mask(object->cpuset); !mask.empty()) masks.push_back(std::move(mask));
  return masks;
}

std::string address_of(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
}

void add_devices(hwloc_topology_t machine, Layout& layout) {
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_pcidev(machine, object)) != nullptr;) {
    const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(machine, object);
    CpuMask mask = place == nullptr ? CpuMask() : to_mask(place->cpuset);
    if (mask.empty()) continue;
    layout.nearby[address_of(object->attr->pcidev)] = std::move(mask);
  }
}

TopologyDevice device_at(hwloc_obj_t object) {
  const auto& pci = object->attr->pcidev;
  TopologyDevice device{address_of(pci),
                        fmt::format("{:04x}", pci.class_id),
                        fmt::format("{:04x}", pci.vendor_id),
                        fmt::format("{:04x}", pci.device_id),
                        {},
                        {},
                        static_cast<double>(pci.linkspeed) * 8};
  for (hwloc_obj_t child = object->io_first_child; child != nullptr; child = child->next_sibling) {
    if (child->type != HWLOC_OBJ_OS_DEVICE || child->name == nullptr) continue;
    // A file of a later hwloc has sets of kinds here, which this enumeration does not have.
    int kind = 0;
    static_assert(sizeof(kind) == sizeof(child->attr->osdev.type));
    std::memcpy(&kind, &child->attr->osdev.type, sizeof(kind));
    if (kind == HWLOC_OBJ_OSDEV_NETWORK || (kind == HWLOC_OBJ_OSDEV_OPENFABRICS && device.name.empty()))
      device.name = child->name;
    const char* const model = hwloc_obj_get_info_by_name(child, "GPUModel");
    if (model != nullptr) device.model = model;
  }
  return device;
}

std::string lists_of(const std::vector<CpuMask>& masks) {
  std::vector<std::string> lists;
  for (const CpuMask& mask : masks) lists.push_back(mask.list());
  return join(lists, ";");
}

bool parse_lists(std::string_view text, std::vector<CpuMask>& masks) {
  for (const std::string& list : split(text, ';')) {
    auto mask = CpuMask::parse_list(list);
    if (!mask || mask->empty()) return false;
    masks.push_back(std::move(*mask));
  }
  return true;
}

bool parse_domains(std::string_view text, std::map<int, CpuMask>& domains) {
  for (const std::string& entry : split(text, ';')) {
    const std::size_t colon = entry.find(':');
    if (colon == std::string::npos) return false;
    const auto number = parse_number_from(std::string_view(entry).substr(0, colon), 0);
    if (!number) return false;
    auto mask = CpuMask::parse_list(std::string_view(entry).substr(colon + 1));
    if (!mask) return false;
    domains[*number] = std::move(*mask);
  }
  return true;
}

}  // namespace

CpuMask Layout::cpus() const {
  CpuMask all;
  for (const CpuMask& core : cores) all = all | core;
  return all;
}

CpuMask Layout::whole_cores(const CpuMask& mask) const {
  CpuMask whole = mask;
  for (const CpuMask& core : cores)
    if (core.intersects(mask)) whole = whole | core;
  return whole;
}

CpuMask Layout::domains_of(const CpuMask& mask) const {
  CpuMask numbers;
  for (const auto& [number, cpus] : domains)
    if (cpus.intersects(mask)) numbers.add(number);
  return numbers;
}

namespace {

Layout layout_of(hwloc_topology_t machine) {
  Layout layout;
  layout.cores = masks_of(machine, HWLOC_OBJ_CORE);
  // Some virtual machines show no cores: then every CPU is one.
  if (layout.cores.empty()) layout.cores = masks_of(machine, HWLOC_OBJ_PU);
  layout.caches = masks_of(machine, HWLOC_OBJ_L3CACHE);
  for (hwloc_obj_t node = nullptr; (node = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    CpuMask mask = to_mask(node->cpuset);
    // Memory of a GPU is a domain beside that of the CPUs it hangs on: only the first one is theirs.
    bool is_second = mask.empty();
    for (const auto& [number, cpus] : layout.domains) is_second |= cpus == mask;
    // A damaged file may have a domain without a number.
    if (!is_second && node->os_index < most_domains) layout.domains[static_cast<int>(node->os_index)] = std::move(mask);
  }
  add_devices(machine, layout);
  return layout;
}

std::vector<TopologyDevice> devices_of(hwloc_topology_t machine) {
  std::vector<TopologyDevice> devices;
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_pcidev(machine, object)) != nullptr;)
    devices.push_back(device_at(object));
  return devices;
}

CpuMask allowed_in(hwloc_topology_t machine) {
  return to_mask(hwloc_topology_get_allowed_cpuset(machine));
}

/// What `take` makes of the topology. hwloc crashes on some damaged files: those a child reads first.
template <class Taken>
Result<Taken> read(const std::string& name, Taken (*take)(hwloc_topology_t)) {
  Source source{name, {}};
  if (!name.empty() && name.rfind(synthetic, 0) != 0) {
    auto text = read_file(name, most_bytes);
    if (!text)
      return fail(ErrorKind::system, printable_line(name),
                  "is not a topology that hwloc can read: " + text.error().what);
    source.xml = std::move(*text);
    const auto tried = survives(
        [&] {
          if (const auto loaded = load(source)) (void)take(loaded->get());
        },
        most_seconds);
    if (!tried)
      return fail(ErrorKind::system, printable_line(name),
                  fmt::format("is damaged: reading it {}; write it anew with lstopo", tried.error().what));
  }
  auto loaded = load(source);
  if (!loaded) return tl::unexpected(loaded.error());
  return take(loaded->get());
}

}  // namespace

Result<Layout> read_layout(const std::string& source) {
  return read(source, layout_of);
}

Result<CpuMask> read_allowed_cpus(const std::string& source) {
  return read(source, allowed_in);
}

Result<std::vector<TopologyDevice>> read_topology_devices(const std::string& source) {
  return read(source, devices_of);
}

std::vector<Fact> to_facts(const Layout& layout, const std::vector<std::string>& devices) {
  std::vector<std::string> domains;
  for (const auto& [number, cpus] : layout.domains) domains.push_back(fmt::format("{}:{}", number, cpus.list()));
  std::vector<Fact> facts{{"layout.cores", lists_of(layout.cores)},
                          {"layout.caches", lists_of(layout.caches)},
                          {"layout.domains", join(domains, ";")}};
  for (const std::string& device : devices)
    if (const auto found = layout.nearby.find(device); found != layout.nearby.end())
      facts.push_back({std::string(near_key) + device, found->second.list()});
  return facts;
}

Layout parse_layout(const std::vector<Fact>& facts) {
  Layout layout;
  bool is_whole = true;
  for (const Fact& fact : facts) {
    if (fact.key == "layout.cores") is_whole &= parse_lists(fact.value, layout.cores);
    if (fact.key == "layout.caches") is_whole &= parse_lists(fact.value, layout.caches);
    if (fact.key == "layout.domains") is_whole &= parse_domains(fact.value, layout.domains);
    if (fact.key.rfind(near_key, 0) != 0) continue;
    const auto mask = CpuMask::parse_list(fact.value);
    is_whole &= mask.has_value();
    if (mask) layout.nearby[fact.key.substr(near_key.size())] = *mask;
  }
  return is_whole ? layout : Layout();
}

}  // namespace muster
