// Records of /dev/kmsg. The first 15 bytes are also a name of a program that crashes, and the rest the file that it
// crashed in, both as a user may choose them: what the kernel logs about that program is not an event.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "device/kernel_log.hpp"

namespace {

void require(bool claim) {
  if (!claim) std::abort();
}

/// As the kernel writes text into a record: what can't be printed becomes \xNN.
std::string escaped(std::string_view text) {
  std::string all;
  for (const char letter : text) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= 0x20 && byte < 0x7f && byte != '\\')
      all += letter;
    else
      all += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
  }
  return all;
}

void crash(std::string_view program, std::string_view file) {
  const std::string name = escaped(program), in = escaped(file);
  const std::string records =
      "4,812,5092,-;" + name + "[4711]: segfault at 0 ip 00005581 sp 00007ffc error 4 in " + in +
      "[5581+1000]\n SUBSYSTEM=pci\n6,813,5093,-;traps: " + name + "[4711] general protection fault ip:5581 in " + in +
      "[5581+1000]\n4,814,5094,-;" + name + "[4711]: bad frame in sigreturn frame:0000 ip:5581 in " + in +
      "[5581+1000]\n4,815,5095,-;process '" + in + "' started with executable stack\n4,816,5096,-;" + name +
      ": vmalloc error: size 4096, failed to allocate pages\n3,817,5097,-;amdgpu "
      "0000:c1:00.0: amdgpu:  in process " +
      name + " pid 4711 thread " + name + " pid 4711\n";
  require(muster::parse_kernel_log(records).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  constexpr std::size_t name_length = 15;  // of a task, Linux's TASK_COMM_LEN without its NUL
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto events = parse_kernel_log(text);
  require(events.size() <= static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  for (const KernelEvent& event : events) {
    require(event.code >= 0 && !event.kind.empty() && !event.words.empty() &&
            printable_line(event.words, 240) == event.words);
    require(text.find(';') != text.npos);
  }
  // What users write to /dev/kmsg has a facility of its own: 8 and more.
  std::string of_users;
  for (const std::string_view line : lines(text)) of_users += "12,1,1,-;" + std::string(line) + "\n";
  require(parse_kernel_log(of_users).empty());
  crash(text.substr(0, name_length), text.size() > name_length ? text.substr(name_length) : "a.out");
  return 0;
}
