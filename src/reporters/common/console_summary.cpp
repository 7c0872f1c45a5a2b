#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <vector>

#include "base/text.hpp"
#include "reporters/common/console_text.hpp"
#include "reporters/common/nodes.hpp"
#include "reporters/common/paragraph.hpp"
#include "reporters/common/phrases.hpp"

namespace muster {

namespace {

constexpr std::size_t most_named = 6;  // cases of one verdict, nodes
constexpr std::size_t most_notes = 8;
constexpr std::size_t most_note_columns = 400;
constexpr std::size_t seconds_columns = 7;
constexpr std::size_t least_brief = 16;  // columns below which a few words beside a case are not worth it
constexpr std::size_t most_brief = 240;  // columns of what is wrong; the block below has all of it

std::string launcher_of(const RunReport& report) {
  return report.launches.empty() ? std::string() : report.launches.front().launcher;
}

/// The largest shape of the run.
std::string shape_of(const RunReport& report) {
  const LaunchRecord* largest = nullptr;
  for (const auto& launch : report.launches)
    if (largest == nullptr || launch.ranks > largest->ranks) largest = &launch;
  if (largest == nullptr) return {};
  return shape_phrase(std::max<int>(1, static_cast<int>(largest->nodes.size())), largest->ranks);
}

/// One line of the table: how many, and which where that matters.
std::string verdict_row(const RunReport& report, Verdict verdict, const Page& page) {
  std::vector<const CaseResult*> by_itself;
  std::vector<const CaseResult*> following;
  for (const auto& result : report.cases)
    if (result.verdict == verdict) (result.follows.empty() ? by_itself : following).push_back(&result);
  const auto count = by_itself.size() + following.size();
  if (count == 0) return {};
  std::vector<std::string> names;
  if (needs_attention(verdict)) {
    names = folded_titles(by_itself);
    for (const auto& name : folded_titles(following)) names.push_back(name + " (follows)");
  }
  // A name with its parameters stays on one line.
  for (auto& name : names) std::replace(name.begin(), name.end(), ' ', '\x01');
  auto named = wrap(human_list(names, most_named), page.width, verdict_columns + 9);
  std::replace(named.begin(), named.end(), '\x01', ' ');
  const auto text =
      fmt::format("  {}{:>5}  {}", page.ink.of(verdict, pad(verdict_word(verdict), verdict_columns)), count, named);
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

std::string node_rows(const RunReport& report, const Page& page) {
  const auto nodes = node_tallies(report);
  if (nodes.size() < 2) return {};
  const auto odd = odd_nodes(nodes);
  if (odd.empty()) return {};
  std::string text = "\n";
  const auto shown = std::min(odd.size(), most_named);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < shown; ++i) names.push_back(printable_line(odd[i].name, uncut));
  std::size_t name_columns = 0;
  for (const auto& name : names) name_columns = std::max(name_columns, columns(name));
  name_columns = std::min<std::size_t>(name_columns, 40);
  for (std::size_t i = 0; i < shown; ++i)
    text += entry(i == 0 ? "nodes" : "", pad(names[i], name_columns) + "  " + tally_phrase(odd[i].tally), page);
  if (odd.size() > shown) text += entry("", fmt::format("and {} more, see the report", odd.size() - shown), page);
  const auto others = nodes.size() - odd.size();
  if (others > 0)
    text += entry("", fmt::format("{} other {}: nothing wrong", others, others == 1 ? "node" : "nodes"), page);
  return text;
}

/// A note and the cases that have it.
struct SharedNote {
  std::string text;
  std::vector<const CaseResult*> cases;
};

/// Of cases that have no block to show them, in the order of the report; the same note once.
std::vector<SharedNote> notes_of_passing(const RunReport& report) {
  std::vector<SharedNote> notes;
  std::map<std::string, std::size_t> places;
  for (const auto& result : report.cases) {
    if (needs_attention(result.verdict)) continue;
    for (const auto& note : result.notes) {
      const auto [at, is_new] = places.try_emplace(without_node(result, note), notes.size());
      if (is_new) notes.push_back({printable_line(note, uncut), {}});
      auto& cases = notes[at->second].cases;
      if (cases.empty() || cases.back() != &result) cases.push_back(&result);
    }
  }
  return notes;
}

std::string passing_notes(const RunReport& report, const Page& page) {
  const auto notes = notes_of_passing(report);
  const auto shown = std::min(notes.size(), most_notes);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i)
    text += entry(i == 0 ? "notes" : "",
                  fmt::format("{}: {}", human_list(folded_titles(notes[i].cases), most_named),
                              cut(notes[i].text, most_note_columns)),
                  page);
  if (notes.size() > shown) text += entry("", fmt::format("and {} more, see the report", notes.size() - shown), page);
  return text.empty() ? text : "\n" + text;
}

std::string outcome_line(const RunReport& report, const Page& page) {
  std::string text = counted(report.cases.size(), "case");
  if (!report.cases.empty()) text += ": " + tally_phrase(tally(report.cases));
  text += fmt::format(", in {}", time_phrase(report.seconds));
  if (!report.interrupted.empty()) text += ", interrupted by " + printable_line(report.interrupted, uncut);
  text += fmt::format(" (exit status {})", report.exit_status);
  if (!report.simulated.empty())
    text += fmt::format("; SIMULATED machine {}: nothing real was tested", printable_line(report.simulated, uncut));
  const auto word = verdict_word(report.verdict);
  return fmt::format("{}  {}\n", page.ink.of(report.verdict, word), wrap(text, page.width, word.size() + 2));
}

/// Text about a case beside its line, which takes `used` columns; below it if the line is too short for it.
std::string words_beside(const std::string& words, std::size_t used, const Page& page) {
  const auto margin = verdict_columns + 1;
  if (words.empty()) return "";
  if (used + 2 + columns(words) <= page.width) return "  " + words;
  return "\n" + std::string(margin, ' ') + wrap(words, page.width, margin);
}

/// No block explains a skip, so its reason is printed in full, on a separate line if necessary.
std::string skip_line(const CaseResult& result, std::size_t title_columns, const Page& page) {
  const auto name = pad(title(result), title_columns);
  const auto words = brief(result);
  const auto margin = verdict_columns + 1;
  const bool fits = margin + columns(name) + 2 + columns(words) <= page.width;
  const auto beside = fits ? "  " + words : words_beside(words, page.width, page);
  return fmt::format("{} {}{}\n", page.ink.of(result.verdict, pad(verdict_word(result.verdict), verdict_columns)),
                     fits ? name : title(result), words.empty() ? std::string() : beside);
}

}  // namespace

