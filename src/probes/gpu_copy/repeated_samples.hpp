/// Several looks at one rate, some of them disturbed by other users of a link. Pure but for the looks themselves.
#pragma once

#include <functional>

#include "muster/observation.hpp"
#include "muster/result.hpp"

namespace muster::gpu_copy {

inline constexpr int most_looks = 5;
/// Medians whose difference is within this share of them are alike.
inline constexpr double alike_looks = 0.05;

struct Looks {
  Summary best;        ///< the fastest; n = 0 where all were disturbed
  double slowest = 0;  ///< median of the slowest
  /// They differ by more than noise does.
  [[nodiscard]] bool have_varied() const { return best.n > 0 && slowest < best.median * (1 - alike_looks); }
};

/// Another user of a link, such as a neighbour's GPU behind the same switch, halves the rate for 0.1 s and more;
/// nothing makes a link faster. So `look` is called once after the `first` look, and after each `pause` again while a
/// look was faster than all before, or the fastest is below `least`: `most_looks` in all. Stops at its first error.
[[nodiscard]] Result<Looks> look_again(const Summary& first, double least, const std::function<Result<Summary>()>& look,
                                       const std::function<void()>& pause);

}  // namespace muster::gpu_copy
