// write_machine FOLDER 'gpus 8 H100; nics 4; gpu 5 lost': a machine for `-S device_visibility.root=FOLDER`.
#include <cstdio>
#include <exception>

#include "device/machine_tree.hpp"

int main(int count, char** words) {
  if (count != 3) {
    std::fputs("usage: write_machine FOLDER DESCRIPTION\n", stderr);
    return 3;
  }
  try {
    muster::MachineTree::write(words[1], words[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_machine: %s\n", error.what());
    return 3;
  }
  return 0;
}
