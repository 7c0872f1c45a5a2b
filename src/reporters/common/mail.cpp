#include "reporters/common/mail.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "base/text.hpp"
#include "reporters/common/causes.hpp"
#include "reporters/common/nodes.hpp"
#include "reporters/common/paragraph.hpp"
#include "reporters/common/phrases.hpp"

namespace muster {

namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t margin = 11;           // of the words beside an entry
constexpr std::size_t least_columns = 60;    // below, nothing that helps fits
constexpr std::size_t most_title_lines = 2;  // of one entry
constexpr std::size_t most_reason_lines = 3;
constexpr std::size_t most_culprit_lines = 2;
constexpr std::size_t most_remedy_lines = 3;
constexpr std::size_t most_command_lines = 3;
constexpr std::size_t most_path_lines = 3;
constexpr std::size_t most_mailed_notes = 3;
constexpr std::size_t least_room = 2;       // for what is wrong: an empty line, and how much there is
constexpr std::size_t most_shown = 4;       // cases, nodes
constexpr std::size_t most_culprits = 6;    // of one cause
constexpr std::size_t most_bytes = 4000;    // looked at of any text
constexpr std::size_t most_folded = 2'000;  // cases whose nodes are put in one list

/// At most `most` lines of at most `width` columns; the last ends in `...` when something is missing.
Lines limited(std::string_view text, std::size_t width, std::size_t most) {
  Lines all;
  for (const auto& line : lines(text)) {
    if (all.size() == most) {
      all.back() = cut(all.back() + "....", std::min(width, columns(all.back()) + 3));
      break;
    }
    all.push_back(cut(line, width));
  }
  return all;
}

/// `label`, then the text beside it on at most `most` lines; nothing when there is no text.
Lines reported(std::string_view label, std::string_view text, std::size_t width, std::size_t most) {
  const auto harmless = printable_line(text, most_bytes);
  if (trim(harmless).empty()) return {};
  return limited(pad(label, margin) + wrap(harmless, width, margin), width, most);
}

/// For what must not be changed, such as a path: broken where a line is full.
Lines broken(std::string_view label, std::string_view text, std::size_t width, std::size_t most) {
  auto rest = printable_line(text, most_bytes);
  if (rest.empty()) return {};
  Lines all;
  while (!rest.empty() && all.size() < most) {
    auto line = all.size() + 1 == most ? cut(rest, width - margin) : rest;
    std::size_t end = line.size();
    while (columns(line.substr(0, end)) > width - margin) --end;
    // Not within a character.
    while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
    all.push_back(pad(all.empty() ? label : "", margin) + line.substr(0, end));
    rest = all.size() == most ? std::string() : rest.substr(end);
  }
  return all;
}

/// With the shell's own sign that a line goes on, so that it can still be pasted; nothing where it would be too long.
Lines command(const Argv& argv, std::size_t width) {
  if (argv.empty()) return {};
  Lines all{pad("  again", margin)};
  bool is_empty = true;
  for (const auto& argument : argv) {
    const auto word = printable_line(shell_quote(argument), uncut);
    if (columns(all.back()) + 1 + columns(word) + 2 > width && !is_empty) {
      all.back() += " \\";
      all.push_back(std::string(margin, ' '));
      is_empty = true;
    }
    all.back() += (is_empty ? "" : " ") + word;
    is_empty = false;
    if (columns(all.back()) + 2 > width || all.size() > most_command_lines) return {};
  }
  return all;
}

void append(Lines& to, Lines from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

std::string names_of(const std::vector<const CaseResult*>& cases) {
  const std::vector<const CaseResult*> some(
      cases.begin(), cases.begin() + static_cast<std::ptrdiff_t>(std::min(cases.size(), most_folded)));
  auto text = human_list(folded_titles(some), most_shown);
  if (some.size() < cases.size()) text += fmt::format(", {} cases in all", cases.size());
  return text;
}

std::string culprits_of(const Cause& cause) {
  auto named = culprit_phrases(cause.culprits(most_culprits + 1));
  const bool are_more = named.size() > most_culprits;
  if (are_more) named.resize(most_culprits);
  return are_more ? join(named, ", ") + " and more" : human_list(named);
}

Lines block(const Cause& cause, std::size_t width) {
  const auto& first = *cause.cases.front();
  const auto word = verdict_word(first.verdict);
  Lines all{""};
  auto named = names_of(cause.cases);
  if (cause.cases.size() > 1) named = fmt::format("{} cases: {}", cause.cases.size(), named);
  append(all, reported(word, named, width, most_title_lines));
  append(all, reported("  reason", first.reason, width, most_reason_lines));
  append(all, reported("  culprit", culprits_of(cause), width, most_culprit_lines));
  append(all, reported("  remedy", first.remedy, width, most_remedy_lines));
  if (!first.follows.empty()) append(all, reported("  follows", "from what " + first.follows + " found", width, 1));
  if (!cause.following.empty())
    append(all, reported("  explains",
                         fmt::format("{} more: {}", counted(cause.following.size(), "case"), names_of(cause.following)),
                         width, 1));
  append(all, command(first.rerun, width));
  return all;
}

/// A cause for which there is no room: who and why, on one line.
std::string brief_line(const Cause& cause, std::size_t width) {
  const auto& first = *cause.cases.front();
  auto text = printable_line(title(first), most_bytes);
  if (cause.size() > 1) text += fmt::format(" and {} more", cause.size() - 1);
  text += ": " + printable_line(brief(first), most_bytes);
  return cut(pad(verdict_word(first.verdict), margin) + text, width);
}

Lines head(const RunReport& report, std::size_t width) {
  auto text = "muster " + report.muster_version;
  if (!report.system.empty()) text += " on " + printable_line(report.system, 60);
  text += fmt::format(": {} (exit status {})", verdict_word(report.verdict), report.exit_status);
  if (!report.interrupted.empty()) text += ", interrupted by " + printable_line(report.interrupted, 40);
  text += ": " + (report.cases.empty() ? "no case was run" : tally_phrase(tally(report.cases)));
  auto all = limited(wrap(printable_line(text, most_bytes), width, 0), width, 2);
  if (!report.simulated.empty())
    all.push_back(
        cut(fmt::format("SIMULATED machine {}: nothing real was tested", printable_line(report.simulated, most_bytes)),
            width));
  const auto host = report.host.empty() ? "an unknown host" : report.host;
  append(all, reported("run",
                       fmt::format("{}, {} on {}, took {}", report.run_id, report.started, host,
                                   time_phrase(report.seconds)),
                       width, 1));
  append(all, reported("command", shell_line(report.command_line), width, 2));
  append(all, reported("variables", variables_phrase(report), width, 1));
  return all;
}

std::string nodes_text(const RunReport& report) {
  const auto nodes = node_tallies(report);
  const auto odd = odd_nodes(nodes);
  if (nodes.size() < 2 || odd.empty()) return {};
  std::vector<std::string> named;
  for (std::size_t i = 0; i < std::min(odd.size(), most_shown); ++i)
    named.push_back(fmt::format("{} ({})", printable_line(odd[i].name, 60), tally_phrase(odd[i].tally)));
  auto text = join(named, ", ");
  if (odd.size() > named.size()) text += fmt::format(" and {} more", odd.size() - named.size());
  const auto good = nodes.size() - odd.size();
  return good == 0 ? text : text + fmt::format("; nothing wrong on {} of {}", good, counted(nodes.size(), "node"));
}

Lines foot(const RunReport& report, std::size_t width) {
  Lines all{""};
  append(all, reported("nodes", nodes_text(report), width, 2));
  const auto notes = std::min(report.notes.size(), most_mailed_notes);
  for (std::size_t i = 0; i < notes; ++i) append(all, reported(i == 0 ? "notes" : "", report.notes[i], width, 1));
  if (report.notes.size() > notes)
    append(all, reported("", fmt::format("and {} more", report.notes.size() - notes), width, 1));
  if (!report.unwritten.empty())
    append(all, reported("lost", fmt::format("{}: {}", counted(report.unwritten.size(), "report"), report.unwritten[0]),
                         width, 2));
  if (!report.folder.empty())
    append(all,
           broken("report", report.folder + (report.unwritten.empty() ? "/report.json" : ""), width, most_path_lines));
  return all;
}

std::string left_out_text(const std::vector<Cause>& causes, std::size_t shown) {
  std::size_t cases = 0;
  for (std::size_t i = shown; i < causes.size(); ++i) cases += causes[i].size();
  return fmt::format("{} more with {}, see the report", counted(causes.size() - shown, "cause"),
                     counted(cases, "case"));
}

/// Whole as long as they fit, then a line each, then a count.
Lines body(const std::vector<Cause>& causes, std::size_t width, std::size_t room) {
  Lines all;
  std::size_t shown = 0;
  for (; shown < causes.size(); ++shown) {
    auto next = block(causes[shown], width);
    // Those left take an empty line and at least one more.
    const std::size_t reserve = shown + 1 == causes.size() ? 0 : 2;
    if (all.size() + next.size() + reserve > room) break;
    append(all, std::move(next));
  }
  if (shown == causes.size()) return all;
  all.emplace_back("");
  for (; shown < causes.size(); ++shown) {
    const std::size_t reserve = shown + 1 == causes.size() ? 0 : 1;
    if (all.size() + 1 + reserve > room) break;
    all.push_back(brief_line(causes[shown], width));
  }
  if (shown < causes.size()) append(all, reported("left out", left_out_text(causes, shown), width, 1));
  return all;
}

}  // namespace

std::string remarks_of(const RunReport& report) {
  std::string text;
  const auto say = [&](const std::string& line) {
    text += cut(printable_line(line, most_bytes), most_mail_columns) + "\n";
  };
  if (!report.simulated.empty()) say(fmt::format("SIMULATED machine {}: nothing real was tested", report.simulated));
  for (const auto& variable : report.variables)
    if (const auto remark = remark_phrase(variable); !remark.empty()) say(remark);
  return text;
}

std::string mail_text(const RunReport& report, std::size_t width, std::size_t beside) {
  if (report.exit_status == 0 && report.unwritten.empty()) return remarks_of(report);
  width = std::clamp(width, least_columns, most_mail_columns);
  auto all = head(report, width);
  const auto end = foot(report, width);
  const auto taken = all.size() + end.size() + beside + report.unwritten.size();
  const auto room = std::max(taken < most_mail_lines ? most_mail_lines - taken : 0, least_room);
  auto causes = causes_of(report);
  append(all, body(causes.empty() ? skips_of(report) : causes, width, room));
  append(all, end);
  std::string text;
  for (const auto& line : all) text += line + "\n";
  return text;
}

}  // namespace muster
