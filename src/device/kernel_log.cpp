#include "device/kernel_log.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

#include "base/files.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

/// More than a kernel keeps.
constexpr std::size_t most_bytes = 16u << 20;

/// The message of a record of the kernel's own; what users write to /dev/kmsg has another facility. nullopt: another
/// record, or a line that belongs to one (` SUBSYSTEM=pci`).
std::optional<std::string_view> kernel_message(std::string_view line) {
  unsigned priority = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), priority);
  const auto message = line.find(';');
  if (error != std::errc() || end == line.data() + line.size() || *end != ',' || message == line.npos)
    return std::nullopt;
  constexpr unsigned levels = 8;
  return priority < levels ? std::optional(line.substr(message + 1)) : std::nullopt;
}

/// `NVRM: Xid (PCI:0000:c1:00): 79, pid=...`; older drivers leave `PCI:` out, newer ones name a function.
std::optional<KernelEvent> xid_in(std::string_view message) {
  constexpr std::string_view begin = "NVRM: Xid (";
  if (!message.starts_with(begin)) return std::nullopt;
  std::string_view rest = message.substr(begin.size());
  const auto end = rest.find("): ");
  if (end == std::string_view::npos) return std::nullopt;
  std::string address(rest.substr(0, end));
  if (address.rfind("PCI:", 0) == 0) address.erase(0, 4);
  if (address.find('.') == std::string::npos) address += ".0";
  const auto parsed = parse_pci_address(address);
  const int code = std::atoi(std::string(rest.substr(end + 3, 8)).c_str());
  if (!parsed || code <= 0) return std::nullopt;
  return KernelEvent{*parsed, code, printable_line(message, 200)};
}

/// `amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!`
std::optional<KernelEvent> amdgpu_in(std::string_view message) {
  constexpr std::string_view begin = "amdgpu ";
  constexpr std::array<std::string_view, 5> faults = {"GPU reset begin", "ring", "uncorrectable hardware error",
                                                      "Fatal error", "GPU is lost"};
  // With its domain: longer than the name of a program, which some messages begin with, may be.
  constexpr std::size_t whole_address = 12;
  if (!message.starts_with(begin)) return std::nullopt;
  const std::string_view rest = message.substr(begin.size());
  const auto colon = rest.find(": ");
  if (colon == std::string_view::npos || colon < whole_address) return std::nullopt;
  const auto parsed = parse_pci_address(rest.substr(0, colon));
  if (!parsed) return std::nullopt;
  const std::string_view words = rest.substr(colon + 2);
  for (const std::string_view fault : faults) {
    if (words.find(fault) == std::string_view::npos) continue;
    if (fault == "ring" && words.find("timeout") == std::string_view::npos) continue;
    return KernelEvent{*parsed, 0, printable_line(words, 200)};
  }
  return std::nullopt;
}

/// All records, one for each read; an old one may have been overwritten meanwhile.
std::optional<std::string> read_records(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::string text;
  std::array<char, 8192> part{};
  while (text.size() < most_bytes) {
    const ssize_t got = ::read(descriptor, part.data(), part.size());
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EPIPE && errno != EINTR)) break;
  }
  ::close(descriptor);
  return text;
}

}  // namespace

std::vector<KernelEvent> parse_kernel_log(std::string_view text) {
  std::vector<KernelEvent> events;
  for (const std::string_view line : lines(text)) {
    const auto message = kernel_message(line);
    if (!message) continue;
    auto event = xid_in(*message);
    if (!event) event = amdgpu_in(*message);
    if (event) events.push_back(std::move(*event));
  }
  return events;
}

KernelLog read_kernel_log(const std::string& root) {
  const char* file = "/dev/kmsg";
  const auto text = read_records(fs::path(root) / (file + 1));
  if (!text || text->empty()) return {};
  return {file, parse_kernel_log(*text)};
}

}  // namespace muster
