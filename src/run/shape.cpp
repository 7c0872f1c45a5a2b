#include "run/shape.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace muster {

namespace {

/// Nodes have more cores than a job that asked for few tasks may use.
int ranks_per_core(const Site& site) {
  return std::max(1, site.tasks_per_node.value_or(site.cores));
}

int ranks_per_node(const RanksSpec& ranks, const Site& site) {
  const bool follows_node = ranks.kind != RanksSpec::Kind::per_node && ranks.kind != RanksSpec::Kind::one_per_node;
  if (follows_node && site.simulated_ranks > 0) return site.simulated_ranks;
  switch (ranks.kind) {
    case RanksSpec::Kind::per_node:
      return ranks.count;
    case RanksSpec::Kind::one_per_node:
      return 1;
    case RanksSpec::Kind::one_per_core:
      return ranks_per_core(site);
    case RanksSpec::Kind::one_per_numa:
      return std::max(1, site.numa_domains);
    case RanksSpec::Kind::one_per_gpu:
      // No device: one rank can still report it, and a check of the host's path wants more.
      if (site.gpus > 0) return site.gpus;
      return ranks.count > 0 ? ranks.count : ranks_per_core(site);
  }
  return 1;
}

std::string counted(int count, const char* one, const char* many) {
  return count == 1 ? fmt::format("1 {}", one) : fmt::format("{} {}", count, many);
}

Finding too_few_nodes(const Case& item) {
  const int nodes = item.shape.node_count();
  return {Verdict::skip,
          fmt::format("needs {}, {} given", counted(item.min_nodes, "node", "nodes"),
                      nodes == 1 ? "1 is" : fmt::format("{} are", nodes)),
          {},
          fmt::format("name at least {} with --nodes", item.min_nodes)};
}

/// Not for want of nodes.
Finding needs_nodes_together(const Case& item) {
  return {Verdict::skip,
          fmt::format("needs {} nodes together, and --per-node asks each node by itself", item.min_nodes),
          {},
          "run it without --per-node"};
}

Finding too_many_ranks(const Case& item, const Site& site) {
  const int most = site.launcher_most_ranks;
  return {Verdict::skip,
          fmt::format("launcher {}{} starts {}; this case needs {}", site.launcher,
                      site.launcher_why.empty() ? "" : fmt::format(", taken because {},", site.launcher_why),
                      most == 1 ? "one rank" : fmt::format("at most {} ranks", most), item.shape.ranks()),
          {{CulpritKind::launcher, site.launcher, "", -1}},
          "use one that starts more, such as --launcher mpirun (install Open MPI or load its module)"};
}

/// A share of the cores for each rank, where the launcher binds to cores and there are several for each.
int cores_of_rank(const Case& item, const Site& site) {
  const JobShape& shape = item.shape;
  const bool is_shared = shape.binding.kind == BindKind::cores && item.ranks.kind != RanksSpec::Kind::one_per_core;
  if (!is_shared || shape.oversubscribed || site.is_part_of_node || shape.ranks_per_node < 2) return 0;
  const int share = site.cores / shape.ranks_per_node;
  return share > 1 ? share : 0;
}

/// The ranks of a given line are bound as they are, whatever a check asks for: all cases share one launch. Masks are
/// what `muster bind` would write.
JobBinding binding_beside_line(const JobShape& shape, const Site& site) {
  JobBinding none{BindKind::none, {}, {}, {}};
  if (!site.bind) return none;
  auto binding = site.bind({{}, {}, shape.ranks_per_node, true});
  return binding ? std::move(*binding) : none;
}

/// The world is what the line starts.
void shape_by_line(Case& item, const Site& site) {
  auto& shape = item.shape;
  if (const auto found = site.lines.find(shape.line); found != site.lines.end()) {
    const LineWorld& world = found->second;
    shape.nodes = world.nodes;
    shape.ranks_per_node = world.ranks_per_node;
    if (world.unable) item.unable.push_back(*world.unable);
  }
  shape.binding = binding_beside_line(shape, site);
}

void bind_case(Case& item, const Site& site) {
  auto& shape = item.shape;
  if (!site.bind) return;
  auto binding = site.bind({item.bind, item.ranks, shape.ranks_per_node});
  if (binding)
    shape.binding = std::move(*binding);
  else
    item.unable.push_back({Verdict::skip,
                           binding.error().what,
                           {},
                           "name a system whose profile has one with --system, or choose --bind auto or cores"});
  shape.cores_per_rank = cores_of_rank(item, site);
  if (shape.cores_per_rank > 0) shape.cpus_per_core = std::max(1, site.cpus_per_core);
  shape.one_thread_per_core = site.one_thread_per_core && shape.binding.kind == BindKind::cores;
}

void shape_by_launcher(Case& item, const SelectOptions& options, const Site& site, int usual_ranks) {
  auto& shape = item.shape;
  const int wanted = usual_ranks > 0 ? usual_ranks : ranks_per_node(item.ranks, site);
  shape.ranks_per_node = options.ranks_per_node.value_or(wanted);
  const bool is_asked = options.ranks_per_node.has_value() || item.ranks.kind == RanksSpec::Kind::per_node;
  const int most = site.launcher_most_ranks;
  // As many as there are cores, domains or devices is a request, not a need: one node can do with fewer.
  if (most > 0 && !is_asked && shape.node_count() == 1) shape.ranks_per_node = std::min(shape.ranks_per_node, most);
  shape.oversubscribed = shape.ranks_per_node > std::max(1, site.cores);
  bind_case(item, site);
}

}  // namespace

void shape_case(Case& item, const SelectOptions& options, const Site& site, int usual_ranks) {
  auto& shape = item.shape;
  shape.nodes = site.nodes;
  shape.partition = item.partition;
  shape.environment = item.environment;
  if (shape.line.empty())
    shape_by_launcher(item, options, site, usual_ranks);
  else
    shape_by_line(item, site);
  if (!shape.line.empty() && !item.unable.empty()) return;
  if (options.per_node && item.min_nodes > 1)
    item.unable.push_back(needs_nodes_together(item));
  else if (shape.node_count() < item.min_nodes)
    item.unable.push_back(too_few_nodes(item));
  const int most = shape.line.empty() ? site.launcher_most_ranks : 0;
  if (most > 0 && shape.ranks() > most) item.unable.push_back(too_many_ranks(item, site));
}

}  // namespace muster
