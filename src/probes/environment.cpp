// What ranks were given: variables, names, addresses, limits. docs/methods/environment.md
#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

#include "base/text.hpp"
#include "measure/network.hpp"
#include "measure/node_facts.hpp"
#include "measure/not_run.hpp"
#include "measure/paths.hpp"
#include "measure/settings_files.hpp"
#include "measure/torchrun.hpp"
#include "measure/variables.hpp"
#include "muster/probe.hpp"
#include "probes/environment/case_view.hpp"
#include "probes/environment/profile.hpp"
#include "stats/stats.hpp"
#include "system/system.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

using namespace environment;

constexpr ParamSpec environment_params[] = {
    {"torch",
     ParamType::text,
     "if set",
     "Variables of torch.distributed: verified where any is set, required, or ignored.",
     "if set|required|ignored",
     {},
     {}},
    {"resolve_timeout", ParamType::duration, "5s", "Time limit of the resolver for MASTER_ADDR.", {}, 0.1, 600},
    {"may_differ",
     ParamType::text_list,
     "",
     "Variables, and limits by their metric's name, that may differ between ranks.",
     {},
     {},
     {}},
    {"traps",
     ParamType::text,
     "judged",
     "Settings that are known to hang or break jobs.",
     "judged|noted|ignored",
     {},
     {}},
    {"min_open_files", ParamType::integer, "1024", "Smallest sufficient limit of open files.", {}, 0, {}},
    {"memlock", ParamType::text, "any", "Required limit of locked memory on all nodes.", "any|unlimited", {}, {}},
    {"rdma_memlock",
     ParamType::bytes,
     "1GiB",
     "Smallest sufficient limit of locked memory on a node with RDMA devices; 0: any.",
     {},
     {},
     {}},
    {"job_nodes",
     ParamType::integer,
     "0",
     "Number of nodes of the job, where more nodes are measured; 0: the nodes that are measured.",
     {},
     0,
     {}},
    {"core", ParamType::text, "any", "Whether a crash may leave core files.", "any|disabled|enabled", {}, {}},
};

constexpr MetricSpec environment_metrics[] = {
    {"open_files", "1", Better::higher, "Limit of the rank's open files; no reading where unlimited.", false},
    {"memlock", "B", Better::higher, "Limit of the rank's locked memory; no reading where unlimited.", false},
    {"core", "B", Better::neither, "Limit of a core file's size; no reading where unlimited.", false},
};

void read_limits_into(Observation& seen) {
  const auto found = read_limits();
  for (std::size_t i = 0; i < limits.size(); ++i) {
    seen.facts.push_back({fmt::format("limit.{}", limits[i].metric), to_text(found[i])});
    if (!found[i]) continue;  // there is no number for "unlimited"
    const double number = static_cast<double>(*found[i]);
    seen.readings.push_back({std::string(limits[i].metric), {}, summarize(std::span(&number, 1))});
  }
  seen.facts.push_back({"locks_freely", may_lock_freely(this_machine().root) ? "yes" : "no"});
}

/// In a container on Slingshot the fabric works only with libraries of the host.
void read_container_into(const Variables& all, Observation& seen) {
  const std::string container = container_of(all);
  if (container.empty()) return;
  seen.facts.push_back({"container", container});
  if (const auto base = all.find("PYTHONUSERBASE"); base != all.end() && !base->second.empty())
    seen.facts.push_back({"container.user_base", printable_line(base->second, 300)});
  const auto interfaces = interfaces_up();
  const bool is_slingshot = std::any_of(interfaces.begin(), interfaces.end(),
                                        [](const InterfaceAddress& one) { return one.name.substr(0, 3) == "hsn"; });
  if (!is_slingshot) return;
  if (const auto missing = unloadable({"libcxi.so.1", "libjansson.so.4"}); !missing.empty())
    seen.facts.push_back({"container.lacks", join(missing, "; ")});
}

/// Values common to all ranks of a node are reported by one of them.
void read_node_into(const Variables& all, Observation& seen) {
  seen.facts.push_back({"interfaces", to_text(interfaces_up())});
  if (const auto devices = rdma_devices(this_machine().root); !devices.empty())
    seen.facts.push_back({"rdma", join(devices, ",")});
  for (Fact& fact : to_facts(settings_in_files(this_machine().root, all))) seen.facts.push_back(std::move(fact));
}

void read_profile_into(const RunContext& context, const Variables& all, Observation& seen) {
  for (Fact& fact : wanted_variables(context.node, all)) seen.facts.push_back(std::move(fact));
  if (context.place.local_rank != 0) return;
  for (Fact& fact : described_node(context.node)) seen.facts.push_back(std::move(fact));
}

