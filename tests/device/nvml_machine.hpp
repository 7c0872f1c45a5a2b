/// What a process on a described machine reads from the stand-ins of the vendors' management libraries. Each time in a
/// process of its own, as a machine is taken on once and a stand-in reads its sheet once.
#pragma once

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.hpp"
#include "config/machines.hpp"
#include "device/amd/libraries.hpp"
#include "device/inventory.hpp"
#include "device/nvidia/nvml.hpp"
#include "model/machine_description.hpp"
#include "system/this_machine.hpp"

namespace muster {

inline MachineDescription shipped_machine(const std::string& name, const std::vector<std::string>& driver = {}) {
  Diagnostics diagnostics;
  const fs::path path = fs::path(MUSTER_SOURCE_DIR) / "simulation/machines" / (name + ".toml");
  const auto text = read_file(path);
  EXPECT_TRUE(text) << path;
  MachineDescription machine = parse_machine(text ? *text : "", path.string(), diagnostics);
  machine.gpus.driver.insert(machine.gpus.driver.end(), driver.begin(), driver.end());
  return machine;
}

/// The driver's own word of a GPU, where a test wants another UUID than a written machine has.
inline void give_uuid(const fs::path& root, const std::string& address, const std::string& uuid) {
  const fs::path file = root / "proc/driver/nvidia/gpus" / address / "information";
  std::ifstream in(file);
  std::ostringstream text;
  for (std::string line; std::getline(in, line);)
    text << (line.rfind("GPU UUID", 0) == 0 ? "GPU UUID: \t " + uuid : line) << "\n";
  in.close();
  fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
  std::ofstream(file) << text.str();
}

/// A call of the library, and the GPU that the watch was told it is about.
struct AskedCall {
  std::string name;
  std::string device;
};

inline void announce(int to, const fs::path& folder, const std::string& drivers) {
  ::setenv("MUSTER_DRIVERS", drivers.c_str(), 1);
  auto json = nlohmann::json::array();
  std::string device;
  if (auto there = simulate(folder, {}); !there)
    json.push_back({"fault", to_string(there.error())});
  else if (auto inventory = read_inventory(root_of("/")); inventory) {
    const auto note_call = [&](std::string_view call) {
      if (!call.empty()) json.push_back({"call", call, device});
    };
    const auto note_device = [&](std::string_view label) { device = label; };
    add_nvml(*inventory, CallWatch(note_call, note_device));
    add_amd_libraries(*inventory, CallWatch(note_call, note_device));
    for (const Fact& fact : to_facts(*inventory)) json.push_back({fact.key, fact.value});
  }
  const std::string text = json.dump();
  for (std::size_t at = 0; at < text.size();)
    at += static_cast<std::size_t>(::write(to, text.data() + at, text.size() - at));
}

struct Asked {
  std::vector<Fact> facts;
  Inventory inventory;
  std::vector<AskedCall> calls;  ///< as the watch was told of them
};

/// `drivers` is a folder of stand-ins. `uuids` (by address) replace those that the kernel tells.
inline Asked asked(const MachineDescription& machine, const std::string& drivers = MUSTER_STAND_INS "/drivers",
                   const std::map<std::string, std::string>& uuids = {}) {
  Asked reported;
  char name[] = "/tmp/muster-nvml-XXXXXX";
  const fs::path folder = fs::path(::mkdtemp(name)) / "m";
  const auto written = write_machine(machine, "nid001", folder);
  EXPECT_TRUE(written) << (written ? "" : to_string(written.error()));
  for (const auto& [address, uuid] : uuids) give_uuid(folder / "root", address, uuid);
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    announce(ends[1], folder, drivers);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t got; (got = ::read(ends[0], part, sizeof(part))) > 0;) text.append(part, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "the process that asked ended otherwise";
  fs::remove_all(folder.parent_path());
  for (const auto& pair : nlohmann::json::parse(text, nullptr, false)) {
    if (pair[0] == "call")
      reported.calls.push_back({pair[1], pair[2]});
    else
      reported.facts.push_back({pair[0], pair[1]});
  }
  std::vector<std::string> faults;
  reported.inventory = parse_inventory(reported.facts, faults);
  EXPECT_TRUE(faults.empty()) << faults[0];
  return reported;
}

}  // namespace muster
