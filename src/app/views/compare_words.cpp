#include "app/views/compare_words.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.hpp"
#include "base/units.hpp"

namespace muster {

namespace {

std::string name_of(const PastRun& run) {
  return fmt::format("{}  {}  {}  {}", printable_line(run.run_id, 12), printable_line(run.started, 40),
                     to_string(run.verdict), printable_line(shell_line(run.command_line), 200));
}

std::string check_of(const std::string& case_id) {
  return printable_line(case_id.substr(0, case_id.find('%')));
}

std::string where_of(const Labels& where) {
  std::string text;
  for (const auto& [key, value] : where)
    text += (text.empty() ? " where " : ", ") + printable_line(key) + "=" + printable_line(value);
  return text;
}

std::string line_of(const VerdictChange& change) {
  auto text =
      fmt::format("{}: {} -> {}", printable_line(change.case_id), to_string(change.before), to_string(change.after));
  if (!change.nodes.empty()) text += " on " + printable_line(human_list(change.nodes));
  if ((change.is_worse || change.is_less_known) && !change.reason.empty())
    text += ": " + printable_line(change.reason, 300);
  return text;
}

std::string line_of(const MetricChange& change) {
  auto text = fmt::format("{} of {}{} ({}): {} -> {}, {:+.3g} %", printable_line(change.key.metric),
                          printable_line(change.subject), where_of(change.key.where), check_of(change.key.case_id),
                          format_value(change.before, change.unit), format_value(change.after, change.unit),
                          change.share * 100);
  if (change.moved == 1) return text;
  text += fmt::format(" ({} of {})", change.moved, change.measured);
  if (change.subject == change.items.front()) text += ": " + printable_line(human_list(change.items));
  return text;
}

std::string line_of(const FactChange& change) {
  const auto reported = [](const std::string& value) { return value.empty() ? "nothing" : printable_line(value, 200); };
  return fmt::format("{} on {}: {} -> {}", printable_line(change.key), printable_line(human_list(change.nodes)),
                     reported(change.before), reported(change.after));
}

std::string items_of(const std::vector<std::string>& items) {
  return printable_line(human_list(items), 600);
}

std::string line_of(const OneSided& one) {
  return fmt::format("{} of {} ({})", printable_line(one.metric), items_of(one.items), check_of(one.case_id));
}

std::string line_of(const Relabelled& one) {
  return fmt::format("{} of {} ({}): was measured{}, now{}", printable_line(one.metric), items_of(one.items),
                     check_of(one.case_id), where_of(one.before), where_of(one.after));
}

/// Ids of cases, those that did not pass with their verdict.
std::vector<std::string> with_verdicts(const std::vector<std::string>& ids, const PastRun& run) {
  std::vector<std::string> named;
  for (const std::string& id : ids) {
    const auto found =
        std::find_if(run.cases.begin(), run.cases.end(), [&](const PastCase& one) { return one.id == id; });
    const bool is_plain = found == run.cases.end() || found->verdict == Verdict::pass;
    named.push_back(is_plain ? id : fmt::format("{} ({})", id, to_string(found->verdict)));
  }
  return named;
}

struct Parts {
  std::vector<std::string> worse;
  std::vector<std::string> less_known;
  std::vector<std::string> better;
  std::vector<std::string> changed;
  std::vector<std::string> one_sided;
};

void add_part(const char* title, const std::vector<std::string>& lines, std::string& text) {
  if (lines.empty()) return;
  text += fmt::format("{}\n", title);
  for (const std::string& line : lines) text += fmt::format("  {}\n", line);
}

void add_names(const char* what, const std::vector<std::string>& items, std::vector<std::string>& lines) {
  if (!items.empty()) lines.push_back(fmt::format("{}: {}", what, items_of(items)));
}

Parts parts_of(const PastRun& before, const PastRun& after, const Comparison& found) {
  Parts parts;
  for (const VerdictChange& one : found.verdicts)
    (one.is_worse ? parts.worse : one.is_less_known ? parts.less_known : parts.better).push_back(line_of(one));
  for (const MetricChange& one : found.metrics)
    (one.is_worse ? parts.worse : one.share == 0 ? parts.changed : parts.better).push_back(line_of(one));
  for (const OneSided& one : found.values_gone)
    if (one.is_worse)
      parts.worse.push_back("not measured any more: " + line_of(one));
    else if (one.is_less_known)
      parts.less_known.push_back("no undisturbed sample: " + line_of(one));
  add_names("nodes that went", found.nodes_gone, parts.worse);
  add_names("devices that went", found.devices_gone, parts.worse);
  for (const FactChange& one : found.facts) parts.changed.push_back(line_of(one));
  for (const Relabelled& one : found.relabelled) parts.changed.push_back(line_of(one));
  add_names("nodes that came", found.nodes_new, parts.changed);
  add_names("devices that came", found.devices_new, parts.changed);
  add_names("cases only before", with_verdicts(found.only_before, before), parts.one_sided);
  add_names("cases only after", with_verdicts(found.only_after, after), parts.one_sided);
  for (const OneSided& one : found.values_gone)
    if (!one.is_worse && !one.is_less_known) parts.one_sided.push_back("only before: " + line_of(one));
  for (const OneSided& one : found.values_new) parts.one_sided.push_back("only after: " + line_of(one));
  return parts;
}

std::string machine_of(const PastRun& run) {
  return run.simulated.empty() ? "a real machine" : "the simulated machine " + printable_line(run.simulated);
}

}  // namespace

std::string compared_line(const PastRun& before, const PastRun& after, const Comparison& found) {
  auto text = fmt::format("{} compared", counted(static_cast<std::size_t>(found.compared), "value"));
  const auto add = [&](int count, const std::string& why) {
    if (count > 0) text += fmt::format("; {} not: {}", count, why);
  };
  add(found.untimed, "times are invalid there");
  add(found.other_machine, fmt::format("{} before, {} after", machine_of(before), machine_of(after)));
  add(found.other_shape, fmt::format("{} before, {} after", found.shape_before, found.shape_after));
  add(found.without_share, "0 or less in one of the runs");
  add(found.one_sided, "measured in one of the runs only");
  if (found.as_often > 0) text += fmt::format("; {} worse than before, as often in earlier runs", found.as_often);
  const int others = found.untimed + found.other_machine + found.other_shape + found.without_share + found.one_sided;
  if (found.compared == 0 && others == 0)
    text += before.values.empty() || after.values.empty()
                ? fmt::format(": the run {} has none", before.values.empty() ? "before" : "after")
                : std::string(": the runs have no metric of the same item in common");
  return text;
}

std::string limit_line(const Comparison& found) {
  if (found.seen_from <= 0) return "";
  const auto percent = [](double share) { return fmt::format("{:.0f} %", std::ceil(100 * share)); };
  auto text = fmt::format("a value that is worse by {} is reported", percent(found.seen_from));
  if (percent(found.half_seen_from) != percent(found.seen_from))
    text += fmt::format(", half of them by {}", percent(found.half_seen_from));
  if (found.with_past == 0) return text + "; one run each: earlier runs in the history lower this limit";
  if (found.with_past < found.compared)
    text += fmt::format("; {} of {} have earlier runs in the history", found.with_past, found.compared);
  return text;
}

std::string outcome_of(const PastRun& before, const Comparison& found) {
  if (has_nothing_in_common(before, found)) return "not comparable: the runs have no case in common";
  return found.is_worse() ? "something got worse" : found.is_empty() ? "no difference" : "nothing got worse";
}

bool has_nothing_in_common(const PastRun& before, const Comparison& found) {
  return before.cases.size() == found.only_before.size();
}

std::string comparison_text(const PastRun& before, const PastRun& after, const Comparison& found) {
  auto text = fmt::format("before  {}\nafter   {}\n", name_of(before), name_of(after));
  const Parts parts = parts_of(before, after, found);
  add_part("worse", parts.worse, text);
  if (const auto& nodes = found.virtual_nodes; !nodes.empty())
    text += fmt::format(
        "  {}: virtual machines, whose hypervisor may have moved their CPUs; repeat the run to see whether the change "
        "lasts\n",
        printable_line(human_list(nodes, 4)));
  add_part("less known", parts.less_known, text);
  add_part("better or otherwise", parts.better, text);
  add_part("changed", parts.changed, text);
  add_part("in one of the runs only", parts.one_sided, text);
  if (const std::string limit = limit_line(found); !limit.empty()) text += limit + "\n";
  return text + compared_line(before, after, found) + "\n" + outcome_of(before, found) + "\n";
}

}  // namespace muster
