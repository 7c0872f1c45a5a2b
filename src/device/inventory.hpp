/// The devices of one node, from all sources. A plain value: each source adds its data, and the code that judges
/// compares. Sources of the host are read here; a management library or a compute runtime adds itself by `seen`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/pci_address.hpp"
#include "muster/observation.hpp"
#include "muster/result.hpp"

namespace muster {

enum class DeviceKind : std::uint8_t {
  gpu,
  nic,
  part,  ///< a share of a GPU that is used as a device of its own: a MIG instance, a partition of an MI300
};
/// The key of its facts: `gpu`.
[[nodiscard]] std::string_view to_string(DeviceKind kind);

/// What becomes of this process when it opens a device file.
enum class FileAccess : std::uint8_t {
  open,       ///< may be read and written
  missing,    ///< there is none
  denied,     ///< its mode refuses this user
  root_only,  ///< we are root, and its mode refuses all others
  withheld,   ///< the control group of this job refuses (EPERM): not granted to this job
};

[[nodiscard]] std::string_view to_string(FileAccess access);

struct DeviceFile {
  std::string path;  ///< `/dev/kfd`, without the root folder
  FileAccess access = FileAccess::open;
  friend bool operator==(const DeviceFile&, const DeviceFile&) = default;
};

/// A PCIe link on the way from a device to its host, named by its lower end. 0: not known.
struct PciLink {
  PciAddress at;
  int width = 0;              ///< lanes in use
  int width_able = 0;         ///< lanes that both ends can use
  double speed = 0;           ///< GT/s per lane in use; GPUs lower it when idle
  double speed_able = 0;      ///< GT/s per lane that both ends can do
  bool is_one_ended = false;  ///< the other end is not visible, as in a virtual machine: what both can do is not known
  friend bool operator==(const PciLink&, const PciLink&) = default;
};

/// A port of a network device.
struct NetPort {
  std::string name;        ///< `mlx5_0/1` (InfiniBand device and port) or `hsn0` (interface)
  std::string layer;       ///< `InfiniBand`, `Ethernet`
  std::string state;       ///< `ACTIVE`, `DOWN`, `INIT`; of an interface `up`, `down`
  std::string phys_state;  ///< `LinkUp`, `Polling`, `Disabled`; empty: unknown
  double rate = 0;         ///< Gbit/s; 0: unknown
  int lanes = 0;           ///< of an InfiniBand link; 0: unknown
  friend bool operator==(const NetPort&, const NetPort&) = default;
};

/// The far end of links to switches that this node's bus does not have: those of a rack, or of the host of a virtual
/// machine, which a library gives as FFFFFFFF:FF:FF.0.
inline constexpr PciAddress off_this_bus{0xffffffff, 0xff, 0x1f, 0};

/// The links of a GPU to one other device: a GPU, or a switch between GPUs.
struct PeerLink {
  PciAddress to;     ///< all zero: unknown, as of links that are down
  std::string kind;  ///< `nvlink`, `xgmi`, `pcie`
  int up = 0;        ///< links in use
  int down = 0;      ///< links that should be
  double rate = 0;   ///< GB/s in one direction of those that are up, together; 0: unknown
  int weight = 0;    ///< how far away the driver takes it to be; 0: unknown
  friend bool operator==(const PeerLink&, const PeerLink&) = default;
};

struct Device {
  DeviceKind kind = DeviceKind::gpu;
  PciAddress address;      ///< of a part that of the whole: several are at one
  int part = -1;           ///< number of a part among those of its whole, as its driver counts them; -1: it is none
  std::string parent;      ///< UUID of the whole; empty: it is none, or unknown
  std::string vendor_id;   ///< `10de`
  std::string device_id;   ///< `2330`
  std::string class_code;  ///< `030200`
  std::string driver;      ///< bound to it; empty: none
  std::string name;        ///< model in words; empty: unknown
  std::string uuid;
  std::string firmware;  ///< VBIOS of a GPU, firmware of a NIC
  int numa_node = -1;
  int compute_order = 0;       ///< place among the GPUs of KFD's topology, from 1; 0: unknown
  int partitions = 0;          ///< shares that KFD offers one by one; 0: unknown
  int uncorrected = 0;         ///< memory errors that the driver counted since it was loaded
  bool is_lost = false;        ///< answers on the bus with ones only
  bool is_excluded = false;    ///< excluded by a setting of the driver
  std::vector<PciLink> links;  ///< its own first, then those of the switches above it
  std::vector<DeviceFile> files;
  std::vector<NetPort> ports;
  std::vector<PeerLink> peers;
  /// Further values of a management library or the driver: `ecc_uncorrected` -> `2`. docs/methods/device_visibility.md
  /// has the names and units.
  std::map<std::string, std::string> values;
  std::vector<std::string> sources;  ///< who saw it: `pci`, `kfd`, `net`, `infiniband`, `cxi`, ...
  friend bool operator==(const Device&, const Device&) = default;

