// Devices that two ranks use, that none uses, and that can't be determined.
#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"
#include "measure/node_devices.hpp"
#include "measure/node_ranks.hpp"

namespace muster::gpu_mapping {

namespace {

using Some = std::vector<const RankView*>;

bool have_same_local_rank(const Some& some) {
  return std::all_of(some.begin(), some.end(), [&](const RankView* rank) {
    return rank->fact("chosen_by") == "LOCAL_RANK" && rank->fact("index") == some[0]->fact("index");
  });
}

/// The variable that leaves each of them nothing but this device; empty: none.
std::string narrowing_variable(const Some& some) {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}) {
    const std::string key = fmt::format("env.{}", name);
    const std::string value = some[0]->fact(key);
    if (!value.empty() && std::all_of(some.begin(), some.end(), [&](const RankView* rank) {
          return rank->fact(key) == value && rank->visible && rank->visible->size() == 1;
        }))
      return fmt::format("{}={}", name, value);
  }
  return {};
}

Tally::Sentence shared_sentence(const NodeRanks& node, const std::string& device, const Some& some) {
  std::string reason = fmt::format("{} {} use the same GPU {}", subject(node, some), on_nodes, device);
  const std::string variable = narrowing_variable(some);
  if (!variable.empty())
    return {fmt::format("{}: {} leaves them no other", reason, variable),
            "give each rank its own: set the variable in a wrapper from the local rank (SLURM_LOCALID, "
            "OMPI_COMM_WORLD_LOCAL_RANK), or leave all GPUs visible and let the program pick device LOCAL_RANK"};
  if (have_same_local_rank(some))
    return {fmt::format("{}: LOCAL_RANK is {} for each of them", reason, some[0]->fact("index")),
            "set LOCAL_RANK inside the launcher, not before it; with torchrun start one task per node, or no torchrun "
            "when the launcher starts one task per GPU"};
  return {std::move(reason), "give each rank a GPU of its own; if they are meant to share, set share = allowed"};
}

std::set<std::string> usable_on(const NodeRanks& node) {
  std::set<std::string> gpus;
  for (const RankView& rank : node.ranks) gpus.insert(rank.gpus.begin(), rank.gpus.end());
  return gpus;
}

/// GPUs of this job: of more than it was granted, its own ones are unknown.
std::size_t due_on(const NodeRanks& node, std::size_t usable) {
  visibility::NodeView job;
  for (const Fact& fact : node.ranks[0].seen->facts)
    if (fact.key.rfind("env.", 0) == 0) job.job[fact.key.substr(4)] = fact.value;
  const auto granted = visibility::granted_to(job);
  // SLURM_GPUS counts the whole job.
  const bool is_reported = granted && granted->by.find("SLURM_GPUS=") == std::string::npos;
  return is_reported ? std::min(usable, static_cast<std::size_t>(granted->count)) : usable;
}

/// That torchrun or its like starts on the node; 0: the launch line starts none.
std::size_t processes_on(const NodeRanks& node) {
  std::size_t sum = 0;
  for (const RankView& rank : node.ranks) sum += rank.processes().value_or(0);
  return sum;
}

/// `--nproc-per-node=4 in each task`; accelerate counts those of all `nodes`.
std::string wanted_processes(const NodeRanks& node, std::size_t per_task, std::size_t nodes) {
  const environment::StarterWords& words = starter_on(node);
  if (words.starter == "accelerate")
    return fmt::format("{}={}{}", words.processes, per_task * node.ranks.size() * nodes,
                       nodes > 1 ? ", the sum over all nodes" : "");
  return fmt::format("{}={}{}", words.processes, per_task, node.ranks.size() > 1 ? " in each task" : "");
}

