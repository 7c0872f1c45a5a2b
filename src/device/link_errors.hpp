/// Errors that the links of a node count: ports of the fabric, and PCIe of GPUs and NICs with the port above them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "device/interfaces.hpp"
#include "device/machine.hpp"
#include "muster/observation.hpp"

namespace muster {

/// Finds the counters once and reads them as often as asked. Local; each reading is a few hundred small files at most.
class LinkErrors {
 public:
  explicit LinkErrors(const fs::path& root);
  /// By link (`mlx5_0/1`, `hsn0`, `cxi0`, `0000:c1:00.0`) and counter. Counters that can't be read are left out.
  [[nodiscard]] PortErrors read() const;
  /// Links that the data of jobs does not take: Ethernet ports with less than a quarter of the speed of the fabric
  /// (InfiniBand, Slingshot), else of the fastest port. A faster one may be of the fabric, and have been trained low.
  [[nodiscard]] const std::set<std::string>& beside() const { return beside_; }

 private:
  struct Source {
    std::string link;
    std::string counter;
    std::string file;
  };
  void add_ports();
  void add_interfaces();
  void add_slingshot();
  void add_pcie();
  void find_beside();

  struct Port {
    std::string link;
    double speed = 0;  ///< Mbit/s; 0: unknown
    bool is_of_fabric = false;
  };
  Machine machine_;
  std::vector<Source> sources_;
  std::vector<Port> ports_;
  std::set<std::string> beside_;
};

/// What grew between two readings, as facts `link_error` and `link_counters` (evaluate/link_errors.hpp). A counter that
/// went down was reset in between. Links of `beside` are marked, and not among those that are compared.
[[nodiscard]] std::vector<Fact> link_facts(const PortErrors& before, const PortErrors& after, double seconds,
                                           const std::set<std::string>& beside = {});

/// Lines of the kernel's `aer_dev_correctable` that the link itself causes: `BadTLP 3`. Not what software causes
/// (AdvNonFatalErr), nor the total, which includes that.
[[nodiscard]] std::optional<std::uint64_t> parse_aer_correctable(std::string_view text);
/// `TOTAL_ERR_FATAL 2` of `aer_dev_fatal`.
[[nodiscard]] std::optional<std::uint64_t> parse_aer_total(std::string_view text);
/// `90049@1675489372.701036980`, as Slingshot's driver writes it with the time of the reading.
[[nodiscard]] std::optional<std::uint64_t> parse_slingshot_count(std::string_view text);

}  // namespace muster
