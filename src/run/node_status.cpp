#include "run/node_status.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "model/suspect.hpp"
#include "run/per_node.hpp"

namespace muster {

namespace {

/// The result of a case for a node, the worst last.
enum class Claim { applies_not, passed, unknown, at_fault };

struct NodeAssessment {
  Claim word = Claim::unknown;
  std::string reason;
  std::string remedy;
};

using Named = std::set<std::size_t>;

bool is_about_settings(const Finding& finding) {
  return !finding.culprits.empty() &&
         std::all_of(finding.culprits.begin(), finding.culprits.end(),
                     [](const Culprit& culprit) { return culprit.kind == CulpritKind::setting; });
}

/// All that is open is what the launch line sets where muster does not carry out a part of it.
bool is_unjudged_line(const CaseResult& result) {
  const auto is_of_line = [](const Finding& finding) {
    return finding.verdict == Verdict::pass ||
           (finding.verdict == Verdict::unmeasured && !finding.culprits.empty() &&
            std::all_of(finding.culprits.begin(), finding.culprits.end(), [](const Culprit& culprit) {
              return culprit.kind == CulpritKind::setting ||
                     (culprit.kind == CulpritKind::launcher && culprit.node.empty());
            }));
  };
  return result.verdict == Verdict::unmeasured && !result.findings.empty() &&
         std::all_of(result.findings.begin(), result.findings.end(), is_of_line);
}

/// The content of all findings of one case.
class NodeAssessments {
 public:
  NodeAssessments(const CaseResult& result, const std::vector<std::string>& nodes, std::vector<NodePair>& apart)
      : result_(result), nodes_(nodes), of_(nodes.size()) {
    for (const Finding& finding : result.findings)
      if (finding.verdict == Verdict::fail && is_about_settings(finding))
        for (const Culprit& culprit : finding.culprits)
          if (const auto at = index_of(culprit.node)) wrong_settings_[culprit.name].insert(*at);
    for (const Finding& finding : result.findings)
      if (finding.verdict != Verdict::pass && finding.verdict != Verdict::skip) take(finding, apart);
    blame_pairs();
  }

  [[nodiscard]] bool are_about(std::size_t node) const { return of_[node].has_value(); }

  [[nodiscard]] NodeAssessment of(std::size_t node) const {
    if (of_[node]) return *of_[node];
    // The evidence of a pass is about other nodes.
    const bool is_pass = result_.verdict == Verdict::pass;
    const NodeAssessment unknown{Claim::unknown, is_pass ? "" : result_.reason, is_pass ? "" : result_.remedy};
    if (result_.verdict == Verdict::skip) return {Claim::applies_not, result_.reason, {}};
    const NodeRow* row = row_of(node);
    if (row == nullptr) return unknown;
    if (row->verdict == Verdict::pass) return {Claim::passed, {}, {}};
    if (row->verdict == Verdict::skip) return {Claim::applies_not, {}, {}};
    // What lies between two nodes is seen by a judge, who is asked only when all ranks were measured.
    const bool is_cleared = accused_.count(node) > 0 || row->verdict == Verdict::unmeasured;
    if (is_cleared && has_seen_links_ && has_placed_all_) return {Claim::passed, {}, {}};
    return row->verdict == Verdict::fail ? NodeAssessment{Claim::at_fault, result_.reason, result_.remedy} : unknown;
  }

 private:
  [[nodiscard]] const NodeRow* row_of(std::size_t node) const {
    const auto& rows = result_.node_rows;
    if (node < rows.size() && rows[node].node == nodes_[node]) return &rows[node];
    const auto found = std::find_if(rows.begin(), rows.end(),
                                    [&](const NodeRow& one) { return is_same_node(nodes_[node], one.node); });
    return found == rows.end() ? nullptr : &*found;
  }

  [[nodiscard]] std::optional<std::size_t> index_of(const std::string& host) const {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (!host.empty() && is_same_node(nodes_[i], host)) return i;
    return std::nullopt;
  }

  /// `nid001 <-> nid004`, `nid001 -> nid004`.
  [[nodiscard]] std::optional<NodePair> ends_of(const std::string& link) const {
    for (const std::string arrow : {" <-> ", " -> "}) {
      const auto at = link.find(arrow);
      if (at == std::string::npos) continue;
      const auto a = index_of(link.substr(0, at));
      const auto b = index_of(link.substr(at + arrow.size()));
      if (a && b && *a != *b) return NodePair(*a, *b);
    }
    return std::nullopt;
  }

