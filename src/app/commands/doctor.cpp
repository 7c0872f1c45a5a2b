// What can be measured on this node, and why the rest can't. Starts nothing but the launcher's version question,
// the agent's description of itself, and Python interpreters to look for modules.
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include "app/agent_about.hpp"
#include "app/inputs/checks_here.hpp"
#include "app/inputs/config_homes.hpp"
#include "app/inputs/load.hpp"
#include "app/inputs/options.hpp"
#include "app/inputs/site.hpp"
#include "app/runs/node_service.hpp"
#include "base/hostlist.hpp"
#include "base/loop.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "model/expected_node.hpp"
#include "model/gpu_vendor.hpp"
#include "model/json.hpp"
#include "muster/probe.hpp"
#include "run/detect.hpp"
#include "run/flight_recorder.hpp"
#include "run/plugins.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

enum class Health { good, limited, bad };

struct Line {
  std::string subject;
  Health health = Health::good;
  std::string text;
  std::string remedy;
};

constexpr std::string_view health_words[] = {"ok", "limited", "bad"};

std::string_view word(Health health) {
  return enum_name(health_words, health);
}

Line topology_line() {
  const auto topology = read_topology();
  if (!topology) return {"topology", Health::bad, to_string(topology.error()), "hwloc can't read this machine"};
  const auto number = [](int count, const char* noun) { return counted(static_cast<std::size_t>(count), noun); };
  return {"topology", Health::good,
          fmt::format("{}; {}, {}, {}, {:.1f} GiB", topology->cpu_model, number(topology->cores, "core"),
                      number(topology->cpus, "CPU"), number(topology->numa_domains, "NUMA domain"),
                      static_cast<double>(topology->memory_bytes) / (1u << 30)),
          ""};
}

std::string limit_text(rlim_t value, bool is_bytes) {
  if (value == RLIM_INFINITY) return "unlimited";
  return is_bytes ? format_bytes({value}) : std::to_string(value);
}

struct LimitWanted {
  const char* name;
  int which;
  rlim_t least;
  bool is_bytes;
  const char* why;
};

constexpr LimitWanted limits_wanted[] = {
    {"locked memory", RLIMIT_MEMLOCK, 64u << 20, true,
     "InfiniBand and GPU transports lock memory; request \"ulimit -l unlimited\""},
    {"open files", RLIMIT_NOFILE, 1024, false, "large jobs need more; see ulimit -n"},
    {"stack", RLIMIT_STACK, 1u << 20, true, "raise it with ulimit -s"},
};

Line limit_line(const LimitWanted& wanted) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(wanted.which), &limit) != 0)
    return {wanted.name, Health::bad, "can't be read", ""};
  const bool is_enough = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= wanted.least;
  return {wanted.name, is_enough ? Health::good : Health::limited, limit_text(limit.rlim_cur, wanted.is_bytes),
          is_enough ? "" : wanted.why};
}

Line folder_line(const char* name, const fs::path& folder) {
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return {name, Health::bad, folder.string() + " can't be written", "set MUSTER_RECORDER_FOLDER to a local folder"};
  return {name, Health::good, folder.string(), ""};
}

/// What a run here would take its nodes from.
Line allocation_line() {
  const auto found = find_allocation();
  if (!found) return {"allocation", Health::bad, to_string(found.error()), "start a new job"};
  if (!*found)
    return {"allocation", Health::limited, "none: not inside a scheduler's job; name nodes with --nodes", ""};
  const auto& job = **found;
  return {"allocation", Health::good,
          fmt::format("{} job {}, {} ({} {}){}", job.scheduler, job.job, compress_hostlist(job.nodes), job.nodes.size(),
                      job.nodes.size() == 1 ? "node" : "nodes",
                      job.tasks_per_node ? fmt::format(", {} tasks each", *job.tasks_per_node) : ""),
          ""};
}

