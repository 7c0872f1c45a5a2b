#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <numeric>

#include "app/inputs/load.hpp"
#include "app/inputs/options.hpp"
#include "app/inputs/prepare.hpp"
#include "app/inputs/simulation.hpp"
#include "base/hostlist.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "model/json.hpp"
#include "run/messages.hpp"
#include "system/asked_binding.hpp"
#include "system/rank_launcher.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

Binder binder_in(const Prepared& prepared, const JobShape& shape) {
  const auto& found = prepared.found;
  if (!shape.line.empty()) return Binder::line;
  return binder_of(*found.launcher, found.identity, shape, found.launcher_options);
}

bool has_asked(const Prepared& prepared, const JobShape& shape) {
  const bool is_asked = !prepared.found.line || shape.binding.kind == BindKind::masks;
  return !shape.oversubscribed && is_asked && concerns_ranks(shape.binding, binder_in(prepared, shape));
}

/// Files of a launch lie in its folder, which there is none of yet.
void name_files(LaunchCommand& command) {
  for (const LaunchFile& file : command.files) {
    const std::string mark = fmt::format("{}/{}", files_placeholder, file.name);
    for (std::string& word : command.argv)
      if (const std::size_t at = word.find(mark); at != std::string::npos)
        word.replace(at, mark.size(), fmt::format("<{}>", file.name));
  }
}

/// The command that would be run; what is chosen at the start of a launch stands as <word>.
LaunchCommand command_of(const Prepared& prepared, JobShape shape) {
  if (prepared.found.allocation) shape.job_nodes = prepared.found.allocation->nodes;
  const auto line = prepared.found.lines.find(shape.line);
  const bool is_line = line != prepared.found.lines.end();
  const LauncherSpec& launcher = is_line ? *line->second.launcher : *prepared.found.launcher;
  AgentCommand agent;
  agent.argv = prepared.found.wrapper;
  agent.argv.push_back((is_line ? line->second.agent : prepared.found.agent).string());
  agent.env = {{env_tag, "<tag>"},
               {env_tag_secret, "<secret>"},
               {env_wire, "<host:port>"},
               {env_key, "<key>"},
               {env_world, std::to_string(shape.ranks())},
               {env_launcher, std::string(launcher.name)}};
  if (has_asked(prepared, shape)) agent.env.emplace_back(env_bind, "<masks>");
  if (prepared.found.wrapper.empty() && !is_line) agent.env.emplace_back(env_path, "<PATH>");
  agent.env.insert(agent.env.end(), prepared.found.environment.begin(), prepared.found.environment.end());
  if (is_line) return put_behind(line->second.line, launcher, line->second.identity, agent);
  auto command = launcher.command(prepared.found.identity, shape, agent, prepared.found.launcher_options);
  name_files(command);
  return command;
}

std::string shape_text(const JobShape& shape) {
  const auto nodes = shape.nodes.empty() ? host_name() : compress_hostlist(shape.nodes);
  return fmt::format("{} rank{} on {} node{} ({})", shape.ranks(), shape.ranks() == 1 ? "" : "s", shape.node_count(),
                     shape.node_count() == 1 ? "" : "s", nodes);
}

/// With --per-node: the nodes that have that case.
std::vector<std::string> hosts_of(const Plan& plan, const PlannedLaunch& launch, const Case& like) {
  std::vector<std::string> hosts;
  for (const auto& item : launch.items) {
    const auto& of = plan.cases[static_cast<std::size_t>(item.case_index)];
    if (item.repetition == 1 && !of.host.empty() && common_id(of) == common_id(like)) hosts.push_back(of.host);
  }
  return hosts;
}

void print_case(const Case& item, const std::vector<std::string>& hosts) {
  std::string line = fmt::format("    {}", common_id(item));
  if (!hosts.empty()) line += fmt::format(" on each of {}", printable_line(compress_hostlist(hosts), 200));
  for (const auto& name : item.swept) line += fmt::format(" {}={}", name, to_string(item.params.values().at(name)));
  fmt::print("{}  timeout {}  {}\n", line, format_duration(item.timeout), printable_line(item.summary));
}

/// How ranks without masks are bound.
std::string unmasked_words(const Prepared& prepared, const JobShape& shape) {
  const Binder binder = binder_in(prepared, shape);
  const JobBinding& binding = shape.binding;
  if (binder == Binder::line)
    return "bound by the line" +
           (binding.why_cores.empty() ? "" : "; muster bind has no masks for its ranks: " + binding.why_cores);
  if (binder == Binder::options) return "bound by the launcher options given";
  const std::string source = binding.source.empty() ? std::string() : fmt::format(" ({})", binding.source);
  if (binding.kind == BindKind::none) return "no binding option" + source;
  if (binding.kind == BindKind::node && prepared.found.launcher->program.empty()) return "the CPUs that muster may use";
  if (binding.kind == BindKind::node)
    return fmt::format("the whole node for each rank, by {}",
                       binder == Binder::agent ? "muster-rank" : prepared.found.launcher->name);
  const std::string share =
      shape.cores_per_rank > 0 ? fmt::format("{} cores for each rank", shape.cores_per_rank) : std::string("cores");
  if (binding.why_cores.empty())
    return fmt::format("bound to {}, by {}{}", share, prepared.found.launcher->name, source);
  return fmt::format("bound to {}: {}", share, binding.why_cores);
}

