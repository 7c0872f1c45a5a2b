#include "app/binding/scheduler_gpus.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "base/hostlist.hpp"
#include "base/lists.hpp"
#include "base/loop.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

constexpr double scheduler_answer_s = 20;

bool counts_gpus(const SystemProfile& system) {
  return std::any_of(system.partitions.begin(), system.partitions.end(),
                     [](const PartitionProfile& partition) { return partition.node.gpus.has_value(); });
}

bool refuses(const SystemProfile& system, std::string_view option) {
  return std::any_of(system.partitions.begin(), system.partitions.end(), [&](const PartitionProfile& partition) {
    const auto& refused = partition.scheduler_refuses;
    return is_in(option, refused);
  });
}

Result<std::string> answer_of(const Argv& argv) {
  auto done = run_program(argv, scheduler_answer_s);
  if (!done) return tl::unexpected(done.error());
  if (done->timed_out)
    return fail(ErrorKind::launch, argv[0], fmt::format("gave no answer within {} s", scheduler_answer_s));
  if (done->end.shell_status() != 0) return fail(ErrorKind::launch, argv[0], printable_line(trim(done->err), 200));
  return std::move(done->out);
}

/// Of the nodes that are named, or of all.
Result<std::vector<CountedGpus>> gpus_of(const SchedulerSpec& scheduler, const std::string& partition,
                                         const std::vector<std::string>& names) {
  const auto out = answer_of(scheduler.ask_gpus(partition));
  if (!out) return tl::unexpected(out.error());
  auto nodes = scheduler.read_gpus(*out, partition);
  if (!names.empty()) std::erase_if(nodes, [&](const CountedGpus& node) { return !is_in(node.node, names); });
  return nodes;
}

/// The least that a node with GPUs has; 0: none has any.
int least_gpus(const std::vector<CountedGpus>& nodes) {
  int least = 0;
  for (const auto& node : nodes)
    if (node.count > 0) least = least == 0 ? node.count : std::min(least, node.count);
  return least;
}

std::string gpus_text(int gpus) {
  return gpus == 1 ? "1 GPU" : fmt::format("{} GPUs", gpus);
}

std::string partition_of(std::span<const JobOption> options) {
  for (const auto& option : options)
    if (option.name == "--partition" && option.text.size() > option.name.size())
      return option.text.substr(option.name.size() + 1);
  for (const char* name : {"SBATCH_PARTITION", "SLURM_PARTITION"})
    if (const char* value = std::getenv(name); value != nullptr) return value;
  return {};
}

/// `--gpus-per-node=8`, `--gpus-per-node=h100:8`, `--gres=gpu:h100:8,nvme:1`; 0: the option counts something else, such
/// as the GPUs of the whole job.
int per_node_of(std::string_view option) {
  const std::size_t equals = option.find('=');
  if (equals == std::string_view::npos) return 0;
  const std::string_view name = option.substr(0, equals);
  const bool is_resource = name == "--gres" || name == "--tres-per-node";
  if (!is_resource && name != "--gpus-per-node") return 0;
  int all = 0;
  for (const std::string& item : split(option.substr(equals + 1), ',')) {
    const auto parts = split(item, ':');
    if (is_resource && parts.front() != "gpu" && parts.front() != "gres/gpu") continue;
    const bool has_number = !is_resource || parts.size() > 1;
    const auto count = has_number ? leading_number<int>(parts.back()) : 1;
    if (!count) return 0;
    all += std::max(0, *count);
  }
  return all;
}

}  // namespace

GpuRequest requested_gpus(const SchedulerSpec& scheduler, const SystemProfile& system,
                          std::span<const JobOption> options, const std::vector<std::string>& nodes) {
  if (scheduler.ask_gpus == nullptr || counts_gpus(system) || refuses(system, "--gpus-per-node")) return {};
  if (const auto name = scheduler.gpu_option(options); !name.empty()) {
    const auto option =
        std::find_if(options.begin(), options.end(), [&](const JobOption& one) { return one.name == name; });
    const int chosen = option == options.end() ? 0 : per_node_of(option->text);
    if (chosen > 0) return {0, fmt::format("the job starts one rank for each GPU of {}", option->text), "", chosen};
    return {0, fmt::format("{} has no number of GPUs per node: choose the ranks with --ranks-per-node", name)};
  }
  const auto found = gpus_of(scheduler, partition_of(options), nodes);
  if (!found)
    return {0, fmt::format("the job requests no GPUs, as the batch system does not answer how many a node has; add -J "
                           "gpus-per-node=N where there are some ({})",
                           to_string(found.error()))};
  const int least = least_gpus(*found);
  if (least == 0) return {};
  const auto lacking =
      std::count_if(found->begin(), found->end(), [](const CountedGpus& node) { return node.count == 0; });
  if (!nodes.empty() && lacking > 0)
    return {0, fmt::format("the job requests no GPUs: {} of the {} nodes that were named have none", lacking,
                           found->size())};
  return {least,
          fmt::format("no profile describes this cluster; by sinfo its nodes have {}: the job requests them with "
                      "--gpus-per-node={}",
                      gpus_text(least), least),
          ", and starts one rank for each"};
}

bool is_about_gpus(const Case& item) {
  return item.probe == "device_visibility" || item.probe.compare(0, 4, "gpu_") == 0;
}

bool needs_gpus(const Case& item) {
  return is_about_gpus(item) || (item.ranks.kind == RanksSpec::Kind::one_per_gpu && item.ranks.count == 1);
}

std::optional<Finding> find_ungranted_gpus(const SystemProfile& system, const Allocation& job, const Plan& plan) {
  const bool has_case = std::any_of(plan.cases.begin(), plan.cases.end(), needs_gpus);
  // The only one that muster finds an allocation of.
  const auto* scheduler = find_scheduler("slurm");
  if (!has_case || scheduler == nullptr || counts_gpus(system)) return std::nullopt;
  const char* partition = std::getenv("SLURM_JOB_PARTITION");
  const auto nodes = gpus_of(*scheduler, partition == nullptr ? "" : partition, job.nodes);
  const int least = nodes ? least_gpus(*nodes) : 0;
  if (least == 0) return std::nullopt;
  const auto reported = answer_of(scheduler->ask(job.job));
  if (!reported || scheduler->asks_for_gpus(*reported)) return std::nullopt;
  return Finding{Verdict::error,
                 fmt::format("job {} requested no GPUs, and {} {} {} by sinfo", job.job, compress_hostlist(job.nodes),
                             job.nodes.size() == 1 ? "has" : "have", gpus_text(least)),
                 {{CulpritKind::setting, "--gpus-per-node", "", -1}},
                 fmt::format("submit the job with --gpus-per-node={}", least),
                 Subject::gpus};
}

}  // namespace muster
