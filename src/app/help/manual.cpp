#include "app/help/manual.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "app/agent_help.hpp"
#include "app/help/manual_footer.hpp"
#include "app/help/roff.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

/// Variables for users. Those between driver and agent are not documented.
const Entries& variables() {
  static const Entries all{
      {"MUSTER_AFFINITY_FOLDER",
       "Where masks of simulated ranks are recorded, for daemons that run already; for tests."},
      {"MUSTER_AGENT", "The agent to start, as --agent."},
      {"MUSTER_CHECKS", "Folder of check files and profiles instead of the installed ones; every report names it."},
      {"MUSTER_DRIVERS", "With --simulated: folder of libraries that take the place of GPU vendors' ones."},
      {"MUSTER_MACHINE", "With --simulated: folder of the machine; see muster-machine(1)."},
      {"MUSTER_MACHINES", "Folder of machine descriptions instead of the installed ones."},
      {"MUSTER_PLUGINS", "Folders and files, separated by colons, in which plug-ins are looked for first."},
      {"MUSTER_RECORDER_FOLDER", "Folder on each node for the flight recorders of ranks; default: /dev/shm."},
      {"MUSTER_STARTUP_TIMEOUT", "Seconds that a launcher may take to start all ranks; default: 60."},
      {"MUSTER_WIRE_ADDRESS", "Address at which ranks reach the driver; none: they write to standard output."},
      {"NO_COLOR", "Set to anything: no colours."},
  };
  return all;
}

const Entries& files() {
  static const Entries all{
      {"muster-runs/", "Reports and logs of runs, one folder each; latest is the last one."},
      {"PREFIX/share/muster/checks/", "The checks that come with muster; systems/ has the profiles of sites."},
      {"PREFIX/share/muster/machines/", "Descriptions of machines for simulated runs."},
      {"PREFIX/share/muster/schema/", "JSON Schema of report.json."},
      {"PREFIX/lib/muster/plugins/, ~/.local/lib/muster/plugins/",
       "Probes of other repositories; muster list --probes."},
      {"PREFIX/share/doc/muster/", "All other documentation; PREFIX is the folder above that of the program."},
  };
  return all;
}

constexpr const char* statuses =
    "0: all passed, at least one; 1: some failed; 2: some had errors or were not measured, or none passed; "
    "3: the command line or a file is wrong, and nothing was started; 75: muster run was not started, as another run "
    "has its nodes (--lock), or none is idle (--nodes idle); 130, 143: interrupted.";

std::string heading(std::string_view name, const std::string& date) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) { return 'a' <= c && c <= 'z' ? c - 32 : c; });
  return fmt::format(
      ".\\\" Generated from the command line's own help; do not edit.\n.TH {} 1 {} \"muster {}\" muster\n", upper, date,
      MUSTER_VERSION);
}

std::string entries(const Entries& all) {
  std::string out;
  for (const auto& [name, help] : all) out += fmt::format(".TP\n{}\n{}\n", roff_bold(name), roff(help));
  return out;
}

/// `[FILE|FOLDER ...]`
std::string placeholder(const OptionWords& option) {
  const auto name = roff_italic(option.value.empty() ? option.place : option.value) + (option.is_list ? " ..." : "");
  return option.is_required ? name : "[" + name + "]";
}

std::string synopsis(const CommandWords& command) {
  std::string line = roff_bold(command.path);
  for (const auto& option : command.options)
    if (option.is_required && option.place.empty())
      line += " " + roff_bold(option.names.back()) + " " + roff_italic(option.value);
  if (command.options.empty() || command.options.back().place.empty()) line += " [" + roff_italic("OPTION") + " ...]";
  for (const auto& option : command.options)
    if (!option.place.empty()) line += " " + placeholder(option);
  if (!command.commands.empty()) line += " " + roff_italic("COMMAND") + " ...";
  if (!command.behind.empty()) line += " [" + roff_bold("--") + " " + roff_italic(command.behind) + " ...]";
  return line;
}

/// `-n REGEX, --name REGEX`
std::string tag(const OptionWords& option) {
  if (option.names.empty()) return roff_italic(option.value.empty() ? option.place : option.value);
  std::vector<std::string> spelt;
  for (const auto& name : option.names)
    spelt.push_back(roff_bold(name) + (option.value.empty() ? "" : " " + roff_italic(option.value)));
  return join(spelt, ", ");
}

