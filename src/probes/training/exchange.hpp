/// Messages between ranks while they train, and the update that each does again when they differ.
#pragma once

#include <cstring>

#include "probes/training/train.hpp"

namespace muster::training {

template <class T>
std::vector<T> values_of(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// What a rank has done in an epoch, for all others to see.
struct EpochOfRank {
  bool is_finite = true;
  std::vector<StepRecord> records;
  std::vector<std::uint32_t> taken;
};
[[nodiscard]] ByteVector encode(const EpochOfRank& epoch);
/// Fails with kind `system` when it is not of `steps` steps.
[[nodiscard]] Result<EpochOfRank> decode(const ByteVector& bytes, std::size_t steps);

/// Does this rank's update give what plain arithmetic does? Once more, with numbers made for it.
[[nodiscard]] bool updates_rightly(const Parts& parts, const Settings& settings);

}  // namespace muster::training
