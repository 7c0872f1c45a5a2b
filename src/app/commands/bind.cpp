// Which cores and which GPU each rank should have: a picture, and options to paste. docs/bind.md
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/binding/bind_picture.hpp"
#include "app/inputs/load.hpp"
#include "app/inputs/machine_files.hpp"
#include "app/inputs/options.hpp"
#include "app/inputs/prepare.hpp"
#include "app/inputs/simulation.hpp"
#include "app/inputs/site.hpp"
#include "app/runs/outputs.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "device/bind_lines.hpp"
#include "model/expected_node.hpp"
#include "model/json.hpp"
#include "run/detect.hpp"
#include "system/system.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

/// All that was asked, resolved.
struct Question {
  std::string what;  ///< the node: a host, a description, a file
  NodeParts node;
  PlacementRequest request;
  std::string select;         ///< `wrapper`, `map_gpu`
  bool asks_for_gpus = true;  ///< the scheduler takes options that do
  std::string launcher;       ///< of the profile; empty: it names none
  std::vector<std::string> remarks;
};

/// Options, then the profile's words, then the description's.
struct Wanted {
  const BindOptions& options;
  const PartitionProfile& partition;
  bool is_elsewhere = false;  ///< the profile was named, and nothing here shows that this is a node of that partition
};

/// The node that this process is on, or takes itself to be on (MUSTER_MACHINE).
Result<NodeParts> this_node(bool is_simulated, std::string& what) {
  if (auto allowed = check_simulation(is_simulated); !allowed) return tl::unexpected(allowed.error());
  what = host_name();
  if (const fs::path folder = machine_folder(what); !folder.empty()) {
    if (auto taken = simulate(folder, RankPlace()); !taken) return tl::unexpected(taken.error());
    what += fmt::format(" (SIMULATED {})", this_machine().simulated);
  }
  auto layout = read_layout(this_machine().topology);
  if (!layout) return tl::unexpected(layout.error());
  auto inventory = read_inventory(root_of("/"));
  NodeParts node = parts_of(std::move(*layout), inventory ? *inventory : Inventory());
  if (this_machine().simulated.empty()) node.may = node_cpus();
  return node;
}

Result<NodeParts> node_in_file(const std::string& file) {
  auto layout = read_layout(file);
  if (!layout) return tl::unexpected(layout.error());
  const auto devices = read_topology_devices(file);
  if (!devices) return tl::unexpected(devices.error());
  const auto allowed = read_allowed_cpus(file);
  if (!allowed) return tl::unexpected(allowed.error());
  NodeParts node = parts_of(std::move(*layout), *devices);
  node.may = *allowed;
  return node;
}

/// The node that is spoken of, and what to call it.
Result<NodeParts> find_node(const Wanted& wanted, std::string& what) {
  const BindOptions& options = wanted.options;
  if (!options.topology.empty() && !options.machine.empty())
    return fail(ErrorKind::usage, "--topology", "and --machine name two nodes; give one of them");
  if (!options.topology.empty()) {
    what = printable_line(options.topology, 60);
    return node_in_file(options.topology);
  }
  // A profile that was found rather than named is that of this node.
  const std::string& machine =
      options.system.empty() || !options.machine.empty() ? options.machine : wanted.partition.machine;
  if (machine.empty() && wanted.is_elsewhere)
    return fail(ErrorKind::usage, "--system",
                fmt::format("the layout of the nodes of {} is not known, as the profile names no description of them "
                            "(machine); run muster bind in a job on one of them, without --system",
                            options.system));
  if (machine.empty()) return this_node(options.is_simulated, what);
  const auto described = load_machine(machine);
  if (!described) return tl::unexpected(described.error());
  what = fmt::format("{} (described, not measured)", printable_line(described->name, 60));
  return parts_of(*described);
}

Result<void> take_reserved(const Wanted& wanted, NodeParts& node) {
  const std::string& text = wanted.options.reserve;
  if (text == "none") {
    node.reserved = {};
  } else if (!text.empty()) {
    const auto mask = CpuMask::parse_list(text);
    if (!mask) return fail(ErrorKind::usage, "--reserve", mask.error().what + "; write for example 0,8,16 or none");
    if (const CpuMask unknown = *mask - node.layout.cpus(); !unknown.empty())
      return fail(ErrorKind::usage, "--reserve",
                  fmt::format("this node has no CPU {}; it has {}", unknown.list(), node.layout.cpus().list()));
    node.reserved = *mask;
  } else if (!wanted.partition.node.reserved_cores.empty()) {
    node.reserved = {};
    for (const int core : wanted.partition.node.reserved_cores) node.reserved.add(core);
  }
  return {};
}