std::string options(const CommandWords& command) {
  std::string out;
  for (const auto& option : command.options) out += fmt::format(".TP\n{}\n{}\n", tag(option), roff(option.help));
  return out;
}

std::string commands(const CommandWords& command) {
  std::string out;
  for (const auto& one : command.commands)
    out += fmt::format(".TP\n{}\n{}; see\n.BR {} (1).\n", roff_bold(one.name), roff(one.summary), roff(page_name(one)));
  return out;
}

std::string examples(const std::vector<std::string>& all) {
  std::string out = ".nf\n";
  for (const auto& line : all) out += roff(line) + "\n";
  return out + ".fi\n";
}

std::string section(std::string_view name, const std::string& body) {
  return body.empty() ? "" : fmt::format(".SH {}\n{}", name, body);
}

void take_pages(const CommandWords& command, std::vector<std::string>& names) {
  names.push_back(page_name(command));
  for (const auto& one : command.commands) take_pages(one, names);
}

std::string see_also(const CommandWords& root, const std::string& self) {
  std::vector<std::string> names;
  take_pages(root, names);
  names.emplace_back("muster-rank");
  names.erase(std::remove(names.begin(), names.end(), self), names.end());
  std::string out;
  for (const auto& name : names) out += fmt::format(".BR {} (1){}\n", roff(name), &name == &names.back() ? "" : ",");
  return out;
}

/// The first word does not begin a sentence there.
std::string one_line(std::string_view name, std::string_view summary) {
  return fmt::format("{} \\- {}\n", roff(name), roff(summary));
}

std::string description(const CommandWords& command, const FooterParts& footer) {
  std::string out = roff(command.summary) + ".\n";
  for (const auto& note : footer.notes) out += ".PP\n" + roff(note) + "\n";
  return out;
}

constexpr const char* what_it_is =
    "Runs checks on the nodes of a GPU cluster and reports for each its verdict, the evidence or the reason, the "
    "culprit and the remedy.";

/// A command without a word about it ends as the one above it does.
std::string exit_status_of(const CommandWords& command, const CommandWords& above) {
  if (auto own = take_apart(command.footer).exit_status; !own.empty()) return own;
  for (const auto& one : above.commands)
    if (command.path == one.path || command.path.rfind(one.path + " ", 0) == 0) {
      if (command.path != one.path) return exit_status_of(command, one);
      break;
    }
  const auto reported = take_apart(above.footer).exit_status;
  return reported.empty() ? std::string(statuses) : reported;
}

}  // namespace

std::string page_name(const CommandWords& command) {
  auto name = command.path;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string manual_page(const CommandWords& command, const CommandWords& root, const std::string& date) {
  const auto name = page_name(command);
  const bool is_root = command.path == root.path;
  const auto footer = take_apart(command.footer);
  const auto status = exit_status_of(command, root);
  auto page = heading(name, date);
  page +=
      section("NAME", one_line(name, is_root ? "find out which part of a GPU cluster is at fault" : command.summary));
  page += section("SYNOPSIS", synopsis(command) + "\n");
  page += section("DESCRIPTION", is_root ? roff(what_it_is) + "\n" : description(command, footer));
  page += section("COMMANDS", commands(command));
  page += section("OPTIONS", options(command));
  page += section("EXIT STATUS", roff(status) + "\n");
  if (is_root) page += section("ENVIRONMENT", entries(variables()));
  page += section("FILES", entries(files()));
  if (!footer.examples.empty()) page += section("EXAMPLES", examples(footer.examples));
  return page + section("SEE ALSO", see_also(root, name));
}

std::string agent_page(const CommandWords& root, const std::string& date) {
  const std::string help = agent_help;
  const auto all = lines(help);
  std::string description;
  for (std::size_t i = 1; i < all.size(); ++i)
    description += trim(all[i]).empty() ? ".PP\n" : roff(trim(all[i])) + "\n.br\n";
  auto page = heading("muster-rank", date);
  page += section("NAME", one_line("muster-rank", "one rank of a job that muster started"));
  page +=
      section("SYNOPSIS", roff_bold("muster-rank") + " [" + roff_bold("--about") + " | " + roff_bold("--help") + "]\n");
  // A paragraph right below a heading would be one too many.
  page += section("DESCRIPTION", description.substr(description.find(".PP\n") == 0 ? 4 : 0));
  page += section("EXIT STATUS", roff("0: all work was done; the driver reports other values.") + "\n");
  return page + section("SEE ALSO", see_also(root, "muster-rank"));
}

}  // namespace muster
