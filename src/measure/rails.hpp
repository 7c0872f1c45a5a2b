/// Rails: which NIC carries the messages of a rank to other nodes, where a node has several.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_mask.hpp"
#include "base/files.hpp"
#include "device/inventory.hpp"

namespace muster::p2p {

struct Rail {
  /// `hsn2`; several where they are as near, or where messages go over several at once. Sorted.
  std::vector<std::string> nics;
  /// By the bytes of this rank's own connections; else those are the NICs nearest to it.
  bool is_counted = false;
  friend bool operator==(const Rail&, const Rail&) = default;
};

/// A fact: `counted hsn2`, `near mlx5_0,mlx5_1`; and back, nullopt: it is none.
[[nodiscard]] std::string to_text(const Rail& rail);
[[nodiscard]] std::optional<Rail> parse_rail(std::string_view text);

using BytesByNic = std::map<std::string, double>;

/// Bytes of this process's TCP connections to other nodes so far, by the interface that has the local address. Empty:
/// there are none, or the kernel does not count them.
[[nodiscard]] BytesByNic bytes_by_nic();

/// Of `moved` bytes to and from other nodes, what connections counted since `before`. The rail is the NIC that carried
/// at least nine tenths, else all with a tenth or more; nullopt: connections carried less than nine tenths of `moved`.
/// Pure.
[[nodiscard]] std::optional<Rail> counted_rail(const BytesByNic& before, const BytesByNic& after, double moved);

/// What a process's connections moved by one NIC, and what the NIC's own counters show of all processes of the node
/// meanwhile: bytes, both directions.
struct RailBytes {
  double moved = 0;
  double shown = 0;
};
/// A fact: `1200000 of 4900000`; and back, nullopt: it is none.
[[nodiscard]] std::string to_text(const RailBytes& bytes);
[[nodiscard]] std::optional<RailBytes> parse_rail_bytes(std::string_view text);

/// At one time.
struct NicBytes {
  BytesByNic by_address;  ///< bytes_by_nic
  BytesByNic counters;    ///< read_counters
};
[[nodiscard]] NicBytes read_nic_bytes();
/// nullopt: the NIC has no counter. Pure.
[[nodiscard]] std::optional<RailBytes> rail_bytes(const std::string& nic, const NicBytes& before,
                                                  const NicBytes& after);

/// Where no connection counts: the fastest NICs that are up and in the NUMA domain that holds all of `mask`; nullopt:
/// the node has fewer than two such NICs, none is in that domain, or all are. Reads files of domains below `root`.
[[nodiscard]] std::optional<Rail> near_rail(const Inventory& node, const CpuMask& mask, const fs::path& root = "/");

/// The same of a list of names as people read it, with what it is by: `mlx5_0, mlx5_1 and mlx5_2, same switch`;
/// nullopt: it is not complete (`... and 2 more`).
[[nodiscard]] std::optional<Rail> near_rail_of(std::string_view list);

}  // namespace muster::p2p
