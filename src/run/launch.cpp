#include "run/launch.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdlib>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <map>
#include <net/if.h>
#include <netinet/in.h>
#include <set>
#include <tuple>

#include "base/agent_mark.hpp"
#include "base/clock.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "run/flight_recorder.hpp"
#include "run/given_line.hpp"
#include "run/line_tasks.hpp"
#include "run/node_names.hpp"
#include "run/plugins.hpp"
#include "run/rank_key.hpp"
#include "run/remote_exec.hpp"
#include "run/watchdog.hpp"
#include "system/asked_binding.hpp"
#include "system/hwloc_display.hpp"
#include "system/own_limits.hpp"
#include "system/rank_launcher.hpp"
#include "system/system.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

constexpr std::size_t kept_output = 256u << 10;
constexpr const char* affinity_records = "affinity";  // gone when the launch is
constexpr double drain_s = 1.0;
constexpr double last_look_s = 0.2;
// What a caller gets before it has sent hello with the launch's key: memory, connections at a time, and time.
constexpr std::size_t most_before_hello = 64u << 10;
constexpr std::size_t most_strangers = 32;
constexpr std::size_t most_strangers_unread = 128;
constexpr double stranger_patience_s = 10;
constexpr double key_patience_s = 5;
/// For the launcher's pipes, files, and what looks at a launch that failed.
constexpr std::size_t descriptors_of_a_launch = 28;

/// IPv4 addresses that other nodes may reach us on. No loopback: there, another machine's own port would answer.
std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    if ((entry->ifa_flags & IFF_UP) == 0 || (entry->ifa_flags & IFF_LOOPBACK) != 0) continue;
    char text[INET_ADDRSTRLEN] = {};
    const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) != nullptr) addresses.emplace_back(text);
  }
  freeifaddrs(list);
  return addresses;
}

bool is_local(const JobShape& shape) {
  return std::all_of(shape.nodes.begin(), shape.nodes.end(), is_this_node);
}

void keep(std::string& text, std::string_view chunk) {
  text += chunk;
  if (text.size() > 2 * kept_output) text.erase(0, text.size() - kept_output);
}

std::span<const std::byte> as_bytes(std::span<const char> chunk) {
  return {reinterpret_cast<const std::byte*>(chunk.data()), chunk.size()};
}

}  // namespace

/// A file in the launch's folder that captured output goes to.
struct Launch::Log {
  AppendFile file;
  explicit Log(AppendFile opened) : file(std::move(opened)) {}
};

constexpr std::string_view launch_stage_names[] = {"start-up", "gap", "case", "finish"};

std::string_view to_string(LaunchStage stage) {
  return enum_name(launch_stage_names, stage);
}

Launch::Launch(Loop& loop, const LaunchMeans& means, LaunchOrder order, LaunchEvents events)
    : loop_(loop),
      launcher_(means.launcher),
      identity_(means.identity),
      options_(means.options),
      order_(std::move(order)),
      events_(std::move(events)) {
  order_.shape.job_nodes = options_.job_nodes;
}

void Launch::disconnect(const Caller& caller) {
  caller.connection->on_bytes = nullptr;
  caller.connection->on_close = nullptr;
  caller.connection->close();
}

Launch::~Launch() {
  for (const Caller& caller : callers_) disconnect(caller);
  std::error_code ignored;
  fs::remove_all(order_.folder / affinity_records, ignored);
  if (end_) await_end_of_watchdog(tag(), 1.0);
}

/// Whether every rank will be on this machine, and reaches us by its loopback.
bool Launch::is_all_here() const {
  return !order_.takes_any_world && is_local(order_.shape);
}

