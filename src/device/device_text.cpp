// A device as one line, `0000:c1:00.0; vendor 10de; driver NAME; ...`, and back.
#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/number.hpp"
#include "base/text.hpp"
#include "device/inventory.hpp"

namespace muster {

namespace {

constexpr std::array accesses = {FileAccess::open, FileAccess::missing, FileAccess::denied, FileAccess::root_only,
                                 FileAccess::withheld};

constexpr std::array kinds = {DeviceKind::gpu, DeviceKind::nic, DeviceKind::part};

constexpr std::array states = {LibraryState::absent, LibraryState::broken, LibraryState::working};

template <class AnyDevice, class Visitor>
void visit_fields(AnyDevice& device, Visitor&& visit) {
  visit("part", device.part);
  visit("parent", device.parent);
  visit("vendor", device.vendor_id);
  visit("device", device.device_id);
  visit("class", device.class_code);
  visit("driver", device.driver);
  visit("name", device.name);
  visit("uuid", device.uuid);
  visit("firmware", device.firmware);
  visit("numa", device.numa_node);
  visit("order", device.compute_order);
  visit("partitions", device.partitions);
  visit("uncorrected", device.uncorrected);
  visit("lost", device.is_lost);
  visit("excluded", device.is_excluded);
}

/// On one line, without the mark that separates fields.
std::string clean(std::string_view text) {
  std::string line = printable_line(trim(text));
  std::replace(line.begin(), line.end(), ';', ',');
  return line;
}

/// As clean, as one word.
std::string word(std::string_view text) {
  std::string line = clean(text);
  std::replace(line.begin(), line.end(), ' ', '_');
  return line.empty() ? "-" : line;
}

std::string unword(std::string_view text) {
  return text == "-" ? std::string() : std::string(text);
}

/// Empty: as in a device of which nothing is known.
std::string in_text(const std::string& value, std::string_view) {
  return clean(value);
}
std::string in_text(int value, std::string_view key) {
  return value == (key == "numa" || key == "part" ? -1 : 0) ? "" : std::to_string(value);
}
std::string in_text(bool value, std::string_view) {
  return value ? "yes" : "";
}

bool read_value(std::string_view text, std::string& value) {
  value = text;
  return true;
}
bool read_value(std::string_view text, int& value) {
  return read_number(text, value);
}
bool read_value(std::string_view text, bool& value) {
  value = text == "yes";
  return value;
}

std::string line_of(const DeviceFile& file) {
  return fmt::format("{} {}", to_string(file.access), clean(file.path));
}

bool read_file_line(std::string_view text, std::vector<DeviceFile>& files) {
  const auto space = text.find(' ');
  for (const FileAccess access : accesses) {
    if (space == text.npos || text.substr(0, space) != to_string(access)) continue;
    files.push_back({std::string(text.substr(space + 1)), access});
    return true;
  }
  return false;
}

bool read_link(std::string_view text, std::vector<PciLink>& links) {
  const auto words = split(text, ' ');
  const bool is_one_ended = words.size() == 6 && words[5] == "one-ended";
  const auto at = words.size() == 5 || is_one_ended ? parse_pci_address(words[0]) : std::nullopt;
  if (!at) return false;
  PciLink link;
  link.is_one_ended = is_one_ended;
  link.at = *at;
  if (!read_number(words[1], link.width) || !read_number(words[2], link.width_able)) return false;
  if (!read_number(words[3], link.speed) || !read_number(words[4], link.speed_able)) return false;
  links.push_back(link);
  return true;
}

bool read_port(std::string_view text, std::vector<NetPort>& ports) {
  const auto words = split(text, ' ');
  NetPort port;
  if (words.size() < 5 || words.size() > 6 || !read_number(words[4], port.rate)) return false;
  if (words.size() == 6 && !read_number(words[5], port.lanes)) return false;
  port.name = unword(words[0]);
  port.layer = unword(words[1]);
  port.state = unword(words[2]);
  port.phys_state = unword(words[3]);
  ports.push_back(std::move(port));
  return true;
}

bool read_peer(std::string_view text, std::vector<PeerLink>& peers) {
  const auto words = split(text, ' ');
  const auto to = words.size() == 5 || words.size() == 6 ? parse_pci_address(words[0]) : std::nullopt;
  if (!to) return false;
  PeerLink peer;
  peer.to = *to;
  peer.kind = unword(words[1]);
  if (!read_number(words[2], peer.up) || !read_number(words[3], peer.down)) return false;
  if (!read_number(words[4], peer.rate)) return false;
  if (words.size() == 6 && !read_number(words[5], peer.weight)) return false;
  peers.push_back(std::move(peer));
  return true;
}

bool read_result_line(std::string_view text, std::map<std::string, std::string>& values) {
  const auto space = text.find(' ');
  if (space == text.npos) return false;
  values[std::string(text.substr(0, space))] = text.substr(space + 1);
  return true;
}

std::string line_of(const Device& device) {
  std::string line = to_string(device.address);
  visit_fields(device, [&](std::string_view key, const auto& value) {
    const std::string text = in_text(value, key);
    if (!text.empty()) line += fmt::format("; {} {}", key, text);
  });
  for (const PciLink& link : device.links)
    line += fmt::format("; link {} {} {} {} {}{}", to_string(link.at), link.width, link.width_able, link.speed,
                        link.speed_able, link.is_one_ended ? " one-ended" : "");
  for (const DeviceFile& file : device.files) line += "; file " + line_of(file);
  for (const NetPort& port : device.ports) {
    line += fmt::format("; port {} {} {} {} {}", word(port.name), word(port.layer), word(port.state),
                        word(port.phys_state), port.rate);
    if (port.lanes > 0) line += fmt::format(" {}", port.lanes);
  }
  for (const PeerLink& peer : device.peers) {
    line += fmt::format("; peer {} {} {} {} {}", to_string(peer.to), word(peer.kind), peer.up, peer.down, peer.rate);
    if (peer.weight != 0) line += fmt::format(" {}", peer.weight);
  }
  for (const auto& [key, value] : device.values)
    if (!trim(value).empty()) line += fmt::format("; {} {} {}", "told", word(key), clean(value));
  for (const std::string& source : device.sources) line += "; seen " + word(source);
  return line;
}

bool read_field(std::string_view field, Device& device) {
  const auto space = field.find(' ');
  if (space == field.npos) return false;
  const std::string_view key = field.substr(0, space);
  const std::string_view text = field.substr(space + 1);
  if (key == "link") return read_link(text, device.links);
  if (key == "file") return read_file_line(text, device.files);
  if (key == "port") return read_port(text, device.ports);
  if (key == "peer") return read_peer(text, device.peers);
  if (key == "told") return read_result_line(text, device.values);
  if (key == "seen") {
    device.sources.emplace_back(text);
    return true;
  }
  bool is_read = false;
  visit_fields(device, [&](std::string_view name, auto& value) {
    if (name == key) is_read = read_value(text, value);
  });
  return is_read;
}

/// A field that can't be read costs itself alone: it is named, and the device consists of the others.
std::optional<Device> read_device(std::string_view line, DeviceKind kind, std::vector<std::string>& unreadable) {
  const auto fields = split(line, ';');
  const auto address = fields.empty() ? std::nullopt : parse_pci_address(fields[0]);
  if (!address) return std::nullopt;
  Device device;
  device.kind = kind;
  device.address = *address;
  for (std::size_t i = 1; i < fields.size(); ++i)
    if (!read_field(trim(fields[i]), device)) unreadable.emplace_back(trim(fields[i]));
  return kind == DeviceKind::part && device.part < 0 ? std::nullopt : std::optional(std::move(device));
}

/// `broken libcuda.so.1; file /usr/lib/libcuda.so.1; code 803; error ...`
std::string line_of(const LibraryReport& library) {
  std::string line = fmt::format("{} {}", to_string(library.state), clean(library.name));
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) line += fmt::format("; {} {}", key, clean(value));
  };
  add("file", library.file);
  add("version", library.version);
  add("code", library.code == 0 ? "" : std::to_string(library.code));
  add("error", library.error);
  for (const std::string& symbol : library.missing) add("missing", symbol);
  return line;
}