Result<BindPolicy> choose_policy(const Wanted& wanted, const NodeParts& node, std::vector<std::string>& remarks) {
  const auto needs_gpus = [](BindPolicy policy) { return policy == BindPolicy::gpu || policy == BindPolicy::cores; };
  const std::string& asked = wanted.options.policy;
  if (!asked.empty()) {
    const auto policy = parse_bind_policy(asked);
    if (!policy) {
      const std::vector<std::string> known{"gpu", "cores", "spread", "compact"};
      return fail(ErrorKind::usage, "--policy",
                  fmt::format("unknown policy \"{}\"{}", printable_line(asked, 40), suggestion(asked, known)));
    }
    if (!needs_gpus(*policy) || !node.gpus.empty()) return *policy;
    return fail(ErrorKind::usage, "--policy",
                fmt::format("{} needs GPUs, and none can be used here; request spread or compact", asked));
  }
  const auto& bind = wanted.partition.node.bind;
  const auto policy = bind ? parse_bind_policy(bind->policy) : std::nullopt;
  if (policy && (!needs_gpus(*policy) || !node.gpus.empty())) return *policy;
  if (policy)
    remarks.push_back(fmt::format("the profile's policy {} needs GPUs, and none can be used here", bind->policy));
  return usual_policy(node);
}

Result<Question> understand(const Wanted& wanted) {
  Question question;
  auto node = find_node(wanted, question.what);
  if (!node) return tl::unexpected(node.error());
  question.node = std::move(*node);
  if (auto taken = take_reserved(wanted, question.node); !taken) return tl::unexpected(taken.error());
  const auto policy = choose_policy(wanted, question.node, question.remarks);
  if (!policy) return tl::unexpected(policy.error());
  const ExpectedNode& expected = wanted.partition.node;
  question.request.policy = *policy;
  question.request.gpus_per_rank = wanted.options.gpus_per_rank.value_or(1);
  const bool gives_gpus = *policy == BindPolicy::gpu || *policy == BindPolicy::cores;
  if (wanted.options.gpus_per_rank && !gives_gpus)
    return fail(ErrorKind::usage, "--gpus-per-rank",
                fmt::format("policy {} assigns no GPUs{}", to_string(*policy),
                            question.node.gpus.empty() ? ", and none can be used here" : "; request gpu or cores"));
  const int fewer = std::max(1, usual_ranks(question.node) / question.request.gpus_per_rank);
  question.request.ranks = wanted.options.ranks_per_node.value_or(gives_gpus ? fewer : usual_ranks(question.node));
  question.request.cores = wanted.options.cores_per_rank.value_or(0);
  question.request.smt = wanted.options.smt || (expected.bind && expected.bind->smt);
  question.select = expected.bind && !expected.bind->select.empty() ? expected.bind->select : "wrapper";
  const auto& refused = wanted.partition.scheduler_refuses;
  question.asks_for_gpus = !is_in("--gpus-per-node", refused);
  question.launcher = wanted.partition.launcher;
  const std::size_t gpus = question.node.gpus.size();
  if (expected.gpus && gpus > 0 && gpus != static_cast<std::size_t>(expected.gpus->count))
    question.remarks.push_back(
        fmt::format("the profile promises {} GPUs, {} can be used here", expected.gpus->count, gpus));
  if (question.node.vendor.empty() && expected.gpus) question.node.vendor = expected.gpus->vendor;
  return question;
}

/// Ready to paste; empty: there is no such line.
struct Lines {
  std::string of_profile;  ///< of its launcher, where that is none of the next two
  std::string srun;
  std::string mpirun;
  std::vector<std::string> rankfile;
  std::string openmp;
};

std::string joined(std::string text, const std::string& word) {
  return word.empty() ? text : text + " " + word;
}

std::string line_of_profile(const Question& question, const Placement& placement) {
  const LauncherSpec* launcher = find_launcher(question.launcher);
  if (launcher == nullptr || launcher->words == nullptr || is_in(launcher->name, {"srun", "mpirun"})) return {};
  JobBinding binding;
  binding.kind = BindKind::masks;
  std::vector<int> numbers;
  for (const RankPlacement& seat : placement.ranks) {
    numbers.push_back(static_cast<int>(numbers.size()));
    binding.ranks.push_back(rank_binding(question.node, seat));
  }
  const BindWords& words = *launcher->words;
  const std::string line = words.masks(binding, numbers, "NODE");
  // With one GPU there is nothing to select, and the variable would be that of one MPI alone (ibrun starts several).
  if (question.node.gpus.size() < 2) return line;
  return joined(line, gpu_wrapper(placement, visible_variable(question.node.vendor), words.local_rank));
}

