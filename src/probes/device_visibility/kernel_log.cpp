// Errors of hardware in the kernel's log: those of GPUs' drivers and those of the host.
// docs/kernel-log.md
#include <algorithm>
#include <fmt/format.h>

#include "base/number.hpp"
#include "base/text.hpp"
#include "device/driver_errors.hpp"
#include "measure/node_devices.hpp"
#include "model/fact_fields.hpp"
#include "probes/device_visibility/symptoms.hpp"

namespace muster::visibility {

namespace {

/// The fact `kernel_event`: `xid 0000:c1:00.0 - 79 1 NVRM: Xid (PCI:0000:c1:00): 79, ...`.
struct Recorded {
  std::string kind;
  std::string at;    ///< address; `-`: none
  std::string part;  ///< `-`: none
  int code = 0;
  int count = 0;
  std::string words;
};

template <class Io>
void fields(Io& io, Recorded& event) {
  io(event.kind);
  io(event.at);
  io(event.part);
  io(event.code);
  io(event.count);
  io.rest(event.words);
}

/// More faults, and more notes, than this on one node are a flood; which came first counts.
constexpr std::size_t most_kinds = 32;

bool is_note(const KernelEvent& event) {
  const KernelKind* kind = find_kernel_kind(event.kind);
  if (kind != nullptr) return kind->verdict == Verdict::pass;
  const DriverErrors* errors = find_driver_errors(event.kind);
  return errors != nullptr && errors->meaning(event.code, event.words, {}).verdict == Verdict::pass;
}

/// Of one number each sub-code counts, which stands in the message.
bool is_same_kind(const LoggedEvent& kept, const KernelEvent& event) {
  const DriverErrors* errors = find_driver_errors(event.kind);
  const bool has_subcode = errors != nullptr && errors->has_subcode(event.code);
  return kept.event.kind == event.kind && kept.event.at == event.at && kept.event.part == event.part &&
         kept.event.code == event.code && (!has_subcode || kept.event.words == event.words);
}

std::string times(int count) {
  return count == 1 ? "" : fmt::format(" ({} times)", count);
}

/// The device that a message names, where this node has it.
const Device* device_of(const NodeView& node, const KernelEvent& event) {
  if (!event.at) return nullptr;
  for (const Device& device : node.inventory.devices)
    if (device.kind != DeviceKind::part && device.address == *event.at) return &device;
  return nullptr;
}

/// `GPU 0000:c1:00.0 (GPU-...)`, `mlx5_0`, `nvme0`, `PCI device 0000:16:01.0`; empty: the node as a whole.
std::string named(const NodeView& node, const KernelEvent& event) {
  if (const Device* device = device_of(node, event)) return culprit_of(node, *device).name;
  const std::string part = event.part.empty() ? "" : printable_line(event.part, 40);
  if (!event.at) return part;
  const std::string address = to_string(*event.at);
  return part.empty() ? "PCI device " + address : fmt::format("{} ({})", part, address);
}

/// What only a GPU can have; of one that is not there the driver speaks of the past.
bool is_of_gpu(const KernelEvent& event) {
  const KernelKind* kind = find_kernel_kind(event.kind);
  if (kind == nullptr) return find_driver_errors(event.kind) != nullptr;
  return kind->of_gpu == OfGpu::always || (kind->of_gpu == OfGpu::with_address && event.at);
}

Finding about_event(const NodeView& node, const LoggedEvent& logged, const ErrorMeaning& meaning) {
  const std::string name = named(node, logged.event);
  const std::string reason = name.empty() ? fmt::format("{}: {}", node.host, meaning.words)
                                          : fmt::format("{} on {}: {}", name, node.host, meaning.words);
  if (meaning.verdict == Verdict::pass) return make_note(reason);
  Finding finding{meaning.verdict, reason, {}, meaning.remedy};
  finding.culprits.push_back(name.empty() ? culprit_of(node) : Culprit{CulpritKind::device, name, node.host, -1});
  return finding;
}

/// Other numbers of the same kind and GPU.
std::vector<LoggedError> others_of(const NodeView& node, const LoggedEvent& logged) {
  std::vector<LoggedError> others;
  for (const LoggedEvent& other : node.kernel_events)
    if (&other != &logged && other.event.kind == logged.event.kind && other.event.at == logged.event.at)
      others.push_back({other.event.code, other.event.words});
  return others;
}

Finding judged(const NodeView& node, const LoggedEvent& logged) {
  const KernelEvent& event = logged.event;
  if (const KernelKind* kind = find_kernel_kind(event.kind)) {
    const std::string message = event.code == 0 ? fmt::format("\"{}\"", printable_line(event.words, 140))
                                                : fmt::format("{} {}", kind->number, event.code);
    const std::string what = fmt::format("the kernel's log has {}{}: {}", message, times(logged.count), kind->words);
    return about_event(node, logged, {event.code, kind->verdict, what, std::string(kind->remedy)});
  }
  const DriverErrors* errors = find_driver_errors(event.kind);
  if (errors == nullptr) return {};
  ErrorMeaning meaning = errors->meaning(event.code, event.words, others_of(node, logged));
  meaning.words =
      fmt::format("the kernel's log has {} {}{}: {}", errors->label, event.code, times(logged.count), meaning.words);
  return about_event(node, logged, meaning);
}

template <class Number>
Number number_of(const Observation& seen, std::string_view key) {
  const std::string* text = seen.fact(key);
  return text == nullptr ? 0 : leading_number<Number>(*text).value_or(0);
}

/// Old records are overwritten by new ones, which any user can cause.
void note_missing_records(const Nodes& nodes, Findings& findings) {
  const auto others = [](std::size_t count) {
    return count < 2 ? "" : fmt::format("; {} more node{} likewise", count - 1, count == 2 ? "" : "s");
  };
  const NodeView *late = nullptr, *torn = nullptr;
  std::size_t all_late = 0, all_torn = 0;
  for (const NodeView& node : nodes) {
    if (node.kernel_log_begins > 0 && all_late++ == 0) late = &node;
    if (node.kernel_log_missing > 0 && all_torn++ == 0) torn = &node;
  }
  if (late != nullptr)
    findings.push_back(
        make_note(fmt::format("the kernel's log on {} begins {} s after boot: earlier records are gone{}", late->host,
                              late->kernel_log_begins, others(all_late))));
  if (torn != nullptr)
    findings.push_back(
        make_note(fmt::format("the kernel's log on {} lacks {} record{} after its first{}", torn->host,
                              torn->kernel_log_missing, torn->kernel_log_missing == 1 ? "" : "s", others(all_torn))));
}

}  // namespace

void add_kernel_log(const KernelLog& log, bool is_simulated, Observation& seen) {
  // A simulated machine has a log only where one was written.
  if (log.file.empty() && is_simulated) return;
  seen.facts.push_back({"kernel_log", log.file.empty() ? "-" : log.file});
  if (log.begins > 0) seen.facts.push_back({"kernel_log_begins", std::to_string(log.begins)});
  if (log.missing > 0) seen.facts.push_back({"kernel_log_missing", std::to_string(log.missing)});
  std::vector<LoggedEvent> kinds;
  std::size_t notes = 0;
  for (const KernelEvent& event : log.events) {
    const auto kept =
        std::find_if(kinds.begin(), kinds.end(), [&](const LoggedEvent& one) { return is_same_kind(one, event); });
    const bool is_minor = is_note(event);
    if (kept != kinds.end()) {
      ++kept->count;
      // The latest recovery counts.
      if (const auto* errors = find_driver_errors(event.kind); errors != nullptr && event.code == errors->recovery)
        kept->event.words = event.words;
    } else if ((is_minor ? notes : kinds.size() - notes) < most_kinds) {
      notes += is_minor;
      kinds.push_back({event, 1});
    }
  }
  for (const LoggedEvent& kind : kinds) {
    const KernelEvent& event = kind.event;
    seen.facts.push_back(
        to_fact("kernel_event", Recorded{event.kind, event.at ? to_string(*event.at) : "-",
                                         event.part.empty() ? "-" : event.part, event.code, kind.count, event.words}));
  }
}

void parse_kernel_facts(const Observation& seen, NodeView& node) {
  if (const std::string* file = seen.fact("kernel_log")) node.kernel_log = *file;
  node.kernel_log_begins = std::max<std::int64_t>(0, number_of<std::int64_t>(seen, "kernel_log_begins"));
  node.kernel_log_missing = number_of<std::uint64_t>(seen, "kernel_log_missing");
  for (const Recorded& one : facts_of<Recorded>(seen, "kernel_event")) {
    LoggedEvent logged;
    logged.event.kind = one.kind;
    logged.event.at = parse_pci_address(one.at);
    if (one.part != "-") logged.event.part = one.part;
    logged.event.code = one.code;
    logged.event.words = printable_line(one.words, 240);
    logged.count = one.count;
    if (find_driver_errors(logged.event.kind) != nullptr || find_kernel_kind(logged.event.kind) != nullptr)
      node.kernel_events.push_back(std::move(logged));
  }
}

namespace {

void note_unread(const std::vector<std::string>& hosts, const std::string& errors, Findings& findings) {
  if (hosts.empty()) return;
  findings.push_back(
      make_note(fmt::format("the kernel's log can't be read on {}{}: errors recorded only there ({}) are not seen",
                            hosts[0], hosts.size() == 1 ? "" : fmt::format(" and {} more", hosts.size() - 1), errors)));
}

}  // namespace

void judge_kernel_log(const Nodes& nodes, Findings& findings) {
  std::vector<std::string> unread, unread_without_gpus;
  for (const NodeView& node : nodes) {
    for (const LoggedEvent& logged : node.kernel_events)
      if (!is_of_gpu(logged.event) || (logged.event.at && node.inventory.gpu_at(*logged.event.at) != nullptr))
        findings.push_back(judged(node, logged));
    if (node.kernel_log == "-")
      (devices_of(node, DeviceKind::gpu).empty() ? unread_without_gpus : unread).push_back(node.host);
  }
  note_missing_records(nodes, findings);
  note_unread(unread, labels_of_driver_errors(), findings);
  note_unread(unread_without_gpus, "of memory, drives and file systems", findings);
}

}  // namespace muster::visibility
