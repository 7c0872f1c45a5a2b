/// Which share of messages or sums was compared, by size: what ranks report, and the sentence on it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/probe.hpp"

namespace muster::p2p {

/// What is compared: `message`, `messages`. `of_each`: that each report is about (`a GPU`), where a fault is of one of
/// them and is to be found by its own share; empty: by all together.
struct VerifiedNoun {
  std::string_view one;
  std::string_view several;
  std::string_view of_each = {};
};

/// Of one rank, or of all.
class VerifiedTotals {
 public:
  /// `size`: as in labels.
  void add(const std::string& size, std::uint64_t compared, std::uint64_t all);
  /// A fact `verified` for each size: `1MiB 640 of 5120`.
  void announce(Observation& seen) const;
  /// `messages compared whole: 640 of 5120 of 1MiB (12 %) and all 800 of 8B; one wrong message in 138 of 1MiB and 173
  /// of 8B is found with 99 %`. Empty: there were none.
  [[nodiscard]] std::string sentence(const VerifiedNoun& noun) const;

 private:
  struct OfSize {
    std::string size;
    std::uint64_t compared = 0;
    std::uint64_t all = 0;
    std::uint64_t fewest = 0;  ///< compared in one report
  };
  std::vector<OfSize> sizes_;
};

/// The largest N such that, where one in N is wrong at random, one of those `compared` is with 99 %: compared / ln 100,
/// as none of them is with (1 - 1/N)^compared.
[[nodiscard]] std::uint64_t found_one_in(std::uint64_t compared);

/// The sentence on what these ranks report together; nullptr and what did not measure count for nothing.
[[nodiscard]] std::string verified_evidence(std::span<const Observation* const> ranks, const VerifiedNoun& noun);

}  // namespace muster::p2p
