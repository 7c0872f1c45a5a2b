/// What to do about nodes after a run: which are taken out of service, and which of those that an earlier run took out
/// go back. Pure: the report and the batch system's state of its nodes in, actions out. docs/night.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muster/report.hpp"
#include "muster/scheduler.hpp"

namespace muster {

enum class ActionKind : std::uint8_t { drain, resume };

[[nodiscard]] std::string_view to_string(ActionKind kind);

/// What may be done. Nothing, unless given.
struct ActionRequest {
  bool drain_failed = false;
  bool resume_passed = false;
  int most_drained = 2;  ///< nodes that may be out of service by muster at any time, those of earlier runs included
};

struct WantedAction {
  ActionKind kind = ActionKind::drain;
  std::string node;    ///< as the batch system names it
  std::string check;   ///< that failed, or that passed now
  std::string reason;  ///< drain: what is written, with the owner tag; resume: what stood there
  friend bool operator==(const WantedAction&, const WantedAction&) = default;
};

/// A node that is not touched although it was blamed, or is muster's and did not fail.
struct LeftAlone {
  std::string node;
  std::string why;
  friend bool operator==(const LeftAlone&, const LeftAlone&) = default;
};

struct ActionPlan {
  std::vector<WantedAction> actions;
  std::vector<LeftAlone> left_alone;
  std::string refusal;  ///< why nothing is done at all, or no node is drained; empty: no such reason
};

/// A node that a finding blames by itself, once for each.
struct Blame {
  std::string node;  ///< host name
  std::string check;
  std::string reason;
  friend bool operator==(const Blame&, const Blame&) = default;
};

/// Nodes that were measured and did wrong: by findings of verdict fail that blame one node, stand for themselves and
/// name no setting, file, program, launcher or link; a rank only where its node did the work. Others that are blamed
/// somehow go to `others`, with the reason.
[[nodiscard]] std::vector<Blame> nodes_to_blame(const RunReport& report, std::vector<LeftAlone>& others);

/// Why no action may follow this run, independent of its findings; empty: no such reason.
[[nodiscard]] std::string refuse_all(const RunReport& report);

/// `nodes`: all that the batch system has.
[[nodiscard]] ActionPlan plan_actions(const RunReport& report, std::span<const NodeService> nodes,
                                      const ActionRequest& request);

/// Nodes that muster has drained, in any user's run, also where the reason was changed since.
[[nodiscard]] int drained_by_muster(std::span<const NodeService> nodes);

}  // namespace muster
