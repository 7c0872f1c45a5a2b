#include "probes/gpu_copy/repeated_samples.hpp"

#include <algorithm>

namespace muster::gpu_copy {

Result<Looks> look_again(const Summary& first, double least, const std::function<Result<Summary>()>& look,
                         const std::function<void()>& pause) {
  Looks looks{first, first.median};
  Summary& best = looks.best;
  for (int count = 1; count < most_looks; ++count) {
    if (count > 1) pause();
    auto next = look();
    if (!next) return tl::unexpected(next.error());
    const bool is_faster = next->n > 0 && (best.n == 0 || next->median > best.median * (1 + alike_looks));
    if (next->n > 0) looks.slowest = best.n == 0 ? next->median : std::min(looks.slowest, next->median);
    if (is_faster) best = *next;
    if (!is_faster && best.n > 0 && best.median >= least) break;
  }
  return looks;
}

}  // namespace muster::gpu_copy
