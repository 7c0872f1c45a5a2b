#include "measure/schedule.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "measure/pattern.hpp"

namespace muster::p2p {

namespace {

constexpr double least_good_s = 0.010;
constexpr double least_s = 0.002;
constexpr int least_random_rounds = 5;
constexpr int within_every = 5;  // of random rounds, where nodes have several ranks

int circle_rounds(int seats) {
  if (seats < 2) return 0;
  return seats % 2 == 0 ? seats - 1 : seats;
}

int ring_rounds(int ranks) {
  if (ranks < 3) return ranks == 2 ? 1 : 0;
  return ranks % 2 == 0 ? 2 : 3;
}

/// One seat (or none, when their number is odd) is in the middle, the others on a circle of odd length: those whose
/// places add up to the round's number meet, and one that would meet itself meets the one in the middle.
int circle_partner(int seats, int seat, int round) {
  const int circle = circle_rounds(seats);
  const int middle = seats % 2 == 0 ? seats - 1 : -1;
  // 2 x place = round on a circle of odd length: (circle + 1) / 2 is the half of 1.
  if (seat == middle) return static_cast<int>(static_cast<long>(round % circle) * ((circle + 1) / 2) % circle);
  const int other = ((round - seat) % circle + circle) % circle;
  return other == seat ? middle : other;
}

std::vector<int> shuffled(int count, std::uint64_t seed) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[mix(seed + i) % i]);
  return order;
}

std::vector<int> inverse(const std::vector<int>& order) {
  std::vector<int> places(order.size());
  for (std::size_t place = 0; place < order.size(); ++place)
    places[static_cast<std::size_t>(order[place])] = static_cast<int>(place);
  return places;
}

}  // namespace

int Schedule::Turn::partner(int seats, int seat) const {
  if (order.empty()) return circle_partner(seats, seat, number);
  const int other = circle_partner(seats, places[static_cast<std::size_t>(seat)], number);
  return other < 0 ? -1 : order[static_cast<std::size_t>(other)];
}

Schedule::Schedule(const std::vector<int>& node_of, Pairs pairs, int rounds, std::uint64_t seed)
    : node_of_(node_of), place_(node_of.size()), pairs_(pairs), seed_(seed) {
  seat_all(node_of);
  if (ranks() < 2) return;
  const int groups = static_cast<int>(members_.size());
  const int seats = static_cast<int>(members_[0].size());
  rounds_ = pairs == Pairs::ring ? ring_rounds(ranks()) : circle_rounds(groups) * seats + circle_rounds(seats);
  is_random_ = pairs == Pairs::all && rounds > 0;
  if (is_random_) rounds_ = rounds;
}

void Schedule::seat_all(const std::vector<int>& node_of) {
  std::map<int, std::vector<int>> nodes;
  for (std::size_t rank = 0; rank < node_of.size(); ++rank) nodes[node_of[rank]].push_back(static_cast<int>(rank));
  const bool are_alike = !nodes.empty() && std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) {
    return node.second.size() == nodes.begin()->second.size();
  });
  if (are_alike) {
    for (auto& [number, members] : nodes) members_.push_back(std::move(members));
  } else {
    members_.emplace_back(node_of.size());
    std::iota(members_[0].begin(), members_[0].end(), 0);
  }
  for (std::size_t group = 0; group < members_.size(); ++group)
    for (std::size_t seat = 0; seat < members_[group].size(); ++seat)
      place_[static_cast<std::size_t>(members_[group][seat])] = {static_cast<int>(group), static_cast<int>(seat)};
}

