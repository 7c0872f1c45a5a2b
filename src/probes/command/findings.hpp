/// What is wrong with the programs of all ranks, in an order that has causes before consequences.
#pragma once

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string>
#include <utility>

#include "muster/probe.hpp"

namespace muster::program {

/// Causes before consequences.
enum class Order { lack, crash, reported, reported_consequence, late, unprinted, unreadable };

/// A file or a setting that two ranks name is one culprit.
inline bool is_same(const Culprit& a, const Culprit& b) {
  return a.kind == b.kind && a.name == b.name && a.node == b.node;
}

/// Findings in their order; those with one key share one, with the words of the first rank.
class Findings {
 public:
  void add(Order order, const std::string& key, Finding finding, bool counts_ranks) {
    auto& known = all_[{order, key}];
    if (known.ranks++ == 0) {
      known.finding = std::move(finding);
      known.counts_ranks = counts_ranks;
      return;
    }
    auto& culprits = known.finding.culprits;
    for (Culprit& culprit : finding.culprits)
      if (std::none_of(culprits.begin(), culprits.end(), [&](const Culprit& one) { return is_same(one, culprit); }))
        culprits.push_back(std::move(culprit));
  }

  void deliver(ProbeJudgement& judgement) {
    for (auto& entry : all_) {
      Known& known = entry.second;
      const int others = known.ranks - 1;
      if (others > 0 && known.counts_ranks)
        known.finding.reason += fmt::format(" (and {} more {} likewise)", others, others == 1 ? "rank" : "ranks");
      judgement.findings.push_back(std::move(known.finding));
    }
  }
  [[nodiscard]] bool is_empty() const { return all_.empty(); }
  /// More than that it does not apply here.
  [[nodiscard]] bool has_trouble() const {
    return std::any_of(all_.begin(), all_.end(),
                       [](const auto& entry) { return entry.second.finding.verdict != Verdict::skip; });
  }

 private:
  struct Known {
    Finding finding;
    int ranks = 0;
    bool counts_ranks = false;
  };
  std::map<std::pair<Order, std::string>, Known> all_;
};

}  // namespace muster::program
