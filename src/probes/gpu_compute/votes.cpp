#include "probes/gpu_compute/votes.hpp"

#include <algorithm>

namespace muster::gpu_compute {

namespace {

enum class Known : std::uint8_t { right, unknown, wrong };

struct Candidate {
  int right = 0;
  int wrong = 0;
  int votes = 0;

  /// A host may check wrongly, too: most of those that looked have it.
  [[nodiscard]] Known known() const {
    if (right == wrong) return Known::unknown;
    return right > wrong ? Known::right : Known::wrong;
  }
};

using Candidates = std::map<std::uint64_t, Candidate>;

Candidates candidates_of(std::span<const ResultVotes> ballots) {
  Candidates found;
  for (const ResultVotes& ballot : ballots) {
    for (const auto& [print, times] : ballot.prints) {
      if (times.seen <= 0) continue;
      found[print].right += times.right > 0;
      found[print].wrong += times.wrong > 0;
    }
    if (const auto usual = ballot.usual()) ++found[*usual].votes;
  }
  return found;
}

}  // namespace

int ResultVotes::products() const {
  int sum = 0;
  for (const auto& [print, times] : prints) sum += times.seen;
  return sum;
}

int ResultVotes::count(std::uint64_t print) const {
  const auto found = prints.find(print);
  return found == prints.end() ? 0 : found->second.seen;
}

std::optional<std::uint64_t> ResultVotes::usual() const {
  std::optional<std::uint64_t> best;
  int most = 0;
  for (const auto& [print, times] : prints) {
    if (times.seen > most)
      best = print;
    else if (times.seen == most)
      best = std::nullopt;
    most = std::max(most, times.seen);
  }
  return best;
}

Decision decide(std::span<const ResultVotes> ballots) {
  Decision decision;
  const Candidates found = candidates_of(ballots);
  if (found.empty()) return decision;
  const auto has = [&](Known known) {
    return std::any_of(found.begin(), found.end(), [&](const auto& one) { return one.second.known() == known; });
  };
  const Known among = has(Known::right) ? Known::right : Known::unknown;
  decision.is_refuted = !has(Known::right) && !has(Known::unknown);
  if (decision.is_refuted) return decision;
  int most = -1;
  for (const auto& [print, candidate] : found) {
    if (candidate.known() != among) continue;
    if (candidate.votes > most) decision.tied.clear();
    if (candidate.votes >= most) decision.tied.push_back(print);
    most = std::max(most, candidate.votes);
  }
  if (decision.tied.size() > 1) return decision;
  decision.right = decision.tied.front();
  decision.votes = most;
  decision.is_answered = among == Known::right;
  decision.tied.clear();
  return decision;
}

bool is_suspect(const ResultVotes& ballot, const Decision& decision) {
  if (ballot.products() == 0) return false;
  if (decision.right) return ballot.other_than(*decision.right) > 0;
  // Nothing is known to be right: what lies outside of a tie is wrong, and what lies in it may be.
  return true;
}

}  // namespace muster::gpu_compute
