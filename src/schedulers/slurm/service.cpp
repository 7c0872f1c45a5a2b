// Nodes out of service and back: `scontrol show node` and `scontrol update`. Answers as a real Slurm 22.05 gave them.
#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"
#include "schedulers/slurm/parts.hpp"

namespace muster::slurm {

namespace {

constexpr std::size_t time_length = 19;  // 2026-11-22T18:02:43

/// The value behind ` name=`, up to the next blank. What an operator writes freely (Reason=, Comment=) stands behind
/// all that is asked for here, and the first match counts.
std::string word(std::string_view line, std::string_view name) {
  const auto mark = fmt::format("{}=", name);
  auto at = line.substr(0, mark.size()) == mark ? 0 : line.find(" " + mark);
  if (at == line.npos) return {};
  at += mark.size() + (at == 0 ? 0 : 1);
  return printable_line(line.substr(at, line.find(' ', at) - at), 255);
}

bool is_time(std::string_view text) {
  constexpr std::string_view shape = "0000-00-00T00:00:00";
  if (text.size() != time_length) return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i]) return false;
  return true;
}

/// Behind the reason stand who wrote it and when: ` [root@2026-11-22T18:02:43]`; a comment may follow.
void take_reason(std::string_view line, NodeService& node) {
  constexpr std::string_view mark = " Reason=";
  const auto at = line.find(mark);
  if (at == line.npos) return;
  const auto text = line.substr(at + mark.size());
  for (auto open = text.find(" ["); open != text.npos; open = text.find(" [", open + 1)) {
    const auto close = text.find(']', open);
    const auto sign = text.rfind('@', close);
    if (close == text.npos || sign == text.npos || sign < open || !is_time(text.substr(sign + 1, close - sign - 1)))
      continue;
    node.reason = std::string(text.substr(0, open));
    node.by = printable_line(text.substr(open + 2, sign - open - 2), 60);
    node.since = std::string(text.substr(sign + 1, time_length));
    return;
  }
  node.reason = std::string(trim(text));
}

/// `IDLE+DRAIN+NOT_RESPONDING`; older ones print `IDLE*+DRAIN`.
void take_state(NodeService& node) {
  const auto is = [](const std::string& text, std::string_view flag) {
    return text.compare(0, flag.size(), flag) == 0;
  };
  for (const auto& flag : split(node.state, '+')) {
    node.is_drained = node.is_drained || is(flag, "DRAIN") || is(flag, "FAIL");
    node.is_down = node.is_down || is(flag, "DOWN") || is(flag, "FUTURE") || is(flag, "UNKNOWN") || is(flag, "POWER");
  }
}

}  // namespace

Argv greet_service() {
  return {"scontrol", "ping"};
}

/// `Slurmctld(primary) at login1 is UP`, and a line for each that could take its place: one is enough.
bool is_greeted(std::string_view out, int status) {
  return status == 0 || out.find(" is UP") != out.npos;
}

LaunchCommand ask_service(std::string_view node) {
  Argv argv{"scontrol", "--oneliner", "--all", "show", "node"};
  if (!node.empty()) argv.emplace_back(node);
  return {std::move(argv), {{"TZ", "UTC"}, {"SLURM_TIME_FORMAT", "standard"}}};
}

std::vector<NodeService> read_service(std::string_view out) {
  std::vector<NodeService> nodes;
  for (const std::string_view line : lines(out)) {
    NodeService node;
    node.node = word(line, "NodeName");
    if (line.substr(0, 9) != "NodeName=" || node.node.empty()) continue;
    node.host = word(line, "NodeHostName");
    node.state = word(line, "State");
    take_state(node);
    take_reason(line, node);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Argv drain(std::string_view node, std::string_view reason) {
  return {"scontrol", "update", fmt::format("nodename={}", node), "state=drain", fmt::format("reason={}", reason)};
}

Argv resume(std::string_view node) {
  return {"scontrol", "update", fmt::format("nodename={}", node), "state=resume"};
}

}  // namespace muster::slurm
