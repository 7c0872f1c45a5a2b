#include "app/inputs/lines.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>

#include "app/inputs/machine_files.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "config/launch_script.hpp"
#include "config/shell_prologue.hpp"
#include "config/torchrun_options.hpp"
#include "run/session.hpp"
#include "system/simulated_affinity.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

constexpr std::size_t most_of_script = 1u << 20;

/// A folder of our own for the files of a launch that comes before the run has one.
Result<std::shared_ptr<const fs::path>> make_private_folder() {
  std::string path = (fs::temp_directory_path() / "muster-line-XXXXXX").string();
  if (::mkdtemp(path.data()) != nullptr)
    return std::shared_ptr<const fs::path>(new fs::path(path), [](const fs::path* made) {
      std::error_code ignored;
      fs::remove_all(*made, ignored);
      delete made;
    });
  return fail(ErrorKind::system, path, "no folder can be made there for the output of the launch line");
}

/// No run has begun yet: this process ends as if it had not watched for the signal.
[[noreturn]] void end_by(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  std::_Exit(128 + signal);
}

bool is_launcher_name(std::string_view name) {
  GivenLine line;
  line.argv = {std::string(name)};
  return launcher_of(line) != nullptr;
}

/// `FILE:LINE` where FILE is one and LINE a number; else line 0, which is any.
std::pair<std::string, int> file_and_line(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return {text, 0};
  const auto number = parse_number<int>(std::string_view(text).substr(colon + 1));
  return number ? std::pair(text.substr(0, colon), *number) : std::pair(text, 0);
}

Result<ScriptCommand> the_command(const std::vector<ScriptCommand>& commands, const std::string& file, int number) {
  if (commands.empty())
    return fail(ErrorKind::usage, file,
                "has no line that starts a launcher; write the line itself: --launch 'srun -N 2 --ntasks-per-node=8'");
  std::vector<ScriptCommand> left;
  for (const ScriptCommand& command : commands)
    if (number == 0 || command.number == number) left.push_back(command);
  if (left.size() == 1) return left.front();
  std::vector<std::string> lines;
  for (const ScriptCommand& command : commands)
    lines.push_back(fmt::format("line {}: {}", command.number, printable_line(command.text, 80)));
  return fail(ErrorKind::usage, file,
              fmt::format("{}; choose one, as in --launch @{}:{}, or write the line itself ({})",
                          number == 0 ? fmt::format("{} lines start a launcher", commands.size())
                                      : fmt::format("line {} is not one that starts a launcher", number),
                          file, commands.back().number, join(lines, "; ")));
}

/// A shell script that a line names.
struct NamedScript {
  std::size_t at = 0;  ///< of the word that starts it: the file, or the shell in front of it
  std::string file;
  std::string text;
  Argv shell;  ///< that runs it, with its options
};

/// The script that the word at `at` starts: `./run.sh`, or `bash run.sh`.
std::optional<NamedScript> script_at(const Argv& words, std::size_t at) {
  const bool is_shell = is_shell_name(words[at]);
  std::size_t file = at + (is_shell ? 1 : 0);
  while (is_shell && file < words.size() && words[file].starts_with('-') && !words[file].ends_with('c')) ++file;
  std::error_code ignored;
  if (file >= words.size() || words[file].starts_with('-') || !fs::is_regular_file(words[file], ignored))
    return std::nullopt;
  auto text = read_file(words[file], most_of_script);
  if (!text || text->find('\0') != text->npos) return std::nullopt;
  const std::string_view first = std::string_view(*text).substr(0, text->find('\n'));
  if (!is_shell && !(first.starts_with("#!") && first.find("sh") != first.npos)) return std::nullopt;
  Argv shell = is_shell ? Argv(words.begin() + static_cast<std::ptrdiff_t>(at),
                               words.begin() + static_cast<std::ptrdiff_t>(file))
                        : words_of_command(first.substr(2));
  if (!shell.empty() && base_name(shell.front()) == "env") shell.erase(shell.begin());
  if (shell.empty()) return std::nullopt;
  return NamedScript{at, words[file], with_command_variables(*text), std::move(shell)};
}

/// `script` is the program of `line.left_out`.
void take_script(const NamedScript& script, GivenLine& line) {
  auto argument = std::find(line.left_out.begin(), line.left_out.end(), script.file);
  if (argument != line.left_out.end()) ++argument;
  const Argv arguments(argument, line.left_out.end());
  keep_prologue(line, script.shell, script.text, script.file, arguments);
  const auto found = torchrun_command(script.text);
  if (!found || !line.torchrun.empty()) return;
  line.torchrun =
      fmt::format("{} ({}:{})", printable_line(found->text, 200), printable_line(script.file, 200), found->number);
  line.torchrun_options = torchrun_options_of_script(script.text, arguments);
}

