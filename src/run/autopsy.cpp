#include "run/autopsy.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/clock.hpp"
#include "base/lists.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "run/data_network.hpp"
#include "run/launch_tag.hpp"
#include "run/messages.hpp"
#include "run/process_status.hpp"
#include "system/process_owner.hpp"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::string_view agent_name = "muster-rank";
constexpr std::string_view state_names[] = {"running", "stopped", "uninterruptible", "zombie", "gone", "traced"};

std::string kernel_function(int pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/wchan");
  return text && *text != "0" ? printable_line(*text, 80) : "";
}

/// `sleep 100`; empty: it has ended.
std::string command_line(int pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/cmdline");
  if (!text) return "";
  std::vector<std::string> words = split(*text, '\0');
  if (!words.empty() && words.back().empty()) words.pop_back();
  return printable_line(shell_line(words), 200);
}

ProcessState state_of_parent(const FlightRecord& record) {
  const auto status = process_status(record.parent);
  return status && status->start_ticks == record.parent_start_ticks ? to_state(status->state) : ProcessState::gone;
}

void look_at_program(RankRemains& remains) {
  if (remains.record.child_group <= 1) return;
  const auto status = process_status(remains.record.child_group);
  if (!status) return;
  remains.program_state = to_state(status->state);
  // The number may be that of another user's process by now, whose arguments may block the reader without end (FUSE).
  if (is_own_process(remains.record.child_group)) remains.program = command_line(remains.record.child_group);
}

/// Ranks and daemons, which read handshakes one after the other and wait for the rest of an incomplete one. Not those
/// of another launch of this user.
std::vector<int> those_that_listen(const std::vector<RankRemains>& ranks, const std::set<int>& ports) {
  std::set<int> pids;
  for (const RankRemains& rank : ranks) {
    if (rank.state != ProcessState::gone) pids.insert(rank.record.pid);
    const auto parent = process_status(rank.record.parent);
    if (parent && parent->start_ticks == rank.record.parent_start_ticks && is_daemon_of_one_launch(rank.record.parent))
      pids.insert(rank.record.parent);
  }
  if (!ports.empty())
    each_process([&](int pid, const ProcessStatus&) {
      if (is_daemon_of_one_launch(pid) && has_network_of_this_node(pid) && is_called_with(pid, ports)) pids.insert(pid);
    });
  return {pids.begin(), pids.end()};
}

int stopped_daemon_of(const std::set<int>& ports) {
  const char* job = std::getenv("SLURM_JOB_ID");
  int found = 0;
  each_process([&](int pid, const ProcessStatus& status) {
    if (found != 0 || to_state(status.state) != ProcessState::stopped) return;
    const bool is_ours =
        !ports.empty() && is_daemon_of_one_launch(pid) && has_network_of_this_node(pid) && is_called_with(pid, ports);
    const bool is_step = is_step_of_slurm(pid, job == nullptr ? "" : job) && !has_another_network(pid);
    if (is_ours || is_step) found = pid;
  });
  return found;
}

/// By its variables: another user may put the tag into those of a set-uid program that runs as this user, but not its
/// secret.
bool is_of_this_launch(int pid, const std::string& tag) {
  const auto environment = read_file(fmt::format("/proc/{}/environ", pid), 4u << 20);
  if (!environment) return false;
  const auto variables = split(*environment, '\0');
  const std::string secret = fmt::format("{}=", env_tag_secret);
  return is_in(fmt::format("{}={}", env_tag, tag), variables) &&
         std::any_of(variables.begin(), variables.end(), [&](const std::string& variable) {
           return variable.starts_with(secret) && is_secret_of(variable.substr(secret.size()), tag);
         });
}

/// Ranks that were stopped before they made their recorder. Launchers and shells have the tag, too: the program's name
/// separates them.
std::vector<RankRemains> stopped_without_recorder(const std::string& tag, const std::vector<RankRemains>& known) {
  std::vector<RankRemains> found;
  each_process([&](int pid, const ProcessStatus& status) {
    if (!is_stopped(to_state(status.state)) || !is_own_process(pid)) return;
    const auto name = read_file(fmt::format("/proc/{}/comm", pid));
    const auto is_known = [&](const RankRemains& rank) { return rank.record.pid == pid; };
    if (!name || !name->starts_with(agent_name) || std::any_of(known.begin(), known.end(), is_known)) return;
    if (!has_network_of_this_node(pid) || !is_of_this_launch(pid, tag)) return;
    RankRemains remains;
    remains.record.pid = pid;
    remains.record.start_ticks = status.start_ticks;
    remains.state = to_state(status.state);
    found.push_back(std::move(remains));
  });
  return found;
}

}  // namespace

