#include "app/agent_main.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <new>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "app/agent_help.hpp"
#include "base/clock.hpp"
#include "base/fault_injection.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"
#include "comm/mpi/mpi_comm.hpp"
#include "device/link_errors.hpp"
#include "model/added_probes.hpp"
#include "model/gpu_vendor.hpp"
#include "run/line_tasks.hpp"
#include "run/messages.hpp"
#include "run/other_mpi.hpp"
#include "run/plugins.hpp"
#include "run/rank_key.hpp"
#include "run/shared_folder.hpp"
#include "run/signal_stamp.hpp"
#include "run/start_complaint.hpp"
#include "run/stuck_finalize.hpp"
#include "run/watchdog.hpp"
#include "system/asked_binding.hpp"
#include "system/hwloc_display.hpp"
#include "system/own_limits.hpp"
#include "system/rank_launcher.hpp"
#include "system/rank_variables.hpp"
#include "system/simulated_affinity.hpp"
#include "system/system.hpp"
#include "system/this_machine.hpp"

/// Instead of the C library's: MPI calls it where a connection is lost, and that is not the death of a rank that has to
/// be explained.
extern "C" __attribute__((visibility("default"))) void _exit(int status) {
  muster::stamp_exit(__builtin_return_address(0));
  for (;;) ::syscall(SYS_exit_group, status);
}

