#include "app/selftest/selftest.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fnmatch.h>
#include <numeric>
#include <tuple>

#include "app/runs/outputs.hpp"
#include "app/runs/read_run.hpp"
#include "app/runs/run_folder.hpp"
#include "app/selftest/example_plan.hpp"
#include "app/selftest/side_by_side.hpp"
#include "base/fault_injection.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "run/session.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

const LauncherSpec* real_launcher = nullptr;

/// However many processors there are: each run has ranks and memory of its own.
constexpr std::size_t most_at_once = 8;

/// All ranks are on this machine, whatever nodes they take themselves to be on.
LaunchCommand command_here(const LauncherIdentity& identity, const JobShape& shape, const AgentCommand& agent,
                           const Argv& options) {
  JobShape here = shape;
  here.nodes.clear();
  here.ranks_per_node = shape.ranks();
  here.oversubscribed = true;
  return real_launcher->command(identity, here, agent, options);
}

Result<void> write_machines(const Example& example, const MachineDescription& machine, const fs::path& folder) {
  const auto faults = faults_of(example.faults, example.hosts);
  if (!faults) return tl::unexpected(faults.error());
  const auto nodes = example.hosts.empty() ? std::vector<std::string>{"node"} : example.hosts;
  for (const std::string& node : nodes) {
    const auto written = write_node(machine, *faults, node, example.hosts.empty() ? folder : folder / node);
    if (!written) return tl::unexpected(written.error());
  }
  return {};
}

std::string orders_of(const Example& example) {
  std::string orders = join(example.orders, "; ");
  if (!example.hosts.empty()) orders += fmt::format("; hosts {}", join(example.hosts, ","));
  return orders;
}

Environment environment_of(const Example& example, const fs::path& machine) {
  Environment environment{{env_machine, machine.string()}, {env_drivers, shipped_stand_ins().string()}};
  if (const auto orders = orders_of(example); !orders.empty()) environment.emplace_back(env_faults, orders);
  for (auto [name, value] : example.environment) {
    if (const auto at = value.find("{here}"); at != value.npos)
      value.replace(at, 6, fs::absolute(example.folder).string());
    environment.emplace_back(name, value);
  }
  return environment;
}

/// All cases of a check together.
ExampleResult shown_by(const RunReport& report, const Example& example, const std::string& check) {
  ExampleResult shown{&example, check, Verdict::unmeasured, {}, {}, {}};
  std::vector<Verdict> verdicts;
  for (const CaseResult& result : report.cases) {
    if (result.check != check) continue;
    verdicts.push_back(result.verdict);
    if (result.verdict == Verdict::pass) continue;
    shown.reason = result.reason;
    if (result.verdict == Verdict::error && !result.remedy.empty()) shown.reason += "; " + result.remedy;
    for (const Culprit& culprit : result.culprits) shown.culprits.push_back(culprit.name);
  }
  shown.verdict = combine(verdicts);
  std::sort(shown.culprits.begin(), shown.culprits.end());
  shown.culprits.erase(std::unique(shown.culprits.begin(), shown.culprits.end()), shown.culprits.end());
  return shown;
}

/// As many as are expected, each matching its pattern (`mpi*`, `rank 1`).
bool are_named(const std::vector<std::string>& culprits, const std::vector<std::string>& patterns) {
  return std::equal(culprits.begin(), culprits.end(), patterns.begin(), patterns.end(),
                    [](const std::string& name, const std::string& pattern) {
                      return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
                    });
}

void compare(ExampleResult& shown) {
  const Example& example = *shown.example;
  const auto wanted = example.is_bad ? Verdict::fail : Verdict::pass;
  const auto message = shown.reason.empty() ? "" : ": " + printable_line(shown.reason, 600);
  if (shown.verdict != wanted)
    shown.wrong = fmt::format("{} instead of {}{}", to_string(shown.verdict), to_string(wanted), message);
  else if (example.is_bad && !are_named(shown.culprits, example.culprits))
    shown.wrong =
        fmt::format("blames {} instead of {}{}", shown.culprits.empty() ? "no culprit" : human_list(shown.culprits),
                    example.culprits.empty() ? "no culprit" : human_list(example.culprits), message);
}

/// What shows it again.
Argv command_of(const SharedRun& run) {
  Argv words{"muster", "selftest"};
  for (const std::string& check : run.checks) words.insert(words.end(), {"-n", check});
  return words;
}

bool has_check(const Example& example, const std::string& check) {
  return is_in(check, example.checks);
}

}  // namespace

