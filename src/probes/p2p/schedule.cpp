#include "probes/p2p/schedule.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "probes/p2p/pattern.hpp"

namespace muster::p2p {

namespace {

constexpr double least_good_s = 0.010;
constexpr double least_s = 0.002;
constexpr int least_random_rounds = 5;

int all_rounds(int ranks, Pairs pairs) {
  if (ranks < 2) return 0;
  if (pairs == Pairs::all) return ranks % 2 == 0 ? ranks - 1 : ranks;
  if (ranks == 2) return 1;
  return ranks % 2 == 0 ? 2 : 3;
}

}  // namespace

Schedule::Schedule(int ranks, Pairs pairs, int rounds, std::uint64_t seed)
    : ranks_(ranks),
      pairs_(pairs),
      rounds_(all_rounds(ranks, pairs)),
      is_random_(pairs == Pairs::all && rounds > 0 && ranks > 1),
      seed_(seed) {
  if (is_random_) rounds_ = rounds;
}

int Schedule::circle_partner(int rank, int round) const {
  // One rank (or nobody, when their number is odd) stands in the middle, the others on a circle of odd length: those
  // whose places add up to the round's number meet, and whoever would meet himself meets the one in the middle.
  const int circle = ranks_ % 2 == 0 ? ranks_ - 1 : ranks_;
  const int middle = ranks_ % 2 == 0 ? ranks_ - 1 : -1;
  for (int place = 0; rank == middle && place < circle; ++place)
    if ((2 * place) % circle == round % circle) return place;
  const int other = ((round - rank) % circle + circle) % circle;
  return other == rank ? middle : other;
}

int Schedule::ring_partner(int rank, int round) const {
  if (ranks_ % 2 == 1 && round == 2) return rank == 0 ? ranks_ - 1 : rank == ranks_ - 1 ? 0 : -1;
  const int other = (rank + round) % 2 == 0 ? rank + 1 : rank - 1;
  if (ranks_ % 2 == 0) return (other + ranks_) % ranks_;
  return other < 0 || other >= ranks_ ? -1 : other;
}

std::vector<int> Schedule::matching(int round) const {
  std::vector<int> order(static_cast<std::size_t>(ranks_));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) {
    const std::uint64_t draw = mix(seed_ + mix(static_cast<std::uint64_t>(round) * 0x10001 + i));
    std::swap(order[i - 1], order[draw % i]);
  }
  std::vector<int> partners(order.size(), -1);
  for (std::size_t i = 0; i + 1 < order.size(); i += 2) {
    partners[static_cast<std::size_t>(order[i])] = order[i + 1];
    partners[static_cast<std::size_t>(order[i + 1])] = order[i];
  }
  return partners;
}

std::vector<int> Schedule::round(int index) const {
  if (is_random_) return matching(index);
  std::vector<int> partners(static_cast<std::size_t>(ranks_), -1);
  for (int rank = 0; rank < ranks_; ++rank)
    partners[static_cast<std::size_t>(rank)] =
        pairs_ == Pairs::ring ? ring_partner(rank, index) : circle_partner(rank, index);
  return partners;
}

int Schedule::partner(int rank, int round_index) const {
  if (is_random_) return matching(round_index)[static_cast<std::size_t>(rank)];
  return pairs_ == Pairs::ring ? ring_partner(rank, round_index) : circle_partner(rank, round_index);
}

Budget plan_budget(int ranks, Pairs pairs, int asked, int readings, double budget_s, double most_s) {
  Budget budget;
  budget.rounds = pairs == Pairs::all ? asked : 0;
  const double each = budget_s / std::max(1, readings);
  int rounds = budget.rounds > 0 ? budget.rounds : std::max(1, all_rounds(ranks, pairs));
  if (asked == 0 && pairs == Pairs::all && each / rounds < least_good_s) {
    const int fitting = std::max(least_random_rounds, static_cast<int>(each / least_good_s));
    if (fitting < rounds) rounds = budget.rounds = fitting;
  }
  budget.reading_s = std::clamp(each / rounds, least_s, std::max(least_s, most_s));
  return budget;
}

}  // namespace muster::p2p
