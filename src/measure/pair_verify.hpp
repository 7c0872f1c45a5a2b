/// Messages between two ranks of which every byte is compared: what the timed ones left in their buffers, and bursts of
/// which each message is compared before its buffer is used again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "measure/pair_measure.hpp"

namespace muster::p2p {

/// Bytes by which the buffer for sending has to be longer than its slots. A burst sends from further on than the one
/// before it, so that no two messages in a row that use the same part of the receiver's buffer are alike.
inline constexpr std::size_t burst_slack = 64UL * 1023;

/// Time for several things alike: another one begins as long as it fits.
class TimeShare {
 public:
  explicit TimeShare(double limit_s);
  /// `is_needed`: also where it does not fit, if there is time for any.
  [[nodiscard]] bool begins_another(bool is_needed);

 private:
  double limit_s_;
  double begun_;
  double last_;  ///< when the last one began
};

class PairVerifier {
 public:
  PairVerifier(Equipment& with, int peer, PairRole role, const Task& task);

  /// Not collective. Compares the last message in every slot after `received` timed ones, and poisons the slots.
  [[nodiscard]] Result<void> compare_rest(std::uint64_t received);

  /// Both ranks of the pair at the same time, the first leads: bursts of `window` messages, or as many as there are
  /// slots, for `limit_s` seconds; at least one if `is_needed`.
  [[nodiscard]] Result<void> lead(int window, double limit_s, bool is_needed);
  [[nodiscard]] Result<void> follow();

  [[nodiscard]] std::uint64_t received() const { return receives() ? in_bursts_ : 0; }  ///< messages of bursts
  [[nodiscard]] std::uint64_t sent() const { return sends() ? in_bursts_ : 0; }
  [[nodiscard]] std::uint64_t compared() const { return compared_; }  ///< messages, also of `compare_rest`
  [[nodiscard]] const std::optional<WrongMessages>& wrong() const { return wrong_; }

 private:
  [[nodiscard]] bool receives() const { return role_ == PairRole::second || task_.kind != Kind::bandwidth; }
  [[nodiscard]] bool sends() const { return role_ == PairRole::first || task_.kind != Kind::bandwidth; }
  /// Where in the endless pattern the message of a slot begins. Burst 0: what is timed.
  [[nodiscard]] std::size_t offset_of(std::uint64_t slot, std::uint64_t burst) const;
  [[nodiscard]] Result<void> burst(int window, std::uint64_t number);
  [[nodiscard]] Result<void> compare(std::uint64_t slots, std::uint64_t burst);
  void count_wrong(const Corruption& one, std::span<const std::byte> message, std::uint64_t before);

  Equipment& with_;
  int peer_;
  PairRole role_;
  const Task& task_;
  std::size_t most_shift_;  ///< bytes
  std::uint64_t in_bursts_ = 0;
  std::uint64_t compared_ = 0;
  std::optional<WrongMessages> wrong_;
};

}  // namespace muster::p2p
