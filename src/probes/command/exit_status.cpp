#include "probes/command/exit_status.hpp"

#include <array>
#include <string.h>  // sigabbrev_np is not in <cstring> everywhere

#include "base/number.hpp"
#include "base/text.hpp"
#include "base/units.hpp"

namespace muster::program {

namespace {

/// `timed out after 5.0 s (limit 5s), still running sleep 100`.
std::string describe_timeout(const Observation& seen, const Params& params) {
  const std::string* command = seen.fact("command");
  return fmt::format("timed out after {} s (limit {}){}", printable_line(*seen.fact("deadline"), 20),
                     format_duration(params.duration("deadline")),
                     command == nullptr ? "" : fmt::format(", still running `{}`", printable_line(*command, 200)));
}

std::string describe(const Blame& blame, const RankPlace& place, const Observation& seen, std::string_view fault) {
  const std::string* last = seen.fact("last_line");
  std::string text = fmt::format("{} {}", blame.subject(place), fault);
  if (last == nullptr || last->empty()) return text + "; it printed nothing";
  return text + "; its last line: " + printable_line(*last, 200);
}

constexpr std::string_view option_remedy = "correct that option in argv; --help of the program lists its options";

/// What to do about a mistake that the last line of the output contains; empty: none is known.
std::string remedy_by(std::string_view last) {
  struct Mistake {
    std::string_view words;
    std::string_view remedy;
  };
  constexpr std::array<Mistake, 13> mistakes{{
      {"nrecognized option", option_remedy},
      {"nvalid option", option_remedy},
      {"nknown option", option_remedy},
      {"nrecognized arguments", option_remedy},
      {"Executable: ",
       "correct the name or path of the program that is started: it must be at the same place on all nodes, and is "
       "looked for on PATH or below the folder in which muster was started"},
      {"module: command not found",
       "load modules before muster: programs inherit its environment, but no functions of the shell"},
      {"error while loading shared libraries",
       "install that library at the same place on all nodes, or set LD_LIBRARY_PATH before muster (module load); ldd "
       "PROGRAM lists what is missing"},
      {"yntax error", "correct the script at the line that the shell names; sh -n SCRIPT tries it without starting it"},
      {"unbound variable", "set that variable before muster, or a default in the script: ${NAME:-value}"},
      {"parameter not set", "set that variable before muster, or a default in the script: ${NAME:-value}"},
      {"xec format error", "name a build for the processor of these nodes; a script begins with #!/bin/sh"},
      {"No module named",
       "load the module or environment that has it before muster, or write argv = [\"{python}\", ...] with imports = "
       "[\"NAME\"], which finds a Python that has it"},
      {"o such file or directory",
       "correct the path, or put the file at the same place on all nodes: programs run in the folder in which muster "
       "was started"},
  }};
  for (const Mistake& one : mistakes)
    if (last.find(one.words) != last.npos) return std::string(one.remedy);
  return {};
}

/// What to look at: a shell's own statuses for what it can't start, a limit, a node that is unlike the others.
std::string remedy_of(const Blame& blame, const CaseView& view, const Observation& seen) {
  const auto status = number_fact(seen, "status");
  if (blame.is_of_rank_0()) return rank_0_remedy(view.ranks);
  if (seen.fact("deadline") != nullptr)
    return "give the check a longer deadline and timeout, or the program less to do";
  if (seen.fact("stopped") != nullptr)
    return "see who stops processes there (kill -STOP, a debugger, a batch system that suspends jobs); the program did "
           "not end by itself";
  if (blame.is_on_nodes()) return "look at the output of the program; run it by hand on that node";
  if (const std::string* last = seen.fact("last_line"); last != nullptr)
    if (std::string remedy = remedy_by(*last); !remedy.empty()) return remedy;
  if (seen.fact("signal") != nullptr)
    return "run the program by hand under a debugger, with the same arguments: no node is blamed, as it crashes on "
           "most of them";
  if (status && (*status == 127 || *status == 126))
    return "correct the name or path of what the program starts: 127 is a shell's status for a command that is not "
           "found, 126 for one that is not executable";
  return "look at the output of the program: its name, paths and options in the check file, and what it needs; no node "
         "is blamed, as it does not work on most of them";
}

/// The same fault, though each rank was ended at another time.
std::string key_of(const Observation& seen, const std::string& what) {
  return seen.fact("deadline") != nullptr ? "deadline" : what;
}

}  // namespace

std::optional<int> number_fact(const Observation& seen, std::string_view key) {
  const std::string* text = seen.fact(key);
  return text == nullptr ? std::nullopt : leading_number<int>(*text);
}

bool was_started(const Observation& seen) {
  return seen.fact("absent") == nullptr && seen.fact("not_started") == nullptr && seen.fact("lack") == nullptr;
}

std::string find_fault(const Observation& seen, const Params& params) {
  const int expected = static_cast<int>(params.integer("expect_status"));
  if (seen.fact("deadline") != nullptr) return describe_timeout(seen, params);
  if (const std::string* stopped = seen.fact("stopped"))
    return fmt::format("was stopped (SIGSTOP or SIGTSTP) for {} s and ended for it", printable_line(*stopped, 20));
  if (const auto signal = number_fact(seen, "signal")) {
    const char* name = ::sigabbrev_np(*signal);
    return fmt::format("was ended by signal {}{}", *signal, name == nullptr ? "" : fmt::format(" (SIG{})", name));
  }
  const auto status = number_fact(seen, "status");
  if (!status) return "reported no exit status";
  if (*status != expected) return fmt::format("exited with {} (expected {})", *status, expected);
  return {};
}

void take_end(const Blame& blame, const CaseView& view, const RankPlace& place, bool has_reported_why,
              Findings& findings) {
  const Observation& seen = *view.observed[static_cast<std::size_t>(place.rank)];
  const std::string what = find_fault(seen, view.params);
  const bool is_exit = seen.fact("deadline") == nullptr && seen.fact("signal") == nullptr;
  if (what.empty() || (is_exit && has_reported_why)) return;
  Finding finding{
      Verdict::fail, describe(blame, place, seen, what), {blame.culprit(place)}, remedy_of(blame, view, seen)};
  findings.add(seen.fact("deadline") != nullptr ? Order::late : Order::crash, key_of(seen, what), std::move(finding),
               true);
}

void take_unprinted(const Blame& blame, const CaseView& view, const RankPlace& place, Findings& findings) {
  const Observation& seen = *view.observed[static_cast<std::size_t>(place.rank)];
  const std::string* pattern = seen.fact("unprinted");
  if (pattern == nullptr || !find_fault(seen, view.params).empty()) return;
  const std::string what = fmt::format("printed no line with `{}`", printable_line(*pattern, 200));
  Finding finding{Verdict::fail,
                  describe(blame, place, seen, what),
                  {blame.culprit(place)},
                  blame.is_of_rank_0()
                      ? rank_0_remedy(view.ranks)
                      : "look at the output of the program: its result is wrong, or must_print is not what it prints"};
  findings.add(Order::unprinted, what, std::move(finding), true);
}

}  // namespace muster::program
