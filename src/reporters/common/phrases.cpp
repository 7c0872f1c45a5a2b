#include "reporters/common/phrases.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <fmt/format.h>

#include "base/hostlist.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "model/series.hpp"
#include "reporters/common/paragraph.hpp"

namespace muster {

namespace {

std::string harmless(std::string_view text) {
  return printable_line(text, uncut);
}

std::string span_phrase(const MetricRow& row) {
  if (row.over.n < 2) return {};
  return fmt::format(" of {} readings, {} to {}", row.over.n, format_value(row.over.min, ""),
                     format_value(row.over.max, ""));
}

/// Labels only where they are needed to distinguish rows: the number matters more, and the line is short.
std::string metric_brief(const CaseResult& result, const MetricRow& row) {
  const auto alike = std::count_if(result.metrics.begin(), result.metrics.end(), [&](const MetricRow& other) {
    return other.metric == row.metric && other.node.empty();
  });
  return fmt::format("{} {}", labelled(row.metric, alike > 1 ? row.where : Labels{}), value_phrase(row.over, row.unit));
}

/// The metrics of a case that is well, judged ones before those only reported.
std::string metrics_brief(const CaseResult& result, bool judged) {
  std::vector<std::string> phrases;
  for (const auto& row : result.metrics)
    if ((row.judged > 0) == judged && row.node.empty()) phrases.push_back(metric_brief(result, row));
  return join(phrases, ", ");
}

/// What a program prints is the only result of its check: other probes have numbers that are not judged, too.
constexpr std::string_view of_programs = "command";

bool is_judged(const CaseResult& result, std::string_view metric) {
  return std::any_of(result.metrics.begin(), result.metrics.end(),
                     [&](const MetricRow& row) { return row.metric == metric && row.judged > 0; });
}

/// `copy 23000 MB/s, triad 24044 MB/s (no bound)`; empty: there is no such metric.
std::string unbounded_brief(const CaseResult& result) {
  constexpr std::size_t most = 4;
  if (result.probe != of_programs) return {};
  std::vector<std::string> phrases;
  for (const auto& row : result.metrics)
    if (row.node.empty() && base_metric(row.metric) == row.metric && !is_judged(result, row.metric))
      phrases.push_back(metric_brief(result, row));
  if (phrases.empty()) return {};
  const auto others = phrases.size() - std::min(phrases.size(), most);
  phrases.resize(phrases.size() - others);
  return fmt::format("{}{} (no bound)", join(phrases, ", "), others == 0 ? "" : fmt::format(" and {} more", others));
}

/// `at least 135 GB/s`, `at most 4`, `4 to 6 us`; empty: neither end is known.
std::string range_phrase(const BoundOutcome& bound, std::string_view unit) {
  if (bound.least && bound.most)
    return fmt::format("{} to {}", trim(format_value(*bound.least, "")), format_value(*bound.most, unit));
  if (bound.least) return "at least " + format_value(*bound.least, unit);
  return bound.most ? "at most " + format_value(*bound.most, unit) : "";
}

/// Of a case in which readings are outside of a bound: the first of them and the bound that it breaks. Empty: its
/// verdict does not come from a bound.
std::string worst_value(const CaseResult& result) {
  for (const auto& item : result.items) {
    if (item.verdict != result.verdict || result.reason.rfind(item.metric, 0) != 0) continue;
    for (const auto& bound : item.bounds) {
      const auto range = bound.verdict == result.verdict ? range_phrase(bound, item.unit) : "";
      if (range.empty()) continue;
      const auto others = result.items.size() - 1;
      return harmless(fmt::format("{} {}, bound {}{}", labelled(item.metric, item.where),
                                  value_phrase(item.summary, item.unit), range,
                                  others == 0 ? "" : fmt::format(", and {} more", others)));
    }
  }
  return "";
}

/// As a word of its own: not `nid00` in `nid001`.
bool has_word(std::string_view text, std::string_view word) {
  const auto is_of_name = [&](std::size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1))
    if ((at == 0 || !is_of_name(at - 1)) && !is_of_name(at + word.size())) return true;
  return false;
}

/// Each of them is in `why` already, by its node or, without one, by its name.
bool are_named(const std::vector<Culprit>& culprits, const std::string& why) {
  return std::all_of(culprits.begin(), culprits.end(), [&](const Culprit& one) {
    return has_word(why, harmless(one.node.empty() ? one.name : one.node));
  });
}

std::string titled(const CaseResult& result, std::string_view id) {
  std::string text = harmless(id);
  for (const auto& [name, value] : result.params)
    if (is_in(name, result.swept)) text += fmt::format(" {}={}", harmless(name), harmless(value));
  return text;
}

}  // namespace

