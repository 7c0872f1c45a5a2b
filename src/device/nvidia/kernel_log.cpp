// How NVIDIA's drivers write in the kernel's log: Xid of GPUs, SXid of NVSwitches, and what NVRM reports in words.
#include "device/nvidia/kernel_log.hpp"

#include <cstring>

#include "base/number.hpp"
#include "base/text.hpp"
#include "device/kernel_log.hpp"

namespace muster {

namespace {

/// `PCI:0000:c1:00`, with or without `PCI:` and function.
std::optional<PciAddress> driver_address(std::string_view text) {
  constexpr std::string_view bus = "PCI:";
  if (text.starts_with(bus)) text.remove_prefix(bus.size());
  if (text.size() < std::string_view("0000:c1:00").size()) return std::nullopt;
  std::string address(text);
  if (address.find('.') == std::string::npos) address += ".0";
  return parse_pci_address(address);
}

/// `Xid (PCI:0000:c1:00): 79, pid=...`, behind its driver; older drivers leave `PCI:` out, newer ones name a function.
std::optional<KernelEvent> numbered(std::string_view begin, std::string_view message, std::string kind) {
  if (!message.starts_with(begin)) return std::nullopt;
  const std::string_view rest = message.substr(begin.size());
  const auto end = rest.find("): ");
  if (end == std::string_view::npos) return std::nullopt;
  const auto address = driver_address(rest.substr(0, end));
  const int code = leading_number<int>(rest.substr(end + 3)).value_or(0);
  if (!address || code <= 0) return std::nullopt;
  return KernelEvent{std::move(kind), address, {}, code, {}};
}

/// `NVRM: GPU 0000:c1:00.0: text`, `NVRM: GPU at PCI:0000:c1:00.0 text`, `NVRM: The NVIDIA GPU 0000:c1:00.0\x0atext`,
/// `NVRM: GPU0 FUNCTION: text`, and some words without any.
std::optional<Heading> nvrm_heading(std::string_view message) {
  constexpr std::string_view nvrm = "NVRM: ";
  if (!message.starts_with(nvrm)) return std::nullopt;
  const std::string_view text = message.substr(nvrm.size());
  for (const std::string_view begin : {"GPU at ", "GPU ", "The NVIDIA GPU "}) {
    if (!text.starts_with(begin)) continue;
    const std::string_view rest = text.substr(begin.size());
    auto end = rest.find_first_of(" \\");
    if (end == rest.npos) end = rest.size();
    std::string_view address = rest.substr(0, end);
    if (address.ends_with(':')) address.remove_suffix(1);
    // `The NVIDIA GPU ADDRESS` may be a record of its own, and what is wrong with it one of the next two.
    if (const auto at = driver_address(address))
      return Heading{"NVRM", at, {}, rest.substr(end), false, begin.starts_with("The"), false};
  }
  for (const std::string_view words : {"fallen off the bus", "RmInitAdapter failed", "rm_init_adapter failed"})
    if (text.starts_with(words))
      return Heading{"NVRM", std::nullopt, {}, text, false, false, words.starts_with("fallen")};
  // Longer than a program's name may be, without what follows one.
  for (const std::string_view function : {"$: ", "GPU% $: "})
    if (const auto rest = after_form(text, function);
        rest && message.size() - rest->size() > longest_program + std::strlen(": "))
      return Heading{"NVRM", std::nullopt, {}, text};
  return std::nullopt;
}

/// `nvidia-nvswitch3: text`, `nvidia-nvlink: text`.
std::optional<Heading> link_heading(std::string_view message) {
  if (const auto text = after_form(message, "nvidia-nvswitch%: "))
    return Heading{"nvidia-nvswitch", std::nullopt, message.substr(0, message.find(": ")), *text};
  if (const auto text = after_form(message, "nvidia-nvlink: "))
    return Heading{"nvidia-nvlink", std::nullopt, {}, *text};
  return std::nullopt;
}

}  // namespace

std::optional<KernelEvent> numbered_by_nvidia(std::string_view message) {
  if (auto xid = numbered("NVRM: Xid (", message, "xid")) return xid;
  const auto text = after_form(message, "nvidia-nvswitch%: ");
  if (!text) return std::nullopt;
  auto event = numbered("SXid (", *text, "sxid");
  if (!event) return std::nullopt;
  event->part = printable_line(message.substr(0, message.find(": ")), 40);
  if (message.find(", Fatal") != message.npos) event->kind = "sxid_fatal";
  // Lines with details follow the first.
  if (event->kind == "sxid" && message.find(", Non-fatal") == message.npos) return std::nullopt;
  return event;
}

std::optional<Heading> nvidia_heading(std::string_view message) {
  const auto heading = nvrm_heading(message);
  return heading ? heading : link_heading(message);
}

}  // namespace muster
