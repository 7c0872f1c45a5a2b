/// Markdown for a ticket: docs/reports.md.
#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "base/text.hpp"
#include "muster/reporter.hpp"
#include "reporters/common/causes.hpp"
#include "reporters/common/markdown_text.hpp"
#include "reporters/common/nodes.hpp"
#include "reporters/common/paragraph.hpp"
#include "reporters/common/phrases.hpp"

namespace muster {

namespace {

// A comment on GitHub takes 65,536 characters; most of it is left to those who write.
constexpr std::size_t most_cause_bytes = 24'000;
constexpr std::size_t most_table_bytes = 16'000;
constexpr std::size_t most_culprits = 12;
constexpr std::size_t most_findings = 4;  // beside the first
constexpr std::size_t most_items = 6;
constexpr std::size_t most_named = 6;
constexpr std::size_t most_nodes = 12;
constexpr std::size_t most_notes = 8;
constexpr std::size_t most_command_bytes = 2'000;

/// `- **reason:** ...`; nothing where there is no text.
std::string point(std::string_view label, const std::string& text) {
  return text.empty() || text == "-" ? std::string() : fmt::format("- **{}:** {}\n", label, text);
}

std::string head(const RunReport& report) {
  std::string text = fmt::format("## muster: {}", verdict_word(report.verdict));
  if (!report.system.empty()) text += " on " + code(report.system, 100);
  text += "\n\n";
  if (!report.simulated.empty())
    text += fmt::format("**Simulated machine {}: nothing real was tested.**\n\n", code(report.simulated, 100));
  text += report.cases.empty()
              ? "No case was run"
              : fmt::format("{}: {}", counted(report.cases.size(), "case"), tally_phrase(tally(report.cases)));
  if (!report.interrupted.empty()) text += ", interrupted by " + code(report.interrupted, 40);
  text += fmt::format(" (exit status {})\n\n", report.exit_status);
  text += point("run", fmt::format("{} of {}, {}", code(report.run_id, 60), code(report.started, 40),
                                   time_phrase(report.seconds)));
  text += point("where", code(report.host, 100));
  text += point("muster", code(report.muster_version, 40));
  text += point("variables", code(variables_phrase(report), most_command_bytes));
  text += point("command", code(shell_line(report.command_line), most_command_bytes));
  text += point("report", report.folder.empty() ? "" : code(report.folder + "/report.json"));
  return text;
}

std::string list(const std::vector<std::string>& phrases, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(phrases.size(), most); ++i) text += (i == 0 ? "" : ", ") + code(phrases[i], 200);
  if (phrases.size() > most) text += fmt::format(" and {} more", phrases.size() - most);
  return text;
}

std::string other_findings(const CaseResult& result) {
  std::string text;
  std::size_t count = 0;
  for (const auto& finding : result.findings)
    if (finding.reason != result.reason && ++count <= most_findings) text += point("also", code(finding.reason));
  if (count > most_findings) text += point("also", fmt::format("{} more, see the report", count - most_findings));
  return text;
}

std::string items_of(const CaseResult& result) {
  std::string text;
  for (std::size_t i = 0; i < std::min(result.items.size(), most_items); ++i)
    text += point("outside",
                  code(labelled(result.items[i].metric, result.items[i].where) + " " + item_phrase(result.items[i])));
  if (result.items.size() > most_items)
    text += point("outside", fmt::format("{} more readings, see the report", result.items.size() - most_items));
  return text;
}

std::string culprits_of(const Cause& cause) {
  auto named = culprit_phrases(cause.culprits(most_culprits + 1));
  const bool are_more = named.size() > most_culprits;
  if (are_more) named.resize(most_culprits);
  return list(named, most_culprits) + (are_more ? " and more" : "");
}

std::string section(const Cause& cause) {
  const auto& first = *cause.cases.front();
  auto text = fmt::format("\n### {} {}\n\n", verdict_word(first.verdict), code(title(first), 200));
  std::vector<const CaseResult*> others(cause.cases.begin() + 1, cause.cases.end());
  text += point("likewise", list(folded_titles(others), most_named));
  text += point("reason", code(first.reason, 1000));
  text += point("culprit", culprits_of(cause));
  text += point("remedy", code(first.remedy, 1000));
  text += point("follows from", first.follows.empty() ? "" : code(first.follows, 200));
  text += point("explains", list(folded_titles(cause.following), most_named));
  text += other_findings(first);
  text += items_of(first);
  const auto rerun = shell_line(first.rerun);
  // What is cut can't be run.
  if (!rerun.empty() && rerun.size() <= most_command_bytes)
    text += "\nRun it again:\n\n" + code_block(printable_line(rerun, uncut), "sh");
  return text;
}

std::string sections(const RunReport& report) {
  const auto causes = causes_of(report);
  std::string text;
  std::size_t shown = 0;
  for (; shown < causes.size(); ++shown) {
    auto next = section(causes[shown]);
    if (shown > 0 && text.size() + next.size() > most_cause_bytes) break;
    text += next;
  }
  std::size_t cases = 0;
  for (std::size_t i = shown; i < causes.size(); ++i) cases += causes[i].size();
  if (shown < causes.size())
    text += fmt::format("\nLeft out here: {} with {}, see the report.\n", counted(causes.size() - shown, "cause"),
                        counted(cases, "case"));
  return text;
}

std::string node_table(const RunReport& report) {
  const auto nodes = node_tallies(report);
  const auto odd = odd_nodes(nodes);
  if (nodes.size() < 2 || odd.empty()) return {};
  std::string text = "\n### Nodes in trouble\n\n| node | cases |\n|---|---|\n";
  for (std::size_t i = 0; i < std::min(odd.size(), most_nodes); ++i)
    text += fmt::format("| {} | {} |\n", cell(odd[i].name, 100), tally_phrase(odd[i].tally));
  if (odd.size() > most_nodes) text += fmt::format("\n{} more, see the report.\n", odd.size() - most_nodes);
  const auto good = nodes.size() - odd.size();
  return good == 0 ? text : text + fmt::format("\nNothing wrong on {} of {}.\n", good, counted(nodes.size(), "node"));
}

/// The worst first, so that what is left out is well.
std::string case_table(const RunReport& report) {
  if (report.cases.empty()) return {};
  std::string text = "\n### Cases\n\n| verdict | case | time | in short |\n|---|---|---:|---|\n";
  std::size_t shown = 0;
  for (const auto verdict : verdicts_by_urgency())
    for (const auto& result : report.cases) {
      if (result.verdict != verdict || text.size() > most_table_bytes) continue;
      const auto passed = repetitions_passed(result);
      text += fmt::format("| {} | {} | {} | {} |\n", verdict_word(verdict), cell(title(result)),
                          time_phrase(result.seconds), cell((passed.empty() ? "" : passed + ": ") + brief(result)));
      ++shown;
    }
  if (shown < report.cases.size())
    text += fmt::format("\n{} more, see the report.\n", counted(report.cases.size() - shown, "case"));
  return text;
}

std::string notes(const RunReport& report) {
  std::string text;
  for (std::size_t i = 0; i < std::min(report.notes.size(), most_notes); ++i)
    text += fmt::format("- {}\n", code(report.notes[i]));
  if (report.notes.size() > most_notes) text += fmt::format("- {} more\n", report.notes.size() - most_notes);
  return text.empty() ? text : "\n### Notes\n\n" + text;
}

class Markdown : public Reporter {
 public:
  void run_finished(const RunReport& report, std::ostream& out) override {
    out << head(report) << sections(report) << node_table(report) << case_table(report) << notes(report);
  }
};

std::unique_ptr<Reporter> make_markdown(const ReporterOptions&) {
  return std::make_unique<Markdown>();
}

}  // namespace

extern const ReporterSpec reporter_markdown{
    .name = "markdown",
    .summary = "For a ticket: verdict, what failed and why, the command to repeat it, a table of cases.",
    .file_name = "report.md",
    .make = make_markdown,
};

}  // namespace muster