bool can_share(const Example& one, const Example& other) {
  const auto place = [](const Example& example) {
    return std::tie(example.machine, example.faults, example.driver, example.orders, example.hosts,
                    example.ranks_per_node, example.system, example.environment, example.timeout, example.module,
                    example.folder);
  };
  return place(one) == place(other) && std::none_of(one.checks.begin(), one.checks.end(),
                                                    [&](const std::string& check) { return has_check(other, check); });
}

Result<Selftest> Selftest::open(const std::string& launcher, const std::string& agent, fs::path folder) {
  // A machine from this process's environment would take precedence over those of the examples.
  for (const char* name : {env_machine, env_drivers, env_faults}) ::unsetenv(name);
  SiteOptions options;
  options.launcher = launcher;
  options.agent = agent;
  auto found = find_site(options, SystemProfile{});
  if (!found) return tl::unexpected(found.error());
  if (found->no_launch) return tl::unexpected(*found->no_launch);
  if (found->launcher->most_ranks == 1)
    return fail(ErrorKind::launch, std::string(found->launcher->name),
                "starts one rank, and most checks need several: install Open MPI or MPICH, or load its module");
  Selftest selftest;
  selftest.found_ = std::move(*found);
  real_launcher = selftest.found_.launcher;
  selftest.launcher_ = *real_launcher;
  selftest.launcher_.command = command_here;
  // What is left of a launch is here, on no other node.
  selftest.launcher_.reach = nullptr;
  selftest.launcher_.reach_all = nullptr;
  selftest.folder_ = std::move(folder);
  return selftest;
}

Result<void> Selftest::carry_out(const SharedRun& run, std::size_t index, const Loaded& loaded,
                                 std::span<const int> heeded) const {
  Example example = *run.examples.front();
  for (std::size_t i = 1; i < run.examples.size(); ++i)
    example.settings.insert(example.settings.end(), run.examples[i]->settings.begin(), run.examples[i]->settings.end());
  const auto machine = machine_of(example);
  if (!machine) return tl::unexpected(machine.error());
  const auto place = place_of(index);
  if (auto written = write_machines(example, *machine, place / "machine"); !written) return written;
  const auto system = profile_of(example, loaded.systems);
  if (!system) return tl::unexpected(system.error());
  const auto plan = plan_of(example, run.checks, *machine, *system, found_.site, loaded.checks);
  if (!plan) return tl::unexpected(plan.error());
  RunOptions options;
  options.run_folder = (place / "run").string();
  options.command_line = command_of(run);
  auto report = run_header(options, *system);
  if (auto made = make_folder(fs::path(report.folder) / "launches"); !made) return made;
  SessionOptions session;
  session.agent = found_.agent;
  session.self = own_executable();
  session.environment = environment_of(example, fs::absolute(place / "machine"));
  session.folder = report.folder;
  session.is_simulated = true;
  session.wire_address = "127.0.0.1";
  session.ended_by.assign(heeded.begin(), heeded.end());
  const auto console = "console=" + (place / "run" / "console.txt").string();
  auto outputs = Outputs::open({console}, OutputRequest{"never"}, report.folder);
  if (!outputs) return tl::unexpected(outputs.error());
  return run_session(*plan, {launcher_, found_.identity, session}, outputs->sinks(), report);
}

int Selftest::carry_out(const std::vector<SharedRun>& runs, const Loaded& loaded, std::span<const int> heeded) {
  // The long ones first, lest the last one runs alone.
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return runs[a].checks.size() > runs[b].checks.size(); });
  return side_by_side(runs.size(), std::min(processors_here(), most_at_once), heeded, [&](std::size_t i) {
    const std::size_t index = order[i];
    std::error_code ignored;
    fs::create_directory(place_of(index), ignored);
    if (const auto done = carry_out(runs[index], index, loaded, heeded); !done)
      (void)write_file(place_of(index) / "error", to_string(done.error()));
  });
}

std::vector<ExampleResult> Selftest::show(const SharedRun& run, std::size_t index) const {
  const auto why_not = read_file(place_of(index) / "error");
  const auto report = why_not ? fail(ErrorKind::system, "", *why_not) : read_run(place_of(index) / "run");
  std::vector<ExampleResult> all;
  for (const std::string& check : run.checks) {
    const auto of = std::find_if(run.examples.begin(), run.examples.end(),
                                 [&](const Example* example) { return has_check(*example, check); });
    if (report) {
      all.push_back(shown_by(*report, **of, check));
      compare(all.back());
    } else {
      all.push_back({*of, check, Verdict::error, {}, {}, to_string(report.error())});
    }
  }
  return all;
}

}  // namespace muster