void read_master_into(RunContext& context, const Variables& own, Observation& seen) {
  if (context.params.text("torch") == "ignored") return;
  if (const auto name = own.find("MASTER_ADDR"); name != own.end()) {
    context.recorder.step("resolve MASTER_ADDR");
    const Resolved resolved = resolve(name->second, context.params.duration("resolve_timeout").value);
    if (resolved.error.empty())
      seen.facts.push_back({"master.addresses", join(resolved.addresses, ",")});
    else
      seen.facts.push_back({"master.error", printable_line(resolved.error)});
  }
  const auto port = own.find("MASTER_PORT");
  if (context.place.rank != 0 || port == own.end()) return;
  context.recorder.step("try MASTER_PORT");
  if (const auto number = parse_port(port->second)) seen.facts.push_back({"master.port", port_state(*number)});
}

Result<Observation> run_environment(RunContext& context) {
  context.recorder.step("environment");
  Observation seen;
  seen.facts.push_back({"machine", machine_identity(this_machine().root)});
  const Variables all = parse_environment(environ);
  const Variables own = own_variables(all);
  add_variables(own, seen.facts);
  for (Fact& fact : shared_paths(all)) seen.facts.push_back(std::move(fact));
  if (const auto tail = all.find(env_torchrun); tail != all.end()) {
    seen.facts.push_back({"torchrun", printable_line(tail->second, 300)});
    const auto options = all.find(env_torchrun_options);
    for (Fact& fact : torchrun_facts(options == all.end() ? "" : options->second, all))
      seen.facts.push_back(std::move(fact));
    if (std::string gpus = torchrun_gpus(all, context.place.local_rank); !gpus.empty())
      seen.facts.push_back({"torchrun.gpus", std::move(gpus)});
    if (const auto mask = own_mask())
      seen.facts.push_back({"torchrun.cpus", fmt::format("{} {} {}", mask->count(),
                                                         node_cpus(this_machine().root).count(), mask->list())});
  }
  add_not_run(context, seen);
  for (const char* name : {"ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
    if (const auto devices = all.find(name); devices != all.end())
      seen.facts.push_back({"devices", printable_line(fmt::format("{}={}", name, devices->second), 300)});
  if (this_machine().simulated.empty())
    for (Fact& fact : absent_caches(all)) seen.facts.push_back(std::move(fact));
  read_limits_into(seen);
  read_container_into(all, seen);
  if (context.place.local_rank == 0) read_node_into(all, seen);
  read_profile_into(context, all, seen);
  read_master_into(context, own, seen);

  context.recorder.step("compare");
  const Variables shared = shared_variables(all);
  const auto first = context.comm.broadcast(encode(shared), 0);
  if (!first) return tl::unexpected(first.error());
  if (context.place.rank == 0)
    add_variables(shared, seen.facts);
  else
    add_differences(decode(*first), shared, seen.facts);
  return seen;
}

bool is_fault(const Finding& finding) {
  return finding.verdict != Verdict::pass;
}

// Causes come before their consequences: a case's first finding is its headline.
ProbeJudgement judge_environment(const CaseView& view) {
  ProbeJudgement judgement;
  const EnvironmentView seen(view);
  for (const SeenRank* rank : seen.ranks()) {
    if (rank->facts.count("machine") != 0) continue;
    judgement.findings.push_back(
        {Verdict::unmeasured,
         fmt::format("rank {} on {} reported nothing on its environment", rank->place->rank, rank->place->host),
         {rank_culprit(rank->place->rank, rank->place->host)},
         "report this: the observation is incomplete"});
  }
  if (seen.ranks().empty() || !judgement.findings.empty()) return judgement;
  for (const auto& judge_one : {judge_login, judge_machines, judge_description, judge_launchers, judge_torchrun})
    judge_one(seen, judgement);
  if (!seen.ranks().front()->place->is_part_of_launch()) {
    for (const auto& judge_one : {judge_torch, judge_master}) judge_one(seen, judgement);
  } else if (seen.params().text("torch") != "ignored") {
    judgement.findings.push_back(
        make_note("torch.distributed's variables are those of all nodes together; --per-node does not judge them"));
  }
  for (const auto& judge_one :
       {judge_differences, judge_settings, judge_variables, judge_traps, judge_containers, judge_paths, judge_limits})
    judge_one(seen, judgement);
  if (seen.params().text("torch") == "ignored")
    judge_not_run(view, {}, judgement.findings);
  else
    judge_not_run(view, {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "PET_"}, judgement.findings);
  if (std::any_of(judgement.findings.begin(), judgement.findings.end(), is_fault)) judgement.evidence.clear();
  return judgement;
}

}  // namespace

extern const ProbeSpec probe_environment{
    .name = "environment",
    .summary = "What ranks were given: variables, names, addresses and limits, against MPI and each other.",
    .params = environment_params,
    .metrics = environment_metrics,
    .run = run_environment,
    .judge = judge_environment,
};

}  // namespace muster
