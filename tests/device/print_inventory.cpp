// print_inventory FOLDER: what the kernel's files and AMD's libraries report of a machine that `muster machine --write`
// wrote there, a fact a line.
#include <cstdio>

#include "device/amd/libraries.hpp"
#include "device/inventory.hpp"
#include "system/this_machine.hpp"

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: print_inventory FOLDER\n", stderr);
    return 3;
  }
  if (const auto ready = muster::simulate(words[1], {}); !ready) {
    std::fprintf(stderr, "print_inventory: %s\n", muster::to_string(ready.error()).c_str());
    return 3;
  }
  auto inventory = muster::read_inventory(muster::root_of("/"));
  if (!inventory) {
    std::fprintf(stderr, "print_inventory: %s\n", muster::to_string(inventory.error()).c_str());
    return 3;
  }
  muster::add_amd_libraries(*inventory, {});
  for (const muster::Fact& fact : muster::to_facts(*inventory))
    std::printf("%s %s\n", fact.key.c_str(), fact.value.c_str());
  return 0;
}