Result<void> Launch::listen() {
  if (const std::size_t free = free_descriptors(); free < descriptors_of_a_launch)
    return fail(
        ErrorKind::system, "",
        fmt::format("this process may open only {} more files, and a launch needs {}; raise the limit: ulimit -n 1024",
                    free, descriptors_of_a_launch));
  auto listener = Listener::open(loop_, is_all_here() ? "127.0.0.1" : "0.0.0.0",
                                 [this](std::shared_ptr<Listener::Connection> c) { accept(std::move(c)); });
  if (!listener) return tl::unexpected(listener.error());
  listener_ = std::move(*listener);
  look_at_callers_ = loop_.every(1, [this] { drop_strangers(); });
  return {};
}

namespace {

/// The files that these probes come from.
std::vector<std::string> plugins_of(const std::vector<JobItem>& items) {
  std::set<std::string> files;
  for (const auto& item : items)
    if (auto file = plugin_of(item.probe).string(); !file.empty()) files.insert(std::move(file));
  return {files.begin(), files.end()};
}

fs::path machine_of(const JobShape& shape) {
  return machine_folder(shape.nodes.empty() ? host_name() : shape.nodes.front());
}

/// NAME=VALUE|... of those that differ between local ranks. A scheduler may set them for its tasks, whatever the
/// environment of the launcher has (Slurm: the GPUs of the step, for all tasks alike): the agent sets them again.
std::string by_rank(const Environment& environment) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : environment)
    for (const std::string_view placeholder : {"{local_rank}", "{gpu}", "{nic}"})
      if (value.find(placeholder) != value.npos) {
        lines.push_back(name + "=" + value);
        break;
      }
  return join(lines, "|");
}

bool sets_path(const Environment& environment) {
  return std::any_of(environment.begin(), environment.end(), [](const auto& one) { return one.first == "PATH"; });
}

}  // namespace

/// MUSTER_BIND; empty: the launch needs no binding by ranks.
std::string Launch::asked_binding_of(const JobShape& shape) const {
  const BindKind kind = shape.binding.kind;
  if (shape.oversubscribed) return {};
  if (options_.line != nullptr) {
    JobBinding binding = shape.binding;
    binding.gpu_variable.clear();
    return kind == BindKind::masks ? to_text(binding, Binder::line) : std::string();
  }
  const Binder binder = binder_of(launcher_, identity_, shape, options_.launcher_options);
  if (!concerns_ranks(shape.binding, binder)) return {};
  JobBinding binding = shape.binding;
  const bool is_set = std::any_of(options_.environment.begin(), options_.environment.end(),
                                  [&](const auto& one) { return one.first == binding.gpu_variable; });
  if (is_set || (binding.launcher_selects_gpus && launcher_.selects_gpus)) binding.gpu_variable.clear();
  return to_text(binding, binder);
}

