// Any program, once per rank, with a deadline. docs/methods/command.md
#include <algorithm>
#include <fmt/format.h>

#include "base/cpu_mask.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "muster/probe.hpp"
#include "probes/command/exit_status.hpp"
#include "probes/command/hidden.hpp"
#include "probes/command/interpreter.hpp"
#include "probes/command/judge.hpp"
#include "probes/command/missing_program.hpp"
#include "probes/command/no_reading.hpp"
#include "probes/command/output.hpp"
#include "probes/command/patterns.hpp"
#include "probes/command/rendezvous.hpp"
#include "probes/command/words.hpp"
#include "system/child.hpp"

namespace muster {

namespace {

constexpr std::size_t most_output = 64u << 10;

using program::python_word;

constexpr ParamSpec command_params[] = {
    {"argv",
     ParamType::text_list,
     {},
     "The program and its arguments; no shell is involved. {python} is an interpreter, {check} the check file's "
     "folder.",
     {},
     {},
     {}},
    {"arguments", ParamType::text_list, "", "Further arguments, after those of argv.", {}, {}, {}},
    {"deadline", ParamType::duration, "30s", "Time limit of the program, which is then ended.", {}, 0.001, 86400},
    {"expect_status", ParamType::integer, "0", "Exit status that is a pass.", {}, 0, 255},
    {"python",
     ParamType::text,
     "",
     "Interpreter for {python}; empty: the first python3 on PATH that has `imports`.",
     {},
     {},
     {}},
    {"imports", ParamType::text_list, "", "Python modules that {python} must have.", {}, {}, {}},
    {"missing",
     ParamType::text,
     "error",
     "Verdict where no node has a Python with `imports`: skip is for checks that most clusters have no use for.",
     "error|skip",
     {},
     {}},
    {"backend",
     ParamType::text,
     "auto",
     "Backend of torch.distributed for programs that choose one, passed as MUSTER_BACKEND. The PyTorch checks fail "
     "where they can't use it.",
     "auto|nccl|gloo",
     {},
     {}},
    {"metric",
     ParamType::text_list,
     "",
     "Numbers in the output or in files: tables [[check.NAME.params.metric]] with name, pattern and unit.",
     {},
     {},
     {}},
    {"must_print", ParamType::text_list, "", "Patterns; each must be found in a line of the output.", {}, {}, {}},
};

Result<program::PatternReadings> readings_of(const Params& params) {
  return program::PatternReadings::make(params.texts("metric"), params.texts("must_print"));
}

/// Whether the program is there is for run_command(): ranks on other nodes may have it.
Result<std::unique_ptr<ProbeState>> prepare_command(const PrepareContext& context) {
  if (context.params.texts("argv").empty()) return fail(ErrorKind::usage, "argv", "names no program");
  if (const auto readings = readings_of(context.params); !readings) return tl::unexpected(readings.error());
  return nullptr;
}

bool wants_python(const Params& params) {
  const std::vector<std::string> words = params.texts("argv");
  return is_in(python_word, words);
}

/// Of a rank that could have started its program, while others could not.
Observation not_started() {
  Observation seen;
  seen.facts = {{"not_started", "other ranks lack the program or its interpreter"}, program::no_reading()};
  return seen;
}

/// Where no rank starts a program, because some have no interpreter for it.
Observation without_interpreter(const Interpreter& mine) {
  if (!mine.path.empty()) return not_started();
  Observation seen;
  seen.facts = {{"absent", mine.lack}, program::no_reading()};
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

/// How it ended.
void add_end(const ChildEnd& end, const ChildOptions& options, Observation& seen) {
  if (end.timed_out) {
    seen.facts.push_back({"deadline", fmt::format("{:.1f}", end.seconds)});
    seen.facts.push_back({"command", printable_line(shell_line(options.argv), 200)});
  }
  if (end.was_stopped) seen.facts.push_back({"stopped", fmt::format("{:.0f}", options.stopped_s)});
  if (end.signal != 0)
    seen.facts.push_back({"signal", std::to_string(end.signal)});
  else
    seen.facts.push_back({"status", std::to_string(end.status)});
  if (const auto mask = CpuMask::of_this_thread()) seen.facts.push_back({"cpus", std::to_string(mask->count())});
}

/// Every rank runs its program; collective only before it starts.
Result<Observation> run_program(RunContext& context, std::vector<std::string> argv) {
  auto readings = readings_of(context.params);
  if (!readings) return tl::unexpected(readings.error());
  readings->note_files(context.check_folder);
  auto master = program::agree_on_master(context);  // no rank goes on before all have noted their files
  if (!master) return tl::unexpected(master.error());
  master->env.emplace_back("MUSTER_MPI", context.comm.library());
  program::Output output(most_output, [&](std::string_view line) { readings->take_line(line); });
  ChildOptions options;
  options.argv = std::move(argv);
  options.env = environment_of(context.place, context.params, std::move(master->env));
  options.without = program::hidden_from(options.argv[0]);
  options.deadline_s = context.params.duration("deadline").value;
  options.on_start = [&](int group) { context.recorder.child_group(group); };
  options.on_output = [&](std::string_view chunk) { output.feed(chunk); };
  context.recorder.step("program");
  const auto end = run_child(options);
  context.recorder.child_group(0);
  if (!end) return program::lacking(program::find_bad_start(options.argv[0], to_string(end.error())));
  output.finish();
  readings->read_files();

  Observation seen;
  seen.readings = std::move(output.readings);
  readings->deliver(seen);
  add_end(*end, options, seen);
  if (!master->wrong_address.empty())
    seen.facts.push_back({master->is_elsewhere ? "address_elsewhere" : "wrong_address", master->wrong_address});
  if (!program::find_fault(seen, context.params).empty()) seen.facts.push_back(program::no_reading());
  seen.facts.push_back({"last_line", output.last_line()});
  seen.facts.insert(seen.facts.end(), output.reported.begin(), output.reported.end());
  seen.facts.insert(seen.facts.end(), output.bad_lines.begin(), output.bad_lines.end());
  seen.output = output.text();
  return seen;
}

Result<Observation> run_command(RunContext& context) {
  std::vector<std::string> argv = program::words_of(context.params, context.check_folder);
  const auto lack = program::find_lack(context.params, std::string(context.check_folder));
  const auto is_there = context.comm.all_true(!lack);
  if (!is_there) return tl::unexpected(is_there.error());
  if (!*is_there) return lack ? program::lacking(*lack) : not_started();
  if (!wants_python(context.params)) return run_program(context, std::move(argv));
  const auto found = program::find_interpreters(context);
  if (!found) return tl::unexpected(found.error());
  const Interpreter& mine = (*found)[static_cast<std::size_t>(context.place.rank)];
  const bool all_have =
      std::all_of(found->begin(), found->end(), [](const auto& interpreter) { return !interpreter.path.empty(); });
  if (!all_have) return without_interpreter(mine);
  std::replace(argv.begin(), argv.end(), std::string(python_word), mine.path);
  auto seen = run_program(context, std::move(argv));
  if (seen) seen->facts.push_back({"interpreter", fmt::format("{} (Python {})", mine.path, mine.version)});
  return seen;
}

}  // namespace

extern const ProbeSpec probe_command{
    .name = "command",
    .summary = "Any program, once per rank, with a deadline; its metrics and findings from lines of JSON.",
    .params = command_params,
    .prepare = prepare_command,
    .run = run_command,
    .judge = program::judge,
    .takes_declared_metrics = true,
};

}  // namespace muster
