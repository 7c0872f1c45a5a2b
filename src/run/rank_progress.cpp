#include "run/rank_progress.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace muster {

namespace {

struct Divided {
  SeenRanks least;
  SeenRanks rest;
};

/// Those with the smallest key, and the others.
template <class Key>
Divided divide(const SeenRanks& ranks, Key key) {
  Divided divided;
  if (ranks.empty()) return divided;
  const auto smaller = [&](const SeenRank& a, const SeenRank& b) { return key(a.record()) < key(b.record()); };
  const auto least = key(std::min_element(ranks.begin(), ranks.end(), smaller)->record());
  for (const SeenRank& rank : ranks) (key(rank.record()) == least ? divided.least : divided.rest).push_back(rank);
  return divided;
}

// Within one phase. Ranks may begin different numbers of steps by design (a root more than the others), so the
// number counts only where they are in different steps; iterations compare only within one step.
SeenRanks behind_within_phase(const SeenRanks& ranks) {
  const bool is_one_step = divide(ranks, [](const FlightRecord& record) { return record.step; }).rest.empty();
  const Divided divided = is_one_step
                              ? divide(ranks, [](const FlightRecord& record) { return record.iteration; })
                              : divide(ranks, [](const FlightRecord& record) { return std::uint64_t{record.steps}; });
  return divided.rest.empty() ? SeenRanks{} : divided.least;
}

// Ranks inside of a vendor's call for a while, where others have come back from theirs and wait.
SeenRanks inside_a_call(const SeenRanks& ranks) {
  constexpr double stuck_s = 1;
  SeenRanks found;
  for (const SeenRank& rank : ranks)
    if (!rank.record().call.empty() && rank.call_s >= stuck_s) found.push_back(rank);
  return found.size() == ranks.size() ? SeenRanks{} : found;
}

// Of those that are behind alike, the ones inside of a call, where the others are back from theirs.
SeenRanks narrowed(const SeenRanks& ranks) {
  SeenRanks inside = inside_a_call(ranks);
  return inside.empty() ? ranks : inside;
}

// The rank that most others wait for, when at least two do and no other rank has as many.
SeenRanks awaited(const SeenRanks& ranks) {
  std::map<int, int> waiting;
  for (const SeenRank& rank : ranks)
    if (rank.record().peer >= 0 && rank.record().peer != rank.record().rank) ++waiting[rank.record().peer];
  int most = 1;
  for (const auto& one : waiting) most = std::max(most, one.second);
  SeenRanks found;
  for (const SeenRank& rank : ranks)
    if (const auto one = waiting.find(rank.record().rank); one != waiting.end() && one->second == most && most > 1)
      found.push_back(rank);
  return found.size() == 1 ? found : SeenRanks{};
}

// A rank whose step is called `await ...` waits for others, by its own word, however few steps it began.
SeenRanks at_their_turn(const SeenRanks& ranks) {
  SeenRanks found;
  for (const SeenRank& rank : ranks)
    if (rank.record().step.rfind("await ", 0) != 0) found.push_back(rank);
  return found.size() == ranks.size() ? SeenRanks{} : found;
}

}  // namespace

OutlyingRanks outlying_ranks(const SeenRanks& living) {
  const Divided by_phase =
      divide(living, [](const FlightRecord& record) { return std::make_tuple(record.item, record.phase); });
  if (const SeenRanks who = at_their_turn(by_phase.least); !who.empty())
    return {OutlyingRanks::How::behind, narrowed(who), {}};
  if (const SeenRanks who = behind_within_phase(by_phase.least); !who.empty())
    return {OutlyingRanks::How::behind, narrowed(who), {}};
  if (const SeenRanks who = inside_a_call(by_phase.least); !who.empty()) return {OutlyingRanks::How::behind, who, {}};
  if (const SeenRanks who = awaited(by_phase.least); !who.empty()) return {OutlyingRanks::How::behind, who, {}};
  if (by_phase.rest.empty()) return {};
  // Most are further back, all alike: they wait for the few that have gone ahead.
  if (by_phase.rest.size() * 2 < living.size() && by_phase.least.size() > 1)
    return {OutlyingRanks::How::ahead, by_phase.rest, by_phase.least};
  return {OutlyingRanks::How::behind, by_phase.least, by_phase.rest};
}

}  // namespace muster
