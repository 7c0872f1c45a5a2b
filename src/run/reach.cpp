#include "run/reach.hpp"

#include <cstdlib>
#include <fmt/format.h>

#include "base/text.hpp"
#include "run/flight_recorder.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

constexpr std::size_t most_at_once = 256;
constexpr std::size_t most_output = 16u << 20;

std::string short_name(const std::string& host) {
  return host.substr(0, host.find('.'));
}

/// One node's command while it runs.
struct Errand {
  NodeAnswer answer;
  std::string err;
  std::shared_ptr<Process> process;
  std::shared_ptr<Loop::Timer> deadline;
  std::shared_ptr<Loop::Timer> last_word;  ///< for a process that not even KILL ends
  bool done = false;
  bool timed_out = false;
};

std::string why_not(const Errand& errand, const ProcessEnd& end, double deadline_s) {
  if (errand.timed_out) return fmt::format("no answer within {:.0f} s", deadline_s);
  const auto said = printable_line(trim(errand.err), 200);
  if (!said.empty()) return said;
  return fmt::format("ended with status {}", end.shell_status());
}

void take(std::string& into, std::span<const char> chunk) {
  if (into.size() < most_output) into.append(chunk.data(), chunk.size());
}

void start(Loop& loop, Errand& errand, const Argv& argv, double deadline_s, std::size_t& running) {
  ProcessOptions options;
  options.argv = argv;
  options.on_stdout = [&errand](std::span<const char> chunk) { take(errand.answer.out, chunk); };
  options.on_stderr = [&errand](std::span<const char> chunk) { take(errand.err, chunk); };
  options.on_end = [&errand, &running, deadline_s](ProcessEnd end) {
    if (errand.done) return;
    errand.done = true;
    errand.deadline.reset();
    errand.last_word.reset();
    --running;
    errand.answer.answered = !errand.timed_out && end.shell_status() == 0;
    if (!errand.answer.answered) errand.answer.error = why_not(errand, end, deadline_s);
  };
  auto process = Process::start(loop, std::move(options));
  if (!process) {
    errand.done = true;
    errand.answer.error = to_string(process.error());
    return;
  }
  ++running;
  errand.process = *process;
  errand.deadline = loop.after(deadline_s, [&errand] {
    errand.timed_out = true;
    errand.process->signal_group(9);
  });
  errand.last_word = loop.after(deadline_s + 2, [&errand, &running, deadline_s] {
    errand.done = true;
    --running;
    errand.answer.error = why_not(errand, {}, deadline_s);
  });
}

}  // namespace

bool is_this_node(const std::string& node) {
  if (node.empty() || node == "localhost" || node == "127.0.0.1") return true;
  const auto here = host_name();
  return node == here || short_name(node) == short_name(here);
}

Argv Reach::command(const std::string& node, const Argv& arguments) const {
  Argv argv;
  // A folder for recorders that was chosen in our environment must be known to the other side too.
  if (const char* folder = std::getenv("MUSTER_RECORDER_FOLDER"); folder != nullptr && *folder != '\0')
    argv = {"env", std::string("MUSTER_RECORDER_FOLDER=") + folder};
  argv.push_back(self.string());
  argv.emplace_back("node");
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  if (is_this_node(node) || launcher == nullptr || launcher->reach == nullptr) return argv;
  return launcher->reach(identity, node, argv, launcher_options);
}

std::string last_object(const std::string& text) {
  const auto all = lines(text);
  for (auto line = all.rbegin(); line != all.rend(); ++line)
    if (!line->empty() && line->front() == '{') return std::string(*line);
  return "";
}

std::vector<NodeAnswer> ask_nodes(Loop& loop, const Reach& reach, const std::vector<std::string>& nodes,
                                  const Argv& arguments, double deadline_s) {
  std::vector<Errand> errands(nodes.size());
  std::size_t next = 0;
  std::size_t running = 0;
  loop.run_until([&] {
    while (next < errands.size() && running < most_at_once) {
      errands[next].answer.node = nodes[next];
      start(loop, errands[next], reach.command(nodes[next], arguments), deadline_s, running);
      ++next;
    }
    return next == errands.size() && running == 0;
  });
  std::vector<NodeAnswer> answers;
  answers.reserve(errands.size());
  for (auto& errand : errands) answers.push_back(std::move(errand.answer));
  return answers;
}

}  // namespace muster
