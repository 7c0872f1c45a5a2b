#include "run/remote_exec.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <iterator>

#include "base/clock.hpp"
#include "base/hostlist.hpp"
#include "base/text.hpp"
#include "run/flight_recorder.hpp"
#include "run/tagged_lines.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

constexpr std::size_t most_at_once = 256;
constexpr std::size_t most_output = 16u << 20;

std::string short_name(const std::string& host) {
  return host.substr(0, host.find('.'));
}

/// One node's command while it runs.
struct RemoteCommand {
  NodeAnswer answer;
  std::string err;
  std::shared_ptr<Process> process;
  std::shared_ptr<Loop::Timer> deadline;
  std::shared_ptr<Loop::Timer> last_word;  ///< for a process that not even KILL ends
  bool done = false;
  bool timed_out = false;
};

std::string why_not(const RemoteCommand& remote_command, const ProcessEnd& end, double deadline_s) {
  if (remote_command.timed_out) return fmt::format("no answer within {:.0f} s", deadline_s);
  const auto message = printable_line(trim(remote_command.err), 200);
  if (!message.empty()) return message;
  return fmt::format("ended with status {}", end.shell_status());
}

void take(std::string& into, std::span<const char> chunk) {
  if (into.size() < most_output) into.append(chunk.data(), chunk.size());
}

void refuse(RemoteCommand& remote_command, std::string why) {
  remote_command.done = true;
  remote_command.answer.error = std::move(why);
}

void start(Loop& loop, RemoteCommand& remote_command, ProcessOptions options, double deadline_s, std::size_t& running) {
  // Whatever the name came from: a remote shell would take it as an option.
  if (const auto& node = remote_command.answer.node; node.starts_with('-'))
    return refuse(remote_command,
                  fmt::format("\"{}\" is not a host name: {}", printable_line(node, 80), why_no_host_name(node)));
  options.on_stdout = [&remote_command](std::span<const char> chunk) { take(remote_command.answer.out, chunk); };
  options.on_stderr = [&remote_command](std::span<const char> chunk) { take(remote_command.err, chunk); };
  options.on_end = [&remote_command, &running, deadline_s](ProcessEnd end) {
    if (remote_command.done) return;
    remote_command.done = true;
    remote_command.deadline.reset();
    remote_command.last_word.reset();
    --running;
    remote_command.answer.answered = !remote_command.timed_out && end.shell_status() == 0;
    if (!remote_command.answer.answered) remote_command.answer.error = why_not(remote_command, end, deadline_s);
  };
  auto process = Process::start(loop, std::move(options));
  if (!process) return refuse(remote_command, to_string(process.error()));
  ++running;
  remote_command.process = *process;
  remote_command.deadline = loop.after(deadline_s, [&remote_command] {
    remote_command.timed_out = true;
    remote_command.process->signal_group(9);
  });
  remote_command.last_word = loop.after(deadline_s + 2, [&remote_command, &running, deadline_s] {
    remote_command.done = true;
    --running;
    remote_command.answer.error = why_not(remote_command, {}, deadline_s);
  });
}

}  // namespace

bool is_this_node(const std::string& node) {
  if (node.empty() || node == "localhost" || node == "127.0.0.1") return true;
  const auto here = host_name();
  return node == here || short_name(node) == short_name(here);
}

