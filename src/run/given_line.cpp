#include "run/given_line.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <wordexp.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "run/examine.hpp"
#include "run/launch.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

/// A backslash at the end of a line joins it with the next, and other ends of lines are spaces, as in a batch script.
std::string one_line(std::string_view text) {
  std::string line;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at, 2) == "\\\n") ++at;
    line += text[at] == '\n' || text[at] == '\r' ? ' ' : text[at];
  }
  return line;
}

Result<Argv> words_of(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorKind::usage, "--launch", fmt::format("\"{}\" {}", printable_line(trim(text), 120), why));
  };
  if (text.find('\0') != text.npos) return refuse("has a zero byte");
  wordexp_t expanded = {};
  const int status = ::wordexp(one_line(text).c_str(), &expanded, WRDE_NOCMD | WRDE_UNDEF);
  const std::unique_ptr<wordexp_t, void (*)(wordexp_t*)> owner(status == 0 ? &expanded : nullptr, ::wordfree);
  switch (status) {
    case 0:
      return Argv(expanded.we_wordv, expanded.we_wordv + expanded.we_wordc);
    case WRDE_BADCHAR:
      return refuse("is no single command: write it without ; | & < > ( ) { }, or quote these");
    case WRDE_BADVAL:
      return refuse("names a variable that is not set; export it, or quote the dollar sign");
    case WRDE_CMDSUB:
      return refuse("has a command substitution; write its result");
    default:
      return refuse("has a quote that is not closed");
  }
}

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == word.npos || equals == 0 || (word[0] >= '0' && word[0] <= '9')) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), [](unsigned char letter) {
    return letter == '_' || (letter < 0x80 && std::isalnum(letter) != 0);
  });
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

/// Where a launcher of PyTorch begins: `torchrun`, or `python3 -m torch.distributed.run`.
Argv::iterator find_torchrun(Argv& words) {
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (base_name(*word) == "torchrun") return word;
    if (base_name(*word).rfind("python", 0) != 0 || words.end() - word < 3 || *(word + 1) != "-m") continue;
    if (*(word + 2) == "torch.distributed.run" || *(word + 2) == "torch.distributed.launch") return word;
  }
  return words.end();
}

/// srun passes on only what `--export` names; of muster's variables one is a secret with a new value for each launch.
Result<void> check_export(const Argv& words) {
  for (const std::string& word : words) {
    if (word.rfind("--export=", 0) != 0) continue;
    const Argv names = split(std::string_view(word).substr(9), ',');
    if (std::find(names.begin(), names.end(), "ALL") != names.end()) continue;
    return fail(ErrorKind::usage, "--launch",
                fmt::format("{} keeps muster's own variables from the ranks; write --export=ALL,... instead",
                            printable_line(word, 80)));
  }
  return {};
}

}  // namespace

Result<GivenLine> parse_given_line(std::string_view text) {
  auto words = words_of(text);
  if (!words) return tl::unexpected(words.error());
  GivenLine line;
  auto word = words->begin();
  for (; word != words->end() && is_assignment(*word); ++word) {
    const std::size_t equals = word->find('=');
    line.env.emplace_back(word->substr(0, equals), word->substr(equals + 1));
  }
  words->erase(words->begin(), word);
  const auto torchrun = find_torchrun(*words);
  line.left_out.assign(torchrun, words->end());
  words->erase(torchrun, words->end());
  if (words->empty())
    return fail(ErrorKind::usage, "--launch",
                "names no launcher; write for example --launch 'srun -N 2 --ntasks-per-node=8'");
  if (auto checked = check_export(*words); !checked) return tl::unexpected(checked.error());
  line.argv = std::move(*words);
  return line;
}

const LauncherSpec* launcher_of(const GivenLine& line) {
  std::string name = base_name(line.argv.front());
  if (name == "orterun" || name == "prterun" || name == "mpirun.openmpi" || name == "mpirun.mpich") name = "mpirun";
  if (name == "mpiexec.hydra" || name == "mpiexec.openmpi" || name == "mpiexec.mpich") name = "mpiexec";
  const auto* launcher = find_launcher(name);
  return launcher != nullptr && !launcher->program.empty() ? launcher : nullptr;
}

