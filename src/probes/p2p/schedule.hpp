/// Who exchanges with whom, round by round. Pure; every rank computes the same.
#pragma once

#include <cstdint>
#include <vector>

namespace muster::p2p {

enum class Pairs : std::uint8_t {
  all,   ///< everybody with everybody: the circle method, N-1 rounds (N if N is odd) of disjoint pairs
  ring,  ///< each rank with the next one and the first with the last: 2 rounds (3 if N is odd, 1 with two ranks)
};

class Schedule {
 public:
  /// `rounds` 0: all rounds of `pairs`. Otherwise that many rounds: of `all`, random perfect matchings from `seed`; a
  /// ring has no other rounds than its own and takes none away.
  Schedule(int ranks, Pairs pairs, int rounds, std::uint64_t seed);

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int rounds() const { return rounds_; }
  [[nodiscard]] bool is_random() const { return is_random_; }
  /// -1: idle in this round. partner(partner(r)) == r.
  [[nodiscard]] int partner(int rank, int round) const;
  /// The partners of all ranks at once; what `partner` looks at. O(ranks).
  [[nodiscard]] std::vector<int> round(int index) const;

 private:
  [[nodiscard]] int circle_partner(int rank, int round) const;
  [[nodiscard]] int ring_partner(int rank, int round) const;
  [[nodiscard]] std::vector<int> matching(int round) const;

  int ranks_;
  Pairs pairs_;
  int rounds_;
  bool is_random_;
  std::uint64_t seed_;
};

/// How many rounds of how much time: a case shall end within its budget however many ranks it has.
struct Budget {
  int rounds = 0;        ///< 0: all
  double reading_s = 0;  ///< time cap of one reading
};
/// All rounds when each of the `readings` of a pair can have 10 ms; else as many random rounds (at least 5) as fit.
/// `asked` > 0 fixes the rounds. A reading never gets more than `most_s` nor less than 2 ms.
[[nodiscard]] Budget plan_budget(int ranks, Pairs pairs, int asked, int readings, double budget_s, double most_s);

}  // namespace muster::p2p
