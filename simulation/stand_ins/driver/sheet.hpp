/// What stand-ins of vendors' libraries know: the devices of a written machine, from the file that MUSTER_DRIVER_SHEET
/// names, and the lines of its description (`driver` in [gpus] and in faults; docs/machines.md) that define how they
/// misbehave. Read once, when first asked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fake {

struct SheetDevice {
  std::string address;  ///< `0000:c1:00.0`
  std::string uuid;     ///< as the kernel's driver writes it
  int domain = -1;
  int lanes = 16;
  int partitions = 1;
  bool partitions_are_functions = false;  ///< the driver numbers them in the lowest bits of the address
  bool is_lost = false;
  std::map<std::string, std::string, std::less<>> values;  ///< of `set` lines

  /// The value of a `set` line, else the fallback.
  [[nodiscard]] std::string text(std::string_view key, std::string fallback = {}) const;
  [[nodiscard]] double number(std::string_view key, double fallback) const;
};

/// Links between two devices.
struct SheetLinks {
  std::string from;
  std::string to;
  int count = 0;
};

/// `fail CALL CODE [GPU] [after N]`, `hang CALL [GPU] [after N]`, split at blanks.
struct Line {
  std::vector<std::string> words;
};

/// `later GPU KEY VALUE... after N`: from the N+1st query on.
struct Later {
  int gpu = -1;  ///< -1: all
  std::string key;
  std::string value;
  int after = 0;
};

class Sheet {
 public:
  /// The machine of this process; without MUSTER_DRIVER_SHEET one with no device.
  [[nodiscard]] static const Sheet& here();

  std::string vendor, model, id, driver_version, firmware, host;
  std::uint64_t memory = 0;  ///< bytes of each device
  std::vector<SheetDevice> devices;
  std::vector<SheetLinks> links;
  std::vector<Line> lines;                                 ///< but `set` lines
  std::map<std::string, std::string, std::less<>> values;  ///< of `set all KEY VALUE`
  std::vector<Later> later;

  /// As of a device, of the node: `set all KEY VALUE`.
  [[nodiscard]] std::string text(std::string_view key, std::string fallback = {}) const;
};

/// The value of a `later` line about this device and key, when its time has come; each call counts as one question.
[[nodiscard]] std::string later_value(int device, std::string_view key, std::string otherwise);

/// To be called first by every function that stands in for `call`. Returns the code of a line `fail CALL CODE` (with a
/// number of a GPU behind it, only when `device` is that one), 0 without one. Does not return where a line demands
/// `hang CALL [GPU]`; `write CALL PATH HEX` puts these bytes into a file below the machine's root; `crash CALL [GPU]`
/// ends the process by SIGSEGV. A line that ends in `after N` counts from the N+1st call on. The variable
/// MUSTER_DRIVER_FAILS (`CALL CODE`) goes before all lines.
[[nodiscard]] int entered(std::string_view call, int device = -1);

}  // namespace fake