LaunchCommand put_behind(const GivenLine& line, const LauncherSpec& launcher, const LauncherIdentity& identity,
                         const AgentCommand& agent) {
  LaunchCommand command{line.argv, line.env};
  if (launcher.pass_on != nullptr) {
    const Argv names = launcher.pass_on(identity, agent.env);
    command.argv.insert(command.argv.begin() + 1, names.begin(), names.end());
  }
  command.argv.insert(command.argv.end(), agent.argv.begin(), agent.argv.end());
  return command;
}

GivenWorld start_given_line(const LauncherSpec& launcher, const LauncherIdentity& identity,
                            const SessionOptions& options, const fs::path& folder) {
  Loop loop;
  LaunchOrder order;
  order.tag = "line-" + random_hex(8);
  order.folder = folder;
  order.takes_any_world = true;
  Examiner::Scene scene;
  scene.nodes = {host_name()};
  scene.tag = order.tag;
  scene.folder = folder;
  Launch launch(loop, launcher, identity, options, std::move(order), {});
  if (auto started = launch.start(); !started)
    return {std::nullopt,
            {Verdict::error,
             to_string(started.error()),
             {{CulpritKind::launcher, std::string(launcher.name), "", -1}},
             "see that the line of --launch works with another program, such as hostname"}};
  loop.run_until([&] { return launch.is_over(); });
  if (launch.is_clean()) return {launch.world(), {}};
  Examiner examiner(loop, {&launcher, identity, {}, options.self}, options);
  if (launch.refusal().empty()) examiner.look(launch, scene);
  (void)examiner.clear_away(launch, scene);
  auto damage = examiner.diagnose(launch, scene);
  return {std::nullopt, explain_given_line(std::move(damage.finding), launch.stderr_tail(), options.agent)};
}

namespace {

/// Why no agent runs is the line's doing, whichever rank died of it first.
Finding by_the_line(Finding finding, std::string reason, std::string remedy) {
  finding.verdict = Verdict::error;
  finding.reason = std::move(reason);
  finding.remedy = std::move(remedy);
  finding.culprits = {{CulpritKind::launcher, "--launch", "", -1}};
  return finding;
}

/// The line of `text` that holds `words`, without what a program writes before its message; empty: none.
std::string line_with(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == text.npos) return {};
  const std::size_t begin = text.rfind('\n', at) + 1;
  return printable_line(text.substr(begin, text.find('\n', at) - begin), 200);
}

}  // namespace

Finding explain_given_line(Finding finding, std::string_view stderr_text, const fs::path& agent) {
  if (const auto said = line_with(stderr_text, "error while loading shared libraries: "); !said.empty())
    return by_the_line(std::move(finding),
                       fmt::format("the agent {} can't be loaded where the line starts it: {}", agent.string(), said),
                       "bind the MPI of this node into the container, or name with --agent one that was built there "
                       "(docs/launch-line.md, \"Containers\")");
  // A C library that is too old for the agent: `version `GLIBC_2.36' not found`.
  if (const auto said = line_with(stderr_text, "' not found (required by "); !said.empty())
    return by_the_line(std::move(finding),
                       fmt::format("the agent {} needs a newer C library than there is where the line starts it: {}",
                                   agent.string(), said),
                       "build muster in that container, and name its agent with --agent");
  for (const char* words : {"CPU binding outside of job step allocation", "Unable to satisfy cpu bind request"})
    if (const auto said = line_with(stderr_text, words); !said.empty())
      return by_the_line(
          std::move(finding), fmt::format("Slurm refuses the masks of the line: {}", said),
          "give srun a mask list or -c, never both (SLURM_CPUS_PER_TASK and --threads-per-core count as -c), "
          "and ask for whole nodes (--exclusive)");
  for (const std::string_view line : lines(stderr_text)) {
    if (line.find(agent.string()) == line.npos && line.find(agent.filename().string()) == line.npos) continue;
    const bool is_missing = line.find("No such file or directory") != line.npos ||
                            line.find("no such file or directory") != line.npos || line.find("not found") != line.npos;
    if (!is_missing) continue;
    return by_the_line(
        std::move(finding),
        fmt::format("the agent {} is not there where the line starts it: {}", agent.string(),
                    printable_line(trim(line), 200)),
        fmt::format("bind its folder into the container (singularity exec --bind {0}, apptainer exec --bind {0}), or "
                    "name a path that is there with --agent",
                    agent.parent_path().string()));
  }
  if (finding.reason.find("nothing that it started is muster's agent") != std::string::npos)
    finding.remedy =
        "end the line before the program, where muster's agent takes its place; a container's wrapper stays";
  return finding;
}

}  // namespace muster