  /// A variable or an option that is wrong on all nodes is wrong in the job, or for all that the job could get.
  [[nodiscard]] bool is_wrong_everywhere(const Finding& finding) const {
    return is_about_settings(finding) &&
           std::all_of(finding.culprits.begin(), finding.culprits.end(), [&](const Culprit& culprit) {
             const auto found = wrong_settings_.find(culprit.name);
             return found != wrong_settings_.end() && found->second.size() == nodes_.size();
           });
  }

  void take(const Finding& finding, std::vector<NodePair>& apart) {
    Named named;
    std::optional<NodePair> link;
    bool is_link = false;
    for (const Culprit& culprit : finding.culprits) {
      is_link = is_link || culprit.kind == CulpritKind::link;
      if (culprit.kind == CulpritKind::link && culprit.node.empty()) link = ends_of(culprit.name);
      const bool is_bare_node = culprit.kind == CulpritKind::node && culprit.node.empty();
      if (const auto at = index_of(is_bare_node ? culprit.name : culprit.node)) named.insert(*at);
    }
    has_seen_links_ = has_seen_links_ || is_link;
    if (named.size() == 2 && is_link) {
      pairs_.push_back({{*named.begin(), *named.rbegin()}, &finding});
      accused_.insert(named.begin(), named.end());
    } else if (!named.empty()) {
      for (const std::size_t node : named) hold_against(node, finding);
    } else if (link) {
      apart.push_back(*link);
    } else {
      has_placed_all_ = false;
    }
  }

  void hold_against(std::size_t node, const Finding& finding) {
    const bool is_of_node = finding.verdict == Verdict::fail && !is_wrong_everywhere(finding);
    const Claim word = is_of_node ? Claim::at_fault : Claim::unknown;
    if (!of_[node] || of_[node]->word < word) of_[node] = {word, finding.reason, finding.remedy};
  }

  /// A node that corrupts its messages is named with every partner.
  void blame_pairs() {
    while (!pairs_.empty()) {
      std::map<std::size_t, int> counts;
      for (const auto& [ends, finding] : pairs_) ++counts[ends.first], ++counts[ends.second];
      const auto most = std::max_element(counts.begin(), counts.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      const std::size_t worst = most->first;
      const bool stands_out = most->second > 1;
      std::erase_if(pairs_, [&](const auto& pair) {
        const bool is_in = pair.first.first == worst || pair.first.second == worst;
        if (stands_out && !is_in) return false;
        hold_against(stands_out ? worst : pair.first.first, *pair.second);
        if (!stands_out) hold_against(pair.first.second, *pair.second);
        return true;
      });
    }
  }

  const CaseResult& result_;
  const std::vector<std::string>& nodes_;
  std::vector<std::optional<NodeAssessment>> of_;
  std::vector<std::pair<NodePair, const Finding*>> pairs_;
  Named accused_;
  std::map<std::string, Named> wrong_settings_;  ///< nodes by the variable or option that findings name there
  bool has_placed_all_ = true;                   ///< each finding names its culprits
  bool has_seen_links_ = false;
};

/// A case in which only rank 0 failed, and where rank 0 was then and otherwise.
struct PartOfRank0 {
  Named wrong_on;  ///< nodes of rank 0
  Named right_on;
  Finding finding;  ///< the first
};

/// The results of all runs, by case and node.
struct CollectedFindings {
  std::set<std::string> of_the_job;  ///< cases that blame no node
  std::map<std::string, std::vector<NodeAssessment>> of_case;
  std::map<std::string, std::string> check_of;
  std::vector<std::pair<std::string, NodeAssessment>> faults;  ///< by node: check and what it found
  std::vector<NodePair> apart;
  std::vector<UnjudgedLine> unjudged;
  std::map<std::string, PartOfRank0> of_rank_0;
};

void collect_rank_0(const CaseResult& result, const std::vector<std::string>& nodes, PartOfRank0& part) {
  if (result.node_rows.empty()) return;
  const NodeRow& first = result.node_rows.front();
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const std::string& node) { return is_same_node(node, first.node); });
  if (found == nodes.end()) return;
  const auto node = static_cast<std::size_t>(found - nodes.begin());
  const auto about = std::find_if(result.findings.begin(), result.findings.end(), is_about_rank_0_alone);
  if (about != result.findings.end() && result.node_rows.size() > 1) {
    if (part.wrong_on.empty()) part.finding = *about;
    part.wrong_on.insert(node);
  } else if (first.verdict == Verdict::pass) {
    part.right_on.insert(node);
  }
}

void collect(const CaseResult& result, const std::vector<std::string>& nodes, bool is_asked_for,
             CollectedFindings& collected) {
  const NodeAssessments assessments(result, nodes, collected.apart);
  const bool is_of_line = collected.of_the_job.count(result.id) > 0;
  const bool is_unjudged = is_of_line && is_unjudged_line(result);
  if (is_unjudged) collected.unjudged.push_back({result.check, result.reason, result.remedy});
  if (is_asked_for) collect_rank_0(result, nodes, collected.of_rank_0[result.id]);
  auto& known = collected.of_case[result.id];
  known.resize(nodes.size());
  collected.check_of[result.id] = result.check;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    NodeAssessment assessment = assessments.of(i);
    if (is_unjudged) assessment = {Claim::applies_not, result.reason, {}};
    if (assessment.word == Claim::at_fault && is_of_line) assessment.word = Claim::unknown;
    // A failed node or launch is not a case: it concerns only the nodes that it names.
    const bool counts = is_asked_for || assessments.are_about(i);
    if (counts && assessment.word == Claim::at_fault && collected.faults[i].second.word != Claim::at_fault)
      collected.faults[i] = {result.check, assessment};
    if (is_asked_for && (known[i].word == Claim::unknown || assessment.word == Claim::at_fault)) {
      const bool is_worth_keeping = assessment.word != Claim::unknown || known[i].reason.empty();
      if (is_worth_keeping) known[i] = assessment;
    }
  }
}

