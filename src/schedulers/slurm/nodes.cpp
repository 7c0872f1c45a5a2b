#include <algorithm>
#include <fmt/format.h>

#include "base/hostlist.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "schedulers/slurm/parts.hpp"

namespace muster::slurm {

namespace {

/// Behind a state stand flags: `idle*` does not answer, `idle~` is switched off, `idle#` is being switched on.
constexpr std::string_view flags = "*~#!%$@^-+";

NodeState node_of(const std::vector<std::string>& fields) {
  NodeState node;
  node.node = printable_line(fields[0], 255);
  node.state = printable_line(fields[1], 60);
  const auto state = node.state.substr(0, node.state.find_first_of(flags));
  const bool is_silent = node.state.find('*') != std::string::npos;
  node.is_idle = node.state == "idle";
  node.is_usable = !is_silent && (state == "idle" || state == "allocated" || state == "mixed" ||
                                  state == "completing" || state == "planned");
  const auto& why = fields[3];
  if (why != "none" && why != "(null)") node.why = printable_line(why, 200);
  return node;
}

}  // namespace

std::vector<NodeState> read_nodes(std::string_view out) {
  std::vector<NodeState> nodes;
  for (const std::string_view line : lines(out)) {
    auto fields = split(trim(line), '|');
    if (fields.size() < 4 || fields[0].empty()) continue;
    // What an operator writes may have any character.
    for (std::size_t i = 4; i < fields.size(); ++i) fields[3] += "|" + fields[i];
    // A node is listed once for every partition it is in.
    const auto is_known = [&](const NodeState& node) { return node.node == fields[0]; };
    if (std::none_of(nodes.begin(), nodes.end(), is_known)) nodes.push_back(node_of(fields));
  }
  return nodes;
}

std::vector<std::string> read_busy(std::string_view out) {
  std::vector<std::string> busy;
  for (const std::string_view line : lines(out)) {
    const auto bar = line.find('|');
    if (bar == line.npos) continue;
    // The script's own step, the shell of salloc and what Slurm keeps for logins do not count as work.
    const auto step = trim(line.substr(0, bar));
    const auto kind = step.substr(std::min(step.size(), step.find('.') + 1));
    if (kind == "batch" || kind == "extern" || kind == "interactive") continue;
    if (auto hosts = expand_hostlist(trim(line.substr(bar + 1))))
      for (auto& host : *hosts)
        if (!is_in(host, busy)) busy.push_back(printable_line(host, 255));
  }
  return busy;
}

int read_position(std::string_view out, std::string_view job) {
  int position = 0;
  for (const std::string_view line : lines(out)) {
    if (trim(line).empty()) continue;
    ++position;
    if (trim(line) == job) return position;
  }
  return 0;
}

}  // namespace muster::slurm