std::string_view to_string(ProcessState state) {
  return enum_name(state_names, state);
}

ProcessState state_of(const FlightRecord& record) {
  const auto status = process_status(record.pid);
  if (!status || status->start_ticks != record.start_ticks) return ProcessState::gone;
  return to_state(status->state);
}

ProcessState to_state(char state) {
  switch (state) {
    case 'T':
      return ProcessState::stopped;
    case 't':
      return ProcessState::traced;
    case 'D':
      return ProcessState::uninterruptible;
    case 'Z':
    case 'X':
      return ProcessState::zombie;
    default:
      return ProcessState::running;
  }
}

NodeAutopsy look_at_this_node(const std::string& tag, const std::set<int>& launcher_ports) {
  NodeAutopsy autopsy;
  autopsy.answered = true;
  autopsy.now_s = monotonic_seconds();
  for (FlightRecord& record : read_recorders(recorder_folder(), tag)) {
    RankRemains remains;
    // The parent first: it ends after its ranks, and a rank that lives after it has lost it.
    remains.parent_state = state_of_parent(record);
    remains.state = state_of(record);
    if (remains.state == ProcessState::uninterruptible) remains.kernel_function = kernel_function(record.pid);
    remains.record = std::move(record);
    look_at_program(remains);
    autopsy.ranks.push_back(std::move(remains));
  }
  for (RankRemains& rank : stopped_without_recorder(tag, autopsy.ranks)) autopsy.ranks.push_back(std::move(rank));
  if (autopsy.ranks.empty()) autopsy.stopped_daemon = stopped_daemon_of(launcher_ports);
  const std::vector<int> listening = those_that_listen(autopsy.ranks, launcher_ports);
  autopsy.foreign_caller = find_foreign_caller(listening);
  const std::vector<TcpConnection> connections = tcp_connections();
  const std::set<std::string> inodes = sockets_in_this_network(listening);
  autopsy.incomplete_handshakes = incomplete_handshakes_of(connections, inodes);
  autopsy.losses = losses_of(connections, inodes);
  autopsy.places = network_places();
  return autopsy;
}

std::vector<NodeLosses> losses_of(const std::vector<NodeAutopsy>& nodes) {
  std::vector<NodeLosses> losses;
  for (const NodeAutopsy& node : nodes) losses.push_back({node.node, node.incomplete_handshakes.hosts, node.losses});
  return losses;
}

// JSON ---------------------------------------------------------------------------------------------------------

