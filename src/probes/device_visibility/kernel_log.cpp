// Errors of GPUs in the kernel's log: Xid of NVIDIA's driver, resets and memory errors of amdgpu.
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "base/text.hpp"
#include "device/nvidia/xid.hpp"
#include "probes/device_visibility/node_view.hpp"
#include "probes/device_visibility/told.hpp"

namespace muster::visibility {

namespace {

/// More kinds than this on one node are a flood; which came first counts.
constexpr std::size_t most_kinds = 32;

bool is_same_kind(const LoggedEvent& kept, const KernelEvent& event) {
  return kept.event.at == event.at && kept.event.xid == event.xid &&
         (event.xid != 0 || kept.event.words == event.words);
}

/// `GPU 0000:c1:00.0 (GPU-...) on nid001`
std::string named(const NodeView& node, const KernelEvent& event) {
  const Device* gpu = node.inventory.gpu_at(event.at);
  return fmt::format("GPU {}{} on {}", to_string(event.at),
                     gpu->uuid.empty() ? "" : fmt::format(" ({})", printable_line(gpu->uuid, 60)), node.host);
}

std::string times(int count) {
  return count == 1 ? "" : fmt::format(" ({} times)", count);
}

Finding fault(const NodeView& node, const KernelEvent& event, const std::string& what, std::string remedy) {
  Finding finding{Verdict::fail, named(node, event) + what, {}, std::move(remedy)};
  finding.culprits.push_back(culprit_of(node, *node.inventory.gpu_at(event.at)));
  return finding;
}

/// What may come of programs, or has been mended by a reset.
bool is_fault_of_amd(const std::string& words) {
  return words.find("uncorrectable") != std::string::npos || words.find("Fatal") != std::string::npos ||
         words.find("is lost") != std::string::npos;
}

Finding about_event(const NodeView& node, const LoggedEvent& logged) {
  const KernelEvent& event = logged.event;
  if (event.xid == 0) {
    const std::string what =
        fmt::format(": the kernel's log has \"{}\"{}", printable_line(event.words, 120), times(logged.count));
    if (!is_fault_of_amd(event.words)) return note(named(node, event) + what);
    return fault(node, event, what,
                 fmt::format("drain {} and reset the GPU or reboot; have it replaced if it comes "
                             "again",
                             node.host));
  }
  const XidMeaning meaning = xid_meaning(event.xid);
  const std::string what =
      fmt::format(": the kernel's log has Xid {}{}: {}", event.xid, times(logged.count), meaning.words);
  if (meaning.blame == XidBlame::program) return note(named(node, event) + what);
  return fault(node, event, what, std::string(meaning.remedy));
}

}  // namespace

void add_kernel_log(const KernelLog& log, bool is_simulated, Observation& seen) {
  // A machine that is made up has a log only where somebody put one.
  if (log.file.empty() && is_simulated) return;
  seen.facts.push_back({"kernel_log", log.file.empty() ? "-" : log.file});
  std::vector<LoggedEvent> kinds;
  for (const KernelEvent& event : log.events) {
    const auto kept =
        std::find_if(kinds.begin(), kinds.end(), [&](const LoggedEvent& one) { return is_same_kind(one, event); });
    if (kept != kinds.end())
      ++kept->count;
    else if (kinds.size() < most_kinds)
      kinds.push_back({event, 1});
  }
  for (const LoggedEvent& kind : kinds)
    seen.facts.push_back({"kernel_event", fmt::format("{} {} {} {}", to_string(kind.event.at), kind.event.xid,
                                                      kind.count, kind.event.words)});
}

void parse_kernel_facts(const Observation& seen, NodeView& node) {
  if (const std::string* file = seen.fact("kernel_log")) node.kernel_log = *file;
  for (const Fact& fact : seen.facts) {
    if (fact.key != "kernel_event") continue;
    const auto words = split(fact.value, ' ');
    const auto address = parse_pci_address(words[0]);
    if (words.size() < 4 || !address) continue;
    LoggedEvent logged;
    logged.event.at = *address;
    std::from_chars(words[1].data(), words[1].data() + words[1].size(), logged.event.xid);
    std::from_chars(words[2].data(), words[2].data() + words[2].size(), logged.count);
    logged.event.words =
        printable_line(fact.value.substr(words[0].size() + words[1].size() + words[2].size() + 3), 200);
    node.kernel_events.push_back(std::move(logged));
  }
}

void judge_kernel_log(const Nodes& nodes, Findings& findings) {
  std::vector<std::string> unread;
  for (const NodeView& node : nodes) {
    for (const LoggedEvent& logged : node.kernel_events)
      if (node.inventory.gpu_at(logged.event.at) != nullptr) findings.push_back(about_event(node, logged));
    if (node.kernel_log == "-" && !devices_of(node, DeviceKind::gpu).empty()) unread.push_back(node.host);
  }
  if (unread.empty()) return;
  findings.push_back(
      note(fmt::format("the kernel's log can't be read on {}{}: errors that only it knows (Xid) are not seen",
                       unread[0], unread.size() == 1 ? "" : fmt::format(" and {} more", unread.size() - 1))));
}

}  // namespace muster::visibility
