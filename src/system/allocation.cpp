#include "system/allocation.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "base/environment.hpp"
#include "base/hostlist.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

std::optional<int> number_in(const std::optional<std::string>& text) {
  return text ? parse_number_from(*text, 1) : std::nullopt;
}

/// Without a request SLURM_TASKS_PER_NODE is the number that would fit, so it counts only with SLURM_NTASKS.
std::optional<int> tasks_per_node(const Variables& variable, std::size_t nodes) {
  if (const auto asked = number_in(variable("SLURM_NTASKS_PER_NODE"))) return asked;
  const auto tasks = number_in(variable("SLURM_NTASKS"));
  const auto each = variable("SLURM_TASKS_PER_NODE");
  if (!tasks || !each) return std::nullopt;
  const auto alike = number_in(each->substr(0, each->find('(')));
  const std::string all =
      nodes == 1 ? fmt::format("{}", alike.value_or(0)) : fmt::format("{}(x{})", alike.value_or(0), nodes);
  return *each == all ? alike : std::nullopt;
}

/// `72(x2),36`: the least.
std::optional<int> cpus_per_node(const Variables& variable) {
  const auto text = variable("SLURM_JOB_CPUS_PER_NODE");
  if (!text) return std::nullopt;
  std::optional<int> least;
  for (const std::string& part : split(*text, ',')) {
    const auto cpus = number_in(part.substr(0, part.find('(')));
    if (!cpus) return std::nullopt;
    least = std::min(least.value_or(*cpus), *cpus);
  }
  return least;
}

/// They go to launchers and remote shells.
Result<void> check_names(const std::vector<std::string>& nodes) {
  if (nodes.empty()) return fail(ErrorKind::usage, "SLURM_JOB_NODELIST", "names no node");
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (const auto why = why_no_host_name(nodes[i]); !why.empty())
      return fail(
          ErrorKind::usage, "SLURM_JOB_NODELIST",
          fmt::format("\"{}\", name {} of the list, is not a host name: {}", printable_line(nodes[i], 80), i + 1, why));
  return {};
}

}  // namespace

Result<std::optional<Allocation>> find_allocation(const Variables& variable) {
  const auto job = variable("SLURM_JOB_ID");
  const auto list = variable("SLURM_JOB_NODELIST");
  if (!job || job->empty() || !list || list->empty()) return std::nullopt;
  auto nodes = expand_hostlist(*list);
  if (!nodes) return fail(ErrorKind::usage, "SLURM_JOB_NODELIST", nodes.error().what);
  if (auto named = check_names(*nodes); !named) return tl::unexpected(named.error());
  Allocation found{"Slurm", printable_line(*job, 32), std::move(*nodes), std::nullopt};
  found.tasks_per_node = tasks_per_node(variable, found.nodes.size());
  found.cpus_per_node = cpus_per_node(variable);
  return found;
}

Result<std::optional<Allocation>> find_allocation() {
  return find_allocation(environment_variable);
}

}  // namespace muster