AgentCommand Launch::agent_command() const {
  std::string wire;
  if (options_.wire_address != "none") {
    auto addresses = std::vector<std::string>{"127.0.0.1"};
    if (!options_.wire_address.empty())
      addresses = {options_.wire_address};
    else if (!is_all_here())
      addresses = own_addresses();
    if (order_.takes_any_world) addresses.insert(addresses.begin(), "127.0.0.1");
    for (auto& address : addresses) address += fmt::format(":{}", listener_->port());
    wire = join(addresses, ",");
  }
  AgentCommand command;
  command.argv = options_.wrapper;
  command.argv.push_back(options_.agent.string());
  command.env = {{env_tag, order_.tag.tag},
                 {env_tag_secret, order_.tag.secret},
                 {env_wire, wire},
                 {env_key, key_.hex()},
                 {env_world, order_.takes_any_world ? "" : std::to_string(order_.shape.ranks())},
                 {env_launcher, std::string(launcher_.name)},
                 {env_version, MUSTER_VERSION},
                 {env_startup, fmt::format("{}", options_.deadlines.startup_s)}};
  if (const std::string asked = asked_binding_of(order_.shape); !asked.empty())
    command.env.emplace_back(env_bind, asked);
  if (order_.shape.oversubscribed) command.env.emplace_back(env_shared_cores, "1");
  if (options_.line != nullptr && !options_.line->torchrun.empty()) {
    command.env.emplace_back(env_torchrun, options_.line->torchrun);
    command.env.emplace_back(env_torchrun_options, options_.line->torchrun_options);
  }
  if (options_.line != nullptr && !options_.line->not_run.empty())
    command.env.emplace_back(env_not_run, options_.line->not_run);
  const Argv& given = options_.line != nullptr ? options_.line->argv : options_.launcher_options;
  if (const std::string choice = launcher_.gpu_choice == nullptr ? std::string() : launcher_.gpu_choice(given);
      !choice.empty())
    command.env.emplace_back(env_gpu_bind, choice);
  command.env.insert(command.env.end(), options_.environment.begin(), options_.environment.end());
  if (const std::string lines = by_rank(options_.environment); !lines.empty())
    command.env.emplace_back(env_by_rank, lines);
  // A wrapper (a container) has a PATH of its own, and may have the folders of ours.
  if (const char* path = std::getenv("PATH");
      path != nullptr && options_.wrapper.empty() && options_.line == nullptr && !sets_path(command.env))
    command.env.emplace_back(env_path, path);
  std::vector<const char*> names{"MUSTER_RECORDER_FOLDER"};
  if (options_.is_simulated) names.insert(names.end(), {env_machine, env_drivers});
  for (const char* name : names)
    if (const char* folder = std::getenv(name); folder != nullptr && *folder != '\0')
      command.env.emplace_back(name, fs::absolute(folder).string());
  command.env.insert(command.env.end(), simulated_.ranks.begin(), simulated_.ranks.end());
  if (const auto plugins = plugins_of(order_.items); !plugins.empty())
    command.env.emplace_back(env_plugin_files, join(plugins, ":"));
  return command;
}

std::vector<std::byte> Launch::job_frame(const LaunchKey& key) const {
  return FrameSealer(key, FrameSender::driver)
      .seal(static_cast<std::uint8_t>(MessageType::job),
            encode(JobMessage{order_.items, options_.is_simulated, options_.deadlines.gap_s,
                              options_.deadlines.finish_s}));
}

LaunchCommand Launch::command_for(const AgentCommand& agent) const {
  if (options_.line != nullptr) return put_behind(*options_.line, launcher_, identity_, agent);
  return launcher_.command(identity_, order_.shape, agent, options_.launcher_options);
}

/// If one can't be written, the launcher reports that it is missing.
void Launch::place_files(LaunchCommand& command) {
  for (const LaunchFile& file : command.files) {
    const fs::path path = fs::absolute(order_.folder / file.name);
    if (auto written = write_file(path, file.text); !written) note_trouble(written.error());
    const std::string mark = fmt::format("{}/{}", files_placeholder, file.name);
    for (std::string& word : command.argv)
      if (const std::size_t at = word.find(mark); at != std::string::npos) word.replace(at, mark.size(), path.string());
  }
}

