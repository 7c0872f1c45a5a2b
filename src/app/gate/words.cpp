#include "app/gate/words.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/hostlist.hpp"
#include "base/text.hpp"
#include "reporters/common/phrases.hpp"

namespace muster {

namespace {

constexpr std::size_t most_groups = 20;  // a line each; the report has all

/// Nodes with the same message.
struct Group {
  std::vector<std::string> nodes;
  const NodeStatus* one = nullptr;  ///< of the first
  std::string saying;
};

/// No check is to be named where none applied.
std::string finding_of(const NodeStatus& status) {
  return status.check.empty() ? status.reason : status.check + ": " + status.reason;
}

/// Without the node's own name.
std::string saying_of(const NodeStatus& status) {
  std::string text = finding_of(status);
  for (auto at = text.find(status.node); at != text.npos && !status.node.empty(); at = text.find(status.node, at))
    text.replace(at, status.node.size(), "@");
  return text;
}

std::vector<Group> groups_of(const GateOutcome& outcome) {
  std::vector<Group> groups;
  for (const NodeStatus& status : outcome.statuses) {
    if (status.is_good) continue;
    auto saying = saying_of(status);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& known) {
      return known.saying == saying || finding_of(*known.one) == finding_of(status);
    });
    if (group == groups.end()) group = groups.insert(groups.end(), {{}, &status, std::move(saying)});
    group->nodes.push_back(status.node);
  }
  return groups;
}

std::string list(const std::vector<std::string>& nodes) {
  return printable_line(compress_hostlist(nodes), 300);
}

std::string line_of(const Group& group, std::size_t all) {
  const bool is_everybody = group.nodes.size() == all && all > 1;
  const auto whom = is_everybody ? fmt::format("all {} nodes", all) : list(group.nodes);
  return fmt::format("{}: {}{}{}", whom, group.one->is_at_fault ? "" : "not known to be good: ", finding_of(*group.one),
                     group.one->remedy.empty() ? "" : "; " + group.one->remedy);
}

/// No node is good, and none is at fault: other nodes would not help.
bool is_nobodys_fault(const GateOutcome& outcome) {
  return std::none_of(outcome.statuses.begin(), outcome.statuses.end(),
                      [](const NodeStatus& one) { return one.is_good || one.is_at_fault; });
}

std::string missing(const GateOutcome& outcome, std::size_t need) {
  const std::size_t good = outcome.spare.size();
  std::string text = fmt::format("refused: {} of {} nodes {} good, {} {} needed", good, outcome.nodes.size(),
                                 good == 1 ? "is" : "are", need, need == 1 ? "is" : "are");
  if (outcome.kept_apart > 0)
    text += fmt::format("; {} of them can't be combined with the others, as links between them are faulty",
                        outcome.kept_apart);
  if (is_nobodys_fault(outcome)) return text + ", and no node is at fault: see the reason of each";
  // Nodes of unknown state may be good next time, without those at fault.
  std::vector<std::string> bad;
  for (const NodeStatus& one : outcome.statuses)
    if (one.is_at_fault) bad.push_back(one.node);
  if (bad.empty()) bad = not_good(outcome);
  const auto left = outcome.nodes.size() - bad.size() - outcome.kept_apart;
  return text + fmt::format("; request {} more{}", counted(need - std::min(need - 1, left), "node"),
                            bad.empty() ? "" : ", without " + list(bad));
}

/// Why nothing may be started; empty: it may.
std::string refusal(const GateOutcome& outcome, std::size_t need) {
  if (outcome.error) return to_string(*outcome.error);
  return outcome.chosen.empty() ? missing(outcome, need) : "";
}

nlohmann::json texts(const std::vector<std::string>& all) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::string& one : all) list.push_back(printable_line(one));
  return list;
}

}  // namespace

std::vector<std::string> not_good(const GateOutcome& outcome) {
  std::vector<std::string> nodes;
  for (const NodeStatus& status : outcome.statuses)
    if (!status.is_good) nodes.push_back(status.node);
  return nodes;
}

std::vector<std::string> to_exclude(const GateOutcome& outcome) {
  return is_nobodys_fault(outcome) ? std::vector<std::string>{} : not_good(outcome);
}

std::vector<std::string> gate_lines(const GateOutcome& outcome, std::size_t need) {
  std::vector<std::string> lines;
  if (!outcome.simulated.empty())
    lines.push_back(fmt::format("SIMULATED machine {}: nothing real was tested", printable_line(outcome.simulated)));
  for (const Fact& variable : outcome.variables)
    if (auto remark = remark_phrase(variable); !remark.empty()) lines.push_back(std::move(remark));
  const auto groups = groups_of(outcome);
  for (std::size_t i = 0; i < std::min(groups.size(), most_groups); ++i)
    lines.push_back(line_of(groups[i], outcome.nodes.size()));
  if (groups.size() > most_groups) lines.push_back(fmt::format("and {} more", groups.size() - most_groups));
  for (const UnjudgedLine& one : outcome.unjudged)
    lines.push_back(fmt::format("the launch line was not judged by {}: {}; {}", one.check, one.reason, one.remedy));
  if (outcome.chosen.empty())
    lines.push_back(missing(outcome, need));
  else
    lines.push_back(fmt::format("{} good: {}{}", counted(outcome.chosen.size(), "node"), list(outcome.chosen),
                                outcome.spare.empty() ? "" : "; spare: " + list(outcome.spare)));
  std::vector<std::string> folders;
  for (const std::string& folder : outcome.folders) folders.push_back(printable_line(folder));
  if (!folders.empty()) lines.push_back("muster show " + join(folders, "; muster show ") + " for details");
  return lines;
}

std::string gate_json(const GateOutcome& outcome, std::size_t need, double seconds) {
  nlohmann::json json{{"muster_gate", 1},
                      {"verdict", outcome.chosen.empty() ? "refused" : "go"},
                      {"reason", printable_line(refusal(outcome, need), 4000)},
                      {"need", need},
                      {"nodes", texts(outcome.nodes)},
                      {"chosen", texts(outcome.chosen)},
                      {"spare", texts(outcome.spare)},
                      {"not_good", nlohmann::json::array()},
                      {"runs", texts(outcome.folders)},
                      {"seconds", seconds},
                      {"simulated", printable_line(outcome.simulated)},
                      {"variables", nlohmann::json::object()}};
  for (const Fact& variable : outcome.variables) json["variables"][variable.key] = variable.value;
  for (const NodeStatus& one : outcome.statuses)
    if (!one.is_good)
      json["not_good"].push_back({{"node", printable_line(one.node)},
                                  {"at_fault", one.is_at_fault},
                                  {"check", printable_line(one.check)},
                                  {"reason", printable_line(one.reason, 4000)},
                                  {"remedy", printable_line(one.remedy, 4000)}});
  return json.dump();
}

}  // namespace muster
