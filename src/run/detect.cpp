#include "run/detect.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/text.hpp"
#include "model/expected_node.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

/// Why the clue holds; nullopt: it does not.
std::optional<std::string> holds(const DetectClue& clue, const Surroundings& here) {
  std::vector<std::string> reasons;
  if (!clue.env.empty()) {
    const auto value = here.variable(clue.env);
    if (!value || !matches_profile(*value, clue.value)) return std::nullopt;
    reasons.push_back(fmt::format("{} is \"{}\"", clue.env, printable_line(*value, 60)));
  }
  if (!clue.file.empty()) {
    std::error_code ignored;
    if (!fs::exists(here.root / fs::path(clue.file).relative_path(), ignored)) return std::nullopt;
    reasons.push_back(fmt::format("{} is there", printable_line(clue.file, 60)));
  }
  if (reasons.empty()) return std::nullopt;
  if (!clue.host.empty()) {
    if (!matches_profile(here.host, clue.host)) return std::nullopt;
    reasons.push_back(fmt::format("the host is called {}", printable_line(here.host, 60)));
  }
  return human_list(reasons);
}

std::optional<std::string> holds_any(const SystemProfile& system, const Surroundings& here) {
  for (const auto& clue : system.detect)
    if (auto because = holds(clue, here)) return because;
  return std::nullopt;
}

Error ambiguous(const std::vector<SystemMatch>& found) {
  std::vector<std::string> words;
  for (const auto& match : found) words.push_back(fmt::format("{} ({})", match.system->name, match.because));
  return {ErrorKind::usage, "--system",
          fmt::format("the profiles {} all match here; choose one with --system {}", human_list(words),
                      found.front().system->name)};
}

}  // namespace

Surroundings these_surroundings() {
  return {environment_variable, "/", host_name()};
}

std::vector<SystemMatch> matching_systems(std::span<const SystemProfile> systems, const Surroundings& here) {
  std::vector<SystemMatch> found;
  for (const bool is_shipped : {false, true}) {
    for (const auto& system : systems)
      if (system.is_shipped == is_shipped)
        if (auto because = holds_any(system, here)) found.push_back({&system, *because});
    if (!found.empty()) break;
  }
  return found;
}

Result<SystemMatch> choose_system(std::span<const SystemProfile> systems, const std::string& name,
                                  const Surroundings& here) {
  const auto wanted = name.substr(0, name.find(':'));
  if (wanted.empty()) {
    const auto found = matching_systems(systems, here);
    if (found.size() > 1) return tl::unexpected(ambiguous(found));
    if (!found.empty()) return found.front();
  }
  std::vector<std::string> known;
  for (const auto& system : systems) {
    if (system.name == (wanted.empty() ? "generic" : wanted))
      return SystemMatch{&system, wanted.empty() ? "no other profile matches" : "it was requested"};
    known.push_back(system.name);
  }
  if (!wanted.empty())
    return fail(ErrorKind::usage, "--system",
                fmt::format("unknown system \"{}\"{}", printable_line(wanted, 60), suggestion(wanted, known)));
  // Without a matching profile: a machine without a description.
  static const SystemProfile plain = [] {
    SystemProfile one;
    one.name = "generic";
    one.partitions.emplace_back().name = "default";
    return one;
  }();
  return SystemMatch{&plain, "there is no profile"};
}

Result<void> keep_one_partition(SystemProfile& system, const std::string& asked, const Surroundings& here) {
  const auto keep = [&](const auto& is_wanted) {
    if (std::none_of(system.partitions.begin(), system.partitions.end(), is_wanted)) return false;
    std::erase_if(system.partitions, [&](const PartitionProfile& partition) { return !is_wanted(partition); });
    return true;
  };
  std::vector<std::string> names;
  for (const auto& partition : system.partitions) names.push_back(partition.name);
  if (const auto colon = asked.find(':'); colon != std::string::npos) {
    const auto wanted = asked.substr(colon + 1);
    if (keep([&](const PartitionProfile& partition) { return partition.name == wanted; })) return {};
    return fail(ErrorKind::usage, "--system",
                fmt::format("system {} has no partition \"{}\"{}", system.name, printable_line(wanted, 60),
                            suggestion(wanted, names)));
  }
  if (names.size() <= 1) return {};
  const auto of_job = here.variable("SLURM_JOB_PARTITION").value_or("");
  if (keep([&](const PartitionProfile& partition) { return partition.name == of_job; })) return {};
  if (keep([](const PartitionProfile& partition) { return partition.is_default; })) return {};
  const auto unlike = of_job.empty()
                          ? std::string()
                          : fmt::format(", none of them \"{}\", which is that of the job (SLURM_JOB_PARTITION)",
                                        printable_line(of_job, 60));
  return fail(ErrorKind::usage, "--system",
              fmt::format("system {} has {} partitions{}; choose one: --system {}:{}", system.name, names.size(),
                          unlike, system.name, names.front()));
}

std::string note_on_partition(const SystemProfile& kept, const std::string& asked, const Surroundings& here) {
  const auto of_job = here.variable("SLURM_JOB_PARTITION").value_or("");
  if (of_job.empty() || asked.find(':') != std::string::npos || kept.partitions.empty()) return {};
  const PartitionProfile& partition = kept.partitions.front();
  if (!partition.is_default || partition.name == of_job) return {};
  return fmt::format(
      "the profile {0} does not have the job's partition \"{1}\"; the default \"{2}\" is used: --system {0}:NAME "
      "chooses another",
      kept.name, printable_line(of_job, 60), partition.name);
}

}  // namespace muster
