#include "device/kernel_log.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

#include "base/files.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

/// More than a kernel keeps; of files on disk the end.
constexpr std::size_t most_bytes = 16u << 20;

/// `NVRM: Xid (PCI:0000:c1:00): 79, pid=...`; older drivers leave `PCI:` out, newer ones name a function.
std::optional<KernelEvent> xid_in(std::string_view line) {
  constexpr std::string_view begin = "NVRM: Xid (";
  const auto at = line.find(begin);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(at + begin.size());
  const auto end = rest.find("): ");
  if (end == std::string_view::npos) return std::nullopt;
  std::string address(rest.substr(0, end));
  if (address.rfind("PCI:", 0) == 0) address.erase(0, 4);
  if (address.find('.') == std::string::npos) address += ".0";
  const auto parsed = parse_pci_address(address);
  const int code = std::atoi(std::string(rest.substr(end + 3, 8)).c_str());
  if (!parsed || code <= 0) return std::nullopt;
  return KernelEvent{*parsed, code, printable_line(line.substr(at), 200)};
}

/// `amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!`
std::optional<KernelEvent> amdgpu_in(std::string_view line) {
  constexpr std::string_view begin = "amdgpu ";
  constexpr std::array<std::string_view, 5> faults = {"GPU reset begin", "ring", "uncorrectable hardware error",
                                                      "Fatal error", "GPU is lost"};
  const auto at = line.find(begin);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(at + begin.size());
  const auto colon = rest.find(": ");
  const auto parsed = colon == std::string_view::npos ? std::nullopt : parse_pci_address(rest.substr(0, colon));
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
  if (const auto boot = text.rfind("Linux version "); boot != std::string_view::npos) text.remove_prefix(boot);
  std::vector<KernelEvent> events;
  for (const std::string_view line : lines(text)) {
    auto event = xid_in(line);
    if (!event) event = amdgpu_in(line);
    if (event) events.push_back(std::move(*event));
  }
  return events;
}

KernelLog read_kernel_log(const std::string& root) {
  for (const char* file : {"/dev/kmsg", "/var/log/kern.log", "/var/log/messages"}) {
    const auto text = read_records(fs::path(root) / (file + 1));
    if (text && !text->empty()) return {file, parse_kernel_log(*text)};
  }
  return {};
}

}  // namespace muster