std::string verdict_word(Verdict verdict) {
  std::string word(to_string(verdict));
  if (needs_attention(verdict))
    for (char& letter : word) letter = static_cast<char>(letter - 'a' + 'A');
  return word;
}

bool needs_attention(Verdict verdict) {
  return verdict != Verdict::pass && verdict != Verdict::skip;
}

std::span<const Verdict> verdicts_by_urgency() {
  static constexpr std::array order{Verdict::fail, Verdict::error, Verdict::unmeasured, Verdict::pass, Verdict::skip};
  return order;
}

std::string tally_phrase(const Tally& tally) {
  std::vector<std::string> parts;
  for (const auto verdict : verdicts_by_urgency())
    if (tally.of(verdict) > 0) parts.push_back(fmt::format("{} {}", tally.of(verdict), to_string(verdict)));
  return join(parts, ", ");
}

std::string title(const CaseResult& result) {
  return titled(result, result.id);
}

std::string common_title(const CaseResult& result) {
  const auto end = "@" + result.node;
  const bool has_node = !result.node.empty() && result.id.ends_with(end);
  return titled(result, has_node ? result.id.substr(0, result.id.size() - end.size()) : result.id);
}

std::vector<std::string> folded_titles(const std::vector<const CaseResult*>& results) {
  struct Same {
    const CaseResult* first;
    std::string title;
    std::vector<std::string> nodes;
  };
  std::vector<Same> all;
  for (const auto* result : results) {
    auto name = common_title(*result);
    auto known = std::find_if(all.begin(), all.end(), [&](const Same& one) { return one.title == name; });
    if (known == all.end()) known = all.insert(all.end(), {result, std::move(name), {}});
    if (!result->node.empty()) known->nodes.push_back(harmless(result->node));
  }
  std::vector<std::string> titles;
  for (const auto& one : all)
    titles.push_back(one.nodes.size() < 2 ? title(*one.first)
                                          : fmt::format("{} on {}", one.title, compress_hostlist(one.nodes)));
  return titles;
}

std::string repetitions_passed(const CaseResult& result) {
  if (result.repetitions.size() < 2) return {};
  const auto passed = std::count_if(result.repetitions.begin(), result.repetitions.end(),
                                    [](const Repetition& one) { return one.verdict == Verdict::pass; });
  return fmt::format("{}/{} passed", passed, result.repetitions.size());
}

std::string labelled(const std::string& metric, const Labels& where) {
  if (where.empty()) return harmless(metric);
  std::vector<std::string> labels;
  for (const auto& [key, value] : where) labels.push_back(fmt::format("{}={}", harmless(key), harmless(value)));
  return fmt::format("{}{{{}}}", harmless(metric), join(labels, ","));
}

std::string value_phrase(const Summary& summary, const std::string& unit) {
  if (summary.n == 0 || !std::isfinite(summary.median)) return "no value";
  return harmless(format_value(summary.median, unit));
}

std::string metric_phrase(const MetricRow& row) {
  std::string text =
      fmt::format("{}{}{}", row.over.n > 1 ? "median " : "", value_phrase(row.over, row.unit), span_phrase(row));
  if (row.worst_rank >= 0 && row.over.n > 1) text += fmt::format(", worst on rank {}", row.worst_rank);
  if (row.judged > 0)
    text += fmt::format("; {} of {} inside {}", row.passed, row.judged, row.bound.empty() ? "its bounds" : row.bound);
  else
    text += "; not judged";
  return harmless(text);
}

