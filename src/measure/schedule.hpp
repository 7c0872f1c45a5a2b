/// Who exchanges with whom, round by round. Pure; every rank computes the same.
#pragma once

#include <cstdint>
#include <vector>

namespace muster::p2p {

enum class Pairs : std::uint8_t {
  all,   ///< all pairs, by the circle method
  ring,  ///< each rank with the next one and the first with the last: 2 rounds (3 if N is odd, 1 with two ranks)
};

/// Rounds of disjoint pairs. Where all nodes have as many ranks, whole nodes meet in a round: every rank of one has its
/// partner on the other, or all stay at home. So an adapter always carries as many pairs, and a reading is like all
/// others. With `all`, every pair meets exactly once.
///
/// Source of the circle method: Kirkman, 1847 (Anderson, Combinatorial Designs and Tournaments, 1997, section 1.2).
class Schedule {
 public:
  /// `node_of[rank]`: any numbers. `rounds` 0: all rounds of `pairs`. Otherwise that many: of `all`, random matchings
  /// from `seed` that repeat no pair of nodes (on one node: of ranks) before all have met; every fifth stays within
  /// nodes. A ring has no other rounds than its own and takes none away.
  Schedule(const std::vector<int>& node_of, Pairs pairs, int rounds, std::uint64_t seed);

  [[nodiscard]] int ranks() const { return static_cast<int>(place_.size()); }
  [[nodiscard]] int rounds() const { return rounds_; }
  [[nodiscard]] bool is_random() const { return is_random_; }
  /// -1: idle in this round. partner(partner(r)) == r.
  [[nodiscard]] int partner(int rank, int round) const;
  /// The partners of all ranks at once.
  [[nodiscard]] std::vector<int> round(int index) const;
  /// Which of two partners leads: the one on the node that comes first, so that all pairs between two nodes send the
  /// same way at the same time.
  [[nodiscard]] bool leads(int rank, int peer) const;

 private:
  /// Seats: a group of like ones is a node, or, where nodes differ in size or there is only one, all ranks are one.
  struct Place {
    int group = 0;
    int seat = 0;
  };
  /// What a round is made of.
  struct Turn {
    bool is_within = false;   ///< partners are seats of one group, else of two
    int number = 0;           ///< of the circle
    int shift = 0;            ///< between the seats of two groups
    std::vector<int> order;   ///< who sits at which place of the circle; empty: as numbered
    std::vector<int> places;  ///< its inverse
    [[nodiscard]] int partner(int seats, int seat) const;
  };

  [[nodiscard]] Turn turn(int round) const;
  [[nodiscard]] int partner_in(const Turn& turn, int rank) const;
  [[nodiscard]] int ring_partner(int rank, int round) const;
  void seat_all(const std::vector<int>& node_of);

  std::vector<int> node_of_;
  std::vector<Place> place_;               ///< by rank
  std::vector<std::vector<int>> members_;  ///< ranks, by group and seat
  Pairs pairs_;
  int rounds_ = 0;
  bool is_random_ = false;
  std::uint64_t seed_;
};

/// How many rounds of how much time: a case shall end within its budget however many ranks it has.
struct Budget {
  int rounds = 0;        ///< 0: all
  double reading_s = 0;  ///< time cap of one reading
};
/// What there is to share out.
struct Costs {
  int all_rounds = 1;
  int readings = 1;         ///< of one pair
  double verify_s = 0;      ///< of one round: what all its readings take beside the timed part
  double verify_share = 0;  ///< of a reading's time, which more messages take after it
  double budget_s = 0;      ///< for all rounds
  double most_s = 0;        ///< no reading takes longer
};
/// All rounds when each reading can have 10 ms; else as many random rounds (at least 5) as fit. `asked` > 0: that many,
/// or as many as fit (at least 1) when readings have 2 ms. A reading never gets less than that.
[[nodiscard]] Budget plan_budget(int asked, const Costs& costs);
/// Where timing means nothing: a few rounds, in which every rank receives something.
[[nodiscard]] Budget quick_budget(int asked, int all_rounds);

}  // namespace muster::p2p
