/// What the driver, the tools and the libraries of a vendor's GPUs are called. Of each vendor in
/// `device/<vendor>/vendor.cpp`; what is opened and called is in gpu_backend.hpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace muster {

struct GpuVendor {
  std::string_view name;              ///< in documents and reports: `nvidia`
  std::string_view driver;            ///< kernel module
  std::string_view other_driver;      ///< one that may be loaded in its place; empty: none
  std::string_view driver_source;     ///< of the inventory: lists the GPUs that the driver runs; empty: none
  bool is_source_there = false;       ///< wherever the driver is; else a machine may lack it
  std::string_view visible_variable;  ///< selects GPUs for a program
  std::string_view log_marks;         ///< words of the kernel log that belong to it: `NVRM, Xid`
  std::string_view error_mark;        ///< the one of them that stands at an error: `Xid`
  std::string_view collectives;       ///< its library of collective operations
  std::string_view compiler;          ///< of kernels at run time
  std::string_view toolkit;           ///< what that compiler is a part of
  std::string_view state_command;     ///< prints clocks, power limits and the reasons of throttling
  std::string_view memory_command;    ///< prints errors of memory
  std::string_view links_command;     ///< prints state and errors of links between GPUs
};

/// All, in the order in which remedies name them.
[[nodiscard]] std::span<const GpuVendor* const> gpu_vendors();
/// One without any terms where it is not among them.
[[nodiscard]] const GpuVendor& terms_of_vendor(std::string_view name);
/// That of all which have it, `nvidia-smi -q, rocm-smi`.
[[nodiscard]] std::string of_all_vendors(std::string_view GpuVendor::*term, std::string_view separator = ", ");

}  // namespace muster