/// What the site and the user add to the shipped files, and what is wrong with it: a run would refuse to start.
void add_homes(const Loaded& loaded, std::vector<Line>& all) {
  for (const auto& home : loaded.homes) {
    std::vector<std::string> parts;
    if (!home.systems.empty()) parts.push_back("profiles " + join(home.systems, ", "));
    if (!home.checks.empty()) parts.push_back("checks " + join(home.checks, ", "));
    all.push_back({"site's files", Health::good,
                   fmt::format("{}: {}", home.folder.string(), parts.empty() ? "nothing" : join(parts, "; ")), ""});
  }
  if (loaded.homes.empty()) {
    std::vector<std::string> places;
    for (const auto& folder : usual_config_homes()) places.push_back(folder.string());
    all.push_back({"site's files", Health::good, fmt::format("none in {}", human_list(places)), ""});
  }
  for (const auto& error : loaded.diagnostics.errors)
    all.push_back({"site's files", Health::bad, to_string(error), "no run starts before this is corrected"});
}

/// The profile that a run would take, and its partition; nullopt: a run would refuse to start.
Line system_line(const SiteOptions& options, const Loaded& loaded, std::optional<SystemProfile>& system) {
  const auto here = these_surroundings();
  const auto match = choose_system(loaded.systems, options.system, here);
  if (!match) return {"system", Health::bad, match.error().what, ""};
  SystemProfile found = *match->system;
  if (auto kept = keep_one_partition(found, options.system, here); !kept)
    return {"system", Health::limited, fmt::format("{}: {}", found.name, match->because), kept.error().what};
  const auto& partition = found.partitions.front();
  const bool is_in_job = here.variable("SLURM_JOB_ID").has_value();
  Line line{"system", Health::good, fmt::format("{}:{}: {}", found.name, partition.name, match->because), ""};
  if (is_login_node(partition.node, host_name(), is_in_job, count_gpus()))
    line = {"system", Health::limited, fmt::format("{}; {} is a login node", line.text, host_name()),
            "get compute nodes with salloc or sbatch, and run there"};
  system = std::move(found);
  return line;
}

/// Which launcher a run would use, and why.
Line choice_line(const Result<SiteFound>& found) {
  if (!found) return {"a run starts ranks by", Health::bad, to_string(found.error()), ""};
  if (found->launcher->needs_allocation && !found->allocation)
    return {"a run starts ranks by", Health::limited,
            fmt::format("{}, by the profile; it needs an allocation", found->launcher->name),
            "start in one (salloc, sbatch)"};
  const std::string why = !found->launcher->needs_allocation ? "" : ", inside an allocation";
  return {"a run starts ranks by", Health::good, fmt::format("{}{}", found->launcher->name, why), ""};
}

Line shell_line_of(const LauncherSpec& launcher, const Result<LauncherIdentity>& identity) {
  const auto name = std::string("launcher ") + std::string(launcher.name);
  if (!identity) return {name, Health::limited, identity.error().what, ""};
  if (launcher.program.empty()) return {name, Health::good, "always available; one rank", ""};
  return {name, Health::good, fmt::format("{} ({})", identity->banner, identity->path), ""};
}

/// Does the agent belong to the MPI that the launcher starts?
Line agent_line(const LauncherSpec& launcher, const LauncherIdentity& identity, const std::string& chosen) {
  const auto name = fmt::format("agent for {}", launcher.name);
  const auto agent = find_agent(chosen, identity.flavor);
  if (!agent) return {name, Health::bad, to_string(agent.error()), "build muster with the MPI of this machine"};
  const auto about = ask_agent(*agent);
  if (!about)
    return {name, Health::bad, to_string(about.error()), "load the modules it was built with, or build it again"};
  if (!identity.flavor.empty() && about->flavor != identity.flavor)
    return {name, Health::bad,
            fmt::format("built for {}, but {} starts {}", about->library, launcher.name, identity.banner),
            fmt::format("build muster-rank-{}", identity.flavor)};
  return {name, Health::good, fmt::format("{} ({})", agent->string(), printable_line(about->library, 60)), ""};
}

Line device_line(const std::string& name, const std::string& path, const char* what) {
  if (access(path.c_str(), F_OK) != 0) return {name, Health::limited, fmt::format("none: {} is absent", path), ""};
  if (access(path.c_str(), R_OK | W_OK) != 0)
    return {name, Health::bad, fmt::format("{} is there but may not be opened", path),
            fmt::format("request membership of the group that owns {}", path)};
  return {name, Health::good, fmt::format("{} ({})", path, what), ""};
}