Result<void> Launch::start() {
  if (options_.line == nullptr && launcher_.cannot_place != nullptr)
    if (const std::string why = launcher_.cannot_place(order_.shape); !why.empty())
      return fail(ErrorKind::launch, std::string(launcher_.name), why);
  if (auto listening = listen(); !listening) return listening;
  if (!options_.affinity_library.empty())
    simulated_ =
        simulated_launch(machine_of(order_.shape), options_.affinity_library, order_.folder / affinity_records);
  const auto agent = agent_command();
  auto command = command_for(agent);
  place_files(command);
  argv_ = command.argv;
  if (auto written = write_file(order_.folder / "command", shell_line(argv_) + "\n"); !written)
    note_trouble(written.error());
  for (auto [log, name] : {std::pair{&out_, "stdout"}, std::pair{&err_, "stderr"}}) {
    auto file = AppendFile::create(order_.folder / name, 0);
    if (file)
      *log = std::make_unique<Log>(std::move(*file));
    else
      note_trouble(file.error());
  }

  ProcessOptions process;
  process.argv = std::move(command.argv);
  process.env = agent.env;
  process.env.insert(process.env.end(), command.env.begin(), command.env.end());
  process.env.insert(process.env.end(), simulated_.launcher.begin(), simulated_.launcher.end());
  if (options_.line == nullptr)
    if (auto setting = hwloc_without_display(process.env)) process.env.push_back(std::move(*setting));
  // The user's own line sees what it would see without muster.
  if (options_.line == nullptr)
    process.unset.assign(launcher_.hidden_variables.begin(), launcher_.hidden_variables.end());
  // The job also on standard input, for an agent that can't reach us over TCP.
  for (const auto& frame : {key_frame(key_, key_of_rank_0_), job_frame(key_of_rank_0_)})
    process.stdin_text.append(reinterpret_cast<const char*>(frame.data()), frame.size());
  process.on_stdout = [this](std::span<const char> chunk) {
    stdout_decoder_.feed(as_bytes(chunk));
    // Programs that ranks start may print what looks like frames; it is skipped.
    while (!take_frames(stdout_decoder_, nullptr)) {
    }
    const auto noise = stdout_decoder_.take_noise();
    // Alone, an end of line is that of a frame.
    if (noise.find_first_not_of('\n') == noise.npos) return;
    keep(stdout_text_, noise);
    if (!out_) return;
    if (auto kept = out_->file.append(as_bytes(noise)); !kept) note_trouble(kept.error());
  };
  process.on_stderr = [this](std::span<const char> chunk) {
    keep(stderr_text_, {chunk.data(), chunk.size()});
    if (!err_) return;
    if (auto kept = err_->file.append(as_bytes(chunk)); !kept) note_trouble(kept.error());
  };
  process.on_end = [this](ProcessEnd end) {
    end_ = end;
    give_up_on_key();
    // What rank 0 sent last may still be in the socket.
    drain_ = loop_.after(drain_s, [this] { drained_ = true; });
  };
  enter(LaunchStage::start_up, options_.deadlines.startup_s);
  auto started = Process::start(loop_, std::move(process));
  if (!started) return tl::unexpected(started.error());
  process_ = *started;
  return {};
}

void Launch::enter(LaunchStage stage, double deadline_s) {
  stage_ = stage;
  stage_began_ = monotonic_seconds();
  stage_deadline_s_ = deadline_s;
  last_look_.reset();
  deadline_ = loop_.after(deadline_s, [this] {
    // After we were suspended ourselves, timers come before what the ranks have sent meanwhile: that is read first.
    last_look_ = loop_.after(last_look_s, [this] { past_deadline_ = !end_.has_value(); });
  });
}

double Launch::stage_elapsed_s() const {
  return monotonic_seconds() - stage_began_;
}

bool Launch::is_over() const {
  if (past_deadline_ || !refusal_.empty() || wrong_names_) return true;
  return end_.has_value() && (finished_ || callers_.empty() || drained_);
}

bool Launch::is_clean() const {
  return end_.has_value() && end_->shell_status() == 0 && finished_ && done_ == static_cast<int>(order_.items.size());
}

void Launch::accept(std::shared_ptr<Listener::Connection> connection) {
  auto decoder = std::make_shared<FrameDecoder>();
  std::weak_ptr<Listener::Connection> weak = connection;
  auto taken = std::make_shared<std::size_t>(0);
  connection->on_bytes = [this, decoder, taken, weak](std::span<const std::byte> bytes) {
    const auto from = weak.lock();
    if (!from) return;
    *taken += bytes.size();
    if ((from != wire_ || is_key_missing()) && *taken > most_before_hello) return drop(from);
    decoder->feed(bytes);
    const bool all_opened = take_frames(*decoder, from);
    const bool has_noise = !decoder->take_noise().empty();
    if (all_opened && !has_noise) return;
    // Without the key of rank 0, it is not known to be rank 0.
    if (from == wire_ && !is_key_missing()) return note_tampering();
    if (from == wire_) is_greeted_ = false;
    drop(from);
  };
  connection->on_close = [this, weak] {
    const auto gone = weak.lock();
    std::erase_if(callers_, [&](const Caller& caller) { return caller.connection == gone; });
    if (wire_ == gone) wire_.reset();
  };
  callers_.push_back({std::move(connection), monotonic_seconds()});
  drop_strangers();
}