Lines lines_of(const Question& question, const Placement& placement) {
  const std::size_t ranks = placement.ranks.size();
  const std::string_view variable = visible_variable(question.node.vendor);
  const bool maps = question.select == "map_gpu";
  const bool has_gpus = question.asks_for_gpus && !srun_gpus(placement).empty();
  Lines lines;
  lines.of_profile = line_of_profile(question, placement);
  lines.srun = fmt::format("srun --ntasks-per-node={}", ranks);
  if (has_gpus) lines.srun += fmt::format(" --gpus-per-node={}", question.node.gpus.size());
  lines.srun = joined(lines.srun, srun_masks(placement));
  lines.srun = joined(lines.srun, maps ? srun_gpus(placement) : gpu_wrapper(placement, variable, "SLURM_LOCALID"));
  std::vector<int> numbers;
  for (std::size_t i = 0; i < ranks; ++i) numbers.push_back(static_cast<int>(i));
  lines.rankfile = rankfile(question.node.layout, placement, numbers, "+n0");
  const std::string mapping = mpirun_mapping(question.node, placement);
  lines.mpirun = mapping.empty() ? fmt::format("mpirun -n {} --rankfile FILE", ranks) : "mpirun " + mapping;
  lines.mpirun = joined(lines.mpirun, gpu_wrapper(placement, variable, "OMPI_COMM_WORLD_LOCAL_RANK"));
  // Each rank's places are the cores of its mask; the same words do for all.
  lines.openmp = "OMP_PLACES=cores OMP_PROC_BIND=close";
  if (const int cores = core_numbers(question.node.layout, placement.ranks[0].cpus).count(); cores > 0)
    lines.openmp = fmt::format("OMP_NUM_THREADS={} ", cores) + lines.openmp;
  return lines;
}

std::string head_of(const Question& question) {
  const Layout& layout = question.node.layout;
  std::vector<std::string> parts{counted(layout.cores.size(), "core")};
  const auto cpus = static_cast<std::size_t>(layout.cpus().count());
  if (cpus != layout.cores.size()) parts.push_back(counted(cpus, "CPU"));
  if (!layout.caches.empty()) parts.push_back(counted(layout.caches.size(), "cache"));
  parts.push_back(counted(layout.domains.size(), "NUMA domain"));
  std::string gpus = counted(question.node.gpus.size(), "GPU");
  if (!question.node.gpus.empty() && !question.node.gpus[0].name.empty())
    gpus += " " + printable_line(question.node.gpus[0].name, 40);
  parts.push_back(gpus);
  return question.what + ": " + join(parts, ", ");
}

std::string request_line(const Question& question) {
  std::string text = fmt::format("{}, policy {}", counted(static_cast<std::size_t>(question.request.ranks), "rank"),
                                 to_string(question.request.policy));
  if (question.request.smt) text += ", all threads of a core";
  if (!question.node.reserved.empty()) text += ", reserved: " + question.node.reserved.list();
  return text;
}

void print(const Question& question, const Placement& placement, const std::string& color) {
  const auto terminal = terminal_options(color, false);
  const Ink ink(terminal && terminal->color);
  const Lines lines = lines_of(question, placement);
  fmt::print("{}\n{}\n\n", ink.bold(head_of(question)), request_line(question));
  fmt::print("{}", node_picture(question.node, placement, ink));
  fmt::print("{}\n\n", ink.faint("each character is a core: its rank, - reserved, . free"));
  fmt::print("{}\n", rank_table(question.node, placement, ink));
  for (const std::string& remark : question.remarks) fmt::print("note: {}\n", remark);
  for (const std::string& remark : placement.remarks) fmt::print("note: {}\n", remark);
  if (!question.remarks.empty() || !placement.remarks.empty()) fmt::print("\n");
  if (!lines.of_profile.empty())
    fmt::print("{}\n{} PROGRAM\n\n", ink.bold(question.launcher + " (the profile's launcher)"), lines.of_profile);
  fmt::print("{}\n{} PROGRAM\n\n", ink.bold("srun (Slurm)"), lines.srun);
  fmt::print("{}\n{} PROGRAM\n", ink.bold("mpirun (Open MPI)"), lines.mpirun);
  if (lines.mpirun.find("--rankfile") != std::string::npos)
    fmt::print("{}\n", ink.faint("FILE: what the same command prints with --rankfile"));
  fmt::print("\n{}\n{}\n", ink.bold("OpenMP"), lines.openmp);
}

