// The run as a whole: head, nodes, launches.
#include <fmt/format.h>

#include "base/hostlist.hpp"
#include "base/text.hpp"
#include "reporters/common/phrases.hpp"
#include "reporters/html/parts.hpp"

namespace muster::html {

namespace {

constexpr std::size_t most_launches = 500;

void write_head(JsonText& out, const RunReport& report) {
  out.member("id", report.run_id);
  out.member("version", report.muster_version);
  out.member("started", report.started);
  out.member("took", time_phrase(report.seconds));
  out.member("command", shell_line(report.command_line));
  out.member("host", report.host);
  out.member("user", report.user);
  out.member("system", report.system);
  out.member("place", report.system_place);
  out.member("folder", report.folder);
  out.member("interrupted", report.interrupted);
  out.member("simulated", report.simulated);
}

/// The largest shape of the run.
std::string largest_shape(const RunReport& report) {
  const LaunchRecord* largest = nullptr;
  for (const auto& launch : report.launches)
    if (largest == nullptr || launch.ranks > largest->ranks) largest = &launch;
  return largest == nullptr ? "" : shape_phrase(static_cast<int>(largest->nodes.size()), largest->ranks);
}

}  // namespace

void write_run(PageWriter& writer) {
  const RunReport& report = writer.report;
  JsonText& out = writer.out;
  out.key("run");
  out.begin_object();
  write_head(out, report);
  out.member("verdict", static_cast<int>(report.verdict));
  out.member("exit", report.exit_status);
  out.member("shape", largest_shape(report));
  const auto counts = tally(report.cases);
  out.list("tally", counts.counts, [&](int count) { out.number(count); });
  auto notes = report.notes;
  if (!report.variables.empty()) notes.push_back("variables: " + variables_phrase(report));
  out.list("notes", notes, [&](const std::string& note) { out.text(note); });
  out.end_object();
}

void write_nodes(PageWriter& writer) {
  JsonText& out = writer.out;
  out.list("nodes", writer.nodes.all(), [&](const std::string& name) { out.text(name, 10'000); });
  Names keys;
  for (const auto& node : writer.report.nodes)
    for (const auto& fact : node.facts) keys.of(fact.key);
  // By key, so that a value that all nodes share is a run of the same number.
  std::vector<std::vector<int>> columns(keys.all().size(), std::vector<int>(writer.report.nodes.size(), -1));
  for (std::size_t at = 0; at < writer.report.nodes.size(); ++at)
    for (const auto& fact : writer.report.nodes[at].facts)
      columns[static_cast<std::size_t>(keys.find(fact.key))][at] = writer.texts.of(fact.value);
  std::size_t left_out = 0;
  out.key("facts");
  out.begin_list();
  for (std::size_t key = 0; key < columns.size(); ++key) {
    if (!writer.rooms.facts.take(columns[key].size() * 7)) {
      ++left_out;
      continue;
    }
    out.begin_object();
    out.member("key", keys.all()[key]);
    out.list("values", columns[key], [&](int value) { out.number(value); });
    out.end_object();
  }
  out.end_list();
  if (left_out > 0) writer.left_out.push_back(fmt::format("{} of the nodes' provenance", counted(left_out, "fact")));
}

void write_launches(PageWriter& writer) {
  JsonText& out = writer.out;
  const auto& launches = writer.report.launches;
  out.key("launches");
  out.begin_list();
  for (std::size_t i = 0; i < launches.size() && i < most_launches; ++i) {
    const auto& launch = launches[i];
    out.begin_object();
    out.member("launcher", launch.launcher);
    out.member("command", shell_line(launch.argv));
    out.member("nodes", compress_hostlist(launch.nodes));
    out.member("shape", shape_phrase(static_cast<int>(launch.nodes.size()), launch.ranks));
    out.member("took", time_phrase(launch.seconds));
    out.member("outcome", launch.outcome);
    out.member("cases", launch.cases.size());
    out.end_object();
  }
  out.end_list();
  if (launches.size() > most_launches)
    writer.left_out.push_back(counted(launches.size() - most_launches, "launch") + " of many");
}

std::string data_of(const RunReport& report) {
  PageWriter writer{report, nodes_of(report)};
  writer.cases = grouped_cases(report);
  JsonText& out = writer.out;
  out.begin_object();
  out.member("form", 1);
  write_run(writer);
  write_nodes(writer);
  write_launches(writer);
  write_cases(writer);
  out.list("texts", writer.texts.all(), [&](const std::string& text) { out.text(text, 10'000); });
  out.list("left_out", writer.left_out, [&](const std::string& text) { out.text(text); });
  out.end_object();
  return out.view();
}

}  // namespace muster::html
