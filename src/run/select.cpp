#include "run/select.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "config/where.hpp"
#include "run/case_choice.hpp"
#include "run/expand.hpp"
#include "run/settings.hpp"

namespace muster {

namespace {

tl::unexpected<Error> unknown(const char* option, std::string_view what, const std::string& name,
                              const std::vector<std::string>& known) {
  return fail(ErrorKind::usage, option,
              fmt::format("unknown {} \"{}\"{}", what, printable_line(name, 60), suggestion(name, known)));
}

template <class Profile>
std::vector<std::string> names(const std::vector<Profile>& profiles) {
  std::vector<std::string> all;
  for (const auto& profile : profiles) all.push_back(profile.name);
  return all;
}

/// All partitions, or the one of --system NAME:PARTITION.
Result<std::span<const PartitionProfile>> wanted_partitions(const SystemProfile& system, const std::string& option) {
  const auto colon = option.find(':');
  const auto name = option.substr(0, colon);
  if (!option.empty() && name != system.name) return unknown("--system", "system", name, {system.name});
  const std::span<const PartitionProfile> all(system.partitions);
  if (all.empty()) return fail(ErrorKind::usage, "--system", fmt::format("profile {} has no partition", system.name));
  if (colon == std::string::npos) return all;
  const auto partition = option.substr(colon + 1);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].name == partition) return all.subspan(i, 1);
  return unknown("--system", fmt::format("partition of {}", system.name), partition, names(system.partitions));
}

Result<void> check_environment(const SystemProfile& system, const std::string& name) {
  const auto known = names(system.environments);
  if (name.empty() || is_in(name, known)) return {};
  if (known.empty())
    return fail(ErrorKind::usage, "--environment", fmt::format("profile {} describes no environment", system.name));
  return unknown("--environment", fmt::format("environment of {}", system.name), name, known);
}

Result<void> check_counts(const SelectOptions& options) {
  if (options.repeat < 1) return fail(ErrorKind::usage, "--repeat", "must be at least 1");
  if (options.ranks_per_node && *options.ranks_per_node < 1)
    return fail(ErrorKind::usage, "--ranks-per-node", "must be at least 1");
  return {};
}

/// With the values of -S in place: an expectation that no case can match any more would only be found out afterwards.
Result<void> hold_expectations(const Check& check, const ProbeSpec& probe, const Settings& settings) {
  const auto set = settings.find(check.name);
  if (set == settings.end() || check.expects.empty()) return {};
  Check changed = check;
  for (const auto& [name, value] : set->second) {
    changed.params[name] = value;
    changed.sweep.erase(name);
  }
  std::string why;
  for (const auto& expectation : check.expects) {
    std::string fault_here;
    for (const auto& [key, wanted] : expectation.where) {
      auto text = wanted;
      if (const auto fault = settle_where(changed, probe, key, text))
        fault_here = fmt::format("{}: {}", expectation.place, fault->what);
    }
    if (fault_here.empty()) return {};
    if (why.empty()) why = fault_here;
  }
  return fail(ErrorKind::usage, "-S",
              fmt::format("no expectation of check {} is left to judge by; {}", check.name, why));
}

/// The cases that are asked for, in file order.
Result<std::vector<Case>> chosen_cases(const std::vector<Check>& checks, const Expansion& with,
                                       std::span<const ProbeSpec* const> probes) {
  auto chooser = Chooser::make(with.options);
  if (!chooser) return tl::unexpected(chooser.error());
  std::vector<Case> chosen;
  for (const auto& check : checks) {
    const auto* probe = find_among(probes, check.probe);
    if (probe == nullptr) return fail(ErrorKind::usage, check.place, fmt::format("unknown probe \"{}\"", check.probe));
    auto cases = expand_check(check, *probe, with);
    if (!cases) return tl::unexpected(cases.error());
    const auto before = chosen.size();
    for (auto& item : *cases) {
      const bool is_named = chooser->is_named(check.name, item.id);
      if (is_named && chooser->has_tags(check.tags) && !chooser->is_excluded(check.name, item.id))
        chosen.push_back(std::move(item));
    }
    if (chosen.size() == before) continue;
    if (auto held = hold_expectations(check, *probe, with.settings); !held) return tl::unexpected(held.error());
  }
  if (auto matched = chooser->complain_unmatched(checks); !matched) return tl::unexpected(matched.error());
  if (chosen.empty()) return tl::unexpected(chooser->nothing_left(checks));
  return chosen;
}