namespace muster {

namespace {

/// Launchers hand it on while they start ranks; MPI_Init is done by then.
constexpr double key_patience_s = 10;

/// MPI libraries end a process without a reason where they get fewer. Measured for `hello` on one node, beside the
/// three standard streams: 20 at a time with Open MPI 4.1, whatever the number of ranks; with MPICH 4.0, 28 with two
/// ranks and 38 with eight, whose Hydra sets MPI_LOCALNRANKS (docs/measurements/robustness.md). It is the least that
/// any rank needs, not what a large job needs.
std::size_t files_of_a_rank() {
  constexpr std::size_t of_open_mpi = 32, of_mpich = 26, for_each_rank = 2;
  const char* text = std::getenv("MPI_LOCALNRANKS");
  const std::size_t ranks = leading_number<std::size_t>(text == nullptr ? "" : text).value_or(0);
  return std::max(of_open_mpi, of_mpich + for_each_rank * std::min<std::size_t>(ranks, 256));
}

int print(const std::string& text) {
  return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
}

std::string json_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char letter : printable_line(text)) {
    if (letter == '"' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + '"';
}

int about() {
  return print(fmt::format("{{\"muster\":\"{}\",\"mpi\":\"{}\",\"library\":{}}}\n", MUSTER_VERSION, mpi_flavor(),
                           json_text(mpi_library())));
}

/// What a scheduler has set for its tasks in place of the environment of the launch is set again.
void take_variables_by_rank() {
  if (const char* given = std::getenv(env_by_rank); given != nullptr)
    for (const std::string& line : split(given, '|'))
      if (const std::size_t equals = line.find('='); equals != std::string::npos)
        ::setenv(line.substr(0, equals).c_str(), line.substr(equals + 1).c_str(), 1);
  ::unsetenv(env_by_rank);
}

/// Some launchers put folders of their own before the user's (Open MPI, when it is given by its absolute path): then
/// the first python3 would not be the one of an environment that was activated. One that has set PATH anew is left
/// alone.
void restore_path() {
  const char* path = std::getenv("PATH");
  const char* given = std::getenv(env_path);
  if (path != nullptr && given != nullptr && std::string_view(path).ends_with(":" + std::string(given)))
    ::setenv("PATH", std::string(given).c_str(), 1);
  ::unsetenv(env_path);
}

/// A bundle (cmake/package/bundled-agent.sh) has its own libraries and plug-ins for this program alone: what it starts
/// has those of the container.
void leave_bundle() {
  const char* given = std::getenv(env_bundled_path);
  if (given == nullptr) return;
  if (*given == '\0')
    ::unsetenv("LD_LIBRARY_PATH");
  else
    ::setenv("LD_LIBRARY_PATH", std::string(given).c_str(), 1);
  for (const char* name :
       {"OMPI_MCA_mca_base_component_path", "OPAL_PKGDATADIR", "PMIX_MCA_mca_base_component_path", env_bundled_path})
    ::unsetenv(name);
}

/// What any user of the node can pretend to be, and then never answer: X servers, which hwloc in MPI libraries asks for
/// GPUs, and services of GPUs, which a runtime asks where their folder exists.
void leave_servers_of_others() {
  if (const auto setting = hwloc_without_display()) ::setenv(setting->first.c_str(), setting->second.c_str(), 1);
  struct stat about {};
  for (const GpuVendor* vendor : gpu_vendors())
    if (!vendor->service_folder.empty() && see_link(std::string(vendor->service_folder), about) &&
        is_other_user(about.st_uid))
      ::setenv(std::string(vendor->service_variable).c_str(), "/nonexistent", 0);
}

/// Until MPI is up: a rank without a launcher needs neither a daemon of Open MPI nor a port, on which either would wait
/// for the rest of an incomplete handshake of any user.
class NoPorts {
 public:
  NoPorts() {
    const char* launcher = std::getenv(env_launcher);
    if (launcher == nullptr || std::string_view(launcher) != "local") return;
    for (const auto& [name, value] : {std::pair{"OMPI_MCA_ess_singleton_isolated", "1"}, {"OMPI_MCA_btl", "self"}})
      if (std::getenv(name) == nullptr && ::setenv(name, value, 1) == 0) names_.push_back(name);
  }
  void forget() {
    for (const char* name : names_) ::unsetenv(name);
    names_.clear();
  }

 private:
  std::vector<const char*> names_;
};

int complain(const Error& error) {
  std::fputs(fmt::format("muster-rank: {}\n", to_string(error)).c_str(), stderr);
  return 1;
}

bool is_started_by_muster() {
  return std::getenv(env_tag) != nullptr || std::getenv(env_wire) != nullptr;
}

std::string tag_of_launch() {
  const char* tag = std::getenv(env_tag);
  // Started by hand: a name of our own, so that two such starts on a node stay apart.
  return tag != nullptr && *tag != '\0' ? tag : "manual-" + random_hex(4);
}

/// Empty: this agent has the version of its driver, or was started by hand.
std::string other_version() {
  const char* version = std::getenv(env_version);
  if (version == nullptr || std::string_view(version) == MUSTER_VERSION) return {};
  return fmt::format("agent of muster {}, {}{}", MUSTER_VERSION, launched_by_another_version,
                     printable_line(version, 80));
}

/// 0: started by hand, without a driver.
double startup_limit_s() {
  const char* text = std::getenv(env_startup);
  return text == nullptr ? 0 : std::max(0.0, std::strtod(text, nullptr));
}

std::vector<std::string>& ordered_hosts() {
  static std::vector<std::string> hosts;  // a name for each rank
  return hosts;
}

/// Faults that `muster selftest` injects into ranks. Real runs must not be affected: without a described machine, which
/// every report mentions, the variable is refused.
Result<void> take_orders_from_environment(const Comm& comm, AgentHooks& hooks) {
  const char* text = std::getenv(env_faults);
  if (text == nullptr || *text == '\0') return {};
  const char* machine = std::getenv(env_machine);
  if (machine == nullptr || *machine == '\0')
    return fail(ErrorKind::usage, env_faults,
                "is for muster selftest alone, on a described machine\nunset it where muster is started");
  const auto orders = parse_faults(text);
  if (!orders)
    return fail(ErrorKind::usage, env_faults,
                orders.error().what + "\nwrite orders as docs/selftest.md has them, or unset the variable");
  inject_faults(*orders, comm.rank());
  const auto ranks = static_cast<std::size_t>(comm.size());
  for (std::size_t rank = 0; rank < ranks && !orders->hosts.empty(); ++rank)
    ordered_hosts().push_back(orders->hosts[rank * orders->hosts.size() / ranks]);
  if (!ordered_hosts().empty())
    hooks.host = [](int rank) { return ordered_hosts().at(static_cast<std::size_t>(rank)); };
  return {};
}

/// What its links count during a case. The files are looked for once; where cases follow each other at once, the
/// reading after one is that before the next.
std::function<std::vector<Fact>()> watch_links() {
  constexpr double most_between_s = 0.1;
  static const LinkErrors links(root_of("/"));
  static PortErrors last;
  static double read_at = -1;
  const auto read = [] {
    last = links.read();
    read_at = monotonic_seconds();
  };
  if (read_at < 0 || monotonic_seconds() - read_at > most_between_s) read();
  return [before = last, begun = read_at, read] {
    read();
    return link_facts(before, last, read_at - begun, links.beside());
  };
}

Result<int> serve(FlightRecorder& recorder, AgentHooks hooks, std::string start_note) {
  hooks.ends_with_driver = true;
  hooks.watch_node = watch_links;
  hooks.start_note = std::move(start_note);
  auto comm = MpiComm::world();
  if (!comm) return tl::unexpected(comm.error());
  if (auto taken = take_orders_from_environment(**comm, hooks); !taken) hooks.refusal = to_string(taken.error());
  if ((*comm)->rank() == 0 && !hooks.key.is_empty())
    if (const LaunchKey key = take_key_of_rank_0(STDIN_FILENO, hooks.key, key_patience_s); !key.is_empty())
      hooks.key = key;
  const int status = run_agent(**comm, recorder, hooks);
  // Peers may wait for this rank in a case for ever; only this rank can notify them.
  if (status == 2) mpi_abort(status);
  recorder.phase(Phase::finishing);
  return status;
}

/// That MPI_Init starts and keeps; without them it fails and gives no reason.
int threads_of_mpi(std::string_view built_for) {
  return built_for.find("Open MPI") == built_for.npos ? 0 : 2;
}

int run_rank(int argc, char** argv, const AgentHooks& hooks) {
  // A file over the limit (ulimit -f) is an error of the call, which the agent reports, and not a signal; children have
  // it as it was.
  std::signal(SIGXFSZ, [](int) {});
  if (argc > 1 && std::strcmp(argv[1], "--about") == 0) return about();
  if (argc > 1 && std::strcmp(argv[1], "--help") == 0) return print(agent_help);
  if (argc > 1) {
    std::fputs(fmt::format("muster-rank: unknown argument \"{}\"\n{}", printable_line(argv[1]), agent_help).c_str(),
               stderr);
    return 3;
  }
  auto key = LaunchKey::take_from_environment(env_key);
  if (!key) return complain(key.error());
  // MPI would only add pages of its own: the launcher's variables are gone as well.
  if (!is_started_by_muster()) {
    std::fputs(complaint_line(host_name(), {ErrorKind::usage, env_tag, std::string(started_without_variables)}).c_str(),
               stderr);
    return 3;
  }
  if (const auto why = too_small_limit(files_of_a_rank()); !why.empty()) {
    std::fputs(complaint_line(host_name(), {ErrorKind::system, "", why}).c_str(), stderr);
    return 1;
  }
  // Of a user's own line nothing is known before: each of its tasks is to start one agent.
  if (const char* world = std::getenv(env_world); world != nullptr && *world == '\0')
    std::fputs(task_line(host_name(), launched_by()).c_str(), stderr);
  const std::string tag = tag_of_launch();
  auto recorder = FlightRecorder::create(recorder_folder(), tag);
  if (!recorder) {
    std::fputs(complaint_line(host_name(), recorder.error()).c_str(), stderr);
    return 1;
  }
  const LaunchedBy launcher = launched_by();
  (*recorder)->place(launcher.rank, launcher.world_size);
  if (const double startup_s = startup_limit_s(); startup_s > 0) (*recorder)->deadline(monotonic_seconds() + startup_s);
  (*recorder)->expect_shared_memory(shared_memory_of_open_mpi(host_name(), launcher.local_rank));
  start_watchdog(tag);
  (*recorder)->stamp_signals();
  if (const std::string other = other_version(); !other.empty()) {
    std::fputs(complaint_line(host_name(), {ErrorKind::system, "muster-rank", other}).c_str(), stderr);
    return 1;
  }
  if (const auto why = too_few_threads(threads_of_mpi(mpi_built_for())); !why.empty()) {
    std::fputs(complaint_line(host_name(), {ErrorKind::system, "MPI", why}).c_str(), stderr);
    return 1;
  }
  take_variables_by_rank();
  fill_rank_variables(launcher.local_rank, asked_binding());
  restore_path();
  leave_servers_of_others();
  NoPorts no_ports;
  const SharedFolder shared;
  if (!shared.name().empty()) (*recorder)->own_shared_folder(shared.name());
  // Without the library that answers for them, no rank can be bound to CPUs that are not here.
  if (machine_folder(host_name()).empty() || has_simulated_affinity())
    if (const auto bound = bind_as_asked(launcher.local_rank); !bound)
      std::fputs(fmt::format("muster-rank: {}\n", to_string(bound.error())).c_str(), stderr);
  set_probe_source(take_plugins);
  if (hooks.at != nullptr) hooks.at("before_mpi", launcher.rank);

  // MPI_Init of another MPI mostly ends the process.
  if (const std::string other = other_mpi(mpi_built_for(), mpi_library()); !other.empty())
    std::fputs(complaint_line(host_name(), {ErrorKind::system, "MPI", other}).c_str(), stderr);
  // Open MPI without its own launcher may end there, too: in a container it lacks the programs of a single rank.
  if (const std::string other = other_launcher(mpi_built_for(), launcher.who); !other.empty())
    std::fputs(complaint_line(host_name(), {ErrorKind::system, "MPI", other}).c_str(), stderr);
  auto started = mpi_start(argc, argv);
  forget_simulated_topology();
  leave_bundle();
  shared.hide_settings();
  no_ports.forget();
  if (!started) return complain(started.error());
  ::setenv(env_mpi_files, mpi_settings_files().c_str(), 1);
  (*recorder)->stamp_signals();
  (*recorder)->note_shared_memory();
  AgentHooks keyed = hooks;
  keyed.key = *key;
  const auto status = serve(**recorder, keyed, std::move(*started));
  Result<void> finished;
  const auto finish = [&finished] { finished = mpi_finish(); };
  if (status && can_hang_in_finalize(mpi_library_text()))
    (void)finish_in_time(finish);
  else
    finish();
  if (!status) return complain(status.error());
  if (!finished) return complain(finished.error());
  (*recorder)->phase(Phase::finished);
  return *status;
}

}  // namespace

int agent_main(int argc, char** argv, const AgentHooks& hooks) {
  try {
    return run_rank(argc, argv, hooks);
  } catch (const std::bad_alloc&) {
    std::fputs(complaint_line(host_name(), {ErrorKind::system, "", out_of_memory()}).c_str(), stderr);
  }
  return 1;
}

}  // namespace muster