namespace {

Argv node_command(const fs::path& self, const Argv& words) {
  Argv argv;
  // A folder for recorders that was chosen in our environment must be known to the other side too.
  if (const char* folder = std::getenv("MUSTER_RECORDER_FOLDER"); folder != nullptr && *folder != '\0')
    argv = {"env", std::string("MUSTER_RECORDER_FOLDER=") + folder};
  argv.push_back(self.string());
  argv.emplace_back("node");
  argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

}  // namespace

Argv RemoteExec::command(const std::string& node, const Argv& arguments) const {
  auto argv = node_command(self, arguments);
  if (is_this_node(node) || launcher == nullptr || launcher->reach == nullptr) return argv;
  return launcher->reach(identity, node, argv, launcher_options);
}

std::vector<std::string> RemoteExec::hidden() const {
  if (launcher == nullptr) return {};
  return {launcher->hidden_variables.begin(), launcher->hidden_variables.end()};
}

Argv RemoteExec::joint_command(const std::vector<std::string>& nodes, const Argv& arguments) const {
  if (launcher == nullptr || launcher->reach_all == nullptr) return {};
  Argv words{"--sign", std::string(launcher->node_variable)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return launcher->reach_all(identity, nodes, node_command(self, words), launcher_options);
}

std::string last_object(const std::string& text) {
  const auto all = lines(text);
  for (auto line = all.rbegin(); line != all.rend(); ++line)
    if (!line->empty() && line->front() == '{') return std::string(*line);
  return "";
}

namespace {

/// All nodes asked by one command, while it runs.
class JointCommand {
 public:
  JointCommand(Loop& loop, const RemoteExec& reach, const std::vector<std::string>& nodes, const Argv& arguments) {
    std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(away_),
                 [](const std::string& node) { return !is_this_node(node) && !node.starts_with('-'); });
    ProcessOptions options;
    if (away_.size() > 1) options.argv = reach.joint_command(away_, arguments);
    if (options.argv.empty()) return;
    options.unset = reach.hidden();
    options.on_stdout = [this](std::span<const char> chunk) {
      const auto before = reported_.whole();
      reported_.feed(chunk);
      if (reported_.whole() != before) changed_ = monotonic_seconds();
    };
    options.on_end = [this](ProcessEnd) { has_ended_ = true; };
    auto started = Process::start(loop, std::move(options));
    if (started) process_ = *started;
  }

  /// Until nothing more is to be expected.
  void wait(Loop& loop, double deadline_s, double straggling_s) {
    if (!process_) return;
    const double until = monotonic_seconds() + deadline_s;
    const auto wake = loop.every(0.1, [] {});
    loop.run_until([&] {
      const double now = monotonic_seconds();
      const bool most_are_there = 2 * reported_.whole() >= away_.size() && reported_.whole() > 0;
      return has_ended_ || reported_.whole() == away_.size() || now > until ||
             (most_are_there && now > changed_ + straggling_s);
    });
    // It may hang at a node that is not there. The rest of its time runs beside what comes next.
    process_->end(1);
  }
  [[nodiscard]] const std::string* answer_of(const std::string& node) const { return reported_.answer_of(node); }
  /// On standard error: which answers are not believed.
  void name_forged_answers() const {
    std::vector<std::string> unsigned_nodes;
    for (const auto& node : away_) {
      const auto tasks = reported_.tasks_of(node);
      if (tasks == 0) unsigned_nodes.push_back(node);
      if (tasks > 1)
        print_note(fmt::format("{} nodes answered in the name of {}, which is asked again alone", tasks, node));
    }
    for (const auto& names : reported_.dropped())
      print_note(
          fmt::format("one node answered in the name of {}: none of its answers counts; no other answer came from {}",
                      human_list(names), human_list(unsigned_nodes)));
  }
  void finish(Loop& loop) {
    if (!process_ || has_ended_) return;
    const double until = monotonic_seconds() + 2;
    const auto wake = loop.every(0.1, [] {});
    loop.run_until([&] { return has_ended_ || monotonic_seconds() > until; });
  }

 private:
  static void print_note(const std::string& note) { fmt::print(stderr, "muster: {}\n", printable_line(note, 1000)); }

  std::vector<std::string> away_;
  TaggedLines reported_;
  double changed_ = 0;
  bool has_ended_ = false;
  std::shared_ptr<Process> process_;
};

}  // namespace

std::vector<NodeAnswer> ask_nodes(Loop& loop, const RemoteExec& reach, const std::vector<std::string>& nodes,
                                  const Argv& arguments, double deadline_s, double straggling_s) {
  JointCommand joint(loop, reach, nodes, arguments);
  joint.wait(loop, deadline_s, straggling_s);
  joint.name_forged_answers();
  std::vector<RemoteCommand> remote_commands(nodes.size());
  std::size_t next = 0;
  std::size_t running = 0;
  loop.run_until([&] {
    while (next < remote_commands.size() && running < most_at_once) {
      RemoteCommand& remote_command = remote_commands[next];
      remote_command.answer.node = nodes[next];
      if (const auto* reported = is_this_node(nodes[next]) ? nullptr : joint.answer_of(nodes[next]))
        remote_command.answer.out = *reported, remote_command.answer.answered = true;
      else
        start(loop, remote_command, {.argv = reach.command(nodes[next], arguments), .unset = reach.hidden()},
              deadline_s, running);
      ++next;
    }
    return next == remote_commands.size() && running == 0;
  });
  joint.finish(loop);
  std::vector<NodeAnswer> answers;
  answers.reserve(remote_commands.size());
  for (auto& remote_command : remote_commands) answers.push_back(std::move(remote_command.answer));
  return answers;
}

}  // namespace muster