/// Whether a run could take nodes out of service, apart from the right to do it.
Line service_line() {
  const auto* scheduler = find_service();
  if (scheduler == nullptr)
    return {"drain, resume", Health::limited, "none: no scontrol on PATH (--on-fail, --on-pass of muster run)", ""};
  if (const auto there = greet(*scheduler); !there)
    return {"drain, resume", Health::limited,
            fmt::format("{} does not answer: {}", scheduler->title, to_string(there.error())),
            "nodes can't be drained or resumed from here now"};
  return {"drain, resume", Health::good, fmt::format("{} answers", scheduler->title), ""};
}

/// Probes from outside, where there are any, and what was not taken.
void add_plugins(std::vector<Line>& all) {
  std::map<std::string, std::vector<std::string>> probes;
  for (const auto* probe : all_probes())
    if (const auto file = plugin_of(probe->name).string(); !file.empty()) probes[file].emplace_back(probe->name);
  for (const auto& [file, names] : probes)
    all.push_back({"plug-in", Health::good, fmt::format("{}: {}", file, join(names, ", ")), ""});
  for (const auto& error : refused_plugins()) all.push_back({"plug-in", Health::bad, to_string(error), ""});
}

/// The checks that a run here could start, and why the others could not.
void add_checks(const Loaded& loaded, const SystemProfile& system, const SiteFound& site, std::vector<Line>& all) {
  const auto here = checks_here(loaded, system, site);
  if (!here) {
    all.push_back({"checks", Health::bad, to_string(here.error()), ""});
    return;
  }
  if (!here->able.empty()) all.push_back({"checks that can run", Health::good, join(here->able, ", "), ""});
  for (const auto& [why, names] : here->unable)
    all.push_back({"checks that can't", Health::limited, fmt::format("{}: {}", why, join(names, ", ")), ""});
}

std::vector<Line> examine(const DoctorOptions& options) {
  std::vector<Line> all;
  all.push_back({"muster", Health::good, MUSTER_VERSION, ""});
  all.push_back(topology_line());
  all.push_back(allocation_line());
  const auto loaded = load({}, options.config);
  add_homes(loaded, all);
  std::optional<SystemProfile> system;
  all.push_back(system_line(options.site, loaded, system));
  const auto site = find_site(options.site, system.value_or(SystemProfile()));
  all.push_back(choice_line(site));
  std::vector<Line> agents;
  std::vector<std::string> absent;
  for (const auto* launcher : all_launchers()) {
    if (!launcher->program.empty() && find_program(launcher->program).empty()) {
      absent.emplace_back(launcher->name);
      continue;
    }
    const auto identity = identify(*launcher);
    all.push_back(shell_line_of(*launcher, identity));
    if (identity) agents.push_back(agent_line(*launcher, *identity, options.site.agent));
  }
  if (!absent.empty())
    all.push_back({"other launchers", Health::limited, fmt::format("not on PATH: {}", human_list(absent)), ""});
  all.insert(all.end(), agents.begin(), agents.end());
  all.push_back(service_line());
  add_plugins(all);
  if (site && loaded.diagnostics.ok()) add_checks(loaded, system.value_or(SystemProfile()), *site, all);
  all.push_back(folder_line("flight recorders", recorder_folder()));
  for (const LimitWanted& wanted : limits_wanted) all.push_back(limit_line(wanted));
  for (const GpuVendor* vendor : gpu_vendors())
    if (!vendor->driver_file.empty())
      all.push_back(
          device_line(fmt::format("{} driver", vendor->maker), std::string(vendor->driver_file), "kernel driver"));
  return all;
}

void print(const std::vector<Line>& all) {
  std::size_t width = 0;
  for (const auto& line : all) width = std::max(width, line.subject.size());
  for (const auto& line : all) {
    fmt::print("{:<7}  {:<{}}  {}\n", word(line.health), line.subject, width, printable_line(line.text));
    if (!line.remedy.empty()) fmt::print("{:<7}  {:<{}}  -> {}\n", "", "", width, line.remedy);
  }
}

void print_json(const std::vector<Line>& all) {
  auto list = nlohmann::json::array();
  for (const auto& line : all)
    list.push_back(
        {{"subject", line.subject}, {"health", word(line.health)}, {"says", line.text}, {"remedy", line.remedy}});
  fmt::print("{}\n", dump(list, 1));
}

}  // namespace

int doctor_command(const DoctorOptions& options) {
  const auto all = examine(options);
  options.json ? print_json(all) : print(all);
  for (const auto& line : all)
    if (line.health == Health::bad) return 2;
  return 0;
}

}  // namespace muster
