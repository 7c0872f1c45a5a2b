#include "probes/gpu_compute/vote_codec.hpp"

#include <fmt/format.h>

#include "base/number.hpp"
#include "base/text.hpp"

namespace muster::gpu_compute {

namespace {

/// Counts that can be added up.
bool is_sane(const Times& times) {
  constexpr int most = 1'000'000;
  for (const int count : {times.seen, times.right, times.wrong})
    if (count < 0 || count > most) return false;
  return true;
}

}  // namespace

std::vector<Fact> print_facts(const std::string& address, NumberType type, const ResultVotes& ballot) {
  std::vector<Fact> facts;
  for (const auto& [print, times] : ballot.prints)
    facts.push_back({"print", fmt::format("{} {} {:016x} {} {} {}", address, to_string(type), print, times.seen,
                                          times.right, times.wrong)});
  return facts;
}

void add_ballots(int rank, std::span<const Fact> facts, Ballots& all) {
  for (const Fact& fact : facts) {
    if (fact.key != "print") continue;
    const auto words = split(fact.value, ' ');
    std::uint64_t print = 0;
    Times times;
    if (words.size() != 6 || !read_number(words[2], print, 16) || !read_number(words[3], times.seen) ||
        !read_number(words[4], times.right) || !read_number(words[5], times.wrong) || !is_sane(times))
      continue;
    Times& sum = all[words[1]][{rank, words[0]}].prints[print];
    sum.seen += times.seen;
    sum.right += times.right;
    sum.wrong += times.wrong;
  }
}

std::map<std::string, Decision> decide(const Ballots& all) {
  std::map<std::string, Decision> decisions;
  for (const auto& [type, ballots] : all) {
    std::vector<ResultVotes> list;
    for (const auto& [gpu, ballot] : ballots) list.push_back(ballot);
    decisions[type] = decide(std::span<const ResultVotes>(list));
  }
  return decisions;
}

}  // namespace muster::gpu_compute
