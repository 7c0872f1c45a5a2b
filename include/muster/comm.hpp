/// Communication between the ranks of a launch. `comm/mpi` implements it; probes see only this.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "muster/result.hpp"

namespace muster {

using ByteVector = std::vector<std::byte>;

/// All functions are collective over all ranks of the communicator unless they say otherwise: every rank must
/// call them in the same order. None has a deadline of its own: the driver keeps time and ends a launch that
/// hangs, so a call may never return. Failures of the MPI library come back with kind `system`.
class Comm {
 public:
  virtual ~Comm() = default;

  /// Not collective.
  [[nodiscard]] virtual int rank() const = 0;
  /// Number of ranks. Not collective.
  [[nodiscard]] virtual int size() const = 0;
  /// Name and version of the library underneath, one line. Not collective.
  [[nodiscard]] virtual std::string library() const = 0;

  [[nodiscard]] virtual Result<void> barrier() = 0;
  /// Every rank returns the bytes of `root`; the argument of the others is ignored.
  [[nodiscard]] virtual Result<ByteVector> broadcast(std::span<const std::byte> bytes, int root) = 0;
  /// The bytes of all ranks, in rank order, on `root`; an empty vector on the others. Lengths may differ.
  [[nodiscard]] virtual Result<std::vector<ByteVector>> gather(std::span<const std::byte> bytes, int root) = 0;
  /// As gather, on every rank.
  [[nodiscard]] virtual Result<std::vector<ByteVector>> all_gather(std::span<const std::byte> bytes) = 0;
  /// True on every rank when `mine` is true on every rank.
  [[nodiscard]] virtual Result<bool> all_true(bool mine) = 0;
};

}  // namespace muster
