/// Faults to order, for `muster selftest` alone: what ranks on a described machine do wrong, so that checks are seen to
/// go red. In a process that was given no orders, and outside of a probe's work, nothing of this happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/corruption.hpp"
#include "muster/result.hpp"

namespace muster {

/// InjectedFaults for the ranks of a launch, separated by `;`. Only effective on simulated machines.
inline constexpr const char* env_faults = "MUSTER_SELFTEST";

/// What is wrong with data of one kind: in each, or in every Nth.
struct InjectedCorruption {
  std::string what;  ///< one of flippable()
  CorruptionKind kind = CorruptionKind::bit;
  std::uint64_t every = 1;
  friend bool operator==(const InjectedCorruption&, const InjectedCorruption&) = default;
};

struct InjectedFaults {
  std::vector<std::string> hosts;  ///< `hosts nid[001-002]`: ranks take themselves to be on these, in equal shares
  bool judges_speed = false;       ///< `speed`: it is judged, though the machine is described and ranks share cores
  double tick_s = 0;               ///< `clock 1ms`: each look at the clock moves it on by that; 0: the real one
  std::map<int, double> slow;      ///< `slow 3 2`: rank 3's clock moves on twice as far
  std::map<int, double> ahead_s;   ///< `ahead 2 5s`: rank 2's clock of the day is wrong by that
  /// `flip 1 sum warp every 100`: a bit in 32 words of every hundredth sum that rank 1 gets is flipped.
  std::map<int, InjectedCorruption> flipped;
  friend bool operator==(const InjectedFaults&, const InjectedFaults&) = default;
};

/// What can be flipped: `gathered`, `sum`, `received`, `memory`.
[[nodiscard]] std::span<const std::string_view> flippable();

/// Fails with kind `usage` for what is not an order, with what to write.
[[nodiscard]] Result<InjectedFaults> parse_faults(std::string_view text);

/// Gives this process its orders; to be called once, before there are threads.
void inject_faults(const InjectedFaults& orders, int rank);
[[nodiscard]] bool injects_faults();
/// By `speed` or `clock`: measurements are meaningless, and are judged as if they were real. Contamination by other
/// processes is not checked then.
[[nodiscard]] bool must_judge_speed();

/// InjectedFaults are carried out while one of these lives.
class FaultInjection {
 public:
  FaultInjection();
  ~FaultInjection();
  FaultInjection(const FaultInjection&) = delete;
  FaultInjection& operator=(const FaultInjection&) = delete;
};

/// Corrupts `bytes` where orders contain `what`, each or every Nth time that it is called so.
void corrupt(std::string_view what, std::span<std::byte> bytes);

namespace orders {
// For the clock.
[[nodiscard]] double made_up_seconds();  ///< negative: the real clock is to be read
[[nodiscard]] std::int64_t ahead_nanoseconds();
}  // namespace orders

}  // namespace muster
