/// What the driver, the tools and the libraries of a vendor's GPUs are called, as data. Of each vendor in
/// `src/device/<vendor>/terms/vendor.cpp`, which the build finds; what is opened and called is in
/// device/gpu_backend.hpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/kernel_patterns.hpp"

namespace muster {

struct DescribedVendor;

/// How a runtime reads the variables that select devices, and in which order it counts them
/// (measure/device_selection.hpp).
enum class SelectionRules : unsigned char { none, cuda, hip, level_zero };

/// A number on the PCI bus and its name.
struct NamedId {
  std::string_view id;
  std::string_view name;
};

using Terms = std::span<const std::string_view>;

/// Empty, unless it is written otherwise: the vendor has no such thing.
struct GpuVendor {
  std::string_view name = {};   ///< in documents and reports: `intel`
  std::string_view maker = {};  ///< in sentences: `Intel`
  int place = 0;                ///< in the order in which remedies name vendors and their libraries are opened

  // On the PCI bus.
  Terms pci_vendors = {};                    ///< `8086`: that of its GPUs first
  std::span<const NamedId> pci_models = {};  ///< `8086:0bd5`, where no driver has a name
  Terms pci_classes = {};                    ///< classes of its GPUs: `0380`
  bool is_first_display_a_gpu = true;        ///< false: device 2 of bus 0 is a processor's own graphics

  // Its driver, and the files of devices.
  std::string_view driver = {};            ///< kernel module
  std::string_view other_driver = {};      ///< one that may be loaded in its place
  std::string_view driver_source = {};     ///< of the inventory: lists the GPUs that the driver runs
  bool is_source_there = false;            ///< wherever the driver is; else a machine may lack it
  std::string_view driver_file = {};       ///< with which `doctor` shows that the driver is there
  Terms shared_files = {};                 ///< device files that all its GPUs share
  bool has_render_files = false;           ///< programs that compute open `/dev/dri/renderD*`
  Terms file_prefixes = {};                ///< of all its device files
  std::string_view files_missing = {};     ///< what to do where they are missing
  std::string_view files_denied = {};      ///< what to do where users may not open them
  std::string_view service_folder = {};    ///< of a service that its runtime asks where the folder is there
  std::string_view service_variable = {};  ///< names another folder for it
  Terms services = {};                     ///< begin of names of programs that serve all others

  // Its errors in the kernel's log.
  std::string_view log_marks = {};                      ///< words of the log that belong to it: `i915, xe`
  std::string_view error_mark = {};                     ///< the one of them that stands at an error
  std::span<const KernelKind> kernel_kinds = {};        ///< see there
  std::span<const KernelPattern> kernel_patterns = {};  ///< before those of the host, in the order of vendors

  // Variables.
  std::string_view visible_variable = {};  ///< selects GPUs for a program
  Terms order_settings = {};               ///< `NAME=VALUE`: with them its numbers are those of whole GPUs by address
  Terms inner_variables = {};              ///< among what that one left, the first that is set selects again
  SelectionRules selection = SelectionRules::none;
  Terms selection_variables = {};            ///< all that select, order or grant its GPUs
  std::string_view precision_variable = {};  ///< lets libraries multiply another type

  // Its libraries.
  std::string_view stack = {};                ///< all of them: `oneAPI`
  std::string_view collectives = {};          ///< of collective operations
  std::string_view transport = {};            ///< label of messages that this library carried
  std::string_view compiler = {};             ///< of kernels at run time
  std::string_view toolkit = {};              ///< what that compiler is a part of
  std::string_view runtime_library = {};      ///< how the file of its runtime begins
  std::string_view runtime_missing = {};      ///< what to do where there is none
  std::span<const int> no_device_codes = {};  ///< of its runtime: no device is there
  bool are_parts_devices = false;   ///< its runtime counts partitions of a GPU as devices, in the order of the kernel
  bool is_uuid_of_runtime = false;  ///< the kernel's driver writes the UUID of a GPU as the runtime does
  std::string_view links_source = {};  ///< of the inventory: knows the links between its GPUs
  bool are_links_inside = false;  ///< all end in their node; else `fabric_domain` of a GPU shows that they leave it
  std::string_view refusal_value = {};  ///< Device::values: error of its library for a GPU
  Terms library_folders = {};           ///< searched behind the loader's own
  Terms hwloc_components = {};          ///< of hwloc, that open its libraries
  Terms driver_calls = {};              ///< how names of functions of its driver begin
  Terms library_calls = {};             ///< and of other libraries of its own
  std::string_view hung_call = {};      ///< remedy for a driver call that did not return; {0}: the call, {1}: nodes

  // Its commands.
  Terms query_programs = {};             ///< print, and change nothing; the first is the one that remedies name
  std::string_view state_command = {};   ///< prints clocks, power limits and the reasons of throttling
  std::string_view memory_command = {};  ///< prints errors of memory
  std::string_view links_command = {};   ///< prints state and errors of links between GPUs

  const DescribedVendor* described = nullptr;  ///< nullptr: machine descriptions can't have its GPUs
};

/// All, by `place`.
[[nodiscard]] std::span<const GpuVendor* const> gpu_vendors();
/// As the build found them.
[[nodiscard]] std::span<const GpuVendor* const> listed_gpu_vendors();
/// Sorted; the second: of those whose GPUs a machine description can have.
[[nodiscard]] std::vector<std::string> names_of_vendors();
[[nodiscard]] std::vector<std::string> described_vendors();
/// One without any terms where it is not among them.
[[nodiscard]] const GpuVendor& terms_of_vendor(std::string_view name);
/// That of all which have it, `ONE, OTHER`.
[[nodiscard]] std::string of_all_vendors(std::string_view GpuVendor::*term, std::string_view separator = ", ");
/// The first of each vendor that has one.
[[nodiscard]] std::string first_of_all_vendors(Terms GpuVendor::*terms, std::string_view separator);
/// Whether one of `terms` of any vendor is `word`.
[[nodiscard]] bool is_any_vendors(Terms GpuVendor::*terms, std::string_view word);
/// nullptr: it selects GPUs of none.
[[nodiscard]] const GpuVendor* vendor_by_visible_variable(std::string_view variable);
/// Words of the kernel's log that belong to it: at least the name of its driver.
[[nodiscard]] std::string_view log_marks_of(const GpuVendor& vendor);
/// The first vendor of whose `terms` one begins `text`; nullptr: none.
[[nodiscard]] const GpuVendor* vendor_by_prefix(Terms GpuVendor::*terms, std::string_view text);
/// `4242 nv-hostengine (12 MiB)`: a service of a vendor's, not a leftover of a job. `4243 nv-hostengine of user 1003
/// (9 MiB)` is none.
[[nodiscard]] bool is_gpu_service(std::string_view process);

}  // namespace muster