/// A script behind the launcher that starts nothing that follows it is the program, not a wrapper.
void leave_out_script(GivenLine& line) {
  for (std::size_t at = 1; at < line.argv.size(); ++at) {
    const auto script = script_at(line.argv, at);
    if (!script || uses_arguments(script->text)) continue;
    const auto begin = line.argv.begin() + static_cast<std::ptrdiff_t>(script->at);
    line.left_out.assign(begin, line.argv.end());
    line.argv.erase(begin, line.argv.end());
    return take_script(*script, line);
  }
}

void print_left_out(const GivenLine& line, const std::string& where) {
  if (!line.left_out.empty())
    fmt::print(stderr, "muster: {}: the line up to its program ({}), which is not started\n", where,
               printable_line(shell_line(line.left_out), 120));
}

Result<GivenLine> read_script(const std::string& option) {
  std::error_code ignored;
  auto [file, number] = fs::exists(option, ignored) ? std::pair(option, 0) : file_and_line(option);
  const auto text = read_file(file, most_of_script);
  if (!text) return fail(ErrorKind::usage, "--launch", to_string(text.error()));
  const auto command = the_command(launch_commands(*text, is_launcher_name), file, number);
  if (!command) return tl::unexpected(command.error());
  auto line = line_of_command(*command, {fmt::format("{}:{}", file, command->number), true});
  if (line && !line->left_out.empty())
    if (const auto script = script_at(line->left_out, 0)) take_script(*script, *line);
  if (line)
    fmt::print(
        stderr,
        "muster: {}:{}: the launch line up to its program ({}); the rest of the script is not executed: load its "
        "modules and export its variables first\n",
        printable_line(file, 200), command->number, printable_line(shell_line(line->left_out), 120));
  return line;
}

/// What a line started, or why it did not. Fails with kind `usage` when nodes have different numbers of ranks.
Result<LineWorld> world_of(GivenWorld given, const std::string& where) {
  LineWorld world;
  if (!given.world) {
    world.unable = std::move(given.finding);
    return world;
  }
  std::map<std::string, int> ranks_on;
  for (const RankPlace& place : given.world->ranks)
    if (++ranks_on[place.host] == 1) world.nodes.push_back(place.host);
  world.ranks_per_node = ranks_on.begin()->second;
  std::vector<std::string> counts;
  bool is_even = true;
  for (const auto& [host, count] : ranks_on) {
    is_even = is_even && count == world.ranks_per_node;
    counts.push_back(fmt::format("{} on {}", count, printable_line(host, 60)));
  }
  if (is_even) return world;
  return fail(ErrorKind::usage, where,
              fmt::format("the line starts different numbers of ranks: {}; checks need the same on each node",
                          human_list(counts, 6)));
}

/// Starts a line once. `name`: of the folder of its output in the run's.
Result<LineWorld> start_once(const LineStart& start, const SiteOptions& options, SiteFound& found,
                             const std::string& name, const std::string& where) {
  auto folder = make_private_folder();
  if (!folder) return tl::unexpected(folder.error());
  found.line_folders[name] = *folder;
  SessionOptions session;
  session.agent = start.agent;
  session.self = own_executable();
  session.line = &start.line;
  session.is_simulated = options.is_simulated;
  // The line may start other ranks than the simulated machine has masks for.
  if (options.is_simulated) session.affinity_library = shipped_stand_ins() / affinity_library;
  take_session_variables(session);
  GivenWorld given = start_given_line({*start.launcher, start.identity, session}, **folder);
  if (given.interrupted_by != 0) {
    found.line_folders.clear();
    folder->reset();
    end_by(given.interrupted_by);
  }
  // By the end of the run its files are there.
  const std::string path = (*folder)->string();
  if (const std::size_t at = given.finding.remedy.find(path); at != std::string::npos)
    given.finding.remedy.replace(at, path.size(), "launches/" + name);
  return world_of(std::move(given), where);
}

const Check* check_named(const std::vector<Check>& checks, const std::string& name) {
  const auto found = std::find_if(checks.begin(), checks.end(), [&](const Check& check) { return check.name == name; });
  return found == checks.end() ? nullptr : &*found;
}