/// Where each task starts its share already, they take the same GPUs.
std::string remedy_for_processes(const NodeRanks& node, std::size_t due, std::size_t nodes) {
  const std::size_t per_task = due / node.ranks.size();
  const bool is_enough = per_task == 0 || std::all_of(node.ranks.begin(), node.ranks.end(), [&](const RankView& rank) {
                           return rank.processes().value_or(0) >= per_task;
                         });
  if (is_enough && node.ranks.size() > 1)
    return fmt::format(
        "let each task see GPUs of its own (--gpus-per-task={}), or start one task per node (--ntasks-per-node=1)",
        std::max<std::size_t>(per_task, 1));
  return fmt::format("start one process for each GPU: {}", wanted_processes(node, per_task, nodes));
}

Tally::Sentence idle_sentence(const NodeRanks& node, const std::set<std::string>& idle, std::size_t usable,
                              std::size_t due, std::size_t used, std::size_t nodes) {
  const bool has_processes = processes_on(node) > 0;
  const std::string ranks = has_processes            ? fmt::format("the processes of {} use", starter_on(node).command)
                            : node.ranks.size() == 1 ? "1 rank uses"
                                                     : fmt::format("{} ranks use", node.ranks.size());
  std::string reason = fmt::format("{} {} of {} GPUs {}", ranks, used, due, on_nodes);
  if (usable == due) {
    const std::vector<std::string> names(idle.begin(), idle.end());
    reason += fmt::format(": unused: {}", human_list(names));
  }
  constexpr std::string_view otherwise = "if GPUs are meant to be idle, set idle = allowed";
  if (has_processes)
    return {std::move(reason), fmt::format("{}; {}", remedy_for_processes(node, due, nodes), otherwise)};
  return {std::move(reason),
          fmt::format("start one rank for each GPU, or let the ranks take different ones; {}", otherwise)};
}

}  // namespace

void judge_sharing(const CaseView& view, Nodes& nodes, std::vector<Finding>& findings) {
  if (view.params.text("share") == "allowed") return;
  Tally tally;
  for (NodeRanks& node : nodes) {
    std::map<std::string, std::vector<RankView*>> users;
    for (RankView& rank : node.ranks)
      if (rank.has("device")) users[rank.fact("device")].push_back(&rank);
    for (const auto& [device, list] : users) {
      if (list.size() < 2) continue;
      std::vector<Culprit> culprits;
      for (RankView* rank : list) {
        rank->is_explained = true;
        culprits.push_back(culprit_of(*rank));
      }
      culprits.push_back({CulpritKind::device, "GPU " + device, node.host, -1});
      tally.add(shared_sentence(node, device, Some(list.begin(), list.end())), node.host, culprits);
    }
  }
  tally.move_to(findings);
}

void judge_torchruns(const CaseView& view, Nodes& nodes, std::vector<Finding>& findings) {
  if (view.params.text("share") == "allowed") return;
  Tally tally;
  for (NodeRanks& node : nodes) {
    std::map<std::string, std::vector<RankView*>> users;
    for (RankView& rank : node.ranks) {
      const auto processes = rank.processes();
      if (processes == 0 || !rank.visible) continue;
      // Of a number that is not known, LOCAL_RANK 0 alone is certain.
      const auto count = std::min(processes.value_or(1), rank.visible->size());
      for (std::size_t i = 0; i < count; ++i) users[(*rank.visible)[i]].push_back(&rank);
    }
    std::size_t shared = 0;
    std::set<RankView*> sharers;
    for (const auto& [address, list] : users) {
      if (list.size() < 2) continue;
      ++shared;
      sharers.insert(list.begin(), list.end());
    }
    if (shared == 0) continue;
    std::vector<Culprit> culprits;
    for (RankView& rank : node.ranks) {
      if (sharers.count(&rank) == 0) continue;
      rank.is_explained = true;
      culprits.push_back(culprit_of(rank));
    }
    const std::string_view command = starter_on(node).command;
    const std::string starters = command == "torchrun" ? fmt::format("{} torchruns", sharers.size())
                                                       : fmt::format("{} tasks with {}", sharers.size(), command);
    tally.add(
        {fmt::format("{} on one node share {} {}: LOCAL_RANK 0 of each takes the first GPU that its task sees; F02",
                     starters, counted(shared, "GPU"), on_nodes),
         fmt::format("start one task per node for {} (--ntasks-per-node=1), or give each task GPUs of its own "
                     "(--gpus-per-task)",
                     command)},
        node.host, culprits);
  }
  tally.move_to(findings);
}

