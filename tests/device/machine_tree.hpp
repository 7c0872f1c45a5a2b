/// A machine as files, written from a few words: `gpus 8 H100; nics 4; gpu 5 lost`. docs/methods/device_visibility.md
/// tells what stands in such files; nothing here is copied from a machine.
///
/// Statements are separated by `;` or newlines; a word with `=` sets, a word alone switches on:
///   kernel RELEASE            nvidia VERSION             amdgpu VERSION        library VERSION (of libnvidia-ml)
///   gpus N MODEL              MODEL: H100 (default), A100, MI250X
///   nics N MODEL              MODEL: ndr (default: InfiniBand), hsn (Slingshot), eth (25 Gbit/s Ethernet)
///   vga                       the display of a management controller, which is not a GPU
///   gpu I WORDS               lost | gone (nothing knows it) | off-bus (the driver still does) | unknown (the driver
///                             does not) | excluded | no-file | driver=NAME (`none`: none) | width=N | slot=N (lanes of
///                             the port above) | speed=GT | mode=0600 (of its file) | uuid= | vbios= | device=ID |
///                             name= | ue=N | at=BUS (hexadecimal) | numa=N | switch=BUS (with others of that bus) |
///                             kfd=N (number of its node there)
///   cpus LIST LIST ...        CPUs of each NUMA domain: `cpus 0-15 16-31`
///   nic I WORDS               at=, numa=, switch= as above | gone | width=N | speed=GT | state=DOWN | phys=Polling |
///   rate=N | fw= | driver=NAME | portless (of no network class)
///   file PATH mode=0600       another device file; `file PATH gone` takes one away
#pragma once

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "base/text.hpp"

namespace muster {

class MachineTree {
 public:
  using Words = std::map<std::string, std::string>;

  /// Writes it below `root`, a folder that is new or empty. Throws where the description makes no sense.
  static void write(const std::filesystem::path& root, std::string_view description) {
    MachineTree tree(root);
    tree.read(description);
    tree.write_all();
  }

 private:
  struct Thing {
    std::string model;
    Words words;
    [[nodiscard]] bool is(const std::string& word) const { return words.count(word) != 0; }
    [[nodiscard]] std::string get(const std::string& word, const std::string& otherwise) const {
      const auto found = words.find(word);
      return found == words.end() ? otherwise : found->second;
    }
  };

  explicit MachineTree(std::filesystem::path root) : root_(std::move(root)) {}

  void read(std::string_view description) {
    std::string text(description);
    for (char& letter : text)
      if (letter == '\n') letter = ';';
    for (const std::string& statement : split(text, ';')) {
      std::vector<std::string> words;
      const std::string_view whole = trim(std::string_view(statement).substr(0, statement.find('#')));
      for (const std::string& word : split(whole, ' '))
        if (!word.empty()) words.push_back(word);
      if (!words.empty()) read_statement(words);
    }
  }

  void read_statement(const std::vector<std::string>& words) {
    const std::string& first = words[0];
    const std::string second = words.size() > 1 ? words[1] : "";
    const std::string third = words.size() > 2 ? words[2] : "";
    if (first == "gpus" || first == "nics") {
      auto& things = first == "gpus" ? gpus_ : nics_;
      for (int i = std::stoi(second); i > 0; --i)
        things.push_back({third.empty() ? (first == "gpus" ? "H100" : "ndr") : third, {}});
    } else if (first == "gpu" || first == "nic") {
      Thing& thing = (first == "gpu" ? gpus_ : nics_).at(static_cast<std::size_t>(std::stoi(second)));
      add_words(words, 2, thing.words);
    } else if (first == "cpus") {
      cpus_.assign(words.begin() + 1, words.end());
    } else if (first == "file") {
      add_words(words, 2, files_[second]);
    } else if (first == "vga") {
      has_vga_ = true;
    } else if (first == "kernel" || first == "nvidia" || first == "amdgpu" || first == "library") {
      versions_[first] = second;
    } else {
      throw std::invalid_argument("no such statement: " + first);
    }
  }

