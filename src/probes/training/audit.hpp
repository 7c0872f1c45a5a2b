/// What ranks that train together compare, and who is at fault when they differ. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "probes/training/data.hpp"

namespace muster::training {

/// Fingerprints of a rank in one step. `before` is taken just before the update, so that what changes during forward
/// and backward, when parameters are not written, is seen.
struct StepRecord {
  std::uint64_t before = 0;  ///< of parameters and velocities
  std::uint64_t sum = 0;     ///< of the gradients as added up over ranks
  std::uint64_t after = 0;   ///< of parameters and velocities when the step ends
  friend bool operator==(const StepRecord&, const StepRecord&) = default;
};

enum class Cause : std::uint8_t {
  data,    ///< other samples from the same seed
  start,   ///< different before anything was added up
  memory,  ///< parameters changed while they were not written
  sum,     ///< the ranks got different sums
  update,  ///< same parameters, same sums, another result
};
[[nodiscard]] std::string_view to_string(Cause cause);
[[nodiscard]] std::optional<Cause> parse_cause(std::string_view name);

struct Divergence {
  int step = 0;
  Cause cause = Cause::update;
  std::vector<int> suspects;
  bool is_certain = false;  ///< the suspects did it; else it was some of them
  friend bool operator==(const Divergence&, const Divergence&) = default;
};

/// Whose value is not that of the majority; nullopt where all are alike.
[[nodiscard]] std::optional<Divergence> find_dissent(std::span<const std::uint64_t> values, int step, Cause cause);

/// The first step in which not all ranks have the same. `records` are by rank, of the same steps, of which the first
/// has the number `first_step`; `former` is what `after` was before that step, by rank.
/// Whose own parameters changed between two steps is certain. Otherwise those are suspects that are not with the
/// majority; all of them when there is none.
[[nodiscard]] std::optional<Divergence> find_divergence(std::span<const std::vector<StepRecord>> records,
                                                        std::span<const std::uint64_t> former, int first_step);

/// A sample that was not taken exactly once.
struct Miscounted {
  std::uint32_t sample = 0;
  std::vector<int> ranks;  ///< that took it; empty: none did
  friend bool operator==(const Miscounted&, const Miscounted&) = default;
};

/// `taken` is by rank: the samples of an epoch of `samples` in the order taken. At most `most` are reported. A number
/// that is not a sample counts as one that too many took.
[[nodiscard]] std::vector<Miscounted> find_miscounted(std::span<const std::vector<std::uint32_t>> taken, int samples,
                                                      std::size_t most);

/// How far a curve is from another one that should be the same.
struct CurveDifference {
  int steps = 0;    ///< compared
  int worst = -1;   ///< step with the largest deviation
  double most = 0;  ///< there, as a share of max(reference, 0.1)
  int first = -1;   ///< first step above the tolerance; -1: none
};
inline constexpr double curve_tolerance = 1e-4;
/// Of a GPU against the host, whose products and exponentials round otherwise.
inline constexpr double gpu_curve_tolerance = 1e-3;
[[nodiscard]] CurveDifference compare_curves(std::span<const double> losses, std::span<const double> reference,
                                             double tolerance = curve_tolerance);

/// Whether all of `values` are those that are due, to a thousandth of the largest; what is not finite is not.
[[nodiscard]] bool are_close(std::span<const float> values, std::span<const float> due);

}  // namespace muster::training
