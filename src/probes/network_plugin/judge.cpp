#include "probes/network_plugin/judge.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "probes/network_plugin/plugin.hpp"

namespace muster::network_plugin {

namespace {

struct NodeView {
  std::string host;
  std::string container;  ///< empty: the ranks run outside of one
  std::string chosen;     ///< NCCL_NET_PLUGIN
  std::string network;    ///< NCCL_NET
  std::vector<TriedLibrary> tried;
};

struct Judging {
  const CaseView& view;
  std::vector<NodeView> nodes = {};
  ProbeJudgement judgement = {};

  void note(std::string sentence) { judgement.findings.push_back(make_note(std::move(sentence))); }
};

void find_unclear(const std::string& host, const std::string& fact, Judging& judging) {
  judging.judgement.findings.push_back({Verdict::unmeasured,
                                        fmt::format("{} reported a malformed fact: {}", host, printable_line(fact, 80)),
                                        {node_culprit(host)},
                                        "report this: the observation is damaged"});
}

std::string value_of(const Observation& seen, std::string_view key) {
  const std::string* value = seen.fact(key);
  return value == nullptr ? std::string() : *value;
}

void read_node(const RankPlace& place, const Observation& seen, Judging& judging) {
  NodeView node{place.host,
                value_of(seen, "container"),
                value_of(seen, "env.NCCL_NET_PLUGIN"),
                value_of(seen, "env.NCCL_NET"),
                {}};
  for (const Fact& fact : seen.facts) {
    if (fact.key != "plugin") continue;
    auto library = parse_library(fact.value);
    if (!library) return find_unclear(place.host, fact.value, judging);
    node.tried.push_back(std::move(*library));
  }
  judging.nodes.push_back(std::move(node));
}

void read_case(Judging& judging) {
  const CaseView& view = judging.view;
  std::set<int> known;
  for (std::size_t i = 0; i < view.ranks.size(); ++i) {
    const Observation* seen = view.measured(i);
    if (seen == nullptr || seen->fact("speaks") == nullptr) continue;
    if (known.insert(view.ranks[i].node_index).second) read_node(view.ranks[i], *seen, judging);
  }
}

/// The first that serves; nullptr: none does.
const TriedLibrary* loaded_on(const NodeView& node) {
  const auto found = std::find_if(node.tried.begin(), node.tried.end(), is_plugin);
  return found == node.tried.end() ? nullptr : &*found;
}

/// Of several the most informative: a library that is there and lacks another before those that are not there.
std::string why_none(const NodeView& node) {
  std::string why;
  bool is_reporting = false;
  std::vector<std::string> others;
  for (const TriedLibrary& one : node.tried) {
    std::string words = one.error;
    if (words.empty()) words = fmt::format("{} has no entry point of a network plugin", one.path);
    const bool is_absent = words.find(one.name + ": cannot open shared object file") != words.npos;
    if (!why.empty() && is_absent) others.push_back(one.name);
    if (!why.empty() && (is_reporting || is_absent)) continue;
    why = words;
    is_reporting = !is_absent;
  }
  if (!is_reporting && !others.empty()) why += fmt::format(", nor {}", human_list(others));
  return why.empty() ? "nothing was tried" : printable_line(why, 300);
}

bool has_ofi(const std::vector<std::string>& names) {
  return is_in("ofi", names);
}

bool is_asked(const Judging& judging) {
  return has_ofi(judging.view.node.plugins) || has_ofi(judging.view.params.texts("plugins"));
}

bool is_needed(const NodeView& node, bool asked) {
  const bool is_named = !node.chosen.empty() && node.chosen != "none";
  return asked || is_named || node.network == "AWS Libfabric" || node.network == "OFI";
}

/// By the profile jobs have the plugin in their container, and these ranks are outside of it.
bool is_elsewhere(const Judging& judging, const NodeView& node) {
  return !judging.view.node.plugins_in.empty() && node.container.empty() &&
         !has_ofi(judging.view.params.texts("plugins"));
}

std::string remedy_of(const Judging& judging, const std::string& setting) {
  const std::string& from = judging.view.node.plugins_from;
  if (setting == "NCCL_NET_PLUGIN")
    return fmt::format("unset NCCL_NET_PLUGIN, or name a plugin that can be loaded{}", from.empty() ? "" : "; " + from);
  if (!from.empty()) return from;
  return "load the module that has the plugin (aws-ofi-nccl, aws-ofi-rccl), or put its folder and libfabric's into "
         "LD_LIBRARY_PATH";
}

struct Lack {
  std::vector<std::string> hosts;
  std::vector<Culprit> culprits;
};

void judge_lacks(Judging& judging, bool asked) {
  std::map<std::tuple<std::string, std::string>, Lack> lacks;
  for (const NodeView& node : judging.nodes) {
    if (!is_needed(node, asked) || loaded_on(node) != nullptr || is_elsewhere(judging, node)) continue;
    const std::string setting = !node.chosen.empty() ? "NCCL_NET_PLUGIN" : !asked ? "NCCL_NET" : "LD_LIBRARY_PATH";
    const std::string why = node.chosen == "none" ? "NCCL_NET_PLUGIN is \"none\"" : why_none(node);
    Lack& lack = lacks[{setting, why}];
    lack.hosts.push_back(node.host);
    lack.culprits.push_back({CulpritKind::setting, setting, node.host, -1});
  }
  for (auto& [key, lack] : lacks) {
    const auto& [setting, why] = key;
    judging.judgement.findings.push_back(
        {Verdict::fail,
         fmt::format("NCCL's network plugin{} can't be loaded on {}: {}",
                     asked ? " (OFI), which the profile requests," : "", human_list(lack.hosts, 4), why),
         std::move(lack.culprits), remedy_of(judging, setting)});
  }
}

void judge_loaded(Judging& judging, bool asked) {
  std::map<std::string, std::vector<std::string>> loaded;
  std::vector<std::string> strange;
  for (const NodeView& node : judging.nodes) {
    const TriedLibrary* plugin = loaded_on(node);
    if (plugin == nullptr) continue;
    loaded[printable_line(plugin->path, 120)].push_back(node.host);
    if (!plugin->has_companion) strange.push_back(node.host);
  }
  if (loaded.size() > 1) {
    std::vector<std::string> clauses;
    for (const auto& [path, hosts] : loaded) clauses.push_back(fmt::format("{} on {}", path, human_list(hosts, 4)));
    judging.note("NCCL's network plugin differs between nodes: " + human_list(clauses, 4));
  }
  if (asked && !strange.empty())
    judging.note(fmt::format("NCCL's network plugin on {} does not load libfabric: it may not be OFI's",
                             human_list(strange, 4)));
  std::vector<std::string> paths;
  std::size_t nodes = 0;
  for (const auto& [path, hosts] : loaded) {
    paths.push_back(path);
    nodes += hosts.size();
  }
  if (!loaded.empty())
    judging.judgement.evidence.push_back(
        fmt::format("NCCL's network plugin {} can be loaded on {}", human_list(paths, 4), counted(nodes, "node")));
}

Finding skipped(std::string reason, std::string remedy) {
  return {Verdict::skip, std::move(reason), {}, std::move(remedy)};
}

/// Nodes without data, where all others have none either.
void judge_absence(Judging& judging) {
  std::vector<std::string> outside;
  for (const NodeView& node : judging.nodes)
    if (loaded_on(node) == nullptr && is_elsewhere(judging, node)) outside.push_back(node.host);
  auto& judgement = judging.judgement;
  if (!outside.empty())
    return judgement.findings.push_back(skipped(
        fmt::format("by the profile NCCL's network plugin is in the container of the job, and the ranks on {} run "
                    "outside of one",
                    human_list(outside, 4)),
        fmt::format("run this check where the job runs: --environment {}, with the image of the job (-J image=FILE)",
                    join(judging.view.node.plugins_in, " or --environment "))));
  judgement.findings.push_back(
      skipped(fmt::format("no network plugin of NCCL is expected on {}: neither the profile nor NCCL_NET_PLUGIN or "
                          "NCCL_NET names one",
                          counted(judging.nodes.size(), "node")),
              "if jobs here need one, set plugins = [\"ofi\"] in [partition.node] of the profile"));
}

}  // namespace

ProbeJudgement judge(const CaseView& view) {
  Judging judging{view};
  read_case(judging);
  if (judging.nodes.empty()) return std::move(judging.judgement);
  const bool asked = is_asked(judging);
  judge_lacks(judging, asked);
  const bool is_fault = !judging.judgement.findings.empty();
  if (!is_fault) judge_loaded(judging, asked);
  if (!is_fault && judging.judgement.evidence.empty()) judge_absence(judging);
  set_subject(judging.judgement.findings, 0, Subject::interfaces);
  return std::move(judging.judgement);
}

}  // namespace muster::network_plugin
