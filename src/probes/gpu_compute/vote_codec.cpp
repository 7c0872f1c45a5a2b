#include "probes/gpu_compute/vote_codec.hpp"

#include <fmt/format.h>

#include "model/fact_fields.hpp"

namespace muster::gpu_compute {

namespace {

/// `print`: what one GPU got for one kind of product, and how often.
struct CountedResult {
  std::string address;
  std::string type;
  std::uint64_t print = 0;
  Times times;
};
template <class Io>
void fields(Io& io, CountedResult& fact) {
  io(fact.address);
  io(fact.type);
  io.hex(fact.print, "{:016x}");
  io(fact.times.seen);
  io(fact.times.right);
  io(fact.times.wrong);
}

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
    facts.push_back(to_fact("print", CountedResult{address, std::string(to_string(type)), print, times}));
  return facts;
}

void add_ballots(int rank, std::span<const Fact> facts, Ballots& all) {
  for (const Fact& fact : facts) {
    if (fact.key != "print") continue;
    const auto one = read_fact<CountedResult>(fact.value);
    if (!one || !is_sane(one->times)) continue;
    Times& sum = all[one->type][{rank, one->address}].prints[one->print];
    sum.seen += one->times.seen;
    sum.right += one->times.right;
    sum.wrong += one->times.wrong;
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