void Launch::drop(const std::shared_ptr<Listener::Connection>& from) {
  from->close();
  std::erase_if(callers_, [&](const Caller& caller) { return caller.connection == from; });
}

/// Any process may connect. Callers without a hello must not use up the descriptors that ranks need; the oldest are
/// disconnected first. An agent sends its handshake as soon as it is connected: a caller that sent something that was
/// not read yet stays, however many others call, and one that was disconnected all the same connects again.
void Launch::drop_strangers() {
  const double now = monotonic_seconds();
  std::size_t strangers = 0;
  for (const Caller& caller : callers_) strangers += caller.is_known ? 0 : 1;
  is_flooded_ |= strangers > most_strangers;
  const auto drop_where = [&](const auto& is_too_many) {
    std::erase_if(callers_, [&](const Caller& caller) {
      if (caller.is_known || !is_too_many(caller)) return false;
      --strangers;
      disconnect(caller);
      return true;
    });
  };
  drop_where([&](const Caller& caller) { return now - caller.since > stranger_patience_s; });
  drop_where([&](const Caller& caller) { return strangers > most_strangers && !caller.connection->has_unread(); });
  drop_where([&](const Caller&) { return strangers > most_strangers_unread; });
}

/// Nothing is taken behind a frame that is not of the sender, also where one read brings both.
bool Launch::take_frames(FrameDecoder& decoder, const std::shared_ptr<Listener::Connection>& from) {
  while (const auto outer = decoder.next()) {
    auto frame = opener_of_rank_0_.open(*outer);
    const bool is_proven = frame.has_value();
    if (!is_proven) frame = opener_.open(*outer);
    if (!frame) return false;
    take(*frame, from, is_proven);
  }
  return true;
}

/// TCP delivers what rank 0 sent, in order and once; anything else was done to it on the way.
void Launch::note_tampering() {
  if (!refusal_.empty() || past_deadline_ || is_stopped_) return;
  refusal_ = "data from rank 0 was altered, repeated or forged on its way to this node";
  refusal_remedy_ = "check what else has access to the network between the nodes and this one";
}

void Launch::take(const Frame& frame, const std::shared_ptr<Listener::Connection>& from, bool is_proven) {
  // After its deadline results of a launch are ignored: ending it makes stopped ranks continue, and late work must not
  // pass.
  if (past_deadline_ || is_stopped_ || !refusal_.empty()) return;
  const auto type = static_cast<MessageType>(frame.type);
  if (type == MessageType::hello) return take_hello(frame, from, is_proven);
  // One way alone, the one by which hello came: TCP, or standard output where rank 0 could not connect.
  if (!is_greeted_ || from != wire_ || is_proven != is_proven_) return;
  // A case is judged by the world that it ran in.
  if (!world_ && type != MessageType::world && type != MessageType::refused) return;
  switch (type) {
    case MessageType::refused:
      take_refusal({reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size()});
      return;
    case MessageType::world:
      return take_world(frame, from);
    case MessageType::case_begin: {
      const auto item = decode_case_begin(frame.payload);
      if (!item || *item < 0 || *item >= static_cast<int>(order_.items.size()) || item_ >= 0) return;
      item_ = *item;
      parts_.clear();
      enter(LaunchStage::in_case, order_.timeouts[static_cast<std::size_t>(item_)]);
      if (events_.on_case_begin) events_.on_case_begin(item_);
      return;
    }
    case MessageType::case_part:
      return take_part(frame);
    case MessageType::case_end:
      return take_case_end(frame);
    case MessageType::finish:
      finished_ = true;
      return enter(LaunchStage::finish, options_.deadlines.finish_s);
    default:
      return;
  }
}

