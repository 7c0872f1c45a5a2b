// Topology files (hwloc's XML) of machines that are elsewhere: refused or read, and hwloc's crashes are not ours. The
// input is put into a topology that hwloc takes, at the place and over the length that its first 4 bytes say; 0xffff is
// a whole file.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <hwloc.h>
#include <string>
#include <string_view>
#include <unistd.h>

#include "base/text.hpp"
#include "system/layout.hpp"

namespace {

using namespace muster;

void require(bool claim) {
  if (!claim) std::abort();
}

constexpr std::string_view good =
    R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
 <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" allowed_cpuset="0x0000000f" nodeset="0x00000003" complete_nodeset="0x00000003" allowed_nodeset="0x00000003" gp_index="1">
  <info name="Backend" value="Linux"/>
  <object type="Package" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="2">
   <object type="NUMANode" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="3" local_memory="1024"><page_type size="4096" count="9"/></object>
   <object type="L3Cache" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="4" cache_size="4096" depth="3" cache_linesize="64" cache_associativity="16" cache_type="0">
    <object type="Core" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="5">
     <object type="PU" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="6"/>
     <object type="PU" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="7"/>
    </object>
   </object>
   <object type="Bridge" gp_index="8" bridge_type="0-1" depth="0" bridge_pci="0000:[00-05]">
    <object type="PCIDev" gp_index="9" pci_busid="0000:05:00.0" pci_type="0302 [10de:20b0] [10de:1450] a1" pci_link_speed="0.000000"><object type="OSDev" gp_index="10" name="opencl0d0" osdev_type="5"><info name="GPUModel" value="a"/></object></object>
   </object>
  </object>
  <object type="Package" os_index="1" cpuset="0x0000000c" complete_cpuset="0x0000000c" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="11">
   <object type="NUMANode" os_index="1" cpuset="0x0000000c" complete_cpuset="0x0000000c" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="12" local_memory="1024"/>
   <object type="Core" os_index="0" cpuset="0x0000000c" complete_cpuset="0x0000000c" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="13">
    <object type="PU" os_index="2" cpuset="0x00000004" complete_cpuset="0x00000004" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="14"/>
    <object type="PU" os_index="3" cpuset="0x00000008" complete_cpuset="0x00000008" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="15"/>
   </object>
  </object>
 </object>
 <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os"><indexes length="4">0 1 </indexes><u64values length="12">10 20 20 10 </u64values></distances2>
 <support name="discovery.pu"/>
</topology>
)";

std::string document(std::string_view input) {
  const auto number = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(input[at])) << 8 |
           static_cast<unsigned char>(input[at + 1]);
  };
  const auto from = number(0), length = number(2);
  const auto text = input.substr(4);
  if (from == 0xffff) return std::string(text);
  std::string all(good);
  all.replace(from % good.size(), length % 256, text);
  return all;
}

/// While there is a topology, hwloc keeps its plug-ins loaded: they are not linked anew for each input, twice.
void hold_plugins() {
  static hwloc_topology_t held = nullptr;
  if (held == nullptr) require(hwloc_topology_init(&held) == 0);
}

}  // namespace

// The child that reads each file first is made by fork, which would copy the tables of the sanitizers' memory: most of
// an execution. It only reads, and ends; what it allocates is forgotten where it crashes. Not a function, which would
// return twice, but a jump.
#if defined(__aarch64__)
asm(".globl fork\n.type fork, %function\nfork:\n\tb vfork\n");
#else
asm(".globl fork\n.type fork, @function\nfork:\n\tjmp vfork@PLT\n");
#endif

// hwloc loads its XML reader as a plug-in and unloads it again; libxml2's own memory then looks lost.
extern "C" int __lsan_is_turned_off() {
  return 1;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  hold_plugins();
  static const std::string file = "/dev/shm/fuzz_topology." + std::to_string(::getpid());
  std::ofstream(file) << document({reinterpret_cast<const char*>(data), size});
  const auto layout = read_layout(file);
  ::unlink(file.c_str());
  if (layout)
    require(parse_layout(to_facts(*layout, {})).cores == layout->cores);
  else
    require(!layout.error().what.empty() && printable_line(layout.error().what, 4000) == layout.error().what);
  return 0;
}
