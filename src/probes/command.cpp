// Any program, once per rank, with a deadline. docs/methods/command.md
#include <arpa/inet.h>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <netinet/in.h>
#include <string.h>  // sigabbrev_np is not in <cstring> everywhere
#include <sys/socket.h>
#include <unistd.h>

#include "base/files.hpp"
#include "muster/probe.hpp"
#include "probes/program_metrics.hpp"
#include "system/child.hpp"

namespace muster {

namespace {

constexpr std::size_t most_output = 64u << 10;

constexpr ParamSpec params[] = {
    {"argv", ParamType::text_list, {}, "The program and its arguments; no shell is involved.", {}, {}, {}},
    {"deadline", ParamType::duration, "30s", "Time that the program has; then it is ended.", {}, 0.001, 86400},
    {"expect_status", ParamType::integer, "0", "Exit status that is a pass.", {}, 0, 255},
};

Result<std::unique_ptr<ProbeState>> prepare(const PrepareContext& context) {
  const std::vector<std::string> argv = context.params.texts("argv");
  if (argv.empty()) return fail(ErrorKind::usage, "argv", "names no program");
  if (find_program(argv[0]).empty())
    return fail(ErrorKind::launch, argv[0], fmt::format("no such program on {}", context.place.host));
  return nullptr;
}

/// A TCP port that is free on this node now; 0 when none can be had.
int find_free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return 0;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool found = ::bind(socket, generic, size) == 0 && ::getsockname(socket, generic, &size) == 0;
  ::close(socket);
  return found ? ntohs(address.sin_port) : 0;
}

/// `host` and `port` of rank 0, the same on every rank. Collective.
Result<Environment> agree_on_master(RunContext& context) {
  context.recorder.step("rendezvous");
  std::string mine;
  if (context.place.rank == 0) mine = fmt::format("{}\n{}", find_free_port(), context.place.host);
  const auto* bytes = reinterpret_cast<const std::byte*>(mine.data());
  const auto all = context.comm.broadcast(std::span(bytes, mine.size()), 0);
  if (!all) return tl::unexpected(all.error());
  const std::string_view text(reinterpret_cast<const char*>(all->data()), all->size());
  const std::size_t end = text.find('\n');
  if (end == text.npos || text.substr(0, end) == "0")
    return fail(ErrorKind::system, "MASTER_PORT", "rank 0 found no free port");
  return Environment{{"MASTER_ADDR", std::string(text.substr(end + 1))},
                     {"MASTER_PORT", std::string(text.substr(0, end))}};
}

Environment environment_of(const RankPlace& place, Environment master) {
  master.insert(master.end(), {{"RANK", std::to_string(place.rank)},
                               {"WORLD_SIZE", std::to_string(place.world_size)},
                               {"LOCAL_RANK", std::to_string(place.local_rank)},
                               {"LOCAL_WORLD_SIZE", std::to_string(place.local_size)}});
  return master;
}

Result<Observation> run(RunContext& context) {
  auto master = agree_on_master(context);
  if (!master) return tl::unexpected(master.error());
  program::Output output(most_output);
  ChildOptions options;
  options.argv = context.params.texts("argv");
  options.env = environment_of(context.place, std::move(*master));
  // The token would let the program speak for us to the driver.
  options.without = {"MUSTER_TOKEN", "MUSTER_WIRE"};
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
  seen.facts.insert(seen.facts.end(), output.bad_lines.begin(), output.bad_lines.end());
  seen.output = output.text();
  return seen;
}

std::optional<int> number_fact(const Observation& seen, std::string_view key) {
  const std::string* text = seen.fact(key);
  int number = 0;
  if (text == nullptr || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc{})
    return std::nullopt;
  return number;
}

/// What is wrong with the end of one rank's program; empty: nothing.
std::string find_fault(const Observation& seen, const Params& params) {
  const int expected = static_cast<int>(params.integer("expect_status"));
  if (seen.fact("deadline") != nullptr)
    return fmt::format("did not end within {}", format_duration(params.duration("deadline")));
  if (const auto signal = number_fact(seen, "signal")) {
    const char* name = ::sigabbrev_np(*signal);
    return fmt::format("was ended by signal {}{}", *signal, name == nullptr ? "" : fmt::format(" (SIG{})", name));
  }
  const auto status = number_fact(seen, "status");
  if (!status) return "told no exit status";
  if (*status != expected) return fmt::format("exited with {} (expected {})", *status, expected);
  return {};
}

/// Ranks whose programs ended in the same wrong way; the first speaks for all.
struct Fault {
  std::string first;
  std::vector<Culprit> culprits;
};

Finding to_finding(const Fault& fault) {
  Finding finding;
  finding.reason = fault.first;
  const std::size_t others = fault.culprits.size() - 1;
  if (others > 0) finding.reason += fmt::format(" (and {} more {} likewise)", others, others == 1 ? "rank" : "ranks");
  finding.culprits = fault.culprits;
  finding.remedy = "look at the output of the program; run it by hand on that node";
  return finding;
}

std::string describe(const RankPlace& place, const Observation& seen, std::string_view fault) {
  const std::string* last = seen.fact("last_line");
  std::string text = fmt::format("rank {} on {} {}", place.rank, place.host, fault);
  if (last == nullptr || last->empty()) return text + "; it printed nothing";
  return text + "; its last line: " + printable_line(*last, 200);
}

Finding bad_line(const RankPlace& place, const std::string& line) {
  Finding finding;
  finding.verdict = Verdict::unmeasured;
  finding.reason = fmt::format("rank {} on {} printed a metric that can't be read: {}", place.rank, place.host,
                               printable_line(line));
  finding.culprits.push_back({CulpritKind::rank, fmt::format("rank {}", place.rank), place.host, place.rank});
  finding.remedy = R"(print one line {"metric":name,"value":number,"unit":"GB/s"} per metric)";
  return finding;
}

ProbeJudgement judge(const CaseView& view) {
  ProbeJudgement judgement;
  std::map<std::string, Fault> faults;
  std::optional<Finding> unreadable;
  std::size_t right = 0;
  for (std::size_t rank = 0; rank < view.ranks.size() && rank < view.observed.size(); ++rank) {
    const Observation* seen = view.observed[rank];
    if (seen == nullptr || seen->state != ObservationState::measured) continue;
    const RankPlace& place = view.ranks[rank];
    const std::string what = find_fault(*seen, view.params);
    const std::string* line = seen->fact("bad_metric_line");
    if (line != nullptr && !unreadable) unreadable = bad_line(place, *line);
    right += what.empty() ? 1 : 0;
    if (what.empty()) continue;
    Fault& fault = faults[what];
    if (fault.culprits.empty()) fault.first = describe(place, *seen, what);
    fault.culprits.push_back({CulpritKind::rank, fmt::format("rank {}", place.rank), place.host, place.rank});
  }
  for (const auto& entry : faults) judgement.findings.push_back(to_finding(entry.second));
  if (unreadable) judgement.findings.push_back(std::move(*unreadable));
  if (right > 0 && judgement.findings.empty())
    judgement.evidence.push_back(fmt::format("{} of {} programs exited with {}", right, view.ranks.size(),
                                             view.params.integer("expect_status")));
  return judgement;
}

}  // namespace

extern const ProbeSpec probe_command{
    .name = "command",
    .summary = "Any program, once per rank, with a deadline; its metrics from lines of JSON.",
    .params = params,
    .prepare = prepare,
    .run = run,
    .judge = judge,
    .takes_declared_metrics = true,
};

}  // namespace muster