/// `srun --cpu-bind=mask_cpu:0xfe,0xfe00`: the masks as options of the line's launcher; empty: it has none.
std::string options_of_bind(const Prepared& prepared, const JobShape& shape) {
  const auto line = prepared.found.lines.find(shape.line);
  if (line == prepared.found.lines.end()) return {};
  const LauncherSpec* launcher = line->second.launcher;
  // mpirun of MPICH and of Intel MPI is mpiexec under another name.
  if (launcher->name == "mpirun" && line->second.identity.flavor != "openmpi") launcher = find_launcher("mpiexec");
  if (launcher == nullptr || launcher->words == nullptr || launcher->words->masks == nullptr) return {};
  std::vector<int> ranks(shape.binding.ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return launcher->words->masks(shape.binding, ranks, "+n0");
}

/// Masks by local rank, and which part of the launch sets them.
void print_binding(const Prepared& prepared, const JobShape& shape) {
  if (shape.oversubscribed) return fmt::print("  not bound: more ranks than cores\n");
  if (shape.binding.kind != BindKind::masks)
    return fmt::print("  {}\n", printable_line(unmasked_words(prepared, shape), 300));
  const Binder binder = binder_in(prepared, shape);
  const auto asked = parse_asked_binding(to_text(shape.binding, binder));
  if (binder == Binder::options)
    return fmt::print("  bound by the launcher options given, not by {}\n", shape.binding.source);
  if (binder == Binder::line) {
    const std::string options = options_of_bind(prepared, shape);
    return fmt::print("  bound by the line; muster bind ({}):\n    {}\n{}", shape.binding.source,
                      printable_line(asked ? rank_list(*asked) : "", 600),
                      options.empty() ? "" : fmt::format("    {}\n", printable_line(options, 600)));
  }
  const std::string why = shape.binding.why_cores.empty() ? std::string() : "; " + shape.binding.why_cores;
  fmt::print("  bound by {} ({}{}):\n    {}\n", binder == Binder::agent ? "muster-rank" : prepared.found.launcher->name,
             shape.binding.source, printable_line(why, 200), printable_line(asked ? rank_list(*asked) : "", 600));
}

void print_launch(const Prepared& prepared, const PlannedLaunch& launch, std::size_t number) {
  fmt::print("launch {}: {}, {} item{}\n", number, shape_text(launch.shape), launch.items.size(),
             launch.items.size() == 1 ? "" : "s");
  fmt::print("  {}\n", shell_line(command_of(prepared, launch.shape).argv));
  print_binding(prepared, launch.shape);
  std::string before;
  for (const auto& item : launch.items) {
    const auto& of = prepared.plan.cases[static_cast<std::size_t>(item.case_index)];
    // Those of all nodes follow each other.
    if (item.repetition == 1 && common_id(of) != before) print_case(of, hosts_of(prepared.plan, launch, of));
    before = common_id(of);
  }
}

/// Cases that will not run, and what to do about those that follow each other for one reason.
void print_unable(const Plan& plan) {
  std::string remedy;
  const auto print_remedy = [&] {
    if (!remedy.empty()) fmt::print("  remedy: {}\n", printable_line(remedy));
  };
  for (const auto& item : plan.cases)
    for (const auto& finding : item.unable) {
      if (finding.remedy != remedy) print_remedy();
      remedy = finding.remedy;
      fmt::print("{} {}: {}\n", to_string(finding.verdict), item.id, printable_line(finding.reason));
    }
  print_remedy();
}

/// 2 when a case could not be run at all; a skip is as planned.
int status_of(const Plan& plan) {
  const auto is_error = [](const Finding& finding) { return finding.verdict == Verdict::error; };
  const bool is_broken = std::any_of(plan.cases.begin(), plan.cases.end(), [&](const Case& item) {
    return std::any_of(item.unable.begin(), item.unable.end(), is_error);
  });
  return is_broken ? 2 : 0;
}

int print_json(const Prepared& prepared) {
  auto json = to_json(prepared.plan);
  json["commands"] = nlohmann::json::array();
  json["files"] = nlohmann::json::array();
  for (const auto& launch : prepared.plan.launches) {
    const LaunchCommand command = command_of(prepared, launch.shape);
    json["commands"].push_back(command.argv);
    auto files = nlohmann::json::object();
    for (const LaunchFile& file : command.files) files[file.name] = file.text;
    json["files"].push_back(std::move(files));
  }
  fmt::print("{}\n", dump(json, 1));
  return status_of(prepared.plan);
}

}  // namespace

int plan_command(const RunOptions& options) {
  if (const int status = refuse_simulation(options.site.is_simulated); status != 0) return status;
  auto dry = options;
  dry.dry_run = true;
  const auto prepared = prepare(dry);
  if (!prepared) return exit_usage;
  const auto& plan = prepared->plan;
  if (options.json) return print_json(*prepared);
  const auto launcher =
      prepared->found.identity.banner.empty() ? std::string() : " (" + prepared->found.identity.banner + ")";
  const auto& partitions = prepared->system.partitions;
  const bool is_named = !partitions.empty() && partitions.front().name != "default";
  fmt::print("system {}{}, launcher {}{}: {} case{} x {} in {} launch{}\n", plan.system,
             is_named ? ":" + partitions.front().name : "", plan.launcher, launcher, plan.cases.size(),
             plan.cases.size() == 1 ? "" : "s", plan.repeat, plan.launches.size(),
             plan.launches.size() == 1 ? "" : "es");
  if (const auto& job = prepared->found.allocation)
    fmt::print("{} job {}: {}\n", job->scheduler, job->job, printable_line(compress_hostlist(job->nodes), 200));
  for (std::size_t i = 0; i < plan.launches.size(); ++i) print_launch(*prepared, plan.launches[i], i + 1);
  print_unable(plan);
  return status_of(plan);
}

}  // namespace muster