std::string head_text(const RunReport& report, const Page& page) {
  std::string text = fmt::format("muster {}", report.muster_version);
  if (!report.system.empty()) text += " on " + report.system;
  if (!report.simulated.empty()) text += fmt::format(", SIMULATED machine {}", report.simulated);
  std::vector<std::string> how;
  for (auto part : {shape_of(report), launcher_of(report)})
    if (!part.empty()) how.push_back(std::move(part));
  if (!how.empty()) text += ": " + join(how, ", ");
  text = page.ink.bold(wrap(printable_line(text, uncut), page.width, 0)) + "\n";
  if (!report.folder.empty()) text += fmt::format("results in {}\n", printable_line(report.folder, uncut));
  return text;
}

std::string case_line(const CaseResult& result, std::size_t title_columns, const Page& page) {
  if (result.verdict == Verdict::skip) return skip_line(result, title_columns, page);
  auto name = title(result);
  if (const auto passed = repetitions_passed(result); !passed.empty()) name += "  " + passed;
  const auto margin = verdict_columns + 1;
  const auto of_seconds = 1 + seconds_columns;
  // In a narrow terminal names take the columns of the seconds.
  name = pad(name, std::min(title_columns, std::max(page.width, margin + of_seconds) - margin - of_seconds));
  const bool has_seconds = margin + columns(name) + of_seconds <= page.width;
  const auto used = margin + columns(name) + (has_seconds ? of_seconds : 0);
  auto line =
      fmt::format("{} {}", page.ink.of(result.verdict, pad(verdict_word(result.verdict), verdict_columns)), name);
  if (has_seconds) line += " " + page.ink.faint(pad_left(time_phrase(result.seconds), seconds_columns));
  const auto words = brief(result);
  if (needs_attention(result.verdict)) return line + words_beside(cut(words, most_brief), used, page) + "\n";
  if (words.empty()) return line + "\n";
  // The number of a program is what its check is for, so it is not cut.
  if (words.ends_with("(no bound)")) return line + words_beside(cut(words, most_brief), used, page) + "\n";
  if (used + 2 + least_brief <= page.width) return line + "  " + cut(words, page.width - used - 2) + "\n";
  return line + "\n" + std::string(margin, ' ') + cut(words, std::max(page.width, margin + least_brief) - margin) +
         "\n";
}

std::string summary_text(const RunReport& report, const Page& page) {
  std::string text = "\n" + page.ink.bold("summary") + "\n";
  for (const auto verdict : verdicts_by_urgency()) text += verdict_row(report, verdict, page);
  if (report.cases.empty()) text += "  no case was run\n";
  text += node_rows(report, page);
  text += passing_notes(report, page);
  if (!report.notes.empty()) text += "\n";
  for (std::size_t i = 0; i < report.notes.size(); ++i) text += entry(i == 0 ? "notes" : "", report.notes[i], page);
  if (!report.variables.empty()) text += "\n" + entry("variables", variables_phrase(report), page);
  text += "\n" + outcome_line(report, page);
  for (const auto& lost : report.unwritten) text += entry("lost", "report " + lost, page);
  if (!report.folder.empty() && report.unwritten.empty())
    text += fmt::format("report in {}\n", printable_line(report.folder + "/report.json", uncut));
  return text;
}

}  // namespace muster