/// Why, and on a second line, where there is one, what to do.
void Launch::take_refusal(std::string_view text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string reason = printable_line(text.substr(0, end), 1000);
  const std::string remedy = end + 1 < text.size() ? printable_line(text.substr(end + 1)) : "";
  refuse(reason, is_key_missing() ? "" : remedy);
}

/// Of an agent without the key of rank 0, it counts only where the one with the key does not call.
void Launch::refuse(const std::string& reason, const std::string& remedy) {
  if (!refusal_.empty()) return;
  if (is_key_missing()) {
    if (unproven_refusal_.empty()) std::tie(unproven_refusal_, unproven_remedy_) = std::tie(reason, remedy);
    return wait_for_key();
  }
  refusal_ = reason;
  if (!remedy.empty()) refusal_remedy_ = remedy;
}

/// A program on another node, where the launch's key is, could call in the name of rank 0. A line of the user's own, a
/// wrapper, and a launcher that is a script of the site may keep standard input from rank 0.
bool Launch::is_key_missing() const {
  return !is_proven_ && launcher_.gives_input_to_rank_0 && options_.line == nullptr && options_.wrapper.empty() &&
         !is_all_here();
}

void Launch::wait_for_key() {
  if (!wait_for_key_) wait_for_key_ = loop_.after(key_patience_s, [this] { give_up_on_key(); });
}

void Launch::give_up_on_key() {
  if (!wait_for_key_ || is_proven_ || !refusal_.empty()) return;
  if (!unproven_refusal_.empty()) {
    refusal_ = fmt::format("{} (reported without the key of rank 0)", unproven_refusal_);
    if (!unproven_remedy_.empty()) refusal_remedy_ = unproven_remedy_;
    return;
  }
  refusal_ = "a process connected as rank 0 without the key that muster gives rank 0 on its standard input";
  refusal_remedy_ =
      "have the launcher pass its standard input to rank 0: leave out options that prevent it (-J), start the launcher "
      "itself where a script stands in its place, or give the script as the line of --launch; if nothing prevents it, "
      "another process on a node of this launch connected in the name of rank 0";
}

void Launch::take_hello(const Frame& frame, const std::shared_ptr<Listener::Connection>& from, bool is_proven) {
  const auto hello = decode_hello(frame.payload);
  if (!hello || is_proven_ > is_proven) return;
  if (world_ && is_proven && !is_proven_)
    refuse(
        "two processes connected as rank 0; the first one did not have the key that rank 0 reads on its standard input",
        "check what runs on the nodes of this launch: another process connected in the name of rank 0");
  if (world_) return;
  // Of several worlds of size 1, each with a rank 0 of its own, each calls; the refusal that follows ends it.
  wire_ = from;
  is_greeted_ = true;
  is_proven_ = is_proven;
  for (Caller& caller : callers_)
    if (caller.connection == from) caller.is_known = true;
  if (hello->muster_version != MUSTER_VERSION)
    refuse(fmt::format("rank 0's agent is muster {}, this is muster {}", printable_line(hello->muster_version, 80),
                       MUSTER_VERSION),
           "install the same version of muster on all nodes, or name its agent with --agent");
}

void Launch::take_world(const Frame& frame, const std::shared_ptr<Listener::Connection>& from) {
  auto world = decode_world(frame.payload);
  if (!world || world_) return;
  if (is_key_missing()) return wait_for_key();
  world_ = std::move(*world);
  const auto& nodes = order_.shape.nodes;
  if (!order_.takes_any_world && !options_.is_simulated)
    wrong_names_ = muster::wrong_names(nodes.empty() ? std::vector{host_name()} : nodes, *world_);
  if (wrong_names_ && options_.line != nullptr) return refuse_moved_line();
  if (wrong_names_) return;
  refusal_ = order_.takes_any_world ? std::string() : misplaced();
  if (!refusal_.empty() && options_.line != nullptr) return refuse_moved_line();
  refusal_remedy_ = "leave out options that place ranks (-J), and name nodes that are different machines";
  if (!refusal_.empty()) return;
  stop_listening();
  if (from) from->send(job_frame(is_proven_ ? key_of_rank_0_ : key_));
  enter(LaunchStage::gap, options_.deadlines.gap_s);
  if (events_.on_world) events_.on_world(*world_);
}

