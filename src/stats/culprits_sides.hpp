/// Units divided by which of their meetings are slow: a group and all others, or the two ends of a path. Private to
/// src/stats.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stats/culprits_pairs.hpp"

namespace muster::culprits {

constexpr std::size_t fewest_members = 4;
constexpr int fewest_inner = 3;  ///< meetings of two members

/// One pair, all its rounds together; or alone.
struct Meeting {
  int low = 0;
  int high = 0;
  bool is_slow = false;
  bool is_alone = false;
  bool is_chosen = false;  ///< measured alone, and never in the rounds
};

enum class SlowWhen {
  on_average,
  both_ways,  ///< each direction is, where both were measured: noise rarely hits both
};
/// Slow: by more than `bound`. Without meetings that `groups` explain.
[[nodiscard]] std::vector<Meeting> meetings_of(const PairTable& table, std::span<const SuspectPart> groups,
                                               double bound, SlowWhen when = SlowWhen::on_average);

/// Where each unit belongs: 0 elsewhere, 1 to the group, 2 to the other end of a path.
class Sides {
 public:
  Sides(int units, bool is_path) : side_(static_cast<std::size_t>(units)), is_path_(is_path) {}

  int& of(int unit) { return side_[static_cast<std::size_t>(unit)]; }
  [[nodiscard]] int of(int unit) const { return side_[static_cast<std::size_t>(unit)]; }
  [[nodiscard]] std::vector<int> members(int side) const;
  [[nodiscard]] bool is_path() const { return is_path_; }
  void make_path() { is_path_ = true; }
  /// With a path only the two ends are slow with each other, else the group with all others.
  [[nodiscard]] bool is_crossing(int side, int other) const {
    return is_path_ ? side + other == 3 : (side == 1) != (other == 1);
  }
  [[nodiscard]] bool crosses(const Meeting& meeting) const { return is_crossing(of(meeting.low), of(meeting.high)); }

 private:
  std::vector<int> side_;
  bool is_path_ = false;
};

/// A group around `members`, or the path between them and others, that explains the slow meetings; nullopt: none that
/// is unlikely by chance.
[[nodiscard]] std::optional<Sides> divide(const PairTable& table, const std::vector<Meeting>& meetings,
                                          const std::vector<int>& members);
enum class Certainty {
  beyond_chance,
  likely,  ///< enough to measure cells alone
};
/// A slow path between two sets of units, none of which has to be known.
[[nodiscard]] std::optional<Sides> find_path(const PairTable& table, const std::vector<Meeting>& meetings,
                                             Certainty certainty = Certainty::beyond_chance);
/// The one that leaves fewer meetings unexplained, with fewer units.
[[nodiscard]] std::optional<Sides> better(const std::vector<Meeting>& meetings, const std::optional<Sides>& one,
                                          const std::optional<Sides>& other);
/// For units that a meeting or two fewer would put on another side: a cell that would show where they belong;
/// the `most` that are most doubtful.
[[nodiscard]] std::vector<LinkCell> undecided_cells(const PairTable& table, const std::vector<Meeting>& meetings,
                                                    const Sides& sides, std::size_t most);

}  // namespace muster::culprits
