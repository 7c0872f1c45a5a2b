#include "device/kernel_log.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <set>
#include <unistd.h>

#include "base/files.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "device/block_device.hpp"
#include "device/gpu_backend.hpp"
#include "device/kernel_log_forms.hpp"
#include "model/gpu_vendor.hpp"

namespace muster {

namespace {

/// More than a kernel keeps.
constexpr std::size_t most_bytes = 16u << 20;

/// The message of a record of the kernel's own; what users write to /dev/kmsg has another facility. nullopt: another
/// record, or a line that belongs to one (` SUBSYSTEM=pci`).
std::optional<std::string_view> kernel_message(std::string_view line) {
  std::string_view rest = line;
  const auto priority = take_number<unsigned>(rest);
  const auto message = line.find(';');
  if (!priority || !rest.starts_with(',') || message == line.npos) return std::nullopt;
  constexpr unsigned levels = 8;
  return *priority < levels ? std::optional(line.substr(message + 1)) : std::nullopt;
}

/// With its domain: longer than the name of a program, which some messages begin with, may be.
constexpr std::size_t whole_address = 12;

bool is_digit(char letter) {
  return letter >= '0' && letter <= '9';
}

/// Of an identifier in C, of a driver and of a block device: `mlx5_core`, `dm-7`, `cciss!c0d0`.
bool is_name_letter(char letter) {
  return is_digit(letter) || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_' ||
         letter == '-' || letter == '!';
}

bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

}  // namespace

std::optional<std::string_view> after_form(std::string_view text, std::string_view form) {
  for (const char sign : form) {
    if (sign == '%' || sign == '$') {
      const auto is_part = sign == '%' ? is_digit : is_name_letter;
      const auto end = std::find_if_not(text.begin(), text.end(), is_part);
      if (end == text.begin()) return std::nullopt;
      text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
    } else if (sign == '&') {
      if (text.empty() || !is_letter(text.front())) return std::nullopt;
      text.remove_prefix(1);
    } else {
      if (!text.starts_with(sign)) return std::nullopt;
      text.remove_prefix(1);
    }
  }
  return text;
}

namespace {

/// Messages may begin with the name of a program: `NAME[PID]: segfault`, `NAME uses obsolete (PF_INET,SOCK_PACKET)`.
bool is_about_a_program(std::string_view message) {
  constexpr std::array tails{"[%]",       "(%)",        " (%)",     "/%: ",          ": page allocation",
                             ": vmalloc", " invoked ",  " uses ",   " used ",        " is using ",
                             " sent SIG", " tried to ", " called ", " attempted to "};
  std::size_t at = 0;
  for (std::size_t letters = 0; letters <= longest_program && at <= message.size(); ++letters) {
    const std::string_view rest = message.substr(at);
    // What can't be printed is four characters in the log.
    at += rest.starts_with("\\x") ? 4 : 1;
    for (const std::string_view tail : tails)
      if (after_form(rest, tail)) return true;
  }
  return false;
}

/// Shorter ones, with an address, could be a program's name.
constexpr std::size_t shortest_driver = 3;

/// `DRIVER 0000:c1:00.0 PORT: text`; PORT may be missing.
std::optional<Heading> pci_heading(std::string_view message) {
  const auto space = message.find(' ');
  const auto colon = message.find(": ");
  if (space == message.npos || colon == message.npos || colon < space + 1 + whole_address) return std::nullopt;
  const std::string_view device = message.substr(space + 1, colon - space - 1);
  const auto end = device.find(' ');
  const std::string_view address = device.substr(0, end);
  const auto at = address.size() < whole_address ? std::nullopt : parse_pci_address(address);
  if (!at || space < shortest_driver || !after_form(message, "$ ")) return std::nullopt;
  const std::string_view port = end == device.npos ? std::string_view() : device.substr(end + 1);
  return Heading{message.substr(0, space), at, port, message.substr(colon + 2), true};
}

/// `..., dev sda, sector 1`, `... on dev sda1, logical block 1`. With any other beginning they may be the name of a
/// file: `traps: NAME[1] trap invalid opcode ... in FILE`, `process 'FILE' started with executable stack`.
std::optional<Heading> disk_heading(std::string_view message) {
  const std::string_view whole = message;
  for (const std::string_view before : {"blk_update_request: ", "print_req_error: ", "end_request: "})
    if (message.starts_with(before)) message.remove_prefix(before.size());
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> forms{{
      {"I/O error, dev ", "$, sector %"},
      {"timeout error, dev ", "$, sector %"},
      {"critical medium error, dev ", "$, sector %"},
      {"critical target error, dev ", "$, sector %"},
      {"Buffer I/O error on dev ", "$, logical block %"},
      {"Buffer I/O error on device ", "$, logical block %"},
  }};
  for (const auto& [words, rest] : forms) {
    if (!message.starts_with(words) || !after_form(message.substr(words.size()), rest)) continue;
    const std::string_view name = message.substr(words.size(), message.find(',', words.size()) - words.size());
    if (is_no_drive(name)) return std::nullopt;
    return Heading{is_mapped(name) ? "mapped disk" : "disk", std::nullopt, name, whole};
  }
  return std::nullopt;
}

/// `XFS (sda1): text`, `EXT4-fs (sda1): text`, `EXT4-fs error (device sda1): text`.
std::optional<Heading> file_system_heading(std::string_view message) {
  constexpr std::array<std::array<std::string_view, 4>, 4> forms{{
      {"XFS", " (", "$): ", "mapped XFS"},
      {"EXT4-fs", " (", "$): ", "mapped EXT4-fs"},
      {"EXT4-fs error", " (device ", "$): ", "mapped EXT4-fs error"},
      {"EXT4-fs error", " (device ", "$) in ", "mapped EXT4-fs error"},
  }};
  for (const auto& [driver, open, close, mapped] : forms) {
    if (!message.starts_with(driver) || !message.substr(driver.size()).starts_with(open)) continue;
    const std::string_view rest = message.substr(driver.size() + open.size());
    const auto text = after_form(rest, close);
    if (!text) continue;
    const std::string_view name = rest.substr(0, rest.find(')'));
    if (is_no_drive(name)) return std::nullopt;
    return Heading{is_mapped(name) ? mapped : driver, std::nullopt, name, *text};
  }
  return std::nullopt;
}

/// `nvme nvme0: text`, `EDAC MC0: text`, `mce: text`, `{1}[Hardware Error]: text`.
std::optional<Heading> named_heading(std::string_view message) {
  for (const std::string_view form : {"nvme nvme%: ", "EDAC MC%: "})
    if (const auto text = after_form(message, form)) {
      const auto space = message.find(' ');
      return Heading{message.substr(0, space), std::nullopt, message.substr(space + 1, message.find(": ") - space - 1),
                     *text};
    }
  for (const std::string_view driver : {"mce", "watchdog", "NMI watchdog"})
    if (message.starts_with(driver) && message.substr(driver.size()).starts_with(": "))
      return Heading{driver, std::nullopt, {}, message.substr(driver.size() + 2)};
  if (after_form(message, "{%}[Hardware Error]: "))
    return Heading{"apei", std::nullopt, {}, message.substr(message.find('['))};
  return std::nullopt;
}

Heading heading_of(std::string_view message) {
  for (const GpuBackend* backend : gpu_backends())
    if (backend->log.heading != nullptr)
      if (const auto heading = backend->log.heading(message)) return *heading;
  for (const auto parse : {pci_heading, file_system_heading, named_heading, disk_heading})
    if (const auto heading = parse(message)) return *heading;
  return {{}, std::nullopt, {}, message};
}

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool contains(std::string_view text, std::string_view words) {
  return std::search(text.begin(), text.end(), words.begin(), words.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

bool is_matched(const KernelPattern& pattern, const Heading& heading, std::string_view text) {
  const bool is_driver = pattern.driver == "*" ? heading.is_pci_driver : pattern.driver == heading.driver;
  return is_driver && after_form(text, pattern.begin) && contains(text, pattern.has) && contains(text, pattern.has_too);
}

/// A port reports an error of the device behind it: `AER: Corrected error received: 0000:17:00.0`.
std::optional<PciAddress> reported_device(std::string_view text) {
  constexpr std::string_view before = ": ";
  const auto at = text.rfind(before);
  if (!text.starts_with("AER: ") || at == text.npos || text.size() - at - before.size() < whole_address)
    return std::nullopt;
  return parse_pci_address(text.substr(at + before.size(), whole_address));
}

/// Messages to events; keeps which links have been up, and of which GPU a message of several lines is.
class LogReader {
 public:
  explicit LogReader(const std::function<bool(std::string_view)>& is_of_drives) : is_of_drives_(is_of_drives) {}

  std::optional<KernelEvent> event_of(std::string_view message) {
    auto event = numbered_event(message);
    if (!event) event = pattern_event(message);
    if (event) event->words = printable_line(message, longest);
    return event;
  }

 private:
  static constexpr std::size_t longest = 240;

  static std::optional<KernelEvent> numbered_event(std::string_view message) {
    for (const GpuBackend* backend : gpu_backends())
      if (backend->log.numbered != nullptr)
        if (auto event = backend->log.numbered(message)) return event;
    return std::nullopt;
  }

  /// Without what the driver puts before its words, and without names that users choose.
  static std::string_view text_of(const Heading& heading) {
    for (const GpuBackend* backend : gpu_backends())
      if (backend->log.text != nullptr && terms_of_vendor(backend->vendor).driver == heading.driver)
        return backend->log.text(heading.text);
    return heading.text;
  }

  std::optional<KernelEvent> pattern_event(std::string_view message) {
    if (is_about_a_program(message)) return std::nullopt;
    Heading heading = heading_of(message);
    keep_gpu(heading);
    constexpr std::string_view mapped = "mapped ";
    if (heading.driver.starts_with(mapped) && is_of_drives_ && is_of_drives_(heading.part))
      heading.driver.remove_prefix(mapped.size());
    const std::string_view text = text_of(heading);
    for (const KernelPattern& pattern : kernel_patterns()) {
      if (!is_matched(pattern, heading, text)) continue;
      KernelEvent event{std::string(pattern.kind),
                        heading.at,
                        printable_line(heading.part.substr(0, heading.part.find(' ')), 40),
                        0,
                        {}};
      if (const auto device = reported_device(text)) event.at = device;
      if (!is_news(event)) return std::nullopt;
      return event;
    }
    return std::nullopt;
  }

  /// A GPU may be named by a record of its own, and what is wrong with it by one of the next two.
  void keep_gpu(Heading& heading) {
    if (heading.is_named_ahead)
      last_gpu_ = heading.at;
    else if (heading.is_of_last)
      heading.at = last_gpu_;
  }

  /// Links that come up are the way of things; one that goes down has been up before.
  bool is_news(const KernelEvent& event) {
    const auto link = std::pair(event.at, event.part);
    if (event.kind == "link_up") up_.insert(link);
    if (event.kind == "link_flap") return up_.erase(link) > 0;
    return event.kind != "link_up";
  }

  const std::function<bool(std::string_view)>& is_of_drives_;
  std::optional<PciAddress> last_gpu_;
  std::set<std::pair<std::optional<PciAddress>, std::string>> up_;
};

/// Of the numbers of records, which begin with 0, and their time: what is missing.
void add_extent(std::string_view text, KernelLog& log) {
  // Records of the first moments are lost where the boot writes more than the kernel keeps.
  constexpr std::int64_t first_moments = 10;
  constexpr std::int64_t microseconds = 1000000;
  std::optional<std::uint64_t> last;
  for (const std::string_view line : lines(text)) {
    const auto number_text = after_form(line, "%,");
    const auto time_text = number_text ? after_form(*number_text, "%,") : std::nullopt;
    if (!time_text || !after_form(*time_text, "%,")) continue;
    const std::uint64_t number = leading_number<std::uint64_t>(*number_text).value_or(0);
    const std::int64_t time = leading_number<std::int64_t>(*time_text).value_or(0);
    if (!last && number > 0 && time / microseconds >= first_moments) log.begins = time / microseconds;
    if (last && number > *last + 1) log.missing += number - *last - 1;
    last = std::max(number, last.value_or(0));
  }
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

std::vector<KernelEvent> parse_kernel_log(std::string_view text,
                                          const std::function<bool(std::string_view)>& is_of_drives) {
  std::vector<KernelEvent> events;
  LogReader reader(is_of_drives);
  for (const std::string_view line : lines(text))
    if (const auto message = kernel_message(line))
      if (auto event = reader.event_of(*message)) events.push_back(std::move(*event));
  return events;
}

KernelLog read_kernel_log(const std::string& root) {
  const char* file = "/dev/kmsg";
  const auto text = read_records(fs::path(root) / (file + 1));
  if (!text || text->empty()) return {};
  const auto is_of_drives = [&](std::string_view device) { return is_on_drives(fs::path(root) / "sys/block", device); };
  KernelLog log{file, parse_kernel_log(*text, is_of_drives)};
  add_extent(*text, log);
  return log;
}

}  // namespace muster