/// With --per-node a run in which nothing is about one node asks for what can't be.
Result<void> check_per_node(const std::vector<Case>& cases, const SelectOptions& options) {
  const auto needs_several = [](const Case& item) { return item.min_nodes > 1; };
  if (!options.per_node || !std::all_of(cases.begin(), cases.end(), needs_several)) return {};
  std::vector<std::string> checks;
  for (const auto& item : cases)
    if (checks.empty() || checks.back() != item.check) checks.push_back(item.check);
  return fail(ErrorKind::usage, "--per-node",
              fmt::format("{} {} several nodes together, and nothing else is chosen; leave --per-node out",
                          human_list(checks, 6), checks.size() == 1 ? "needs" : "need"));
}

/// What a launch asks of each node. Cases that are about one node share a launch with those of others.
JobShape common_shape(const Case& item) {
  auto shape = item.shape;
  if (!item.host.empty()) shape.nodes.clear();
  return shape;
}

/// The nodes that a case of the launch is about, in the order of the site.
void gather_nodes(PlannedLaunch& launch, const std::vector<Case>& cases, const Site& site) {
  std::set<std::string> hosts;
  for (const auto& item : launch.items) hosts.insert(cases[static_cast<std::size_t>(item.case_index)].host);
  for (const auto& node : site.nodes)
    if (hosts.count(node) != 0) launch.shape.nodes.push_back(node);
}

/// All cases of a shape once, then again: what changes over time then shows in every case.
std::vector<PlannedLaunch> group_by_shape(const std::vector<Case>& cases, int repeat, const Site& site) {
  std::vector<PlannedLaunch> launches;
  std::vector<std::vector<int>> members;
  const bool is_per_node = std::any_of(cases.begin(), cases.end(), [](const Case& item) { return !item.host.empty(); });
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!cases[i].unable.empty()) continue;
    const auto shape = common_shape(cases[i]);
    const auto same = std::find_if(launches.begin(), launches.end(),
                                   [&](const PlannedLaunch& launch) { return launch.shape == shape; });
    const auto index = static_cast<std::size_t>(same - launches.begin());
    if (same == launches.end()) {
      launches.push_back({shape, {}});
      members.emplace_back();
    }
    members[index].push_back(static_cast<int>(i));
  }
  for (std::size_t launch = 0; launch < launches.size(); ++launch)
    for (int repetition = 1; repetition <= repeat; ++repetition)
      for (const int index : members[launch]) launches[launch].items.push_back({index, repetition});
  for (auto& launch : launches)
    if (is_per_node) gather_nodes(launch, cases, site);
  return launches;
}

}  // namespace

Result<std::vector<const Check*>> select_checks(const std::vector<Check>& checks, const SelectOptions& options) {
  auto chooser = Chooser::make(options);
  if (!chooser) return tl::unexpected(chooser.error());
  std::vector<const Check*> chosen;
  for (const auto& check : checks) {
    const bool is_named = chooser->is_named(check.name, "");
    if (is_named && chooser->has_tags(check.tags) && !chooser->is_excluded(check.name, "")) chosen.push_back(&check);
  }
  if (auto matched = chooser->complain_unmatched(checks); !matched) return tl::unexpected(matched.error());
  if (chosen.empty()) return tl::unexpected(chooser->nothing_left(checks));
  return chosen;
}

Result<Plan> make_plan(const std::vector<Check>& checks, const SystemProfile& system, const SelectOptions& options,
                       const Site& site, std::span<const ProbeSpec* const> probes) {
  if (auto sound = check_counts(options); !sound) return tl::unexpected(sound.error());
  const auto partitions = wanted_partitions(system, options.system);
  if (!partitions) return tl::unexpected(partitions.error());
  if (auto known = check_environment(system, options.environment); !known) return tl::unexpected(known.error());
  const auto settings = read_settings(options.settings, checks, probes);
  if (!settings) return tl::unexpected(settings.error());
  auto cases = chosen_cases(checks, {system, options, site, *settings, *partitions}, probes);
  if (!cases) return tl::unexpected(cases.error());
  Plan plan;
  plan.system = system.name;
  plan.system_file = system.file;
  plan.launcher = site.launcher;
  plan.cases = std::move(*cases);
  plan.repeat = options.repeat;
  if (auto sound = check_per_node(plan.cases, options); !sound) return tl::unexpected(sound.error());
  plan.launches = group_by_shape(plan.cases, options.repeat, site);
  return plan;
}

}  // namespace muster
