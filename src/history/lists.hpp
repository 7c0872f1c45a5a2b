/// Who is unsteady, and who is bad more often than its like. Pure.
#pragma once

#include <string>
#include <vector>

#include "history/store.hpp"

namespace muster {

/// A check that passes and fails on the same node or device, though what the node is made of did not change.
struct Flaky {
  std::string item;
  std::string check;
  int runs = 0;  ///< that passed or failed
  int failed = 0;
  int changes = 0;   ///< between two runs after each other, provenance being the same
  std::string last;  ///< when it last changed
};
/// At least two changes; the most first.
[[nodiscard]] std::vector<Flaky> flaky(const std::vector<ItemVerdict>& verdicts);

/// Fails in more runs than its like.
struct Lemon {
  std::string item;
  bool is_device = false;
  int runs = 0;
  int failed = 0;                   ///< runs in which at least one check failed on it
  double others = 0;                ///< share of failed runs of the others
  double chance = 1;                ///< that one of the others fails as often
  std::vector<std::string> checks;  ///< that failed
};
/// At least two failed runs, and by chance less than once in a hundred over all items (binomial, Bonferroni).
[[nodiscard]] std::vector<Lemon> lemons(const std::vector<ItemVerdict>& verdicts);

}  // namespace muster
