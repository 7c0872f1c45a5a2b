/// JUnit XML in the dialect that Jenkins, GitLab and pytest share: reports/schema/junit.xsd, docs/reports.md.
#include <fmt/format.h>
#include <ostream>
#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "base/text.hpp"
#include "muster/reporter.hpp"
#include "reporters/common/paragraph.hpp"
#include "reporters/common/phrases.hpp"

namespace muster {

namespace {

/// pugixml writes what it is given, also what no XML parser reads back; so every text passes here first. XML knows
/// no U+FFFE and U+FFFF, which are proper UTF-8.
std::string writable(std::string text) {
  for (const std::string_view unknown : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    for (auto at = text.find(unknown); at != std::string::npos; at = text.find(unknown, at))
      text.replace(at, unknown.size(), "\xEF\xBF\xBD");
  return text;
}

void set_text(pugi::xml_node node, const std::string& text) {
  node.append_child(pugi::node_pcdata).set_value(writable(printable(text)).c_str());
}

void set(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name).set_value(writable(printable_line(value, uncut)).c_str());
}

void add_property(pugi::xml_node properties, const std::string& name, const std::string& value) {
  auto property = properties.append_child("property");
  set(property, "name", name);
  set(property, "value", value);
}

/// Readers parse it as a number: no unit, no exponent.
std::string seconds_text(double seconds) {
  return fmt::format("{:.3f}", seconds > 0 && seconds < 1e12 ? seconds : 0.0);
}

/// Readers disagree on time zones and fractions of seconds; this form all of them take. It is UTC.
std::string timestamp(const std::string& rfc3339) {
  return rfc3339.substr(0, 19);
}

/// What dashboards show beside a name must not look like a result of the real machine.
std::string class_name(const CaseResult& result, bool is_simulated) {
  std::vector<std::string> parts;
  if (is_simulated) parts.emplace_back("simulated");
  for (const auto& part : {result.system, result.partition, result.probe})
    if (!part.empty()) parts.push_back(part);
  return join(parts, ".");
}

/// The body of a failure or error: GitLab shows this and not the message.
std::string explanation(const CaseResult& result) {
  std::string text = result.reason + "\n";
  for (const auto& finding : result.findings)
    if (finding.reason != result.reason) text += "also: " + finding.reason + "\n";
  for (const auto& culprit : culprit_phrases(result.culprits)) text += "culprit: " + culprit + "\n";
  for (const auto& item : result.items)
    text += fmt::format("outside: {} {}\n", labelled(item.metric, item.where), item_phrase(item));
  if (!result.remedy.empty()) text += "remedy: " + result.remedy + "\n";
  if (!result.rerun.empty()) text += "run again: " + shell_line(result.rerun) + "\n";
  return text;
}

void add_verdict(pugi::xml_node testcase, const CaseResult& result) {
  if (result.verdict == Verdict::pass) return;
  if (result.verdict == Verdict::skip) {
    set(testcase.append_child("skipped"), "message", result.reason);
    return;
  }
  const bool is_failure = result.verdict == Verdict::fail;
  auto element = testcase.append_child(is_failure ? "failure" : "error");
  set(element, "message", result.reason);
  set(element, "type", is_failure ? result.check : std::string(to_string(result.verdict)));
  set_text(element, explanation(result));
}

void add_case_properties(pugi::xml_node testcase, const CaseResult& result) {
  auto properties = testcase.append_child("properties");
  for (const auto& row : result.metrics) {
    const auto node = row.node.empty() ? std::string() : "@" + row.node;
    add_property(properties, "metric." + labelled(row.metric, row.where) + node, value_phrase(row.over, row.unit));
  }
  if (!result.node.empty()) add_property(properties, "node", result.node);
  for (const auto& [name, value] : result.params) add_property(properties, "param." + name, value);
  for (const auto& culprit : culprit_phrases(result.culprits)) add_property(properties, "culprit", culprit);
  for (const auto& note : result.notes) add_property(properties, "note", note);
  if (const auto passed = repetitions_passed(result); !passed.empty()) add_property(properties, "repetitions", passed);
  if (!result.place.empty()) add_property(properties, "place", result.place);
  if (properties.first_child().empty()) testcase.remove_child(properties);
}

void add_output(pugi::xml_node testcase, const CaseResult& result) {
  std::string text;
  for (const auto& sentence : result.evidence) text += "evidence: " + sentence + "\n";
  for (const auto& output : result.outputs) {
    text += fmt::format("--- {}{}{}\n{}", output.rank < 0 ? "job" : fmt::format("rank {}", output.rank),
                        output.node.empty() ? "" : " on ", output.node, output.text);
    if (text.back() != '\n') text += '\n';
  }
  if (!text.empty()) set_text(testcase.append_child("system-out"), text);
}

void add_case(pugi::xml_node suite, const CaseResult& result, bool is_simulated) {
  auto testcase = suite.append_child("testcase");
  set(testcase, "classname", class_name(result, is_simulated));
  set(testcase, "name", title(result));
  set(testcase, "time", seconds_text(result.seconds));
  add_case_properties(testcase, result);
  add_verdict(testcase, result);
  add_output(testcase, result);
}

void add_counts(pugi::xml_node element, const RunReport& report, bool with_skipped) {
  const auto counts = tally(report.cases);
  element.append_attribute("tests") = counts.total();
  element.append_attribute("failures") = counts.of(Verdict::fail);
  element.append_attribute("errors") = counts.of(Verdict::error) + counts.of(Verdict::unmeasured);
  if (with_skipped) element.append_attribute("skipped") = counts.of(Verdict::skip);
  set(element, "time", seconds_text(report.seconds));
}

void add_run_properties(pugi::xml_node suite, const RunReport& report) {
  auto properties = suite.append_child("properties");
  add_property(properties, "run", report.run_id);
  add_property(properties, "verdict", std::string(to_string(report.verdict)));
  add_property(properties, "exit_status", std::to_string(report.exit_status));
  add_property(properties, "muster", report.muster_version);
  add_property(properties, "command", shell_line(report.command_line));
  if (!report.folder.empty()) add_property(properties, "folder", report.folder);
  if (!report.interrupted.empty()) add_property(properties, "interrupted", report.interrupted);
  if (!report.simulated.empty()) add_property(properties, "simulated", report.simulated);
  for (const auto& variable : report.variables) add_property(properties, "variable." + variable.key, variable.value);
  std::set<std::string> launchers;
  for (const auto& launch : report.launches) launchers.insert(launch.launcher);
  for (const auto& launcher : launchers) add_property(properties, "launcher", launcher);
  for (const auto& note : report.notes) add_property(properties, "note", note);
  for (const auto& node : report.nodes) {
    add_property(properties, "node", node.node);
    for (const auto& fact : node.facts) add_property(properties, fmt::format("{}.{}", node.node, fact.key), fact.value);
  }
}

std::string suite_name(const RunReport& report) {
  std::string name = report.simulated.empty() ? "muster" : "muster.simulated";
  if (!report.system.empty()) name += "." + report.system;
  return name;
}

class Junit : public Reporter {
 public:
  void run_finished(const RunReport& report, std::ostream& out) override {
    pugi::xml_document document;
    auto root = document.append_child("testsuites");
    set(root, "name", "muster");
    add_counts(root, report, false);  // Jenkins' schema knows no `skipped` here
    auto suite = root.append_child("testsuite");
    set(suite, "name", suite_name(report));
    add_counts(suite, report, true);
    set(suite, "timestamp", timestamp(report.started));
    set(suite, "hostname", report.host);
    add_run_properties(suite, report);
    for (const auto& result : report.cases) add_case(suite, result, !report.simulated.empty());
    out << R"(<?xml version="1.0" encoding="UTF-8"?>)" << '\n';
    document.save(out, " ", pugi::format_default | pugi::format_no_declaration, pugi::encoding_utf8);
  }
};

std::unique_ptr<Reporter> make_junit(const ReporterOptions&) {
  return std::make_unique<Junit>();
}

}  // namespace

extern const ReporterSpec reporter_junit{
    .name = "junit",
    .summary = "JUnit XML for Jenkins, GitLab and others (reports/schema/junit.xsd).",
    .file_name = "junit.xml",
    .make = make_junit,
};

}  // namespace muster
