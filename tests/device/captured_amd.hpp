/// Topologies that were recorded on nodes with GPUs of AMD's, and Debian's ROCm SMI over them. Skipped where
/// MUSTER_CAPTURES names no folder of captures.
#pragma once

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "device/amd/libraries.hpp"
#include "device/inventory.hpp"
#include "device/library.hpp"
#include "device/machine_tree.hpp"

namespace muster {

class CapturedAmd : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("MUSTER_CAPTURES");
    if (folder == nullptr || *folder == 0) GTEST_SKIP() << "MUSTER_CAPTURES names no folder of captures";
    captures_ = folder;
  }
  void unpack(const std::string& archive) {
    const fs::path below = machine_.root() / "sys/class/kfd/kfd/topology";
    fs::create_directories(below);
    const std::string command =
        "tar -xzf '" + (captures_ / "amd" / archive).string() + "' --strip-components=1 -C '" + below.string() + "'";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  fs::path captures_;
  MadeMachine machine_{"kernel 6.1"};
};

/// Debian's library over a captured topology, which is /sys in a namespace of its own; what else it reads of a GPU is
/// written by hand.
class CapturedSys : public CapturedAmd {
 protected:
  void SetUp() override {
    CapturedAmd::SetUp();
    if (IsSkipped()) return;
    if (::geteuid() != 0) GTEST_SKIP() << "only root may mount";
    if (!Library::open({"librocm_smi64.so.1"}).is_open()) GTEST_SKIP() << "librocm_smi64 is not installed";
  }
  void put(const std::string& path, const std::string& text) const {
    const fs::path file = machine_.root() / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  void link(const std::string& path, const fs::path& to) const {
    const fs::path file = machine_.root() / path;
    fs::create_directories(file.parent_path());
    fs::create_symlink(fs::proximate(machine_.root() / to, file.parent_path()), file);
  }
  /// As amdgpu shows the GPUs of the topology; those that `hidden` names are on the bus, without a card for the
  /// library.
  void write_cards(const std::string& hidden = "") {
    const Inventory topology = *read_inventory(machine_.root().string());
    int card = 0;
    for (const Device& gpu : topology.devices) {
      if (gpu.kind != DeviceKind::gpu) continue;
      const std::string address = to_string(gpu.address);
      const std::string folder = "sys/devices/pci" + address.substr(0, 7) + "/" + address;
      put(folder + "/vendor", "0x1002");
      put(folder + "/device", "0x740f");
      put(folder + "/class", "0x038000");
      put(folder + "/vbios_version", "113-D6700100");
      put(folder + "/unique_id", fmt::format("{:016x}", std::stoull(gpu.uuid)));
      link(folder + "/driver", "sys/bus/pci/drivers/amdgpu");
      link("sys/bus/pci/devices/" + address, folder);
      if (address == hidden) continue;
      const std::string name = fmt::format("card{}", card++);
      put(fmt::format("{}/drm/{}/dev", folder, name), "226:0");
      link(fmt::format("{}/drm/{}/device", folder, name), folder);
      link("sys/class/drm/" + name, fs::path(folder) / "drm" / name);
    }
    fs::create_directories(machine_.root() / "sys/class/hwmon");
    fs::create_directories(machine_.root() / "sys/bus/pci/drivers/amdgpu");
    // The captures leave these out.
    for (const auto& node : fs::directory_iterator(machine_.root() / "sys/class/kfd/kfd/topology/nodes")) {
      const auto text = read_file(node.path() / "properties");
      const bool is_gpu = text && text->find("simd_count 0\n") == text->npos;
      if (!fs::exists(node.path() / "gpu_id"))
        std::ofstream(node.path() / "gpu_id") << (is_gpu ? "1" + node.path().filename().string() : "0") << '\n';
      if (!fs::exists(node.path() / "name")) std::ofstream(node.path() / "name") << "gpu\n";
    }
  }
  /// What a process sees for which the tree is /sys.
  [[nodiscard]] Inventory seen() const {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      std::string text;
      const std::string sys = (machine_.root() / "sys").string();
      if (::unshare(CLONE_NEWNS) == 0 && ::mount("", "/", "", MS_REC | MS_PRIVATE, "") == 0 &&
          ::mount(sys.c_str(), "/sys", "", MS_BIND | MS_REC, "") == 0) {
        Inventory inventory = *read_inventory("/");
        add_rocm_smi(inventory, {});
        for (const Fact& fact : to_facts(inventory)) text += fact.key + "\t" + fact.value + "\n";
      }
      for (std::size_t at = 0; at < text.size();)
        at += static_cast<std::size_t>(::write(ends[1], text.data() + at, text.size() - at));
      ::_exit(0);
    }
    ::close(ends[1]);
    std::string text;
    char part[4096];
    for (ssize_t got; (got = ::read(ends[0], part, sizeof(part))) > 0;)
      text.append(part, static_cast<std::size_t>(got));
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    std::vector<Fact> facts;
    for (const std::string& line : split(text, '\n'))
      if (const auto tab = line.find('\t'); tab != line.npos)
        facts.push_back({line.substr(0, tab), line.substr(tab + 1)});
    std::vector<std::string> faults;
    return parse_inventory(facts, faults);
  }
};

}  // namespace muster