/// What stays with the node, and not with rank 0, is the node's fault.
void blame_first_nodes(const std::vector<std::string>& nodes, CollectedFindings& collected) {
  for (const auto& [id, part] : collected.of_rank_0) {
    if (part.wrong_on.size() != 1 || part.right_on.empty() || part.finding.verdict != Verdict::fail) continue;
    const std::size_t node = *part.wrong_on.begin();
    if (part.right_on.count(node) > 0 || collected.faults[node].second.word == Claim::at_fault) continue;
    std::string remedy = remedy_before_rank_0(part.finding.remedy);
    if (remedy.empty()) remedy = "look at what the program finds otherwise there: files, mounts, environment";
    collected.faults[node] = {collected.check_of.at(id),
                              {Claim::at_fault,
                               fmt::format("{}; with rank 0 on {} it passed", part.finding.reason,
                                           printable_line(nodes[*part.right_on.begin()])),
                               std::move(remedy)}};
  }
}

/// A variable or an option that the line sets wrongly is wrong for the job, also where only some ranks get it so: rank
/// 0 has 0 by chance. What a node's own check blames on that node is not the line's.
void doubt_line(std::span<const RunReport> reports, const std::vector<std::string>& nodes,
                CollectedFindings& collected) {
  const auto is_of_bad_node = [&](const Culprit& culprit) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (!culprit.node.empty() && is_same_node(nodes[i], culprit.node))
        return collected.faults[i].second.word == Claim::at_fault;
    return false;
  };
  for (const RunReport& report : reports) {
    for (const CaseResult& result : report.cases) {
      if (collected.of_the_job.count(result.id) == 0) continue;
      for (const Finding& finding : result.findings) {
        if (finding.verdict != Verdict::fail || !is_about_settings(finding) ||
            std::all_of(finding.culprits.begin(), finding.culprits.end(), is_of_bad_node))
          continue;
        for (NodeAssessment& one : collected.of_case[result.id])
          if (one.word != Claim::unknown) one = {Claim::unknown, finding.reason, finding.remedy};
      }
    }
  }
}

CollectedFindings collect_findings(std::span<const RunReport> reports, const std::vector<std::string>& nodes,
                                   const std::vector<std::string>& cases,
                                   const std::set<std::string>& of_the_job = {}) {
  CollectedFindings collected;
  collected.of_the_job = of_the_job;
  collected.faults.resize(nodes.size());
  const std::set<std::string> asked(cases.begin(), cases.end());
  for (const RunReport& report : reports)
    for (const CaseResult& result : report.cases) collect(result, nodes, asked.count(result.id) > 0, collected);
  blame_first_nodes(nodes, collected);
  doubt_line(reports, nodes, collected);
  return collected;
}

