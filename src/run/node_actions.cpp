#include "run/node_actions.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/text.hpp"
#include "run/owner_tag.hpp"

namespace muster {

namespace {

/// Of this length the time of a report and that of a reason are written alike: 2026-11-22T18:02:43.
constexpr std::size_t to_seconds = 19;

using Names = std::set<std::string>;

Names nodes_that_took_part(const RunReport& report) {
  Names names;
  for (const auto& launch : report.launches) names.insert(launch.nodes.begin(), launch.nodes.end());
  for (const auto& node : report.nodes) names.insert(node.node);
  for (const auto& result : report.cases)
    for (const auto& row : result.node_rows) names.insert(row.node);
  return names;
}

/// By the batch system's name for it, or by what the node calls itself, with or without its domain.
bool is_of(const std::string& name, const NodeService& node) {
  const auto is = [&](std::string_view one) { return one == node.node || one == node.host; };
  return is(name) || is(std::string_view(name).substr(0, name.find('.')));
}

/// nullptr: none, or a name that means several.
const NodeService* find_node(std::span<const NodeService> nodes, const std::string& name) {
  const auto is = [&](const NodeService& node) { return is_of(name, node); };
  const auto found = std::find_if(nodes.begin(), nodes.end(), is);
  return found == nodes.end() || std::count_if(nodes.begin(), nodes.end(), is) > 1 ? nullptr : &*found;
}

/// `ALL`, and lists such as nid[001-004], would reach others, too.
bool is_one_name(std::string_view name) {
  const auto is_fine = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '-' || letter == '_' || letter == '.';
  };
  const bool is_all = name.size() == 3 && (name[0] | 32) == 'a' && (name[1] | 32) == 'l' && (name[2] | 32) == 'l';
  return !name.empty() && !is_all && std::all_of(name.begin(), name.end(), is_fine);
}

/// Why the node is not drained; empty: it may be.
std::string hindrance(const NodeService* node) {
  if (node == nullptr) return "it is not a node of the batch system, or not one alone";
  if (!is_one_name(node->node)) return "its name could mean others, too";
  const auto tag = read_tag(node->reason);
  if (node->is_drained && tag) return fmt::format("it is drained already, by muster's run {}", tag->run);
  if (!node->reason.empty())
    return fmt::format("it has a reason that another user{} wrote: {}", node->by.empty() ? "" : " (" + node->by + ")",
                       printable_line(node->reason, 120));
  if (node->is_drained) return "it was drained by another user";
  if (node->is_down) return fmt::format("it is {}: no job gets it", printable_line(node->state, 60));
  return "";
}

/// `blamed`: all that were, also those that are already drained by others.
std::string too_many(std::size_t wanted, std::size_t blamed, int out_already, std::size_t took_part, int most) {
  if (static_cast<int>(wanted) + out_already > most)
    return fmt::format(
        "no node is drained: {} would be{}, and --max-drain is {}; look for a common cause: so many faults at once are "
        "seldom independent",
        wanted, out_already > 0 ? fmt::format(" beside the {} that muster has drained", out_already) : "", most);
  if (took_part > 1 && 2 * blamed > took_part)
    return fmt::format(
        "no node is drained: {} of the {} nodes of the run are blamed, more than half; look for a common cause", blamed,
        took_part);
  return "";
}

/// What this run launched on, by the names that were asked for.
bool was_asked_for(const RunReport& report, const NodeService& node) {
  const auto is_here = [&](const std::string& name) { return is_of(name, node); };
  return std::any_of(report.launches.begin(), report.launches.end(), [&](const LaunchRecord& launch) {
    return std::any_of(launch.nodes.begin(), launch.nodes.end(), is_here);
  });
}

void plan_drains(const RunReport& report, std::span<const NodeService> nodes, const ActionRequest& request,
                 ActionPlan& plan) {
  std::vector<WantedAction> drains;
  const auto blamed = nodes_to_blame(report, plan.left_alone);
  for (const auto& blame : blamed) {
    const auto* node = find_node(nodes, blame.node);
    if (const auto why = hindrance(node); !why.empty())
      plan.left_alone.push_back({blame.node, why});
    else if (!was_asked_for(report, *node))
      plan.left_alone.push_back({blame.node, "this run launched nothing on a node of that name"});
    else
      drains.push_back(
          {ActionKind::drain, node->node, blame.check, write_tag({report.run_id, blame.check, blame.reason})});
  }
  if (drains.empty()) return;
  plan.refusal = too_many(drains.size(), blamed.size(), drained_by_muster(nodes), nodes_that_took_part(report).size(),
                          request.most_drained);
  if (plan.refusal.empty()) plan.actions.insert(plan.actions.end(), drains.begin(), drains.end());
}

/// It passes wherever the node took part. For one that had not answered, any case in which it does.
bool passes(const RunReport& report, const NodeService& node, const std::string& check) {
  bool has_passed = false;
  for (const auto& result : report.cases) {
    if (result.verdict == Verdict::skip || (result.check != check && check != "node")) continue;
    for (const auto& row : result.node_rows) {
      if (!is_of(row.node, node)) continue;
      const bool is_pass = result.verdict == Verdict::pass && row.verdict == Verdict::pass;
      if (!is_pass && result.check == check) return false;
      has_passed = has_passed || is_pass;
    }
  }
  return has_passed;
}

/// By any result other than pass, however doubtful.
bool is_blamed(const RunReport& report, const NodeService& node) {
  for (const auto& result : report.cases) {
    if (result.verdict == Verdict::pass || result.verdict == Verdict::skip) continue;
    for (const auto& culprit : result.culprits)
      if (is_of(culprit.node, node) || (culprit.kind == CulpritKind::node && is_of(culprit.name, node))) return true;
    for (const auto& row : result.node_rows)
      if (is_of(row.node, node) && row.verdict != Verdict::pass && row.verdict != Verdict::skip) return true;
  }
  return false;
}

/// Why a node of muster's stays out; empty: it goes back.
std::string unproven(const RunReport& report, const NodeService& node, const OwnerTag& tag) {
  if (tag.run == report.run_id) return "this run drained it";
  if (!is_one_name(node.node)) return "its name could mean others, too";
  if (is_blamed(report, node)) return "it is blamed in this run, too";
  if (!passes(report, node, tag.check))
    return fmt::format("{}, for which it was drained, did not pass there", printable_line(tag.check, 80));
  if (node.since.size() != to_seconds || node.since >= report.started.substr(0, to_seconds))
    return "it was not drained before this run began";
  return "";
}

void plan_resumes(const RunReport& report, std::span<const NodeService> nodes, ActionPlan& plan) {
  for (const auto& node : nodes) {
    const auto tag = read_tag(node.reason);
    if (!tag || !node.is_drained || !was_asked_for(report, node)) continue;
    if (const auto why = unproven(report, node, *tag); !why.empty())
      plan.left_alone.push_back({node.node, "stays drained: " + why});
    else
      plan.actions.push_back({ActionKind::resume, node.node, tag->check, node.reason});
  }
}

}  // namespace

std::string_view to_string(ActionKind kind) {
  return kind == ActionKind::drain ? "drain" : "resume";
}

int drained_by_muster(std::span<const NodeService> nodes) {
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), [](const NodeService& node) {
    return node.is_drained && begins_as_tag(node.reason);
  }));
}

std::string refuse_all(const RunReport& report) {
  const auto simulated = report.simulated.empty() ? simulated_by(report.nodes) : report.simulated;
  if (!simulated.empty())
    return fmt::format("nothing is done: the nodes were simulated as {}", printable_line(simulated, 80));
  if (!report.interrupted.empty())
    return fmt::format("nothing is done: the run was ended by {}", printable_line(report.interrupted, 40));
  return "";
}

ActionPlan plan_actions(const RunReport& report, std::span<const NodeService> nodes, const ActionRequest& request) {
  ActionPlan plan;
  plan.refusal = refuse_all(report);
  if (!plan.refusal.empty()) return plan;
  if (request.drain_failed) plan_drains(report, nodes, request, plan);
  if (request.resume_passed) plan_resumes(report, nodes, plan);
  return plan;
}

}  // namespace muster
