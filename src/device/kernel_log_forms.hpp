/// How messages of the kernel's log begin: for the drivers of a vendor's GPUs as well as for those of the host.
#pragma once

#include <optional>
#include <string_view>

#include "device/pci_address.hpp"

namespace muster {

struct KernelEvent;

/// The subject of a message, and its text.
struct Heading {
  std::string_view driver;  ///< empty: none that is known
  std::optional<PciAddress> at = std::nullopt;
  std::string_view part = {};
  std::string_view text = {};
  bool is_pci_driver = false;   ///< written as drivers of PCI devices do: `DRIVER ADDRESS: text`
  bool is_named_ahead = false;  ///< its device may be that of the next messages
  bool is_of_last = false;      ///< it is about the device named ahead
};

/// What a vendor's drivers write in another way than `DRIVER ADDRESS: text`. nullptr: they have no such thing.
struct KernelLogForms {
  std::optional<KernelEvent> (*numbered)(std::string_view message) = nullptr;  ///< an error with the driver's number
  std::optional<Heading> (*heading)(std::string_view message) = nullptr;
  /// Of a text behind the vendor's `driver`: what is judged.
  std::string_view (*text)(std::string_view text) = nullptr;
};

/// A program's name without its final zero, which any user chooses.
inline constexpr std::size_t longest_program = 15;

/// What follows the form with which `text` begins: `%` is a number, `$` a name, `&` a letter, and all else itself.
[[nodiscard]] std::optional<std::string_view> after_form(std::string_view text, std::string_view form);

}  // namespace muster
