// A device as one line, `0000:c1:00.0; vendor 10de; driver nvidia; ...`, and back.
#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>

#include "base/text.hpp"
#include "device/inventory.hpp"

namespace muster {

namespace {

constexpr std::array accesses = {FileAccess::open, FileAccess::missing, FileAccess::denied, FileAccess::root_only,
                                 FileAccess::withheld};

template <class AnyDevice, class Visitor>
void visit_fields(AnyDevice& device, Visitor&& visit) {
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
  return value == (key == "numa" ? -1 : 0) ? "" : std::to_string(value);
}
std::string in_text(bool value, std::string_view) {
  return value ? "yes" : "";
}

template <class Number>
bool read_number(std::string_view text, Number& value) {
  const auto end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end;
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
  const auto at = words.size() == 5 ? parse_pci_address(words[0]) : std::nullopt;
  if (!at) return false;
  PciLink link;
  link.at = *at;
  if (!read_number(words[1], link.width) || !read_number(words[2], link.width_able)) return false;
  if (!read_number(words[3], link.speed) || !read_number(words[4], link.speed_able)) return false;
  links.push_back(link);
  return true;
}

bool read_port(std::string_view text, std::vector<NetPort>& ports) {
  const auto words = split(text, ' ');
  NetPort port;
  if (words.size() != 5 || !read_number(words[4], port.rate)) return false;
  port.name = unword(words[0]);
  port.layer = unword(words[1]);
  port.state = unword(words[2]);
  port.phys_state = unword(words[3]);
  ports.push_back(std::move(port));
  return true;
}

std::string line_of(const Device& device) {
  std::string line = to_string(device.address);
  visit_fields(device, [&](std::string_view key, const auto& value) {
    const std::string text = in_text(value, key);
    if (!text.empty()) line += fmt::format("; {} {}", key, text);
  });
  for (const PciLink& link : device.links)
    line += fmt::format("; link {} {} {} {} {}", to_string(link.at), link.width, link.width_able, link.speed,
                        link.speed_able);
  for (const DeviceFile& file : device.files) line += "; file " + line_of(file);
  for (const NetPort& port : device.ports)
    line += fmt::format("; port {} {} {} {} {}", word(port.name), word(port.layer), word(port.state),
                        word(port.phys_state), port.rate);
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

std::optional<Device> read_device(std::string_view line, DeviceKind kind) {
  const auto fields = split(line, ';');
  const auto address = fields.empty() ? std::nullopt : parse_pci_address(fields[0]);
  if (!address) return std::nullopt;
  Device device;
  device.kind = kind;
  device.address = *address;
  for (std::size_t i = 1; i < fields.size(); ++i)
    if (!read_field(trim(fields[i]), device)) return std::nullopt;
  return device;
}

bool read_fact(const Fact& fact, Inventory& inventory) {
  const bool is_gpu = fact.key == "gpu";
  if (is_gpu || fact.key == "nic") {
    auto device = read_device(fact.value, is_gpu ? DeviceKind::gpu : DeviceKind::nic);
    if (device) inventory.devices.push_back(std::move(*device));
    return device.has_value();
  }
  if (fact.key == "file") return read_file_line(fact.value, inventory.files);
  if (fact.key == "source") inventory.add_source(fact.value);
  if (fact.key.rfind("version.", 0) == 0) inventory.versions[fact.key.substr(8)] = fact.value;
  return true;
}

}  // namespace

std::vector<Fact> to_facts(const Inventory& inventory) {
  std::vector<Fact> facts;
  for (const std::string& source : inventory.sources) facts.push_back({"source", word(source)});
  for (const auto& [name, version] : inventory.versions) facts.push_back({"version." + name, clean(version)});
  for (const DeviceFile& file : inventory.files) facts.push_back({"file", line_of(file)});
  for (const Device& device : inventory.devices)
    facts.push_back({device.kind == DeviceKind::gpu ? "gpu" : "nic", line_of(device)});
  return facts;
}

Inventory parse_inventory(const std::vector<Fact>& facts, std::vector<std::string>& faults) {
  Inventory inventory;
  for (const Fact& fact : facts)
    if (!read_fact(fact, inventory)) faults.push_back(fmt::format("{} {}", fact.key, printable_line(fact.value, 80)));
  return inventory;
}

}  // namespace muster
