/// What an answer is worth, beside the truth.
#pragma once

#include "diagnosis/rules.hpp"

namespace muster::diagnosis {

struct Score {
  int runs = 0;
  int wanted = 0;      ///< parts at fault
  int found = 0;       ///< of them, named as what they are
  int names = 0;       ///< given
  int right = 0;       ///< of them
  int false_runs = 0;  ///< with a name that is not right
  int unmeasured = 0;  ///< runs
  int ties = 0;        ///< runs that name nothing else than `A or B`, one of which is at fault
  int single = 0;      ///< runs that accuse a member of a group singly

  void add(const World& world, const Answer& answer);
  void add(const Score& other);
  [[nodiscard]] double precision() const { return names > 0 ? static_cast<double>(right) / names : 1; }
  [[nodiscard]] double recall() const { return wanted > 0 ? static_cast<double>(found) / wanted : 1; }
  [[nodiscard]] double share(int count) const { return runs > 0 ? static_cast<double>(count) / runs : 0; }
};

}  // namespace muster::diagnosis
