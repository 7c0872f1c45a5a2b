/// Whose products are wrong? Results are exact, so that all GPUs of the world have to get the same bits: what most of
/// them got is right, and a known answer decides where there is one. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace muster::gpu_compute {

/// How often a result came out, by its fingerprint, and how the known answer judged it.
struct Times {
  int seen = 0;
  int right = 0;
  int wrong = 0;
  friend bool operator==(const Times&, const Times&) = default;
};

/// What one GPU got for one kind of product.
struct ResultVotes {
  std::map<std::uint64_t, Times> prints;

  [[nodiscard]] int products() const;
  /// What came out most often; nullopt: nothing did, or several did alike.
  [[nodiscard]] std::optional<std::uint64_t> usual() const;
  /// Products that came out otherwise.
  [[nodiscard]] int other_than(std::uint64_t right) const { return products() - count(right); }

 private:
  [[nodiscard]] int count(std::uint64_t print) const;
};

struct Decision {
  std::optional<std::uint64_t> right;
  bool is_answered = false;  ///< the known answer confirms `right`
  bool is_refuted = false;   ///< it refutes everything that came out: there is no right one
  int votes = 0;             ///< GPUs that usually got `right`
  /// Without a right one: results that as many GPUs got, and that nothing decides between.
  std::vector<std::uint64_t> tied;
};

/// Each GPU has one vote, for what it usually got. Results that the known answer confirmed go first; those that it
/// refuted stand back; of the rest the one with most votes wins, never a mean. Ballots without a product have no vote.
[[nodiscard]] Decision decide(std::span<const ResultVotes> ballots);

/// Whether the GPU is to be looked at again: any of its products is not the right one, or may not be.
[[nodiscard]] bool is_suspect(const ResultVotes& ballot, const Decision& decision);

}  // namespace muster::gpu_compute
