// Ranks that have no device at all, and why: nothing there, closed, hidden by a variable, beyond the last one.
#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"
#include "measure/node_devices.hpp"
#include "measure/node_ranks.hpp"

namespace muster::gpu_mapping {

namespace {

using Some = std::vector<const RankView*>;

constexpr std::string_view ask_for_gpus =
    "ask the scheduler for GPUs: --gpus-per-node, or --gres=gpu; a step started inside the job asks again";

std::string gpus_word(std::size_t count) {
  return count == 1 ? "1 GPU" : fmt::format("{} GPUs", count);
}

std::vector<Culprit> culprits_of(const Some& some) {
  std::vector<Culprit> culprits;
  for (const RankView* rank : some) culprits.push_back(culprit_of(*rank));
  return culprits;
}

void explain(NodeRanks& node) {
  for (RankView& rank : node.ranks) rank.is_explained = true;
}

bool is_anything_there(const NodeRanks& node) {
  return std::any_of(node.ranks.begin(), node.ranks.end(), [](const RankView& rank) {
    return !rank.gpus.empty() || !rank.closed.empty() || !rank.unusable.empty();
  });
}

/// What the ranks without a GPU of a node that has some lack it for.
void judge_empty_handed(NodeRanks& node, Tally& tally) {
  Some closed;
  Some broken;
  for (RankView& rank : node.ranks) {
    if (!rank.gpus.empty()) continue;
    rank.is_explained = true;
    (rank.closed.empty() ? broken : closed).push_back(&rank);
  }
  if (!closed.empty())
    tally.add({fmt::format("the job's control group closes all {} {} to {}", gpus_word(closed[0]->closed.size()),
                           on_nodes, subject(node, closed)),
               std::string(ask_for_gpus)},
              node.host, culprits_of(closed));
  if (!broken.empty())
    tally.add({fmt::format("no GPU {} can be used by {}: {} there, but lost, without a driver or refused", on_nodes,
                           subject(node, broken),
                           gpus_word(broken[0]->unusable.size()) + (broken[0]->unusable.size() == 1 ? " is" : " are")),
               "run the check device_visibility to find the fault"},
              node.host, culprits_of(broken));
}

std::string remedy_for_fault(std::string_view kind, std::string_view name) {
  if (kind == "filters")
    return fmt::format("set one of the two: unset {}, and let ROCR_VISIBLE_DEVICES alone choose", name);
  if (kind == "differs") return "set one of them, or both to the same";
  if (kind == "repeats") return fmt::format("name every GPU once in {}", name);
  if (kind == "hides")
    return fmt::format("unset {}, or name GPUs that the rank has; under Slurm see that the step was granted GPUs",
                       name);
  return fmt::format("name in {} only GPUs that the node has, counted from 0 among those that the control group leaves",
                     name);
}

/// What is wrong with one variable on one node; each rank may have its own value.
struct Stated {
  Some ranks;
  std::vector<std::string> texts;
};

std::string fault_sentence(const NodeRanks& node, const Stated& message) {
  const bool is_one = std::all_of(message.texts.begin(), message.texts.end(),
                                  [&](const std::string& text) { return text == message.texts[0]; });
  return fmt::format("of {} {}, {}{}", subject(node, message.ranks), on_nodes,
                     is_one ? "" : "for the first of them: ", message.texts[0]);
}

std::vector<Culprit> settings_of(const NodeRanks& node, const Stated& message, std::string_view name) {
  if (message.ranks.size() == node.ranks.size()) return {{CulpritKind::setting, std::string(name), node.host, -1}};
  std::vector<Culprit> culprits;
  for (const RankView* rank : message.ranks) culprits.push_back(setting_of(*rank, name));
  return culprits;
}

struct RemoteExec {
  Some outside;
  Some senseless;
  std::size_t most_visible = 0;
};

/// Local ranks that point nowhere; those of which a variable left nothing are explained already.
RemoteExec reach_of(NodeRanks& node) {
  RemoteExec reach;
  for (RankView& rank : node.ranks) {
    if (rank.is_explained || rank.has("device")) continue;
    const std::string index = rank.fact("index");
    const bool is_number = !index.empty() && index.find_first_not_of("0123456789") == std::string::npos;
    (is_number ? reach.outside : reach.senseless).push_back(&rank);
    if (rank.visible) reach.most_visible = std::max(reach.most_visible, rank.visible->size());
    rank.is_explained = true;
  }
  return reach;
}

bool is_one_for_each(const NodeRanks& node) {
  std::set<std::string> names;
  for (const RankView& rank : node.ranks)
    if (!rank.visible || rank.visible->size() != 1 || !names.insert(rank.visible->front()).second) return false;
  return true;
}

Tally::Sentence outside_sentence(const NodeRanks& node, const RemoteExec& reach) {
  const RankView& first = *reach.outside[0];
  const bool is_own = first.fact("chosen_by") == "LOCAL_RANK";
  const std::string sees = gpus_word(reach.most_visible);
  if (is_one_for_each(node))
    return {
        fmt::format("each rank {} sees one GPU of its own, so {} of {} {} nothing", on_nodes,
                    is_own ? "LOCAL_RANK" : "the local rank", subject(node, reach.outside),
                    reach.outside.size() == 1 ? "points to" : "point to"),
        "programs that take device LOCAL_RANK end with an invalid device ordinal: let them take device 0 (and set "
        "choice = first here), or give every rank all GPUs: --gpus-per-node instead of --gpus-per-task and --gpu-bind"};
  if (node.ranks.size() > reach.most_visible && !is_own)
    return {fmt::format("{} ranks {} see {}: none is left for {}", node.ranks.size(), on_nodes, sees,
                        subject(node, reach.outside)),
            "start as many ranks on a node as it has GPUs; if they are meant to share, set share = allowed"};
  std::vector<std::string> numbers;
  for (const RankView* rank : reach.outside) numbers.push_back(rank->fact("index"));
  return {fmt::format("{} {} {} outside of the {} that {} {}", first.fact("chosen_by"), human_list(numbers),
                      numbers.size() == 1 ? "points" : "point", sees, subject(node, reach.outside), on_nodes) +
              (reach.outside.size() == 1 ? " sees" : " see"),
          "set LOCAL_RANK to the rank's number on its node, from 0, and leave as many GPUs visible as there are ranks"};
}

}  // namespace

void judge_absence(const CaseView& view, Nodes& nodes, std::vector<Finding>& findings) {
  Tally tally;
  const auto with = static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), is_anything_there));
  std::vector<std::string> idle_hosts;
  for (NodeRanks& node : nodes) {
    if (is_anything_there(node)) {
      judge_empty_handed(node, tally);
      continue;
    }
    const std::string wanted = wanted_by(view.node, node.ranks[0].seen->facts);
    if (!wanted.empty() || with > 0)
      tally.add({wanted.empty() ? fmt::format("no GPU {}, though {} some", on_nodes,
                                              with == 1 ? "another node has" : "other nodes have")
                                : fmt::format("no GPU {}, {}", on_nodes, wanted),
                 "run on nodes with GPUs, not on a login node; if these are such nodes, run the check "
                 "device_visibility there"},
                node.host, {culprit_of(node)});
    else
      idle_hosts.push_back(node.host);
    explain(node);
  }
  tally.move_to(findings);
  if (idle_hosts.empty()) return;
  findings.push_back(
      visibility::no_gpus_expected(idle_hosts.size(), "if there should be some, set gpus in the profile"));
}