std::string item_phrase(const Item& item) {
  std::string text = value_phrase(item.summary, item.unit);
  if (item.rank >= 0) text += fmt::format(" on rank {}", item.rank);
  if (!item.node.empty()) text += fmt::format(" {} {}", item.rank >= 0 ? "of" : "on", item.node);
  if (item.peer >= 0) text += fmt::format(" towards rank {}", item.peer);
  std::vector<std::string> broken;
  for (const auto& bound : item.bounds)
    if (bound.verdict != Verdict::pass) broken.push_back(bound.text);
  if (!broken.empty()) text += ": " + join(broken, "; ");
  return harmless(text);
}

std::string culprit_phrase(const Culprit& culprit) {
  auto text = harmless(culprit.name);
  if (!culprit.node.empty() && text.find(culprit.node) == std::string::npos) text += " on " + harmless(culprit.node);
  const bool speaks = culprit.kind == CulpritKind::rank || culprit.kind == CulpritKind::node ||
                      text.find(to_string(culprit.kind)) != std::string::npos;
  return speaks ? text : fmt::format("{} {}", to_string(culprit.kind), text);
}

std::vector<std::string> culprit_phrases(const std::vector<Culprit>& culprits) {
  std::vector<std::string> phrases;
  for (const auto& culprit : culprits) phrases.push_back(culprit_phrase(culprit));
  return phrases;
}

std::string numbers_phrase(const CaseResult& result) {
  const auto judged = metrics_brief(result, true);
  const auto unbounded = unbounded_brief(result);
  return judged.empty() || unbounded.empty() ? judged + unbounded : judged + ", " + unbounded;
}

std::string brief(const CaseResult& result) {
  if (needs_attention(result.verdict)) {
    std::vector<Culprit> placed;
    for (const auto& culprit : result.culprits)
      if (!culprit.node.empty() || culprit.rank >= 0) placed.push_back(culprit);
    auto why = worst_value(result);
    if (why.empty()) why = harmless(result.reason);
    return are_named(placed, why) ? why : fmt::format("{} ({})", why, human_list(culprit_phrases(placed), 2));
  }
  if (result.verdict == Verdict::skip) return harmless(result.reason);
  if (auto numbers = numbers_phrase(result); !numbers.empty()) return numbers;
  if (!result.evidence.empty()) return harmless(join(result.evidence, "; "));
  if (auto reported = metrics_brief(result, false); !reported.empty()) return reported;
  return harmless(result.reason);
}

std::vector<std::string> rows_of(std::string_view reason) {
  constexpr std::size_t long_enough = 200;
  constexpr std::size_t several = 4;
  constexpr std::string_view between = "; ";
  std::vector<std::string> rows;
  for (std::size_t from = 0; from <= reason.size();) {
    const auto end = std::min(reason.find(between, from), reason.size());
    rows.emplace_back(reason.substr(from, end - from));
    from = end + between.size();
  }
  if (reason.size() < long_enough || rows.size() < several) return {std::string(reason)};
  return rows;
}

std::string shape_phrase(int nodes, int ranks) {
  if (nodes < 1) return counted(static_cast<std::size_t>(std::max(ranks, 0)), "rank");
  const auto of_nodes = counted(static_cast<std::size_t>(nodes), "node");
  if (ranks % nodes != 0 || ranks < 1)
    return fmt::format("{}, {}", of_nodes, counted(static_cast<std::size_t>(std::max(ranks, 0)), "rank"));
  return fmt::format("{} x {}", of_nodes, counted(static_cast<std::size_t>(ranks / nodes), "rank"));
}

std::string variables_phrase(const RunReport& report) {
  std::string text;
  for (const auto& variable : report.variables)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", printable_line(variable.key, uncut),
                        printable_line(variable.value, uncut));
  return text;
}

std::string remark_phrase(const Fact& variable) {
  const auto value = printable_line(variable.value, uncut);
  if (variable.key == "MUSTER_CHECKS") return fmt::format("checks and profiles come from {} (MUSTER_CHECKS)", value);
  for (const std::string_view place :
       {"HOME", "PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "PWD", "TMPDIR", "TMP", "TEMP", "TEMPDIR"})
    if (variable.key == place) return fmt::format("{}: {}", place, value);
  return "";
}

std::string time_phrase(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  return seconds < 99.95 ? fmt::format("{:.1f} s", seconds) : clock_phrase(seconds);
}

std::string clock_phrase(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "?";
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace muster