/// The case about a node that did not answer before the run.
const CaseResult* find_absence(std::span<const RunReport> reports, const std::string& node) {
  for (const RunReport& report : reports)
    for (const CaseResult& result : report.cases)
      if (result.check == "node" && result.id == "node%" + node) return &result;
  return nullptr;
}

/// Where launches failed with one node and then with another, and no case passed anywhere, it is what is launched, and
/// how. One node alone that breaks launches stays at fault.
void forgive_launches(std::vector<NodeStatus>& nodes) {
  const auto is_blamed = [](const NodeStatus& one) { return one.is_at_fault; };
  const bool is_launch_alone = std::all_of(
      nodes.begin(), nodes.end(), [](const NodeStatus& one) { return !one.is_at_fault || one.check == "launch"; });
  if (!is_launch_alone || std::count_if(nodes.begin(), nodes.end(), is_blamed) < 2) return;
  for (NodeStatus& one : nodes) one.is_at_fault = false;
}

}  // namespace

NodeStatuses assess_nodes(std::span<const RunReport> reports, const std::vector<std::string>& nodes,
                          const std::vector<std::string>& cases, const std::set<std::string>& of_the_job) {
  const CollectedFindings collected = collect_findings(reports, nodes, cases, of_the_job);
  NodeStatuses statuses;
  statuses.apart = collected.apart;
  statuses.unjudged = collected.unjudged;
  bool has_any_passed = false;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    NodeStatus status{nodes[i], true, false, {}, "nothing was measured", "choose checks that apply to it"};
    bool has_passed = false;
    for (const std::string& id : cases) {
      const auto known = collected.of_case.find(id);
      const NodeAssessment assessment = known == collected.of_case.end() ? NodeAssessment() : known->second[i];
      has_passed = has_passed || assessment.word == Claim::passed;
      if (assessment.word == Claim::applies_not && status.is_good && status.check.empty()) {
        // Should nothing else apply either, this is why.
        status.check = collected.check_of.at(id);
        if (!assessment.reason.empty()) status.reason = "nothing was measured: " + assessment.reason;
      }
      if (assessment.word < Claim::unknown || !status.is_good) continue;
      status = {nodes[i],
                false,
                false,
                collected.check_of.count(id) > 0 ? collected.check_of.at(id) : id,
                assessment.reason,
                assessment.remedy};
      if (status.reason.empty()) status.reason = "was not measured";
    }
    status.is_good = status.is_good && has_passed;
    if (const CaseResult* absence = status.is_good ? nullptr : find_absence(reports, nodes[i]))
      status = {nodes[i], false, false, absence->check, absence->reason, absence->remedy};
    if (const auto& [check, fault] = collected.faults[i]; fault.word == Claim::at_fault)
      status = {nodes[i], false, true, check, fault.reason, fault.remedy};
    if (status.is_good) status.check = status.reason = status.remedy = {};
    has_any_passed = has_any_passed || has_passed;
    statuses.nodes.push_back(std::move(status));
  }
  if (!has_any_passed) forgive_launches(statuses.nodes);
  return statuses;
}

std::vector<std::string> open_cases(std::span<const RunReport> reports, const std::vector<std::string>& nodes,
                                    const std::vector<std::string>& cases) {
  const CollectedFindings collected = collect_findings(reports, nodes, cases);
  std::vector<std::string> open;
  for (const std::string& id : cases) {
    const auto known = collected.of_case.find(id);
    const bool is_open = known == collected.of_case.end() ||
                         std::any_of(known->second.begin(), known->second.end(),
                                     [](const NodeAssessment& one) { return one.word == Claim::unknown; });
    if (is_open) open.push_back(id);
  }
  return open;
}

std::set<std::string> nodes_of_rank_0_to_leave_out(std::span<const RunReport> reports,
                                                   const std::vector<std::string>& nodes,
                                                   const std::vector<std::string>& cases) {
  std::set<std::string> undecided;
  for (const auto& [id, part] : collect_findings(reports, nodes, cases).of_rank_0)
    if (part.wrong_on.size() == 1 && part.right_on.empty()) undecided.insert(nodes[*part.wrong_on.begin()]);
  return undecided;
}

}  // namespace muster