  [[nodiscard]] bool is_seen_by(std::string_view source) const;
};

/// `GPU 0000:c1:00.0`, `NIC mlx5_0 (0000:1c:00.0)`, `part 2 of GPU 0000:c1:00.0`.
[[nodiscard]] std::string label_of(const Device& device);
/// GpuVendor::name, `broadcom`, ...; the id where it has no name here.
[[nodiscard]] std::string vendor_of(const Device& device);
/// What the driver calls it, else what the PCI ID list calls it, else `10de:2330`.
[[nodiscard]] std::string model_of(const Device& device);

enum class LibraryState : std::uint8_t {
  absent,   ///< no such file
  broken,   ///< it is present and unusable: does not load, or its first call fails
  working,  ///< it answered
};

[[nodiscard]] std::string_view to_string(LibraryState state);

/// What became of a vendor's library on this node.
struct LibraryReport {
  std::string name;  ///< `libcuda.so.1`
  LibraryState state = LibraryState::absent;
  std::string file;                  ///< it came from; empty: not loaded
  std::string version;               ///< its own version; empty: unknown
  int code = 0;                      ///< its own number for what failed; 0: the loader refused it, or nothing failed
  std::string error;                 ///< in its own words; empty unless broken
  std::vector<std::string> missing;  ///< symbols that it lacks and that were asked for
  friend bool operator==(const LibraryReport&, const LibraryReport&) = default;
};

struct Inventory {
  std::vector<Device> devices;                  ///< by kind, address and part
  std::vector<std::string> sources;             ///< that answered on this node, whether or not they saw anything
  std::vector<DeviceFile> files;                ///< that all devices of a vendor share: `/dev/kfd`
  std::map<std::string, std::string> versions;  ///< `kernel`, modules, libraries
  std::vector<LibraryReport> libraries;         ///< vendors' libraries that were looked for
  friend bool operator==(const Inventory&, const Inventory&) = default;

  [[nodiscard]] bool has_source(std::string_view source) const;
  void add_source(std::string_view source);
  /// The device at `address`, added when it is new, with `source` noted. Valid until the next call.
  Device& seen(DeviceKind kind, const PciAddress& address, std::string_view source);
  /// As above, of part `number` of the GPU at `address`.
  Device& seen_part(const PciAddress& address, int number, std::string_view source);
  /// The GPU at an address, the whole of a part; nullptr: none.
  [[nodiscard]] Device* gpu_at(const PciAddress& address);
  [[nodiscard]] const Device* gpu_at(const PciAddress& address) const;
  /// Whole GPUs, parts of them apart, whether or not they work or this process may use them.
  [[nodiscard]] int count_gpus() const;
};

/// What the kernel of this node shows: PCI bus, drivers, device files, network. Every path is below `root`; `/` is this
/// machine. Fails with kind `system` when `root` shows neither /sys nor /proc.
[[nodiscard]] Result<Inventory> read_inventory(const std::string& root);

/// As read_inventory, of network devices alone.
[[nodiscard]] Result<Inventory> read_nics(const std::string& root);

/// One fact per device, file, source and version; `parse_inventory` reads them back to the same value.
[[nodiscard]] std::vector<Fact> to_facts(const Inventory& inventory);
/// Facts of other keys are left alone; what is damaged is left out and named in `faults`.
[[nodiscard]] Inventory parse_inventory(const std::vector<Fact>& facts, std::vector<std::string>& faults);

}  // namespace muster
