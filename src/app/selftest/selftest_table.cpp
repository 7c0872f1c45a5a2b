#include "app/selftest/selftest_table.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/lists.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view line_form = "{:<{}}  {:<{}}  {:<{}}  {}\n";

/// `perlmutter`, `lumi-g on 5 nodes`.
std::string where(const Example& example) {
  return example.hosts.empty() ? example.machine : fmt::format("{}, {} nodes", example.machine, example.hosts.size());
}

struct TableLine {
  std::string check;
  std::string good;
  std::string bad;
  std::string blame;
};

/// One line for each pair of a good and a bad example.
std::vector<TableLine> lines_of(const SelftestRow& row) {
  std::vector<TableLine> good;
  std::vector<TableLine> bad;
  for (const ExampleResult& shown : row.shown) {
    if (!shown.wrong.empty()) continue;
    if (shown.example->is_bad)
      bad.push_back(
          {"", "", fmt::format("{} ({})", shown.example->what, where(*shown.example)), human_list(shown.culprits, 3)});
    else
      good.push_back({"", where(*shown.example), "", ""});
  }
  std::vector<TableLine> lines(std::max({good.size(), bad.size(), std::size_t{1}}));
  lines[0].check = row.check->name;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i].good = i < good.size() ? good[i].good : i == 0 ? "-" : "";
    lines[i].bad = i < bad.size() ? bad[i].bad : i == 0 ? "-" : "";
    lines[i].blame = i < bad.size() ? bad[i].blame : "";
  }
  if (!row.not_here.empty()) lines = {{row.check->name, "not shown here: " + row.not_here, "", ""}};
  return lines;
}

std::string problems_of(const std::vector<SelftestRow>& rows) {
  std::string text;
  for (const SelftestRow& row : rows) {
    for (const std::string& missing : row.missing) text += fmt::format("FAIL {}: {}\n", row.check->name, missing);
    for (const ExampleResult& shown : row.shown)
      if (!shown.wrong.empty())
        text +=
            fmt::format("FAIL {}: {} example{}: {}\n     {}\n", row.check->name, shown.example->is_bad ? "bad" : "good",
                        shown.example->what.empty() ? "" : " (" + shown.example->what + ")",
                        printable_line(shown.wrong, 1000), shown.example->place);
  }
  return text;
}

std::string last_line(const std::vector<SelftestRow>& rows, double seconds) {
  const auto count = [&](auto&& claim) {
    return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), claim));
  };
  const auto absent = count([](const SelftestRow& row) { return !row.not_here.empty(); });
  const auto right = count([](const SelftestRow& row) { return row.not_here.empty() && row.is_right(); });
  std::string text = fmt::format("{} of {} passed and failed as expected", right, counted(rows.size(), "check"));
  text += fmt::format(" in {:.0f} s, on SIMULATED machines, not on this one", seconds);
  return text + (absent > 0 ? fmt::format("; {} not shown here\n", absent) : "\n");
}

Json json_of(const ExampleResult& shown) {
  const Example& example = *shown.example;
  return {{"machine", example.machine},
          {"what", example.what},
          {"faults", example.faults},
          {"orders", example.orders},
          {"place", example.place},
          {"verdict", std::string(to_string(shown.verdict))},
          {"culprits", shown.culprits},
          {"reason", printable(shown.reason)},
          {"as_expected", shown.wrong.empty()},
          {"problem", printable(shown.wrong)}};
}

std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.insert(at, 1, '\\');
  return text;
}

std::string page_row(const Check& check, const std::vector<Example>& examples) {
  std::vector<std::string> good;
  std::string bad;
  std::string blame;
  for (const Example& example : examples) {
    if (!is_in(check.name, example.checks)) continue;
    if (!example.is_bad) {
      good.push_back(where(example));
      continue;
    }
    bad += fmt::format("{}{} ({})", bad.empty() ? "" : "<br>", example.what, where(example));
    blame += fmt::format("{}{}", blame.empty() ? "" : "<br>", human_list(example.culprits, 3));
  }
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", check.name, cell(check.summary), human_list(good), cell(bad),
                     cell(blame));
}

/// A tag that selects when a check runs.
struct Occasion {
  std::string_view tag;
  std::string_view command;
  std::string_view why;
};