void judge_processes(Nodes& nodes, std::vector<Finding>& findings) {
  Tally tally;
  for (NodeRanks& node : nodes)
    for (RankView& rank : node.ranks) {
      const auto processes = rank.processes();
      if (!processes || !rank.visible || *processes <= rank.visible->size() || rank.visible->empty()) continue;
      rank.is_explained = true;
      tally.add({fmt::format("{} starts {} processes in a task that sees {} {}: LOCAL_RANK {} has none",
                             starter_on(node).command, *processes, counted(rank.visible->size(), "GPU"), on_nodes,
                             rank.visible->size()),
                 fmt::format("start one process for each GPU that the task sees ({}), or let it see more "
                             "(--gpus-per-task, --gpus-per-node)",
                             wanted_processes(node, rank.visible->size(), nodes.size()))},
                node.host, {culprit_of(rank)});
    }
  tally.move_to(findings);
}

void judge_idle(const CaseView& view, const Nodes& nodes, std::vector<Finding>& findings) {
  const std::string& idle_is = view.params.text("idle");
  if (idle_is == "allowed") return;
  // Without a profile, or with a launcher of one rank, it is impossible to start one rank for each GPU.
  const bool is_promised = view.node.gpus && view.node.unverified.count("gpus") == 0;
  const bool is_fault = idle_is == "refused" || (is_promised && view.ranks.size() > 1);
  Tally tally;
  for (const NodeRanks& node : nodes) {
    if (node.is_explained() || node.has_fault()) continue;
    std::set<std::string> idle = usable_on(node);
    const std::size_t usable = idle.size();
    const std::size_t due = due_on(node, usable);
    std::set<std::string> used;
    bool is_known = true;
    for (const RankView& rank : node.ranks) {
      const auto addresses = rank.used();
      is_known &= addresses.has_value();
      for (const std::string& address : addresses.value_or(std::vector<std::string>())) {
        used.insert(address);
        idle.erase(address);
      }
    }
    if (!is_known || used.size() >= due) continue;
    auto sentence = idle_sentence(node, idle, usable, due, used.size(), nodes.size());
    if (!is_fault) sentence.verdict = Verdict::pass;  // the frame makes it a note
    std::vector<Culprit> culprits;
    if (is_fault && processes_on(node) > 0)
      culprits.push_back({CulpritKind::launcher, "the launch line", node.host, -1});
    else if (is_fault && usable == due)
      for (const std::string& address : idle)
        culprits.push_back({CulpritKind::device, "GPU " + address, node.host, -1});
    else if (is_fault)
      culprits.push_back(culprit_of(node));
    tally.add(std::move(sentence), node.host, culprits);
  }
  tally.move_to(findings);
}

void judge_unknown(const Nodes& nodes, std::vector<Finding>& findings) {
  Tally tally;
  for (const NodeRanks& node : nodes) {
    std::map<std::string, Some> reasons;
    for (const RankView& rank : node.ranks)
      if (!rank.is_explained && !rank.has("device.address")) reasons[rank.fact("unknown")].push_back(&rank);
    for (const auto& [why, some] : reasons) {
      std::vector<Culprit> culprits;
      for (const RankView* rank : some) culprits.push_back(culprit_of(*rank));
      const char* uses = some.size() == 1 ? "uses" : "use";
      tally.add({fmt::format("which GPU {} {} {} is unknown: {}", subject(node, some), on_nodes, uses,
                             why.empty() ? "it was not reported" : why),
                 why.find("CUDA_DEVICE_ORDER") != std::string::npos
                     ? "export CUDA_DEVICE_ORDER=PCI_BUS_ID for all ranks, or name GPUs by UUID"
                     : "name whole GPUs by UUID or ordinal (Intel: ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE)",
                 Verdict::unmeasured},
                node.host, culprits);
    }
  }
  tally.move_to(findings);
}

}  // namespace muster::gpu_mapping
