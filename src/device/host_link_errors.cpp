// Counters of links: /sys/class/{infiniband,net,cxi}, and aer_dev_* of PCI devices (the kernel's
// Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats).
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>

#include "base/number.hpp"
#include "base/text.hpp"
#include "device/link_errors.hpp"
#include "device/parse.hpp"

namespace muster {

namespace {

constexpr std::array port_counters = {
    "symbol_error",    "link_error_recovery",         "link_downed",
    "port_rcv_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors"};
constexpr std::array interface_counters = {"statistics/rx_errors", "statistics/tx_errors", "statistics/rx_crc_errors",
                                           "statistics/tx_carrier_errors", "carrier_down_count"};
constexpr std::array slingshot_counters = {"hni_pcs_uncorrected_cw", "hni_llr_tx_replay_event",
                                           "hni_llr_rx_replay_event", "hni_pcs_corrected_cw"};
/// Mbit/s: slower interfaces are not of the fabric, and their cables may be pulled at any time.
constexpr double least_fabric_speed = 40000;
/// A port of the fabric that was trained with one lane of four is this much slower.
constexpr double most_times_slower = 4;

/// The numbers of lines `NAME NUMBER` whose names are wanted; nullopt: there is none.
template <class Wanted>
std::optional<std::uint64_t> sum_of_lines(std::string_view text, Wanted is_wanted) {
  std::optional<std::uint64_t> sum;
  for (const std::string& line : split(text, '\n')) {
    const auto space = line.find(' ');
    if (space == line.npos || !is_wanted(std::string_view(line).substr(0, space))) continue;
    if (const auto count = parse_number<std::uint64_t>(trim(std::string_view(line).substr(space))))
      sum = sum.value_or(0) + *count;
  }
  return sum;
}

std::optional<std::uint64_t> parse_counter(const std::string& counter, const std::string& text) {
  if (counter == "aer_correctable") return parse_aer_correctable(text);
  if (counter.starts_with("aer_")) return parse_aer_total(text);
  return counter.starts_with("hni_") ? parse_slingshot_count(text) : parse_number<std::uint64_t>(text);
}

}  // namespace

std::optional<std::uint64_t> parse_aer_correctable(std::string_view text) {
  constexpr std::array of_link = {"RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout"};
  return sum_of_lines(text, [&](std::string_view name) {
    return std::any_of(of_link.begin(), of_link.end(), [&](const char* one) { return name == one; });
  });
}

std::optional<std::uint64_t> parse_aer_total(std::string_view text) {
  return sum_of_lines(text, [](std::string_view name) { return name.starts_with("TOTAL_ERR_"); });
}

std::optional<std::uint64_t> parse_slingshot_count(std::string_view text) {
  return parse_number<std::uint64_t>(trim(text.substr(0, text.find('@'))));
}

LinkErrors::LinkErrors(const fs::path& root) : machine_(root) {
  add_ports();
  add_interfaces();
  find_beside();
  add_slingshot();
  add_pcie();
}

void LinkErrors::add_ports() {
  const std::string folder = "sys/class/infiniband";
  for (const std::string& name : machine_.names(folder))
    for (const std::string& number : machine_.names(fmt::format("{}/{}/ports", folder, name))) {
      const std::string port = fmt::format("{}/{}/ports/{}", folder, name, number);
      // Of a port without a link, the rate is the lowest that there is.
      const bool is_active = parse_state(machine_.text(port + "/state")) == "ACTIVE";
      ports_.push_back({fmt::format("{}/{}", name, number),
                        is_active ? 1000 * parse_amount(machine_.text(port + "/rate")) : 0,
                        machine_.text(port + "/link_layer") == "InfiniBand"});
      for (const char* counter : port_counters)
        sources_.push_back({ports_.back().link, counter, fmt::format("{}/counters/{}", port, counter)});
    }
}

void LinkErrors::add_interfaces() {
  const std::string folder = "sys/class/net/";
  std::set<PciAddress> of_slingshot;
  for (const std::string& name : machine_.names("sys/class/cxi"))
    if (const auto path = machine_.pci_path("sys/class/cxi/" + name + "/device"); !path.empty())
      of_slingshot.insert(path[0]);
  for (const std::string& name : machine_.names("sys/class/net")) {
    const auto path = machine_.pci_path(folder + name + "/device");
    // IP over InfiniBand is above a port that counts for itself.
    if (path.empty() || machine_.text(folder + name + "/type") == "32") continue;
    const double speed = parse_amount(machine_.text(folder + name + "/speed"));
    if (speed < least_fabric_speed) continue;
    ports_.push_back({name, speed, of_slingshot.count(path[0]) != 0});
    for (const std::string counter : interface_counters)
      sources_.push_back({name, counter.substr(counter.rfind('/') + 1), folder + name + "/" + counter});
  }
}

void LinkErrors::find_beside() {
  double fastest = 0;
  for (const Port& port : ports_) fastest = std::max(fastest, port.speed);
  double of_fabric = 0;
  for (const Port& port : ports_)
    if (port.is_of_fabric && most_times_slower * port.speed >= fastest) of_fabric = std::max(of_fabric, port.speed);
  const double least = (of_fabric > 0 ? of_fabric : fastest) / most_times_slower;
  for (const Port& port : ports_)
    if (!port.is_of_fabric && port.speed > 0 && port.speed < least) beside_.insert(port.link);
}

void LinkErrors::add_slingshot() {
  for (const std::string& name : machine_.names("sys/class/cxi"))
    for (const char* counter : slingshot_counters)
      sources_.push_back({name, counter, fmt::format("sys/class/cxi/{}/device/telemetry/{}", name, counter)});
}

void LinkErrors::add_pcie() {
  const std::string folder = "sys/bus/pci/devices/";
  std::set<PciAddress> ends;
  for (const std::string& name : machine_.names("sys/bus/pci/devices")) {
    const auto address = parse_pci_address(name);
    if (!address) continue;
    const std::string class_code = parse_id(machine_.text(folder + name + "/class"));
    if (!is_nic(class_code) && !is_gpu(*address, class_code, parse_id(machine_.text(folder + name + "/vendor"))))
      continue;
    const auto path = machine_.pci_path(folder + name);
    ends.insert(*address);
    if (path.size() > 1) ends.insert(path[1]);
  }
  for (const PciAddress& end : ends)
    for (const std::string kind : {"correctable", "fatal"})
      sources_.push_back({to_string(end), "aer_" + kind, folder + to_string(end) + "/aer_dev_" + kind});
}

PortErrors LinkErrors::read() const {
  PortErrors errors;
  for (const Source& source : sources_) {
    const std::string text = machine_.text(source.file);
    if (const auto count = parse_counter(source.counter, text)) errors[{source.link, source.counter}] = *count;
  }
  return errors;
}

std::vector<Fact> link_facts(const PortErrors& before, const PortErrors& after, double seconds,
                             const std::set<std::string>& beside) {
  std::vector<Fact> facts;
  std::map<std::string, std::size_t> links;
  for (const auto& [key, count] : after) {
    const auto then = before.find(key);
    if (then == before.end()) continue;
    const bool is_beside = beside.count(key.first) != 0;
    links[key.second] += is_beside ? 0 : 1;
    if (count > then->second)
      facts.push_back({"link_error", fmt::format("{} {} {} {:.3f}{}", printable_line(key.first, 60), key.second,
                                                 count - then->second, seconds, is_beside ? " beside" : "")});
  }
  for (const auto& [counter, number] : links) facts.push_back({"link_counters", fmt::format("{} {}", counter, number)});
  return facts;
}

}  // namespace muster