namespace {

json rank_to_json(const RankRemains& rank) {
  const FlightRecord& record = rank.record;
  return {{"pid", record.pid},
          {"start_ticks", record.start_ticks},
          {"rank", record.rank},
          {"world_size", record.world_size},
          {"phase", to_string(record.phase)},
          {"item", record.item},
          {"step", printable_line(record.step)},
          {"error", printable_line(record.error)},
          {"call", printable_line(record.call)},
          {"call_s", record.call_s},
          {"device", printable_line(record.device)},
          {"steps", record.steps},
          {"iteration", record.iteration},
          {"peer", record.peer},
          {"changed_s", record.changed_s},
          {"signal", record.signal},
          {"signal_s", record.signal_s},
          {"is_signal_in_mpi", record.is_signal_in_mpi},
          {"is_exit_in_mpi", record.is_exit_in_mpi},
          {"child_group", record.child_group},
          {"parent", record.parent},
          {"orphaned_s", record.orphaned_s},
          {"parent_state", to_string(rank.parent_state)},
          {"state", to_string(rank.state)},
          {"program", printable_line(rank.program)},
          {"program_state", to_string(rank.program_state)},
          {"kernel_function", printable_line(rank.kernel_function)}};
}

Phase phase_named(const std::string& name) {
  for (auto number = std::uint32_t{0}; number <= static_cast<std::uint32_t>(Phase::finished); ++number)
    if (to_string(static_cast<Phase>(number)) == name) return static_cast<Phase>(number);
  throw std::invalid_argument("no phase is called \"" + printable_line(name, 40) + "\"");
}

ProcessState state_named(const std::string& name) {
  if (const auto state = enum_named<ProcessState>(state_names, name)) return *state;
  throw std::invalid_argument("no process state is called \"" + printable_line(name, 40) + "\"");
}

// nlohmann would take a fraction, or a number out of range, for some integer.
template <class Number>
Number integer(const json& object, const char* key, Number least) {
  const json& value = object.at(key);
  const auto out_of_range = [&] { return std::invalid_argument(std::string(key) + " is out of range"); };
  if (!value.is_number_integer()) throw std::invalid_argument(std::string(key) + " is not a whole number");
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
  const bool is_negative = !value.is_number_unsigned() && value.get<std::int64_t>() < 0;
  if (!is_negative && value.get<std::uint64_t>() > most) throw out_of_range();
  if (is_negative && (std::is_unsigned_v<Number> || value.get<std::int64_t>() < static_cast<std::int64_t>(least)))
    throw out_of_range();
  if (!is_negative && value.get<std::uint64_t>() < static_cast<std::uint64_t>(std::max<Number>(least, 0)))
    throw out_of_range();
  return value.get<Number>();
}

RankRemains rank_from_json(const json& object) {
  RankRemains rank;
  FlightRecord& record = rank.record;
  record.pid = integer(object, "pid", 1);
  record.start_ticks = integer(object, "start_ticks", std::uint64_t{0});
  record.rank = integer(object, "rank", -1);
  record.world_size = integer(object, "world_size", 0);
  record.phase = phase_named(object.at("phase"));
  record.item = integer(object, "item", -1);
  record.step = printable_line(object.at("step").get<std::string>());
  record.error = printable_line(object.at("error").get<std::string>());
  record.call = printable_line(object.at("call").get<std::string>());
  record.call_s = object.at("call_s").get<double>();
  record.device = printable_line(object.at("device").get<std::string>());
  record.steps = integer(object, "steps", std::uint32_t{0});
  record.iteration = integer(object, "iteration", std::uint64_t{0});
  record.peer = integer(object, "peer", -1);
  record.changed_s = object.at("changed_s").get<double>();
  record.signal = integer(object, "signal", 0);
  record.signal_s = object.at("signal_s").get<double>();
  record.is_signal_in_mpi = object.at("is_signal_in_mpi").get<bool>();
  record.is_exit_in_mpi = object.at("is_exit_in_mpi").get<bool>();
  record.child_group = integer(object, "child_group", 0);
  record.parent = integer(object, "parent", 0);
  record.orphaned_s = object.at("orphaned_s").get<double>();
  rank.state = state_named(object.at("state"));
  rank.parent_state = state_named(object.at("parent_state"));
  rank.kernel_function = printable_line(object.at("kernel_function").get<std::string>());
  rank.program = printable_line(object.at("program").get<std::string>());
  rank.program_state = state_named(object.at("program_state"));
  return rank;
}

}  // namespace

json to_json(const NodeAutopsy& autopsy) {
  json ranks = json::array();
  for (const RankRemains& rank : autopsy.ranks) ranks.push_back(rank_to_json(rank));
  json object{{"node", printable_line(autopsy.node)},
              {"answered", autopsy.answered},
              {"error", printable_line(autopsy.error)},
              {"now_s", autopsy.now_s},
              {"stopped_daemon", autopsy.stopped_daemon},
              {"ranks", std::move(ranks)},
              {"incomplete_handshakes", to_json(autopsy.incomplete_handshakes)},
              {"losses", to_json(autopsy.losses)},
              {"places", to_json(autopsy.places)}};
  if (const auto& caller = autopsy.foreign_caller)
    object["foreign_caller"] = {{"port", caller->port}, {"user", caller->user}};
  return object;
}

Result<NodeAutopsy> node_autopsy_from_json(const json& object) {
  try {
    NodeAutopsy autopsy;
    autopsy.node = printable_line(object.at("node").get<std::string>());
    autopsy.answered = object.at("answered").get<bool>();
    autopsy.error = printable_line(object.at("error").get<std::string>());
    autopsy.now_s = object.at("now_s").get<double>();
    autopsy.stopped_daemon = integer(object, "stopped_daemon", 0);
    if (!object.at("ranks").is_array()) throw std::invalid_argument("ranks is not an array");
    for (const json& rank : object.at("ranks")) autopsy.ranks.push_back(rank_from_json(rank));
    autopsy.incomplete_handshakes = incomplete_handshakes_from_json(object.at("incomplete_handshakes"));
    autopsy.losses = path_losses_from_json(object.at("losses"));
    if (!object.at("places").is_array()) throw std::invalid_argument("places is not an array");
    autopsy.places = places_from_json(object.at("places"));
    if (const auto caller = object.find("foreign_caller"); caller != object.end())
      autopsy.foreign_caller = ForeignCaller{integer(*caller, "port", 1), integer(*caller, "user", 0U)};
    return autopsy;
  } catch (const std::exception& problem) {
    return fail(ErrorKind::protocol, "autopsy", printable_line(problem.what()));
  }
}

}  // namespace muster
