/// Facts that ranks report of their training, besides single numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster::training {

/// `diverged`: ranks whose parameters or data are not those of the others.
struct DivergedRanks {
  int step = 0;
  std::string cause;
  bool is_certain = false;
  std::vector<int> ranks;
};
template <class Io>
void fields(Io& io, DivergedRanks& fact) {
  io(fact.step);
  io(fact.cause);
  io.choice(fact.is_certain, "certain", "suspected");
  io(fact.ranks);
}

/// `miscounted`: a sample that not exactly one rank took.
struct MiscountedSample {
  int epoch = 0;
  std::uint32_t sample = 0;
  std::vector<int> ranks;  ///< that took it
};
template <class Io>
void fields(Io& io, MiscountedSample& fact) {
  io(fact.epoch);
  io(fact.sample);
  io(fact.ranks);
}

/// `miscovered`: a sum of gradients that is not of the whole batch.
struct PartialSum {
  int step = 0;
  int bucket = 0;
  double samples = 0;
  int batch = 0;
};
template <class Io>
void fields(Io& io, PartialSum& fact) {
  io(fact.step);
  io(fact.bucket);
  io(fact.samples, "{:g}");
  io(fact.batch);
}

/// `reference`: how far losses were from those of one rank alone, at most.
struct ReferenceCompared {
  int steps = 0;
  int worst_step = 0;
  double deviation = 0;
};
template <class Io>
void fields(Io& io, ReferenceCompared& fact) {
  io(fact.steps);
  io(fact.worst_step);
  io(fact.deviation, "{:.2g}");
}

/// `reference.off`: the first loss that was too far from it.
struct LossOff {
  int step = 0;
  double loss = 0;
  double reference = 0;
};
template <class Io>
void fields(Io& io, LossOff& fact) {
  io(fact.step);
  io(fact.loss, "{:.7g}");
  io(fact.reference, "{:.7g}");
}

/// `grown`: the largest loss before gradients were no longer finite.
struct LossGrown {
  double first = 0;
  double largest = 0;
  int step = 0;
};
template <class Io>
void fields(Io& io, LossGrown& fact) {
  io(fact.first, "{:.4g}");
  io(fact.largest, "{:.4g}");
  io(fact.step);
}

/// `slowest`: how much longer than the median rank it computed.
struct SlowestRank {
  int rank = 0;
  double percent = 0;
};
template <class Io>
void fields(Io& io, SlowestRank& fact) {
  io(fact.rank);
  io(fact.percent, "{:.1f}");
}

/// `broken`: a device failed; `stopped`: another rank's did.
struct BrokenStep {
  int step = 0;
  std::string error;
};
template <class Io>
void fields(Io& io, BrokenStep& fact) {
  io(fact.step);
  io.rest(fact.error);
}

/// A list of ranks alone: `gradients.wrong`.
struct RankSet {
  std::vector<int> ranks;
};
template <class Io>
void fields(Io& io, RankSet& fact) {
  io(fact.ranks);
}

}  // namespace muster::training