constexpr std::array occasions{
    Occasion{"default", "muster run", "without `-n`, `-t` or files"},
    Occasion{"gate", "muster gate", "seconds, before a job"},
    Occasion{"line", "muster gate --launch 'LINE'", "judge a launch line"},
    Occasion{"site", "muster run -t site", "rates that a profile has measured for its system"},
    Occasion{"reference", "muster run -t reference", "rates that vendors publish for the model"},
    Occasion{"long", "muster run -t long", "take minutes, nearly all memory of GPUs, or their full power"},
    Occasion{"pytorch", "muster run -t pytorch", "need a Python with torch or mpi4py"},
};

bool has_tag(const Check& check, std::string_view tag) {
  return is_in(tag, check.tags);
}

/// `hello`, `p2p`: those for which `claim` holds.
std::string names_in_code(const std::vector<SelftestRow>& rows, const std::function<bool(const Check&)>& claim) {
  std::vector<std::string> names;
  for (const SelftestRow& row : rows)
    if (claim(*row.check)) names.push_back("`" + row.check->name + "`");
  return join(names, ", ");
}

/// When each check runs: a row for each tag that one of them has, and those that only their names choose.
std::string occasions_table(const std::vector<SelftestRow>& rows) {
  std::string text = "| tag | command | checks |\n|---|---|---|\n";
  for (const Occasion& one : occasions) {
    const std::string names = names_in_code(rows, [&](const Check& check) { return has_tag(check, one.tag); });
    if (!names.empty()) text += fmt::format("| `{}`: {} | `{}` | {} |\n", one.tag, one.why, one.command, names);
  }
  const std::string rest = names_in_code(rows, [](const Check& check) {
    return std::none_of(occasions.begin(), occasions.end(),
                        [&](const Occasion& one) { return has_tag(check, one.tag); });
  });
  return rest.empty() ? text : text + fmt::format("| none of these | `muster run -n NAME` | {} |\n", rest);
}

}  // namespace

bool SelftestRow::is_right() const {
  return missing.empty() &&
         std::all_of(shown.begin(), shown.end(), [](const ExampleResult& one) { return one.wrong.empty(); });
}

std::string selftest_table(const std::vector<SelftestRow>& rows, double seconds) {
  std::vector<TableLine> lines{{"check", "passes on", "fails when", "culprits"}};
  for (const SelftestRow& row : rows)
    for (TableLine& line : lines_of(row)) lines.push_back(std::move(line));
  std::size_t widths[3] = {};
  for (const TableLine& line : lines) {
    widths[0] = std::max(widths[0], line.check.size());
    if (!line.bad.empty()) widths[1] = std::max(widths[1], line.good.size());
    widths[2] = std::max(widths[2], line.bad.size());
  }
  std::string text;
  for (const TableLine& line : lines) {
    std::string one =
        fmt::format(line_form, line.check, widths[0], line.good, widths[1], line.bad, widths[2], line.blame);
    text += std::string(one.substr(0, one.find_last_not_of(" \n") + 1)) + "\n";
  }
  return text + problems_of(rows) + last_line(rows, seconds);
}

std::string selftest_json(const std::vector<SelftestRow>& rows, double seconds, int status) {
  Json checks = Json::array();
  for (const SelftestRow& row : rows) {
    Json good = Json::array();
    Json bad = Json::array();
    for (const ExampleResult& shown : row.shown) (shown.example->is_bad ? bad : good).push_back(json_of(shown));
    checks.push_back({{"check", row.check->name},
                      {"probe", row.check->probe},
                      {"seen_to_pass_and_fail", row.not_here.empty() && row.is_right()},
                      {"not_shown_here", row.not_here},
                      {"missing", row.missing},
                      {"good", good},
                      {"bad", bad}});
  }
  return Json{{"muster", MUSTER_VERSION}, {"seconds", seconds}, {"exit_status", status}, {"checks", checks}}.dump(1) +
         "\n";
}

std::string selftest_page(const std::vector<SelftestRow>& rows, const std::vector<Example>& examples) {
  std::string text =
      "# Checks\n\n"
      "All shipped checks, each with a machine on which it passes, a fault on which it fails, and the culprits. "
      "Printed\n"
      "by `muster selftest --markdown`; `muster selftest` runs these examples on your own machine "
      "([selftest](selftest.md)).\n\n" +
      occasions_table(rows) + "\n| check | requirement | passes on | fails when | culprits |\n|---|---|---|---|---|\n";
  for (const SelftestRow& row : rows) text += page_row(*row.check, examples);
  return text;
}

}  // namespace muster
