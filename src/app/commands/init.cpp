// muster init: asks the batch system and this node, and writes a profile. Starts no ranks.
#include "app/commands/init.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <tuple>

#include "app/inputs/load.hpp"
#include "app/inputs/profile_draft.hpp"
#include "base/loop.hpp"
#include "base/text.hpp"
#include "config/config.hpp"
#include "device/inventory.hpp"
#include "device/placement.hpp"
#include "muster/scheduler.hpp"
#include "system/layout.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

constexpr double init_answer_s = 20;

/// Empty where there is no such program, or no answer.
std::string printed_by(const Argv& argv) {
  auto done = run_program(argv, init_answer_s);
  return done && !done->timed_out && done->end.shell_status() == 0 ? std::move(done->out) : std::string();
}

void count_node(const ConfiguredNode& node, std::vector<DraftPartition>& all) {
  const auto is_it = [&](const DraftPartition& partition) { return partition.name == node.partition; };
  auto at = std::find_if(all.begin(), all.end(), is_it);
  if (at == all.end()) {
    all.push_back({node.partition, node.is_default, 1, node.cores, node.smt, node.gpus, node.gpu_type});
    return;
  }
  ++at->nodes;
  at->is_mixed |=
      at->cores != node.cores || at->smt != node.smt || at->gpus != node.gpus || at->gpu_type != node.gpu_type;
  at->cores = std::min(at->cores, node.cores);
  at->smt = std::min(at->smt, node.smt);
  at->gpus = std::min(at->gpus, node.gpus);
  if (at->gpu_type != node.gpu_type) at->gpu_type.clear();
}

/// Partition of the job around this process; empty: there is none.
std::string job_partition(const SchedulerSpec& scheduler) {
  const std::string name(scheduler.partition_variable);
  const char* partition = name.empty() ? nullptr : std::getenv(name.c_str());
  return partition == nullptr ? "" : partition;
}

/// The partition of the job first, then the default one, then by name: sinfo has an order of its own each time, and a
/// node may be in several partitions.
void order_nodes(std::vector<ConfiguredNode>& nodes, const std::string& partition) {
  const auto place = [&](const ConfiguredNode& node) {
    return std::tuple(node.partition != partition, !node.is_default, node.partition, node.node);
  };
  std::sort(nodes.begin(), nodes.end(),
            [&](const ConfiguredNode& one, const ConfiguredNode& other) { return place(one) < place(other); });
}

/// The first one that answers.
void take_scheduler(ProfileDraft& draft, std::string& variable) {
  for (const auto* scheduler : all_schedulers()) {
    if (scheduler->ask_configured == nullptr || find_program(scheduler->program).empty()) continue;
    const Argv asked = scheduler->ask_configured();
    auto nodes = scheduler->read_configured(printed_by(asked));
    if (nodes.empty()) {
      fmt::print(stderr, "note: {} lists no nodes: the profile has one partition, with the figures of this node\n",
                 asked.front());
      continue;
    }
    order_nodes(nodes, job_partition(*scheduler));
    for (const auto& node : nodes) {
      count_node(node, draft.partitions);
      if (draft.node.partition.empty() && node.node == draft.node.host) draft.node.partition = node.partition;
    }
    draft.cluster = scheduler->read_cluster(printed_by(scheduler->ask_cluster()));
    draft.launcher = "srun";
    variable = scheduler->cluster_variable;
    return;
  }
}

std::string name_stem(const std::string& name) {
  return name.substr(0, name.find_first_of("0123456789"));
}

void take_devices(const NodeParts& parts, DraftNode& node) {
  node.gpus = static_cast<int>(parts.gpus.size());
  node.gpu_vendor = parts.vendor;
  if (!parts.gpus.empty()) node.gpu_name = parts.gpus.front().name;
  node.nics = static_cast<int>(parts.nics.size());
  if (!parts.nics.empty()) node.nic_prefix = name_stem(parts.nics.front().name);
  for (const auto& nic : parts.nics)
    if (name_stem(nic.name) != node.nic_prefix) node.nic_prefix.clear();
}

void take_node(DraftNode& node) {
  utsname kernel{};
  if (::uname(&kernel) == 0) node.architecture = kernel.machine;
  if (const auto topology = read_topology()) {
    node.cpu_model = topology->cpu_model;
    node.smt = topology->cpus_per_core;
  }
  auto layout = read_layout();
  if (!layout) return;
  node.cores = static_cast<int>(layout->cores.size());
  node.domains = static_cast<int>(layout->domains.size());
  if (const auto inventory = read_inventory("/")) take_devices(parts_of(std::move(*layout), *inventory), node);
}

Result<void> write_new(const std::string& path, const std::string& text) {
  std::error_code ignored;
  if (fs::exists(path, ignored))
    return fail(ErrorKind::usage, path, "is there already; name another file, or remove it");
  return write_file(path, text);
}

}  // namespace

int init_command(const InitOptions& options) {
  ProfileDraft draft;
  draft.system = options.system;
  draft.node.host = host_name();
  std::string variable;
  take_scheduler(draft, variable);
  take_node(draft.node);
  const auto text = profile_text(draft, variable);
  Diagnostics diagnostics;
  (void)parse_system(text, options.output.empty() ? "profile" : options.output, diagnostics);
  if (!diagnostics.ok()) return usage_error(diagnostics.errors.front());
  if (options.output.empty()) {
    fmt::print("{}", text);
    return 0;
  }
  if (auto written = write_new(options.output, text); !written) return usage_error(written.error());
  fmt::print("{}: {} partition{}; next: muster lint {}, then copy it to /etc/muster or ~/.config/muster\n",
             options.output, std::max<std::size_t>(1, draft.partitions.size()), draft.partitions.size() > 1 ? "s" : "",
             options.output);
  return 0;
}

}  // namespace muster
