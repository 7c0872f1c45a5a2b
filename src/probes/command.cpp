// Any program, once per rank, with a deadline. docs/methods/command.md
#include <algorithm>
#include <fmt/format.h>

#include "base/files.hpp"
#include "muster/probe.hpp"
#include "probes/command/interpreter.hpp"
#include "probes/command/judge.hpp"
#include "probes/command/output.hpp"
#include "probes/command/rendezvous.hpp"
#include "system/child.hpp"

extern char** environ;

namespace muster {

namespace {

constexpr std::size_t most_output = 64u << 10;
constexpr std::string_view python_word = "{python}";
constexpr std::string_view folder_word = "{check}";

constexpr ParamSpec params[] = {
    {"argv",
     ParamType::text_list,
     {},
     "The program and its arguments; no shell is involved. {python} is an interpreter, {check} the check file's "
     "folder.",
     {},
     {},
     {}},
    {"arguments", ParamType::text_list, "", "Further arguments, after those of argv.", {}, {}, {}},
    {"deadline", ParamType::duration, "30s", "Time that the program has; then it is ended.", {}, 0.001, 86400},
    {"expect_status", ParamType::integer, "0", "Exit status that is a pass.", {}, 0, 255},
    {"python",
     ParamType::text,
     "",
     "What {python} is; empty: the first python3 on PATH that has `imports`.",
     {},
     {},
     {}},
    {"imports", ParamType::text_list, "", "Python modules that {python} must have.", {}, {}, {}},
    {"backend",
     ParamType::text,
     "auto",
     "Of torch.distributed, for programs that choose one: in their environment as MUSTER_BACKEND. The PyTorch checks "
     "fail "
     "where they can't use it.",
     "auto|nccl|gloo",
     {},
     {}},
};

/// argv and arguments; the folder of the check file filled in, `{python}` left as it is.
std::vector<std::string> words_of(const Params& params, std::string_view folder) {
  std::vector<std::string> words = params.texts("argv");
  for (std::string& argument : params.texts("arguments")) words.push_back(std::move(argument));
  for (std::string& word : words)
    if (word.substr(0, folder_word.size()) == folder_word) word = std::string(folder) + word.substr(folder_word.size());
  return words;
}

Result<std::unique_ptr<ProbeState>> prepare(const PrepareContext& context) {
  const std::vector<std::string> given = context.params.texts("argv");
  if (given.empty()) return fail(ErrorKind::usage, "argv", "names no program");
  const std::vector<std::string> words = words_of(context.params, context.check_folder);
  if (words[0] != python_word && find_program(words[0]).empty())
    return fail(ErrorKind::launch, words[0], fmt::format("no such program on {}", context.place.host));
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::error_code ignored;
    if (given[i] == words[i] || fs::exists(words[i], ignored)) continue;
    return fail(
        ErrorKind::system, words[i],
        fmt::format("no such file on {}; the folder of the check must be there on every node", context.place.host));
  }
  return nullptr;
}

bool wants_python(const Params& params) {
  const std::vector<std::string> words = params.texts("argv");
  return std::find(words.begin(), words.end(), python_word) != words.end();
}

/// What a rank says of a program that no rank has started, because some have no interpreter for it.
Observation not_started(const program::Interpreter& mine) {
  Observation seen;
  if (mine.path.empty())
    seen.facts.push_back({"absent", mine.lack});
  else
    seen.facts.push_back({"not_started", "other ranks have no interpreter"});
  return seen;
}

Environment environment_of(const RankPlace& place, const Params& params, Environment master) {
  master.insert(master.end(), {{"MUSTER_BACKEND", params.text("backend")},
                               {"RANK", std::to_string(place.rank)},
                               {"WORLD_SIZE", std::to_string(place.world_size)},
                               {"LOCAL_RANK", std::to_string(place.local_rank)},
                               {"LOCAL_WORLD_SIZE", std::to_string(place.local_size)}});
  return master;
}

/// A shell that torchrun once set up, or muster started by it: its programs would look for a store that is not there.
std::vector<std::string> left_by_torchrun() {
  constexpr std::string_view start = "TORCHELASTIC_";
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (variable.starts_with(start)) names.emplace_back(variable.substr(0, variable.find('=')));
  }
  return names;
}

/// Every rank runs its program; collective only before it starts.
Result<Observation> run_program(RunContext& context, std::vector<std::string> argv) {
  auto master = program::agree_on_master(context);
  if (!master) return tl::unexpected(master.error());
  master->emplace_back("MUSTER_MPI", context.comm.library());
  program::Output output(most_output);
  ChildOptions options;
  options.argv = std::move(argv);
  options.env = environment_of(context.place, context.params, std::move(*master));
  // The token would let the program speak for us to the driver.
  options.without = {"MUSTER_KEY", "MUSTER_WIRE"};
  for (std::string& name : left_by_torchrun()) options.without.push_back(std::move(name));
  options.deadline_s = context.params.duration("deadline").value;
  options.on_start = [&](int group) { context.recorder.child_group(group); };
  options.on_output = [&](std::string_view chunk) { output.feed(chunk); };
  context.recorder.step("program");
  const auto end = run_child(options);
  context.recorder.child_group(0);
  if (!end) return tl::unexpected(end.error());
  output.finish();

  Observation seen;
  seen.readings = std::move(output.readings);
  if (end->timed_out) seen.facts.push_back({"deadline", "passed"});
  if (end->signal != 0)
    seen.facts.push_back({"signal", std::to_string(end->signal)});
  else
    seen.facts.push_back({"status", std::to_string(end->status)});
  seen.facts.push_back({"last_line", output.last_line()});
  seen.facts.insert(seen.facts.end(), output.told.begin(), output.told.end());
  seen.facts.insert(seen.facts.end(), output.bad_lines.begin(), output.bad_lines.end());
  seen.output = output.text();
  return seen;
}

Result<Observation> run(RunContext& context) {
  std::vector<std::string> argv = words_of(context.params, context.check_folder);
  if (!wants_python(context.params)) return run_program(context, std::move(argv));
  const auto found = program::find_interpreters(context);
  if (!found) return tl::unexpected(found.error());
  const program::Interpreter& mine = (*found)[static_cast<std::size_t>(context.place.rank)];
  const bool all_have =
      std::all_of(found->begin(), found->end(), [](const auto& interpreter) { return !interpreter.path.empty(); });
  if (!all_have) return not_started(mine);
  std::replace(argv.begin(), argv.end(), std::string(python_word), mine.path);
  auto seen = run_program(context, std::move(argv));
  if (seen) seen->facts.push_back({"interpreter", fmt::format("{} (Python {})", mine.path, mine.version)});
  return seen;
}

}  // namespace

extern const ProbeSpec probe_command{
    .name = "command",
    .summary = "Any program, once per rank, with a deadline; its metrics and findings from lines of JSON.",
    .params = params,
    .prepare = prepare,
    .run = run,
    .judge = program::judge,
    .takes_declared_metrics = true,
};

}  // namespace muster
