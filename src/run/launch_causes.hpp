/// Causes of a failed launch that need no look at what its ranks did, as tables in the order in which they are tried.
#pragma once

#include <optional>
#include <string>

#include "run/diagnose.hpp"

namespace muster {

/// What is known of a launch that failed.
struct LaunchEvidence {
  const Launch& launch;
  const LaunchDiagnosis::Inspection& inspection;
  std::string program;    ///< the launcher's name
  LaunchFailure failure;  ///< for find_end_cause
  [[nodiscard]] bool is_starting() const { return launch.stage() == LaunchStage::start_up; }
};

/// Whatever became of the launch: names, refusals, ports that others use. nullopt: none of these.
[[nodiscard]] std::optional<LaunchOutcome> find_known_cause(const LaunchEvidence& evidence);
/// Of a launch whose launcher has ended: by what ended it, by a rank that it names, by its own words.
[[nodiscard]] std::optional<LaunchOutcome> find_end_cause(const LaunchEvidence& evidence);
/// By the words alone of a launcher that has not ended.
[[nodiscard]] std::optional<LaunchOutcome> find_reported_cause(const LaunchEvidence& evidence);

[[nodiscard]] Culprit launcher_culprit(const std::string& name);

}  // namespace muster
