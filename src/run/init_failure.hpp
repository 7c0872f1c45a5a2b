/// What MPI libraries write where MPI_Init fails.
#pragma once

#include <string>
#include <string_view>

namespace muster {

struct InitFailure {
  std::string reason;  ///< in the library's words, at most 200 characters; empty: MPI_Init did not fail
  /// Name of a parameter of Open MPI whose value it rejected: `btl_tcp_if_include`; empty: none.
  std::string setting;
  int ranks = 0;  ///< how many rejected the value
};

/// From the standard error of a launch, of Open MPI, MPICH and the libraries derived from it. Pure.
///   Open MPI  the first sentence of the notice (between two rules) before the one that reports the end of MPI_Init,
///             or else of the latter; that of a rejected value where there is one
///   MPICH     the last line of the first error stack of MPI_Init
[[nodiscard]] InitFailure init_failure(std::string_view standard_error);

}  // namespace muster