/// The launcher and the agent of a check's line; what is missing there keeps that check alone from running.
Result<LineStart> prepare_line(GivenLine line, const SiteOptions& options, const std::string& where) {
  SiteFound site;
  auto launcher = line_launcher(line, launcher_of(line) == nullptr ? options.launcher : std::string(), where);
  if (!launcher) return tl::unexpected(launcher.error());
  site.launcher = *launcher;
  site.line = std::move(line);
  if (auto taken = take_launcher(site, options.agent); !taken) return tl::unexpected(taken.error());
  return LineStart{std::move(*site.line), *launcher, std::move(site.identity), std::move(site.agent)};
}

Finding no_start(const Error& error) {
  return {Verdict::error,
          to_string(error),
          {{CulpritKind::launcher, "the launch line", "", -1}},
          "see that the launch line works with another program, such as hostname"};
}

}  // namespace

Result<GivenLine> read_launch_option(const std::string& option) {
  if (option.starts_with('@')) return read_script(option.substr(1));
  auto line = parse_given_line(option);
  if (line && line->left_out.empty()) leave_out_script(*line);
  if (line) print_left_out(*line, "--launch");
  return line;
}

Result<const LauncherSpec*> line_launcher(const GivenLine& line, const std::string& like, const std::string& where) {
  if (!like.empty())
    if (const auto* launcher = find_launcher(like)) return launcher;
  if (const auto* launcher = launcher_of(line)) return launcher;
  std::vector<std::string> known;
  for (const auto* launcher : all_launchers())
    if (!launcher->program.empty()) known.emplace_back(launcher->name);
  return fail(ErrorKind::usage, where,
              fmt::format("\"{}\" is none of {}; name the one that it behaves like with --launcher",
                          printable_line(line.argv[line.launcher], 60), human_list(known)));
}

Result<void> take_line_world(const SiteOptions& options, SiteFound& found) {
  if (!found.line || found.no_launch) return {};
  LineStart& start = found.lines[options.launch];
  start = {*found.line, found.launcher, found.identity, found.agent};
  auto world = start_once(start, options, found, "line", "--launch");
  if (!world) return tl::unexpected(world.error());
  found.site.nodes = world->nodes;
  if (!world->unable) look_here(found.site);
  found.site.lines[options.launch] = std::move(*world);
  return {};
}

Result<void> start_check_lines(const SiteOptions& options, const std::vector<Check>& checks, const Plan& plan,
                               SiteFound& found) {
  for (const Case& item : plan.cases) {
    const std::string& text = item.shape.line;
    const Check* check = check_named(checks, item.check);
    if (text.empty() || check == nullptr || found.site.lines.count(text) != 0) continue;
    auto line = parse_given_line(text, {check->launch_place, true});
    if (!line) return tl::unexpected(line.error());
    if (line->left_out.empty()) leave_out_script(*line);
    print_left_out(*line, check->launch_place + ": launch");
    auto start = prepare_line(std::move(*line), options, check->launch_place);
    if (!start && start.error().kind == ErrorKind::usage) return tl::unexpected(start.error());
    if (!start) {
      found.site.lines[text].unable = no_start(start.error());
      continue;
    }
    const LineStart& kept = found.lines[text] = std::move(*start);
    auto world = start_once(kept, options, found, "line-" + check->name, check->launch_place);
    if (!world) return tl::unexpected(world.error());
    found.site.lines[text] = std::move(*world);
  }
  return {};
}

Result<void> refuse_beside_lines(const RunOptions& options, const std::vector<Check>& checks, const Plan& plan) {
  const SiteOptions& site = options.site;
  if (!site.launch.empty()) return {};
  const std::pair<const char*, bool> shaping[] = {
      {"--nodes", !site.nodes.empty()},        {"--ranks-per-node", site.ranks_per_node.has_value()},
      {"--bind", !site.bind.empty()},          {"--environment", !site.environment.empty()},
      {"--per-node", options.choose.per_node}, {"--submit", options.submit}};
  for (const Case& item : plan.cases)
    for (const auto& [option, is_given] : shaping) {
      const Check* check = check_named(checks, item.check);
      if (!is_given || item.shape.line.empty() || check == nullptr) continue;
      return fail(
          ErrorKind::usage, check->launch_place,
          fmt::format("\"launch\" of check {} does not go together with {}; leave {} out, or this check (-x {})",
                      check->name, option, option, check->name));
    }
  return {};
}

void keep_line_folders(const SiteFound& found, const fs::path& launches) {
  std::error_code ignored;
  for (const auto& [name, folder] : found.line_folders)
    fs::copy(*folder, launches / name, fs::copy_options::recursive, ignored);
}

bool has_line(const Plan& plan) {
  return std::any_of(plan.cases.begin(), plan.cases.end(), [](const Case& item) { return !item.shape.line.empty(); });
}

}  // namespace muster
