// One case on many nodes, each judged by itself: equal results of many nodes are printed once.
#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <map>
#include <span>

#include "base/hostlist.hpp"
#include "base/text.hpp"
#include "reporters/common/console_text.hpp"
#include "reporters/common/paragraph.hpp"
#include "reporters/common/phrases.hpp"

namespace muster {

namespace {

constexpr std::size_t most_node_lines = 8;  // of one verdict

using Results = std::vector<const CaseResult*>;

std::string host_list(std::span<const CaseResult* const> results) {
  std::vector<std::string> nodes;
  for (const auto* result : results) nodes.push_back(printable_line(result->node, uncut));
  return compress_hostlist(nodes);
}

/// `pass       hello%3f2a9c1d    0.4 s  62 nodes: nid[001-062]`, the seconds being those of the slowest.
std::string folded_line(std::span<const CaseResult* const> results, std::string_view which, std::size_t title_columns,
                        const Page& page) {
  const auto& first = *results.front();
  double seconds = 0;
  for (const auto* result : results) seconds = std::max(seconds, result->seconds);
  const auto head = fmt::format("{} {} {}  ", pad(verdict_word(first.verdict), verdict_columns),
                                pad(common_title(first), title_columns), pad_left(time_phrase(seconds), 7));
  auto nodes = fmt::format("{} {}nodes: {}", results.size(), which, host_list(results));
  if (first.verdict == Verdict::skip) nodes += ": " + brief(first);
  const auto margin = verdict_columns + 1;
  const bool fits = columns(head) + columns(nodes) <= page.width;
  const auto beside = fits ? nodes : "\n" + std::string(margin, ' ') + wrap(nodes, page.width, margin);
  const auto word = pad(verdict_word(first.verdict), verdict_columns);
  const auto rest = head.substr(word.size());
  return page.ink.of(first.verdict, word) + (fits ? rest : rest.substr(0, rest.find_last_not_of(' ') + 1)) + beside +
         "\n";
}

std::string lines_of(const Results& results, std::size_t title_columns, const Page& page) {
  std::string text;
  const bool is_well = !needs_attention(results.front()->verdict);
  // One more line than allowed takes no more space than a line about its omission.
  const std::size_t most = is_well ? 1 : most_node_lines + 1;
  const std::size_t shown = results.size() <= most ? results.size() : is_well ? 0 : most_node_lines;
  for (std::size_t i = 0; i < shown; ++i) text += case_line(*results[i], title_columns, page);
  const std::span rest(results.begin() + static_cast<std::ptrdiff_t>(shown), results.end());
  return rest.empty() ? text : text + folded_line(rest, shown > 0 ? "more " : "", title_columns, page);
}

}  // namespace

std::string node_lines(const std::vector<CaseResult>& results, std::size_t title_columns, const Page& page) {
  std::string text;
  for (const auto verdict : verdicts_by_urgency()) {
    // Skips for different reasons are different news.
    std::map<std::string, Results> alike;
    for (const auto& result : results)
      if (result.verdict == verdict)
        alike[verdict == Verdict::skip ? without_node(result, result.reason) : std::string()].push_back(&result);
    for (const auto& [reason, same] : alike) text += lines_of(same, title_columns, page);
  }
  return text;
}

std::string without_node(const CaseResult& result, std::string_view text) {
  std::string neutral(text);
  if (result.node.empty()) return neutral;
  const auto is_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  };
  for (auto at = neutral.find(result.node); at != std::string::npos; at = neutral.find(result.node, at + 1)) {
    const auto end = at + result.node.size();
    const bool is_whole =
        (at == 0 || !is_of_name(neutral[at - 1])) && (end == neutral.size() || !is_of_name(neutral[end]));
    if (is_whole) neutral.replace(at, result.node.size(), "\x01");
  }
  return neutral;
}

}  // namespace muster
