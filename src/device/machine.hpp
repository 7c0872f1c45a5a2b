/// The files of a machine below a root folder; `/` is the one we run on. Reads, and understands nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "device/inventory.hpp"

namespace muster {

class Machine {
 public:
  explicit Machine(fs::path root) : root_(std::move(root)) {}

  [[nodiscard]] bool has(std::string_view path) const;
  /// The content without blanks around it; empty when it is missing or can't be read.
  [[nodiscard]] std::string text(std::string_view path) const;
  /// The first bytes, no more than asked: some devices mind being read to the end.
  [[nodiscard]] std::string head(std::string_view path, std::size_t bytes) const;
  /// Names in a folder, sorted; empty when there is none.
  [[nodiscard]] std::vector<std::string> names(std::string_view folder) const;
  /// The last part of where a symbolic link leads; empty when it is none.
  [[nodiscard]] std::string link_name(std::string_view path) const;
  /// The PCI addresses on the way to what `path` is, the nearest first: a device, then the bridges above it.
  [[nodiscard]] std::vector<PciAddress> pci_path(std::string_view path) const;
  /// Asks with access(2), which opens nothing: an open may wake a GPU for seconds.
  [[nodiscard]] FileAccess access(std::string_view path) const;
  /// With that.
  [[nodiscard]] DeviceFile file_at(const std::string& path) const { return {path, access(path)}; }
  /// Whether `path` is a setuid-root program.
  [[nodiscard]] bool is_setuid(std::string_view path) const;

 private:
  [[nodiscard]] fs::path at(std::string_view path) const;
  fs::path root_;
};

}  // namespace muster
