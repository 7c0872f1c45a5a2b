/// Whom a program that did not work is held against. A node only by comparison: the program works on most nodes, and on
/// this one it does not. Otherwise it is the program's, or the check's, own fault.
#pragma once

#include <string>
#include <vector>

#include "muster/probe.hpp"

namespace muster::program {

class Blame {
 public:
  /// `bad`: ranks on which it did not work; `ranks`: all that tried.
  Blame(const CaseView& view, const std::vector<std::size_t>& ranks, const std::vector<std::size_t>& bad);

  /// Fewer than half of the nodes are bad.
  [[nodiscard]] bool is_on_nodes() const { return is_on_nodes_; }
  /// It works on no rank.
  [[nodiscard]] bool is_everywhere() const { return is_everywhere_; }
  [[nodiscard]] Culprit culprit(const RankPlace& place) const;
  /// `rank 3 on nid001`, to blame or not; where it works nowhere, `rank 3`, or `the program` with a single rank.
  [[nodiscard]] std::string subject(const RankPlace& place) const;

 private:
  bool is_on_nodes_ = false;
  bool is_everywhere_ = false;
  std::size_t ranks_ = 0;
  std::string program_;
};

/// The program's name as the check has it.
[[nodiscard]] std::string program_name(const Params& params);

}  // namespace muster::program