  static void add_words(const std::vector<std::string>& words, std::size_t from, Words& into) {
    for (std::size_t i = from; i < words.size(); ++i) {
      const auto equals = words[i].find('=');
      into[words[i].substr(0, equals)] = equals == std::string::npos ? "yes" : words[i].substr(equals + 1);
    }
  }

  void put(const std::string& path, std::string_view text) const {
    const auto file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  void link(const std::string& path, const std::string& target) const {
    const auto file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::create_symlink(target, file);
  }
  void put_device_file(const std::string& path, const std::string& mode) const {
    put(path, "");
    std::filesystem::permissions(root_ / path, static_cast<std::filesystem::perms>(std::stoi(mode, nullptr, 8)));
  }

  /// A PCI function below a root port of its own; its folder, from the root.
  std::string put_function(const std::string& address, const std::string& class_code, const std::string& vendor,
                           const std::string& device, int numa, const Thing& thing) const {
    const int bus = std::stoi(address.substr(5, 2), nullptr, 16);
    const std::string shared = thing.get("switch", "");
    const std::string host = shared.empty() ? fmt::format("pci0000:{:02x}", bus - 1)
                                            : fmt::format("pci0000:{0}/0000:{0}:01.0/0000:{0}:02.0", shared);
    const std::string port = fmt::format("sys/devices/{}/0000:{:02x}:01.0", host, bus - 1);
    if (!shared.empty()) put_switch(shared);
    const std::string folder = fmt::format("{}/{}", port, address);
    const bool is_lost = thing.is("lost");
    put(port + "/class", "0x060400");
    put(port + "/vendor", "0x1022");
    put(port + "/device", "0x1483");
    put(port + "/max_link_width", thing.get("slot", "16"));
    put(port + "/max_link_speed", "32.0 GT/s PCIe");
    put(folder + "/class", "0x" + class_code);
    put(folder + "/vendor", "0x" + vendor);
    put(folder + "/device", "0x" + device);
    put(folder + "/numa_node", std::to_string(numa));
    put(folder + "/max_link_width", "16");
    put(folder + "/max_link_speed", "32.0 GT/s PCIe");
    put(folder + "/current_link_width", is_lost ? "63" : thing.get("width", thing.get("slot", "16")));
    put(folder + "/current_link_speed", is_lost ? "Unknown" : thing.get("speed", "32.0") + " GT/s PCIe");
    put(folder + "/config", is_lost ? std::string(64, '\xff') : std::string("\xde\x10\x30\x23"));
    link("sys/bus/pci/devices/" + address, "../../../" + folder.substr(4));
    link("sys/bus/pci/devices/" + port.substr(port.rfind('/') + 1), "../../../" + port.substr(4));
    return folder;
  }

  void put_switch(const std::string& bus) const {
    for (const std::string& path :
         {fmt::format("0000:{0}:01.0", bus), fmt::format("0000:{0}:01.0/0000:{0}:02.0", bus)}) {
      const std::string folder = fmt::format("sys/devices/pci0000:{}/{}", bus, path);
      const std::string entry = "sys/bus/pci/devices/" + folder.substr(folder.rfind('/') + 1);
      if (std::filesystem::exists(root_ / folder / "class")) continue;
      put(folder + "/class", "0x060400");
      put(folder + "/vendor", "0x1022");
      put(folder + "/device", "0x1483");
      for (const char* width : {"/max_link_width", "/current_link_width"}) put(folder + width, "16");
      for (const char* speed : {"/max_link_speed", "/current_link_speed"}) put(folder + speed, "32.0 GT/s PCIe");
      link(entry, "../../../" + folder.substr(4));
    }
  }

  void put_driver(const std::string& folder, const std::string& driver) const {
    if (driver != "none") link(folder + "/driver", "../../../../bus/pci/drivers/" + driver);
  }

  static std::string address_of(const Thing& thing, std::size_t otherwise) {
    return fmt::format("0000:{}:00.0", thing.get("at", fmt::format("{:02x}", otherwise)));
  }

  void put_gpu(std::size_t index, const Thing& gpu) {
    if (gpu.is("gone")) return;
    const bool is_amd = gpu.model == "MI250X";
    const std::string address = address_of(gpu, 0x1b + index * 0x10);
    const std::string driver = gpu.get("driver", is_amd ? "amdgpu" : "nvidia");
    const std::string device = is_amd ? "7408" : gpu.model == "A100" ? "20b2" : "2330";
    if (!gpu.is("off-bus")) {
      const std::string folder =
          put_function(address, is_amd ? "038000" : "030200", is_amd ? "1002" : "10de", gpu.get("device", device),
                       std::stoi(gpu.get("numa", index < gpus_.size() / 2 ? "0" : "1")), gpu);
      put_driver(folder, driver);
      if (is_amd) {
        put(folder + "/vbios_version", gpu.get("vbios", "113-D65201-042"));
        put(fmt::format("{}/drm/renderD{}/dev", folder, 128 + index), "226:128");
        put(folder + "/ras/umc_err_count", fmt::format("ue: {}\nce: 0", gpu.get("ue", "0")));
      }
    }
    const bool is_known = (driver == "nvidia" || driver == "amdgpu") && !gpu.is("unknown");
    if (is_known && is_amd) put_kfd_node(index, address, gpu);
    if (is_known && !is_amd) put_nvidia_gpu(index, address, gpu);
    if (!gpu.is("no-file"))
      put_device_file(is_amd ? fmt::format("dev/dri/renderD{}", 128 + index) : fmt::format("dev/nvidia{}", index),
                      gpu.get("mode", "0666"));
  }

  void put_kfd_node(std::size_t index, const std::string& address, const Thing& gpu) const {
    const int location = std::stoi(address.substr(5, 2), nullptr, 16) << 8;
    put(fmt::format("sys/class/kfd/kfd/topology/nodes/{}/properties", gpu.get("kfd", std::to_string(index + 1))),
        fmt::format(
            "cpu_cores_count 0\nsimd_count 440\nvendor_id 4098\ndevice_id 29704\nlocation_id {}\ndomain 0\n"
            "drm_render_minor {}\nunique_id {}",
            location, 128 + index,
            gpu.get("uuid", std::to_string(std::hash<std::string>()(root_.string()) % 1000000000 * 10 + index))));
  }

  void put_nvidia_gpu(std::size_t index, const std::string& address, const Thing& gpu) const {
    std::string name = gpu.get("name", gpu.model == "A100" ? "NVIDIA_A100-SXM4-80GB" : "NVIDIA_H100_80GB_HBM3");
    for (char& letter : name)
      if (letter == '_') letter = ' ';
    put(fmt::format("proc/driver/nvidia/gpus/{}/information", address),
        fmt::format("Model: \t\t {}\nIRQ:   \t\t 100\nGPU UUID: \t {}\nVideo BIOS: \t {}\nBus Type: \t PCIe\n"
                    "Bus Location: \t {}\nDevice Minor: \t {}\nGPU Excluded:\t {}",
                    name, gpu.get("uuid", fmt::format("GPU-made-up-{}-{}", root_.filename().string(), index)),
                    gpu.get("vbios", "96.00.74.00.01"), address, index, gpu.is("excluded") ? "Yes" : "No"));
  }

  void put_nic(std::size_t index, const Thing& nic) {
    if (nic.is("gone")) return;
    const bool is_ib = nic.model == "ndr";
    const bool is_hsn = nic.model == "hsn";
    const std::string address = address_of(nic, 0x15 + index * 0x10);
    const std::string folder = put_function(address, is_ib ? "020700" : "020000", is_hsn ? "17db" : "15b3",
                                            is_ib    ? "1021"
                                            : is_hsn ? "0501"
                                                     : "101d",
                                            std::stoi(nic.get("numa", "0")), nic);
    put_driver(folder, nic.get("driver", is_hsn ? "cxi_ss1" : "mlx5_core"));
    if (nic.is("portless") || nic.get("driver", "") == "none") return;
    const std::string name = fmt::format("{}{}", is_ib ? "mlx5_" : is_hsn ? "hsn" : "eth", index);
    const std::string entry = fmt::format("{}/{}/{}", folder, is_ib ? "infiniband" : "net", name);
    if (is_ib) {
      put(entry + "/fw_ver", nic.get("fw", "28.41.1000"));
      put(entry + "/ports/1/state", "4: " + nic.get("state", "ACTIVE"));
      put(entry + "/ports/1/phys_state", "5: " + nic.get("phys", "LinkUp"));
      put(entry + "/ports/1/rate", nic.get("rate", "400") + " Gb/sec (4X NDR)");
      put(entry + "/ports/1/link_layer", "InfiniBand");
    } else {
      put(entry + "/type", "1");
      put(entry + "/operstate", nic.get("state", "up"));
      put(entry + "/speed", nic.get("rate", is_hsn ? "200" : "25") + "000");
    }
    link(entry + "/device", "../../../" + address);
    link(fmt::format("sys/class/{}/{}", is_ib ? "infiniband" : "net", name), "../../" + entry.substr(4));
  }

  void write_all() {
    const auto version = [&](const std::string& name, const std::string& otherwise) {
      return versions_.count(name) != 0 ? versions_[name] : otherwise;
    };
    std::filesystem::create_directories(root_ / "sys/bus/pci/devices");
    std::filesystem::create_directories(root_ / "dev");
    put("proc/sys/kernel/osrelease", version("kernel", "5.14.0-427.el9.x86_64"));
    put("sys/devices/virtual/net/lo/operstate", "unknown");
    link("sys/class/net/lo", "../../devices/virtual/net/lo");
    for (std::size_t i = 0; i < cpus_.size(); ++i)
      put(fmt::format("sys/devices/system/node/node{}/cpulist", i), cpus_[i]);
    bool has_nvidia = versions_.count("nvidia") != 0;
    bool has_amd = versions_.count("amdgpu") != 0;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      (gpus_[i].model == "MI250X" ? has_amd : has_nvidia) = true;
      put_gpu(i, gpus_[i]);
    }
    for (std::size_t i = 0; i < nics_.size(); ++i) put_nic(i, nics_[i]);
    if (has_vga_) put_function("0000:03:00.0", "030000", "1a03", "2000", 0, Thing{});
    if (has_nvidia) {
      std::filesystem::create_directories(root_ / "proc/driver/nvidia/gpus");
      put("sys/module/nvidia/version", version("nvidia", "550.54.15"));
      put("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " +
                                            version("nvidia", "550.54.15") + "  Release Build");
      for (const char* file : {"dev/nvidiactl", "dev/nvidia-uvm"}) put_device_file(file, "0666");
    }
    if (has_amd) {
      put("sys/module/amdgpu/version", version("amdgpu", "6.7.0"));
      put("sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 64\nsimd_count 0\nlocation_id 0\ndomain 0");
      put_device_file("dev/kfd", "0666");
    }
    if (versions_.count("library") != 0) link("usr/lib64/libnvidia-ml.so.1", "libnvidia-ml.so." + versions_["library"]);
    for (const auto& [path, words] : files_) {
      std::filesystem::remove(root_ / path.substr(1));
      if (words.count("gone") == 0) put_device_file(path.substr(1), words.count("mode") ? words.at("mode") : "0666");
    }
  }

  std::filesystem::path root_;
  std::vector<Thing> gpus_;
  std::vector<Thing> nics_;
  std::vector<std::string> cpus_;
  std::map<std::string, Words> files_;
  std::map<std::string, std::string> versions_;
  bool has_vga_ = false;
};

/// A tree in a folder of its own, removed with this.
class MadeMachine {
 public:
  explicit MadeMachine(std::string_view description) {
    // Hundreds of small files: in memory where that is to be had.
    const bool has_memory = ::access("/dev/shm", W_OK | X_OK) == 0;
    const std::filesystem::path parent = has_memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string name = (parent / "muster-machine-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    root_ = name;
    MachineTree::write(root_, description);
  }
  MadeMachine(const MadeMachine&) = delete;
  MadeMachine& operator=(const MadeMachine&) = delete;
  ~MadeMachine() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path root_;
};

}  // namespace muster
