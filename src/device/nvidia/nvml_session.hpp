/// NVML while it is asked: calls that are watched, and their failures kept apart from what a device merely lacks.
#pragma once

#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "device/call_watch.hpp"
#include "device/inventory.hpp"
#include "device/nvidia/nvml_api.hpp"

namespace muster::nvml {

class Session {
 public:
  Session(const Functions& functions, const CallWatch& watch) : at(functions), watch_(watch) {}

  /// The code of `call`; a function that the library lacks is `not_supported`.
  template <class Function, class... Arguments>
  Code call(std::string_view name, Function* function, Arguments... arguments) const {
    if (function == nullptr) return not_supported;
    return watch_(name, function, arguments...);
  }
  /// As above about a device, which remembers the first failure that is more than "I do not have that".
  template <class Function, class... Arguments>
  bool ask(Device& device, std::string_view name, Function* function, Arguments... arguments) const {
    return note(device, name, call(name, function, arguments...));
  }
  /// The same of a call that was made.
  bool note(Device& device, std::string_view name, Code code) const {
    if (code != 0 && is_failure(code) && device.values.try_emplace("nvml_error", words(name, code)).second)
      device.values["nvml_code"] = std::to_string(code);
    return code == 0;
  }

  /// Calls are about it from now on.
  void turn_to(const Device& device) const {
    const std::string uuid = device.uuid.empty() ? "" : " (" + device.uuid + ")";
    watch_.device("GPU " + to_string(device.address) + uuid);
  }
  /// Calls concern no GPU, or an unknown one: the last one is not to be blamed.
  void turn_away() const { watch_.device({}); }

  /// `nvmlInit_v2 returned 18: Driver/library version mismatch`
  [[nodiscard]] std::string words(std::string_view name, Code code) const {
    const char* message = at.error_string == nullptr ? nullptr : at.error_string(code);
    return printable_line(fmt::format("{} returned {}{}{}", name, code, message == nullptr ? "" : ": ",
                                      message == nullptr ? "" : message));
  }

  const Functions& at;

 private:
  /// Not: invalid argument (no such link), not supported, no permission, not found, no such function in the driver,
  /// no data, and the like.
  static bool is_failure(Code code) {
    for (const Code harmless : {2, 3, 4, 6, 13, 21, 22, 25, 26, 27}) {
      if (code == harmless) return false;
    }
    return true;
  }

  const CallWatch& watch_;
};

// Each adds its part of the data of the GPU at `handle`.
void read_health(const Session& session, Handle handle, Device& gpu);
void read_nvlinks(const Session& session, Handle handle, Device& gpu);
void read_processes(const Session& session, Handle handle, Device& gpu);
/// MIG instances, as parts of the GPU at `whole`. Devices may move in memory.
void read_parts(const Session& session, Handle handle, const PciAddress& whole, Inventory& inventory);

void read_link(const Session& session, Handle handle, Device& gpu);
/// Temperature, power, clocks and throttle reasons: a part of read_health.
void read_heat_and_clocks(const Session& session, Handle handle, Device& gpu);
/// Replays of its PCIe link, and errors of its NVLinks.
void read_link_errors(const Session& session, Handle handle, Device& gpu);

[[nodiscard]] PciAddress address_of(const PciInfo& pci);
/// The kernel knows a GPU or a driver of NVIDIA here; on a simulated machine also stand-ins are present.
[[nodiscard]] bool is_to_be_asked(const Inventory& inventory);

/// The text that one of the functions gives; empty: none.
[[nodiscard]] std::string text_of(const Session& session, Device& device, std::string_view name, GetText* function,
                                  Handle handle);
/// Bytes in use and in all, as `memory_total` and `memory_used` in MiB.
void read_memory(const Session& session, Handle handle, Device& device);

}  // namespace muster::nvml