Schedule::Turn Schedule::turn(int round) const {
  const int groups = static_cast<int>(members_.size());
  const int seats = static_cast<int>(members_[0].size());
  const int between = circle_rounds(groups);
  const int within = circle_rounds(seats);
  Turn turn;
  if (!is_random_) {
    turn.is_within = round >= between * seats;
    turn.number = turn.is_within ? round - between * seats : round % between;
    turn.shift = turn.is_within ? 0 : round / between;
    return turn;
  }
  // Counts rounds of its own kind.
  const bool is_mixed = between > 0 && within > 0;
  turn.is_within = between == 0 || (is_mixed && round % within_every == within_every - 1);
  const int index = !is_mixed ? round : turn.is_within ? round / within_every : round - round / within_every;
  const int cycle = index / (turn.is_within ? within : between);
  turn.number = index % (turn.is_within ? within : between);
  const std::uint64_t drawn = mix(seed_ + mix(2 * static_cast<std::uint64_t>(cycle) + (turn.is_within ? 1 : 0)));
  turn.order = shuffled(turn.is_within ? seats : groups, drawn);
  turn.places = inverse(turn.order);
  turn.shift = static_cast<int>((mix(seed_) + static_cast<std::uint64_t>(cycle + turn.number)) %
                                static_cast<std::uint64_t>(seats));
  return turn;
}

int Schedule::partner_in(const Turn& turn, int rank) const {
  const auto [group, seat] = place_[static_cast<std::size_t>(rank)];
  const int groups = static_cast<int>(members_.size());
  const int seats = static_cast<int>(members_[0].size());
  if (turn.is_within) {
    const int other = turn.partner(seats, seat);
    return other < 0 ? -1 : members_[static_cast<std::size_t>(group)][static_cast<std::size_t>(other)];
  }
  const int other = turn.partner(groups, group);
  if (other < 0) return -1;
  const int shifted = (seat + (group < other ? turn.shift : seats - turn.shift)) % seats;
  return members_[static_cast<std::size_t>(other)][static_cast<std::size_t>(shifted)];
}

int Schedule::ring_partner(int rank, int round) const {
  if (ranks() % 2 == 1 && round == 2) return rank == 0 ? ranks() - 1 : rank == ranks() - 1 ? 0 : -1;
  const int other = (rank + round) % 2 == 0 ? rank + 1 : rank - 1;
  if (ranks() % 2 == 0) return (other + ranks()) % ranks();
  return other < 0 || other >= ranks() ? -1 : other;
}

std::vector<int> Schedule::round(int index) const {
  std::vector<int> partners(place_.size(), -1);
  const Turn now = pairs_ == Pairs::ring ? Turn() : turn(index);
  for (int rank = 0; rank < ranks(); ++rank)
    partners[static_cast<std::size_t>(rank)] =
        pairs_ == Pairs::ring ? ring_partner(rank, index) : partner_in(now, rank);
  return partners;
}

int Schedule::partner(int rank, int round_index) const {
  return pairs_ == Pairs::ring ? ring_partner(rank, round_index) : partner_in(turn(round_index), rank);
}

bool Schedule::leads(int rank, int peer) const {
  const int mine = node_of_[static_cast<std::size_t>(rank)];
  const int other = node_of_[static_cast<std::size_t>(peer)];
  return mine != other ? mine < other : rank < peer;
}

Budget quick_budget(int asked, int all_rounds) {
  constexpr int enough = 3;
  Budget budget;
  budget.reading_s = least_s;
  budget.rounds = asked > 0 ? std::min(asked, enough) : all_rounds > enough ? enough : 0;
  return budget;
}

Budget plan_budget(int asked, const Costs& costs) {
  Budget budget;
  budget.rounds = asked;
  const double readings = std::max(1, costs.readings) * (1 + costs.verify_share);
  int rounds = asked > 0 ? asked : std::max(1, costs.all_rounds);
  const double least_round_s = costs.verify_s + readings * least_good_s;
  if (asked == 0 && rounds * least_round_s > costs.budget_s) {
    const int fitting = std::max(least_random_rounds, static_cast<int>(costs.budget_s / least_round_s));
    if (fitting < rounds) rounds = budget.rounds = fitting;
  }
  if (asked > 0) {
    const double fitting = costs.budget_s / (costs.verify_s + readings * least_s);
    if (fitting < rounds) rounds = budget.rounds = std::max(1, static_cast<int>(fitting));
  }
  const double each = (costs.budget_s / rounds - costs.verify_s) / readings;
  budget.reading_s = std::clamp(each, least_s, std::max(least_s, costs.most_s));
  return budget;
}

}  // namespace muster::p2p