void judge_faults(Nodes& nodes, std::vector<Finding>& findings) {
  Tally tally;
  for (NodeRanks& node : nodes) {
    std::map<std::pair<std::string, std::string>, Stated> by_setting;
    for (RankView& rank : node.ranks)
      for (const Fact& fact : rank.seen->facts) {
        if (fact.key.rfind("fault.", 0) != 0) continue;
        const std::string text = printable_line(fact.value, 800);
        Stated& message = by_setting[{fact.key.substr(6), text.substr(0, text.find('='))}];
        message.ranks.push_back(&rank);
        message.texts.push_back(text);
        rank.is_explained |= !rank.has("device");
      }
    for (const auto& [fault, message] : by_setting)
      tally.add({fault_sentence(node, message), remedy_for_fault(fault.first, fault.second)}, node.host,
                settings_of(node, message, fault.second));
  }
  tally.move_to(findings);
}

void judge_range(Nodes& nodes, std::vector<Finding>& findings) {
  Tally tally;
  for (NodeRanks& node : nodes) {
    const RemoteExec reach = reach_of(node);
    if (!reach.outside.empty()) tally.add(outside_sentence(node, reach), node.host, culprits_of(reach.outside));
    for (const RankView* rank : reach.senseless)
      tally.add({fmt::format("LOCAL_RANK of local rank {} {} is \"{}\"", rank->place->local_rank, on_nodes,
                             printable_line(rank->fact("index"), 40)),
                 "set LOCAL_RANK to the rank's number on its node, from 0"},
                node.host, {setting_of(*rank, "LOCAL_RANK")});
  }
  tally.move_to(findings);
}

}  // namespace muster::gpu_mapping
