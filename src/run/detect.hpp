/// Which of the profiles this place is of.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "model/check.hpp"

namespace muster {

/// What a system is recognised by.
struct Surroundings {
  std::function<std::optional<std::string>(const std::string&)> variable;
  fs::path root = "/";
  std::string host;
};
[[nodiscard]] Surroundings these_surroundings();

struct SystemMatch {
  const SystemProfile* system = nullptr;
  std::string because;  ///< `LUMI_STACK_NAME is "LUMI"`
};
/// Those that match. Profiles that were given go before those that come with muster: of these only where none of the
/// others matches.
[[nodiscard]] std::vector<SystemMatch> matching_systems(std::span<const SystemProfile> systems,
                                                        const Surroundings& here);

/// The profile `name` (`NAME` or `NAME:PARTITION`); empty: the one that matches, else `generic`. Fails with kind
/// `usage` for a name that is not there, and when two match: to be judged by the wrong one is worse than to choose.
[[nodiscard]] Result<SystemMatch> choose_system(std::span<const SystemProfile> systems, const std::string& name,
                                                const Surroundings& here);

/// A run goes to one set of nodes in one way: launcher, options and references are those of one partition. Leaves that
/// of `asked` (`NAME:PARTITION`), else the only one, else that of the job around (SLURM_JOB_PARTITION), else the
/// profile's default. Fails with kind `usage`.
[[nodiscard]] Result<void> keep_one_partition(SystemProfile& system, const std::string& asked,
                                              const Surroundings& here);

/// What a user must know of the partition that keep_one_partition() left: it is the default, since the profile does not
/// have the partition of the job around. Empty: nothing.
[[nodiscard]] std::string note_on_partition(const SystemProfile& kept, const std::string& asked,
                                            const Surroundings& here);

}  // namespace muster