void print_json(const Question& question, const Placement& placement) {
  using nlohmann::json;
  const Layout& layout = question.node.layout;
  json ranks = json::array();
  for (std::size_t i = 0; i < placement.ranks.size(); ++i) {
    const RankPlacement& seat = placement.ranks[i];
    json rank = {{"rank", i},
                 {"cpus", seat.cpus.list()},
                 {"mask", seat.cpus.hex()},
                 {"cores", core_numbers(layout, seat.cpus).count()},
                 {"numa_domains", layout.domains_of(seat.cpus).list()},
                 {"omp_places", omp_places(layout, seat.cpus)}};
    if (seat.gpu >= 0)
      rank["gpu"] = {{"index", seat.gpu}, {"address", question.node.gpus[static_cast<std::size_t>(seat.gpu)].address}};
    if (!seat.more_gpus.empty()) rank["gpus"] = gpus_of(seat);
    if (seat.nic >= 0) {
      const NearDevice& nic = question.node.nics[static_cast<std::size_t>(seat.nic)];
      rank["nic"] = {{"name", nic.name}, {"address", nic.address}};
    }
    ranks.push_back(std::move(rank));
  }
  const Lines lines = lines_of(question, placement);
  std::vector<std::string> remarks = question.remarks;
  remarks.insert(remarks.end(), placement.remarks.begin(), placement.remarks.end());
  const json document = {{"node", question.what},       {"policy", to_string(question.request.policy)},
                         {"smt", question.request.smt}, {"reserved", question.node.reserved.list()},
                         {"ranks", std::move(ranks)},   {"remarks", remarks},
                         {"srun", lines.srun},          {"cpu_bind", srun_masks(placement)},
                         {"mpirun", lines.mpirun},      {"rankfile", lines.rankfile},
                         {"openmp", lines.openmp},      {"profile_launcher", lines.of_profile}};
  fmt::print("{}\n", dump(document, 1));
}

/// A profile that is recognised by nothing may be of any place.
bool is_elsewhere(const std::vector<SystemProfile>& systems, const SystemProfile& kept, const Surroundings& here) {
  if (kept.detect.empty() || kept.partitions.empty()) return false;
  const auto matches = matching_systems(systems, here);
  const bool is_system = std::any_of(matches.begin(), matches.end(),
                                     [&](const SystemMatch& match) { return match.system->name == kept.name; });
  const PartitionProfile& partition = kept.partitions.front();
  const std::string of_job = here.variable("SLURM_JOB_PARTITION").value_or("");
  if (!is_system || (!of_job.empty() && of_job != partition.name)) return true;
  return is_login_node(partition.node, here.host, false, count_gpus());
}

Result<Question> ask(const BindOptions& options) {
  const auto loaded = load(options.paths, options.config);
  if (!loaded.diagnostics.ok()) {
    print_errors({loaded.diagnostics.errors.begin() + 1, loaded.diagnostics.errors.end()});
    return tl::unexpected(loaded.diagnostics.errors.front());
  }
  const auto here = these_surroundings();
  const auto match = choose_system(loaded.systems, options.system, here);
  if (!match) return tl::unexpected(match.error());
  SystemProfile system = *match->system;
  if (auto kept = keep_one_partition(system, options.system, here); !kept) return tl::unexpected(kept.error());
  const bool elsewhere = !options.system.empty() && is_elsewhere(loaded.systems, system, here);
  return understand({options, system.partitions.empty() ? PartitionProfile() : system.partitions.front(), elsewhere});
}

}  // namespace

int bind_command(const BindOptions& options) {
  if (const auto terminal = terminal_options(options.color, false); !terminal) return usage_error(terminal.error());
  const auto question = ask(options);
  if (!question) return usage_error(question.error());
  const auto placement = place_ranks(question->node, question->request);
  if (!placement) return usage_error(placement.error());
  if (options.rankfile)
    for (const std::string& line : lines_of(*question, *placement).rankfile) fmt::print("{}\n", line);
  else if (options.json)
    print_json(*question, *placement);
  else
    print(*question, *placement, options.color);
  return 0;
}

}  // namespace muster
