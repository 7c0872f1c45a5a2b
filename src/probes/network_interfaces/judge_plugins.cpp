// NCCL's and RCCL's network plugin: without it they fall back to sockets, silently.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"
#include "probes/network_interfaces/node_view.hpp"

namespace muster::network {

namespace {

bool is_plugin(const TriedLibrary& library) {
  return library.error.empty() && !library.path.empty() && !library.symbols.empty();
}

/// The first that serves; nullptr: none does.
const TriedLibrary* loaded_on(const NodeView& node) {
  const auto found = std::find_if(node.plugins.begin(), node.plugins.end(), is_plugin);
  return found == node.plugins.end() ? nullptr : &*found;
}

/// Of several the one that says most: a library that is there and lacks another before those that are not there.
std::string why_none(const NodeView& node) {
  std::string why;
  bool is_telling = false;
  std::vector<std::string> others;
  for (const TriedLibrary& one : node.plugins) {
    std::string words = one.error;
    if (words.empty()) words = fmt::format("{} has no entry point of a network plugin", one.path);
    const bool is_absent = words.find(one.name + ": cannot open shared object file") != words.npos;
    if (!why.empty() && is_absent) others.push_back(one.name);
    if (!why.empty() && (is_telling || is_absent)) continue;
    why = words;
    is_telling = !is_absent;
  }
  if (!is_telling && !others.empty()) why += fmt::format(", nor {}", human_list(others));
  return why.empty() ? "nothing was tried" : printable_line(why, 300);
}

std::string value_on(const Judging& judging, const NodeView& node, std::string_view variable) {
  const auto found = judging.settings.find(variable);
  if (found == judging.settings.end()) return {};
  for (const Setting& one : found->second)
    if (one.place->node_index == node.index) return one.value;
  return {};
}

struct Lack {
  std::vector<std::string> hosts;
  std::vector<Culprit> culprits;
};

std::string remedy_of(const Judging& judging, const std::string& setting) {
  const std::string& from = judging.view.node.plugins_from;
  if (setting == "NCCL_NET_PLUGIN")
    return fmt::format("unset NCCL_NET_PLUGIN, or name a plugin that can be loaded{}", from.empty() ? "" : "; " + from);
  if (!from.empty()) return from;
  return "load the module that has the plugin (aws-ofi-nccl, aws-ofi-rccl), or put its folder and libfabric's into "
         "LD_LIBRARY_PATH";
}

bool is_asked(const Judging& judging) {
  const auto has = [](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), "ofi") != names.end();
  };
  return has(judging.view.node.plugins) || has(judging.view.params.texts("plugins"));
}

void judge_lacks(Judging& judging, bool asked) {
  std::map<std::tuple<std::string, std::string>, Lack> lacks;
  for (const NodeView& node : judging.nodes) {
    const std::string chosen = value_on(judging, node, "NCCL_NET_PLUGIN");
    const std::string net = value_on(judging, node, "NCCL_NET");
    const bool is_named = !chosen.empty() && chosen != "none";
    const bool needs_it = net == "AWS Libfabric" || net == "OFI";
    if ((!asked && !is_named && !needs_it) || loaded_on(node) != nullptr) continue;
    const std::string setting = !chosen.empty() ? "NCCL_NET_PLUGIN" : !asked ? "NCCL_NET" : "LD_LIBRARY_PATH";
    const std::string why = chosen == "none" ? "NCCL_NET_PLUGIN is \"none\"" : why_none(node);
    Lack& lack = lacks[{setting, why}];
    lack.hosts.push_back(node.host);
    lack.culprits.push_back({CulpritKind::setting, setting, node.host, -1});
  }
  for (auto& [key, lack] : lacks) {
    const auto& [setting, why] = key;
    Finding finding;
    finding.reason = fmt::format("NCCL's network plugin{} can't be loaded on {}: {}",
                                 asked ? " (OFI), which the profile asks for," : "", human_list(lack.hosts, 4), why);
    finding.culprits = std::move(lack.culprits);
    finding.remedy = remedy_of(judging, setting);
    judging.find(std::move(finding));
  }
}

}  // namespace

std::vector<std::string> plugin_names(std::string_view chosen) {
  if (chosen == "none") return {};
  if (chosen.empty()) return {"libnccl-net.so", "librccl-net.so", "libnccl-net-ofi.so", "librccl-net-ofi.so"};
  const std::string name(chosen.substr(0, chosen.find(',')));
  if (name.find('/') != name.npos || name.find(".so") != name.npos) return {name};
  return {fmt::format("libnccl-net-{}.so", name), fmt::format("librccl-net-{}.so", name), name};
}

std::vector<std::string> plugin_symbols() {
  std::vector<std::string> symbols;
  for (int version = 3; version <= 12; ++version) symbols.push_back(fmt::format("ncclNetPlugin_v{}", version));
  return symbols;
}

void judge_plugins(Judging& judging) {
  const bool asked = is_asked(judging);
  judge_lacks(judging, asked);
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
    judging.note("NCCL's network plugin is another one on some nodes: " + human_list(clauses, 4));
  }
  if (asked && !strange.empty())
    judging.note(fmt::format("NCCL's network plugin on {} brings no libfabric: it may be another than OFI's",
                             human_list(strange, 4)));
  if (loaded.size() == 1)
    judging.said.evidence.push_back(fmt::format("NCCL's network plugin {} can be loaded on {}", loaded.begin()->first,
                                                counted(loaded.begin()->second.size(), "node")));
}

}  // namespace muster::network
