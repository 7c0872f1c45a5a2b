// Network devices: /sys/class/{net,cxi,infiniband}.
#include <fmt/format.h>

#include "system/tree_writer.hpp"

namespace muster {

namespace {

struct Kind {
  std::string_view class_code;
  std::string_view driver;
};

Kind kind_of(const DescribedNic& nic) {
  if (nic.kind == "slingshot") return {"020000", "cxi_ss1"};
  if (nic.kind == "infiniband") return {"020700", "mlx5_core"};
  if (nic.id.rfind("14e4", 0) == 0) return {"020000", "bnxt_en"};
  return {"020000", nic.id.rfind("8086", 0) == 0 ? "ice" : "mlx5_core"};
}

void write_interface(const DescribedNic& nic, int index, const std::string& folder, TreeWriter& tree) {
  const bool is_up = nic.state == "up";
  const std::string entry = fmt::format("{}/net/{}", folder, nic.name);
  tree.put(entry + "/type", nic.kind == "infiniband" ? "32" : "1");
  tree.put(entry + "/ifindex", std::to_string(index));
  tree.put(entry + "/operstate", nic.state);
  tree.put(entry + "/carrier", is_up ? "1" : "0");
  tree.put(entry + "/mtu", nic.kind == "infiniband" ? "2044" : "9000");
  // The kernel knows no speed where there is no link.
  tree.put(entry + "/speed", is_up ? fmt::format("{:.0f}", nic.rate * 1000) : "-1");
  tree.put(entry + "/carrier_down_count", is_up ? "0" : "1");
  for (const char* counter : {"rx_errors", "tx_errors", "rx_crc_errors", "tx_carrier_errors"})
    tree.put(fmt::format("{}/statistics/{}", entry, counter), "0");
  if (!nic.address.empty()) tree.link(entry + "/device", folder);
  tree.link("sys/class/net/" + nic.name, entry);
}

void write_infiniband(const DescribedNic& nic, const std::string& folder, TreeWriter& tree) {
  const bool is_up = nic.state == "up";
  const std::string entry = fmt::format("{}/infiniband/{}", folder, nic.device);
  const std::string port = entry + "/ports/1";
  tree.put(entry + "/fw_ver", "28.41.1000");
  tree.put(entry + "/node_type", "1: CA");
  tree.put(port + "/link_layer", "InfiniBand");
  tree.put(port + "/state", is_up ? "4: ACTIVE" : "1: DOWN");
  tree.put(port + "/phys_state", is_up ? "5: LinkUp" : "2: Polling");
  tree.put(port + "/rate", fmt::format("{:g} Gb/sec", nic.rate));
  for (const char* counter : {"symbol_error", "link_error_recovery", "port_rcv_errors", "local_link_integrity_errors"})
    tree.put(fmt::format("{}/counters/{}", port, counter), "0");
  tree.put(port + "/counters/link_downed", is_up ? "0" : "1");
  tree.link(entry + "/device", folder);
  tree.link("sys/class/infiniband/" + nic.device, entry);
}

void write_cxi(const DescribedNic& nic, const std::string& folder, TreeWriter& tree) {
  const std::string entry = fmt::format("{}/cxi/{}", folder, nic.device);
  tree.put(folder + "/uc/qspi_blob_version", "1.5.41");
  tree.folder(entry);
  tree.link(entry + "/device", folder);
  tree.link("sys/class/cxi/" + nic.device, entry);
}

}  // namespace

void write_nics(const MachineDescription& machine, TreeWriter& tree) {
  tree.put("sys/devices/virtual/net/lo/operstate", "unknown");
  tree.put("sys/devices/virtual/net/lo/type", "772");
  tree.link("sys/class/net/lo", "sys/devices/virtual/net/lo");
  tree.put("sys/devices/virtual/net/lo/ifindex", "1");
  int index = 1;
  for (const DescribedNic& nic : machine.nics) {
    ++index;
    if (nic.address.empty()) {
      write_interface(nic, index, "sys/devices/virtual", tree);
      continue;
    }
    const Kind kind = kind_of(nic);
    const std::string folder = write_function(
        machine,
        {nic.address, nic.id, std::string(kind.class_code), std::string(kind.driver), nic.domain, nic.near, 16, false},
        tree);
    if (!nic.driver_version.empty()) tree.put(fmt::format("sys/module/{}/version", kind.driver), nic.driver_version);
    write_interface(nic, index, folder, tree);
    if (nic.device.empty()) continue;
    if (nic.kind == "infiniband") write_infiniband(nic, folder, tree);
    if (nic.kind == "slingshot") write_cxi(nic, folder, tree);
  }
}

}  // namespace muster
