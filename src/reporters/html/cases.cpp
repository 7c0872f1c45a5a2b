// The text of each case.
#include <algorithm>
#include <fmt/format.h>

#include "base/hostlist.hpp"
#include "base/text.hpp"
#include "reporters/common/phrases.hpp"
#include "reporters/html/parts.hpp"

namespace muster::html {

namespace {

constexpr std::size_t most_items = 200;
constexpr std::size_t most_outputs = 40;
constexpr std::size_t most_output = 8'000;
constexpr std::size_t most_repetitions = 1'000;
/// Of a case in short form.
constexpr std::size_t brief_bytes = 400;

void write_culprits(PageWriter& writer, const std::vector<Culprit>& culprits) {
  JsonText& out = writer.out;
  out.list("culprits", culprits, [&](const Culprit& culprit) {
    out.begin_object();
    out.member("kind", to_string(culprit.kind));
    out.member("text", culprit_phrase(culprit));
    if (!culprit.node.empty()) out.member("node", writer.nodes.find(culprit.node));
    if (culprit.rank >= 0) out.member("rank", culprit.rank);
    out.end_object();
  });
}

void write_findings(PageWriter& writer, const CaseResult& result) {
  JsonText& out = writer.out;
  out.list("findings", result.findings, [&](const Finding& finding) {
    out.begin_object();
    out.member("verdict", static_cast<int>(finding.verdict));
    out.member("reason", finding.reason);
    out.member("remedy", finding.remedy);
    out.member("follows", finding.follows);
    write_culprits(writer, finding.culprits);
    out.end_object();
  });
}

void write_items(PageWriter& writer, const CaseResult& result) {
  JsonText& out = writer.out;
  if (result.items.empty()) return;
  out.key("items");
  out.begin_list();
  for (std::size_t i = 0; i < result.items.size() && i < most_items; ++i) {
    const Item& item = result.items[i];
    out.begin_object();
    out.member("metric", item.metric);
    out.member("unit", item.unit);
    write_labels(out, item.where);
    out.member("rank", item.rank);
    out.member("peer", item.peer);
    out.member("node", writer.nodes.find(item.node));
    out.member("verdict", static_cast<int>(item.verdict));
    write_summary(out, item.summary);
    write_bounds(out, item.bounds);
    out.end_object();
  }
  out.end_list();
  if (result.items.size() > most_items) out.member("items_left_out", result.items.size() - most_items);
}

void write_outputs(PageWriter& writer, const CaseResult& result) {
  JsonText& out = writer.out;
  if (result.outputs.empty()) return;
  out.key("outputs");
  out.begin_list();
  for (std::size_t i = 0; i < result.outputs.size() && i < most_outputs; ++i) {
    const RankOutput& output = result.outputs[i];
    out.begin_object();
    out.member("rank", output.rank);
    out.member("node", writer.nodes.find(output.node));
    out.key("text");
    out.text(tail(output.text, most_output));
    out.end_object();
  }
  out.end_list();
  if (result.outputs.size() > most_outputs) out.member("outputs_left_out", result.outputs.size() - most_outputs);
}

void write_repetitions(PageWriter& writer, const CaseResult& result) {
  if (result.repetitions.size() < 2) return;
  JsonText& out = writer.out;
  out.member("repeated", repetitions_passed(result));
  std::string verdicts;
  for (std::size_t i = 0; i < result.repetitions.size() && i < most_repetitions; ++i)
    verdicts += static_cast<char>('0' + static_cast<int>(result.repetitions[i].verdict));
  out.member("repetitions", verdicts);
}

/// Which nodes took part, and how each did: a digit is a verdict.
void write_node_rows(PageWriter& writer, const CaseGroup& shown) {
  JsonText& out = writer.out;
  std::vector<int> nodes;
  std::string verdicts;
  for (const auto* result : shown.all) {
    for (const auto& row : result->node_rows) {
      nodes.push_back(writer.nodes.find(row.node));
      verdicts += static_cast<char>('0' + static_cast<int>(row.verdict));
    }
    if (!result->node_rows.empty() || result->node.empty()) continue;
    nodes.push_back(writer.nodes.find(result->node));
    verdicts += static_cast<char>('0' + static_cast<int>(result->verdict));
  }
  out.list("on", nodes, [&](int node) { out.number(node); });
  out.member("on_verdicts", verdicts);
}

/// Whom it is about and what came of it; enough for a line in a list.
void write_line(PageWriter& writer, const CaseGroup& shown) {
  JsonText& out = writer.out;
  const CaseResult& result = *shown.first;
  out.member("id", shown.is_folded() ? common_title(result) : title(result));
  out.member("check", result.check);
  out.member("verdict", static_cast<int>(result.verdict));
  double seconds = 0;
  for (const auto* one : shown.all) seconds = std::max(seconds, one->seconds);
  out.member("seconds", seconds);
  if (shown.is_folded()) {
    std::vector<std::string> names;
    for (const auto* one : shown.all) names.push_back(printable_line(one->node));
    out.member("count", shown.all.size());
    out.member("hosts", compress_hostlist(names));
  }
  const bool is_about_all = !shown.is_folded() || needs_attention(result.verdict) || result.verdict == Verdict::skip;
  out.member("brief", is_about_all ? brief(result) : fmt::format("{} are well", counted(shown.all.size(), "node")));
  write_node_rows(writer, shown);
}

void write_words(PageWriter& writer, const CaseResult& result) {
  JsonText& out = writer.out;
  const auto text = [&](const std::string& one) { out.text(one); };
  out.member("probe", result.probe);
  out.member("summary", result.summary);
  out.member("place", result.place);
  out.list("tags", result.tags, text);
  out.list("params", result.params, [&](const auto& param) {
    out.begin_list();
    out.text(param.first);
    out.text(param.second);
    out.end_list();
  });
  out.member("where", join(std::vector<std::string>{result.system, result.partition}, ":"));
  out.member("environment", result.environment);
  out.member("shape", shape_phrase(result.nodes, result.ranks));
  out.member("reason", result.reason);
  out.member("remedy", result.remedy);
  out.member("follows", result.follows);
  write_culprits(writer, result.culprits);
  write_findings(writer, result);
  out.list("evidence", result.evidence, text);
  out.list("notes", result.notes, text);
  out.member("rerun", shell_line(result.rerun));
  write_repetitions(writer, result);
  write_items(writer, result);
  write_outputs(writer, result);
}

/// Of the list of nodes that took part.
std::size_t nodes_size(const CaseGroup& shown) {
  std::size_t size = 0;
  for (const auto* result : shown.all) size += 6 * std::max<std::size_t>(1, result->node_rows.size());
  return size;
}

std::size_t size_of(const CaseResult& result) {
  std::size_t size =
      1'500 + result.reason.size() + result.remedy.size() + 400 * std::min(result.items.size(), most_items);
  for (const auto& finding : result.findings) size += 100 + finding.reason.size() + finding.remedy.size();
  for (const auto& output : result.outputs) size += std::min(output.text.size(), most_output);
  return size + 150 * result.metrics.size();
}

}  // namespace

void write_cases(PageWriter& writer) {
  JsonText& out = writer.out;
  const Wanted wanted = choose_rows(writer);
  std::size_t brief_ones = 0;
  std::size_t unnamed = 0;
  out.key("cases");
  out.begin_list();
  for (std::size_t i = 0; i < writer.cases.size(); ++i) {
    const CaseGroup& shown = writer.cases[i];
    const std::size_t of_nodes = nodes_size(shown);
    const bool is_whole = writer.rooms.cases.take(size_of(*shown.first) + of_nodes);
    if (!is_whole && !writer.rooms.cases.take(brief_bytes + of_nodes)) {
      ++unnamed;
      continue;
    }
    out.begin_object();
    write_line(writer, shown);
    if (is_whole) {
      write_words(writer, *shown.first);
      write_metrics(writer, shown, wanted[i]);
      write_ranks(writer, *shown.first);
      write_matrices(writer, *shown.first);
    } else {
      ++brief_ones;
      out.member("is_brief", 1);
    }
    out.end_object();
  }
  out.end_list();
  if (brief_ones > 0) writer.left_out.push_back("all but one line of " + counted(brief_ones, "case"));
  if (unnamed > 0) writer.left_out.push_back(counted(unnamed, "case") + " altogether");
}

}  // namespace muster::html
