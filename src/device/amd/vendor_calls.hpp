/// Functions of one vendor's library, called by name. Only such as take and give numbers and text: the structs of AMD's
/// libraries differ between releases.
#pragma once

#include <array>
#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "device/call_watch.hpp"
#include "device/inventory.hpp"
#include "device/library.hpp"

namespace muster {

class VendorCalls {
 public:
  VendorCalls(const Library& library, const CallWatch& watch, LibraryReport& report)
      : library_(library), watch_(watch), report_(report) {}

  /// Instead of a status: the library has no such function.
  static constexpr int lacks = INT_MIN;

  template <class... Arguments>
  int operator()(const char* name, Arguments... arguments) {
    int (*function)(Arguments...) = nullptr;
    if (!library_.fill(function, name)) {
      note_missing(name);
      return lacks;
    }
    return watch_(name, function, arguments...);
  }

  /// Calls are about the GPU at this address from now on, which `inventory` may know better; without: about none.
  void turn_to(const PciAddress& address, const Inventory& inventory) const;
  void turn_away() const { watch_.device({}); }

  /// `rsmi_init returned 8: An error occurred...`; `words` is the function that has a sentence for each status.
  [[nodiscard]] std::string failure(const char* name, int status, const char* words);
  /// The library is unusable: its first calls fail.
  void give_up(const char* name, int status, const char* words);

 private:
  void note_missing(const char* name);
  const Library& library_;
  const CallWatch& watch_;
  LibraryReport& report_;
};

/// ReplyBuffer for a struct of which only the first numbers are known, in whatever release.
using ReplyBuffer = std::array<std::uint64_t, 1024>;

/// The data available after opening.
[[nodiscard]] LibraryReport report_of(const Library& library);

/// The GPU at that place. Where the driver numbers the parts of a GPU in the lowest bits, a library has them as
/// functions of a device that the bus does not show.
[[nodiscard]] PciAddress whole_at(const Inventory& inventory, const PciAddress& address);

/// One GPU, from a library of AMD's.
struct VendorGpu {
  PciAddress address;
  std::string unique_id;           ///< `0x79ccd55167a2124a`; empty: unknown
  int numa_node = -1;              ///< -1: unknown
  std::int64_t temperatures[3]{};  ///< edge, junction, memory; degrees or thousandths of one; 0: unknown
  double power = 0;                ///< W; 0: unknown
  std::uint64_t memory_total = 0;  ///< bytes; 0: unknown
  std::uint64_t memory_used = 0;
  std::optional<std::uint64_t> uncorrected;
  std::vector<PciAddress> xgmi;  ///< to whom it has xGMI links, as `peers` of others
  std::string error;             ///< the first call that failed and should not
};

/// Joins the data of library `source`: fills gaps of the kernel's data, and keeps comparable values beside it.
void join(const std::vector<VendorGpu>& gpus, const std::string& source, Inventory& inventory);

}  // namespace muster
