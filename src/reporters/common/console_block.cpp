#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "model/series.hpp"
#include "reporters/common/console_text.hpp"
#include "reporters/common/paragraph.hpp"
#include "reporters/common/phrases.hpp"

namespace muster {

namespace {

constexpr std::size_t most_rows = 6;          // metrics or readings of one block
constexpr std::size_t most_findings = 4;      // beside the first
constexpr std::size_t most_output_lines = 8;  // of one rank
constexpr std::size_t most_output_ranks = 2;
constexpr std::size_t most_line_bytes = 600;  // of a line of output

std::string more_line(std::size_t all, std::size_t shown, const Page& page) {
  if (all <= shown) return {};
  return entry("", fmt::format("and {} more, see the report", all - shown), page);
}

/// A sentence about many ranks, a row for each.
std::string reason_entries(const CaseResult& result, const Page& page) {
  const auto rows = rows_of(result.reason);
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) text += entry(i == 0 ? "reason" : "", rows[i], page);
  return text;
}

std::string other_findings(const CaseResult& result, const Page& page) {
  std::vector<std::string> reasons;
  for (const auto& finding : result.findings) {
    const bool is_reported = finding.reason == result.reason || is_in(finding.reason, reasons);
    if (!is_reported) reasons.push_back(finding.reason);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(reasons.size(), most_findings); ++i)
    text += entry(i == 0 ? "also" : "", reasons[i], page);
  return text + more_line(reasons.size(), most_findings, page);
}

/// What broke a bound comes first; what passed is context, and what the hardware could do stands last.
std::string metric_entries(const CaseResult& result, const Page& page) {
  std::vector<const MetricRow*> rows;
  for (const auto& row : result.metrics)
    if (row.node.empty()) rows.push_back(&row);
  const auto place = [](const MetricRow& row) {
    return std::pair(row.passed - row.judged, base_metric(row.metric) != row.metric);
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const MetricRow* a, const MetricRow* b) { return place(*a) < place(*b); });
  std::string text;
  for (std::size_t i = 0; i < std::min(rows.size(), most_rows); ++i)
    text += entry(i == 0 ? "metrics" : "", labelled(rows[i]->metric, rows[i]->where) + ": " + metric_phrase(*rows[i]),
                  page);
  return text + more_line(rows.size(), most_rows, page);
}

std::string item_entries(const CaseResult& result, const Page& page) {
  std::string text;
  for (std::size_t i = 0; i < std::min(result.items.size(), most_rows); ++i) {
    const auto& item = result.items[i];
    text += entry(i == 0 ? "outside" : "", labelled(item.metric, item.where) + " " + item_phrase(item), page);
  }
  return text + more_line(result.items.size(), most_rows, page);
}

/// The outputs of the ranks at fault; without a culprit, of the first rank that printed anything.
std::vector<const RankOutput*> reporting_outputs(const CaseResult& result) {
  std::vector<const RankOutput*> chosen;
  for (const auto& culprit : result.culprits)
    for (const auto& output : result.outputs)
      if (culprit.rank >= 0 && output.rank == culprit.rank && !trim(output.text).empty() &&
          chosen.size() < most_output_ranks && !is_in(&output, chosen))
        chosen.push_back(&output);
  if (!chosen.empty()) return chosen;
  for (const auto& output : result.outputs)
    if (!trim(output.text).empty()) return {&output};
  return {};
}

/// Tabs as spaces, so that a traceback keeps its shape; escapes made visible.
std::string output_line(std::string_view line, const Page& page) {
  std::string text;
  for (const char byte : line) byte == '\t' ? text.append("    ") : text.append(1, byte);
  return std::string(margin_columns, ' ') +
         page.ink.faint("| " + wrap(printable_line(text, most_line_bytes), page.width, margin_columns + 2)) + "\n";
}

std::string output_entries(const CaseResult& result, const Page& page) {
  std::string text;
  for (const auto* output : reporting_outputs(result)) {
    // Lines are parted before they are made harmless, so that a control character can't hide where one ends.
    auto all = lines(output->text);
    while (!all.empty() && trim(all.back()).empty()) all.pop_back();
    const auto first = all.size() > most_output_lines ? all.size() - most_output_lines : 0;
    text += entry("output",
                  fmt::format("of {}{}{}{}", output->rank < 0 ? "the job" : fmt::format("rank {}", output->rank),
                              output->node.empty() ? "" : " on ", output->node,
                              first > 0 ? fmt::format(", its last {} lines", all.size() - first) : ""),
                  page);
    for (auto i = first; i < all.size(); ++i) text += output_line(all[i], page);
  }
  return text;
}

std::string where_entry(const CaseResult& result, const Page& page) {
  std::string where = shape_phrase(result.nodes, result.ranks);
  if (!result.partition.empty()) where += " of " + result.partition;
  if (!result.environment.empty()) where += " in " + result.environment;
  where += ", " + time_phrase(result.seconds);
  if (!result.place.empty()) where += ", " + result.place;
  return entry("case", where, page);
}

/// Omitted if it is the same in every repetition; where they differ it lists the relevant ones.
std::string repetition_entry(const CaseResult& result, const Page& page) {
  const auto passed = repetitions_passed(result);
  if (passed.empty()) return {};
  std::vector<std::string> others;
  for (const auto& one : result.repetitions)
    if (one.verdict != Verdict::pass) others.push_back(std::to_string(one.index));
  if (others.empty() || others.size() == result.repetitions.size()) return entry("repeated", passed, page);
  return entry("repeated", fmt::format("{}; not these: {}", passed, human_list(others, 12)), page);
}

}  // namespace

std::string entry(std::string_view label, std::string_view text, const Page& page) {
  const auto harmless = printable_line(text, uncut);
  if (harmless.empty()) return {};
  return fmt::format("  {}{}\n", page.ink.faint(pad(label, margin_columns - 2)),
                     wrap(harmless, page.width, margin_columns));
}

std::string case_block(const Block& block, const Page& page) {
  const CaseResult& result = *block.first;
  const auto alike = folded_titles(block.alike);
  std::string text =
      fmt::format("{}  {}\n", page.ink.of(result.verdict, verdict_word(result.verdict)), page.ink.bold(title(result)));
  if (!alike.empty()) text += entry("likewise", human_list(alike, 12), page);
  if (!result.follows.empty()) text += entry("follows", "from what " + result.follows + " found", page);
  text += reason_entries(result, page);
  if (block.same_remedy != nullptr)
    text += entry(result.culprits.empty() ? "remedy" : "culprits",
                  fmt::format("{}as for {}", result.culprits.empty() ? "" : "and remedy ", title(*block.same_remedy)),
                  page);
  else
    text += entry("culprits", human_list(culprit_phrases(result.culprits)), page);
  text += other_findings(result, page);
  text += repetition_entry(result, page);
  text += item_entries(result, page);
  text += metric_entries(result, page);
  text += entry("evidence", join(result.evidence, "; "), page);
  text += output_entries(result, page);
  for (const auto& note : result.notes) text += entry("note", note, page);
  text += where_entry(result, page);
  if (block.same_remedy == nullptr) text += entry("remedy", result.remedy, page);
  if (!result.rerun.empty())  // one line, however long, so that it can be copied
    text += fmt::format("  {}{}\n", page.ink.faint(pad("run again", margin_columns - 2)),
                        printable_line(shell_line(result.rerun), uncut));
  return text;
}

}  // namespace muster