/// Rank 0 is known: nothing else needs the port.
void Launch::stop_listening() {
  look_at_callers_.reset();
  listener_.reset();
  for (const Caller& caller : callers_)
    if (caller.connection != wire_) disconnect(caller);
  std::erase_if(callers_, [&](const Caller& caller) { return caller.connection != wire_; });
}

/// Outside of a job Slurm grants nodes to each start of the line anew: no node is at fault.
void Launch::refuse_moved_line() {
  wrong_names_.reset();
  const auto& nodes = order_.shape.nodes;
  std::vector<std::string> first;
  for (const auto& node : nodes.empty() ? std::vector{host_name()} : nodes)
    first.push_back(fmt::format("{} on {}", order_.shape.ranks_per_node, printable_line(node, 80)));
  refusal_ = fmt::format("the launch line started ranks elsewhere than at its first start: {}, now {}",
                         human_list(first, 6), human_list(ranks_by_host(), 6));
  refusal_remedy_ =
      "start muster inside of a job (salloc, sbatch), whose nodes stay the same, or name the nodes in the line";
}

std::vector<std::string> Launch::ranks_by_host() const {
  std::map<std::string, int> ranks_on;
  for (const auto& place : world_->ranks) ++ranks_on[place.host];
  std::vector<std::string> seen;
  for (const auto& [host, ranks] : ranks_on) seen.push_back(fmt::format("{} on {}", ranks, printable_line(host, 80)));
  return seen;
}

std::string Launch::misplaced() const {
  std::map<std::string, int> ranks_on;
  for (const auto& place : world_->ranks) ++ranks_on[place.host];
  const int nodes = order_.shape.node_count();
  const bool is_right = static_cast<int>(ranks_on.size()) == nodes &&
                        std::all_of(ranks_on.begin(), ranks_on.end(),
                                    [&](const auto& one) { return one.second == order_.shape.ranks_per_node; });
  if (is_right) return "";
  return fmt::format("the launcher placed the ranks otherwise: {} per node on {} node{} requested, found {}",
                     order_.shape.ranks_per_node, nodes, nodes == 1 ? "" : "s", human_list(ranks_by_host()));
}

void Launch::take_part(const Frame& frame) {
  auto part = decode_case_part(frame.payload);
  if (!part || part->item != item_) return;
  for (auto& observation : part->observations) parts_.push_back(std::move(observation));
}

void Launch::take_case_end(const Frame& frame) {
  const auto end = decode_case_end(frame.payload);
  if (!end || end->item != item_) return;
  ++done_;
  const int item = std::exchange(item_, -1);
  enter(LaunchStage::gap, options_.deadlines.gap_s);
  if (events_.on_case_end) events_.on_case_end(item, std::exchange(parts_, {}), end->seconds);
}

int Launch::pid() const {
  return process_ ? process_->pid() : 0;
}

LauncherNotice Launch::notice() const {
  if (launcher_.read_notice == nullptr || !end_) return {};
  return launcher_.read_notice(identity_, stderr_text_ + "\n" + stdout_text_, end_->shell_status());
}

std::string Launch::stderr_tail() const {
  return printable(tail(without_task_lines(stderr_text_), 4096));
}

std::string Launch::stderr_text() const {
  return printable(without_task_lines(stderr_text_));
}

void Launch::stop(double grace_s) {
  is_stopped_ = true;
  deadline_.reset();
  if (process_) process_->end(grace_s);
}

void Launch::note_trouble(const Error& error) {
  if (trouble_.empty()) trouble_ = to_string(error);
}

}  // namespace muster