bool read_library_field(std::string_view field, LibraryReport& library) {
  const auto space = field.find(' ');
  if (space == field.npos) return false;
  const std::string_view key = field.substr(0, space);
  const std::string text(field.substr(space + 1));
  if (key == "file")
    library.file = text;
  else if (key == "version")
    library.version = text;
  else if (key == "code")
    return read_number(text, library.code);
  else if (key == "error")
    library.error = text;
  else if (key == "missing")
    library.missing.push_back(text);
  else
    return false;
  return true;
}

bool read_library(std::string_view line, std::vector<LibraryReport>& libraries) {
  const auto fields = split(line, ';');
  const auto space = fields.empty() ? std::string_view::npos : fields[0].find(' ');
  if (space == std::string_view::npos) return false;
  LibraryReport library;
  const auto state = std::find_if(states.begin(), states.end(),
                                  [&](LibraryState one) { return fields[0].substr(0, space) == to_string(one); });
  if (state == states.end()) return false;
  library.state = *state;
  library.name = fields[0].substr(space + 1);
  for (std::size_t i = 1; i < fields.size(); ++i)
    if (!read_library_field(trim(fields[i]), library)) return false;
  libraries.push_back(std::move(library));
  return true;
}

bool read_fact(const Fact& fact, Inventory& inventory, std::vector<std::string>& faults) {
  for (const DeviceKind kind : kinds) {
    if (fact.key != to_string(kind)) continue;
    std::vector<std::string> unreadable;
    auto device = read_device(fact.value, kind, unreadable);
    if (!device) return false;
    for (const std::string& field : unreadable)
      faults.push_back(fmt::format("{} {}: {}", fact.key, to_string(device->address), printable_line(field, 80)));
    inventory.devices.push_back(std::move(*device));
    return true;
  }
  if (fact.key == "file") return read_file_line(fact.value, inventory.files);
  if (fact.key == "library") return read_library(fact.value, inventory.libraries);
  if (fact.key == "source") inventory.add_source(fact.value);
  if (fact.key.rfind("version.", 0) == 0) inventory.versions[fact.key.substr(8)] = fact.value;
  return true;
}

}  // namespace

std::vector<Fact> to_facts(const Inventory& inventory) {
  std::vector<Fact> facts;
  for (const std::string& source : inventory.sources) facts.push_back({"source", word(source)});
  for (const auto& [name, version] : inventory.versions) facts.push_back({"version." + name, clean(version)});
  for (const LibraryReport& library : inventory.libraries) facts.push_back({"library", line_of(library)});
  for (const DeviceFile& file : inventory.files) facts.push_back({"file", line_of(file)});
  for (const Device& device : inventory.devices)
    facts.push_back({std::string(to_string(device.kind)), line_of(device)});
  return facts;
}

Inventory parse_inventory(const std::vector<Fact>& facts, std::vector<std::string>& faults) {
  Inventory inventory;
  for (const Fact& fact : facts)
    if (!read_fact(fact, inventory, faults))
      faults.push_back(fmt::format("{} {}", fact.key, printable_line(fact.value, 80)));
  return inventory;
}

}  // namespace muster
