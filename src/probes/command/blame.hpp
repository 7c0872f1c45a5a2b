/// Whom a program that did not work is held against. A node only by comparison: the program works on most nodes, and on
/// this one it does not, nor only because rank 0 is there. Otherwise it is the program's, or the check's, own fault.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/suspect.hpp"
#include "muster/probe.hpp"

namespace muster::program {

class Blame {
 public:
  /// What rank 0 does may be its part alone, or what each rank does, such as looking for the program.
  enum class Part : std::uint8_t { may_differ, is_the_same };

  /// `bad`: ranks on which it did not work; `ranks`: all that tried.
  Blame(const CaseView& view, const std::vector<std::size_t>& ranks, const std::vector<std::size_t>& bad, Part part);

  /// Fewer than half of the nodes are bad.
  [[nodiscard]] bool is_on_nodes() const { return suspect_ == Suspect::nodes; }
  /// Only rank 0 is bad: its node, or the part that it alone has.
  [[nodiscard]] bool is_of_rank_0() const { return suspect_ == Suspect::rank_0; }
  /// It works on no rank.
  [[nodiscard]] bool is_everywhere() const { return is_everywhere_; }
  [[nodiscard]] Culprit culprit(const RankPlace& place) const;
  /// `rank 3 on nid001`, to blame or not; where it works nowhere, `rank 3`, or `the program` with a single rank.
  [[nodiscard]] std::string subject(const RankPlace& place) const;

 private:
  Suspect suspect_ = Suspect::job;
  bool is_everywhere_ = false;
  std::size_t ranks_ = 0;
  std::string program_;
};

/// The program's name as the check has it.
[[nodiscard]] std::string program_name(const Params& params);

}  // namespace muster::program
