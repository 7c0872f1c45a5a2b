#include "launchers/mpirun/notice.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <fmt/format.h>
#include <vector>

#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "launchers/agent_remedy.hpp"

namespace muster::mpirun {

std::string in_one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\0';
    if (!is_space)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  return line;
}

std::string_view from(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  return at == text.npos ? std::string_view() : text.substr(at);
}

namespace {

/// The word after `mark`, without `:,.])` at its end.
std::string word_after(std::string_view text, std::string_view mark) {
  const std::size_t at = mark.empty() ? text.npos : text.find(mark);
  if (at == text.npos) return {};
  text.remove_prefix(at + mark.size());
  text = text.substr(0, text.find_first_of(" \n\t"));
  while (!text.empty() && std::string_view(":,.])").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return printable_line(text, 255);
}

std::optional<int> number_after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == text.npos) return std::nullopt;
  const auto number = leading_number<int>(trim(text.substr(at + mark.size())));
  return number && *number >= 0 ? number : std::nullopt;
}

/// Open MPI prints 0 where it does not have the PID.
std::optional<int> pid_after(std::string_view text, std::string_view mark) {
  const auto pid = number_after(text, mark);
  return pid && *pid > 0 ? pid : std::nullopt;
}

/// A text that explains a failed launch as a whole.
struct KnownFailure {
  std::string_view text;
  std::string_view node_after;  ///< a node's name follows this text, at the text itself or later; empty: none is named
  std::string_view sentence;    ///< `{}`: the node, or `a node`
  std::string_view remedy;
};

constexpr std::string_view daemon_remedy =
    "check the remote shell, that the same MPI is installed on every node, and that nodes can reach each other by TCP";

constexpr std::string_view lost_daemon = "lost communication with a remote daemon";
constexpr std::string_view silent_daemon = "daemon failed to report back";
constexpr std::string_view lost_downstream = "Downstream from host ";  // of Intel MPI

// Causes before consequences: the first that is found explains the launch. Messages of the remote shell come first.
constexpr KnownFailure known_failures[] = {
    {"Could not resolve hostname", "Could not resolve hostname ", "node {} has no address: its name can't be resolved",
     "check the name of the node, or take it out of --nodes"},
    {"Host key verification failed", "", "the remote shell does not know the host key of {}",
     "log in to the node once by hand, or add its key to known_hosts"},
    {"Permission denied (", "", "the remote shell was not let in on {}",
     "set up a login without password (ssh key) on all nodes"},
    {"ssh: connect to host", "connect to host ", "node {} does not answer the remote shell",
     "check that the node is up and that sshd runs there, or take it out of --nodes"},
    {"detected an attempt to run as root", "", "mpirun refuses to start ranks as root",
     "run as an ordinary user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
    {"not enough slots available", "", "mpirun has fewer slots than requested ranks",
     "request fewer --ranks-per-node, or run inside an allocation with enough tasks"},
    {"more processes than the ppr for this topology can support", "",
     "a node has fewer cores than its ranks, with the cores that each was to get, need",
     "request fewer --ranks-per-node or fewer cores per rank"},
    {"binding more processes than cpus on a resource",
     "Node: ", "{} has fewer cores for this job than ranks to be bound, one core each",
     "request fewer --ranks-per-node, or let ranks share cores with -J=--bind-to -J=none"},
    {"found no available cpus", "Node: ", "{} has not enough cores for the cores that each rank was to get",
     "request fewer ranks or fewer cores per rank"},
    {"not access or execute an executable", "Node: ", "the agent can't be started on {}", agent_remedy},
    {"could not access an executable", "Node: ", "the agent can't be started on {}", agent_remedy},
    {"hydra_pmi_proxy (No such file", "", "mpirun does not find its own helper, hydra_pmi_proxy",
     "put the folder that mpirun is installed in first on PATH; a link to mpirun elsewhere does not do"},
    {"mpiexec.hydra: not found", "", "Intel MPI's mpirun does not find its own mpiexec.hydra",
     "load the module of Intel MPI, which sets I_MPI_ROOT and PATH, or source $I_MPI_ROOT/env/vars.sh"},
    {"was set to a path that could not be found", "", "the remote agent configured for mpirun does not exist",
     "correct or unset plm_rsh_agent or plm_ssh_agent (OMPI_MCA_plm_rsh_agent, PRTE_MCA_plm_ssh_agent in the "
     "environment)"},
    {lost_daemon, "Remote daemon", "mpirun lost its daemon on {}",
     "check that the node is up and that its network carries TCP between all nodes"},
    {"unable to reliably start one or more daemons", "", "mpirun could not start its daemon on {}", daemon_remedy},
    {silent_daemon, "Remote host: ", "mpirun could not start its daemon on {}", daemon_remedy},
    {"Unable to run bstrap_proxy", "bstrap_proxy on ", "mpirun could not start its proxy on {}", daemon_remedy},
    {"Launch proxy failed", "", "mpirun could not start its proxy on {}", daemon_remedy},
    {"unable to write data to proxy", "", "mpirun could not start its proxy on {}", daemon_remedy},
    {lost_downstream, lost_downstream, "mpirun lost its daemon on {}",
     "check that the node is up and that its network carries TCP between all nodes"},
};

void take(const KnownFailure& failure, std::string node, LauncherNotice& notice) {
  notice.node = std::move(node);
  const std::string_view named = notice.node.empty() ? std::string_view("a node") : std::string_view(notice.node);
  notice.sentence = fmt::format(fmt::runtime(failure.sentence), named);
  notice.remedy = failure.remedy;
  notice.is_about_a_node = failure.sentence.find("{}") != failure.sentence.npos;
}

/// The node that a known failure names: Open MPI's notice of a lost daemon names mpirun's own node first.
std::string failed_node(std::string_view message, const KnownFailure& failure) {
  if (failure.node_after == "Remote daemon") message = from(message, failure.node_after);
  return word_after(message, failure.node_after == "Remote daemon" ? " on node " : failure.node_after);
}

/// Hydra could not start a program: its proxy `[proxy:0:0@nid001]` the agent, mpiexec and Intel's bstrap the remote
/// agent.
bool explain_execvp(std::string_view text, LauncherNotice& notice) {
  static constexpr KnownFailure no_agent{"", "", "the agent can't be started on {}", agent_remedy};
  static constexpr KnownFailure no_remote_agent{
      "", "", "the remote agent configured for mpirun does not exist",
      "correct or unset HYDRA_LAUNCHER_EXEC (Intel MPI: I_MPI_HYDRA_BOOTSTRAP_EXEC), or -launcher-exec given with -J"};
  const std::size_t at = text.find("execvp error on file ");
  if (at == text.npos) return false;
  const std::size_t bracket = text.substr(0, at).rfind("[");
  const std::string_view place = bracket == text.npos ? std::string_view() : text.substr(bracket, at - bracket);
  if (place.rfind("[proxy:", 0) == 0) {
    take(no_agent, word_after(place, "@"), notice);
    return true;
  }
  take(no_remote_agent, "", notice);
  return true;
}

/// The remote shell found no program of the MPI: `sh: 1: /opt/mpi/bin/orted: not found`.
bool explain_missing_daemon(std::string_view text, LauncherNotice& notice) {
  for (const std::string_view daemon : {"prted", "orted", "hydra_pmi_proxy", "hydra_bstrap_proxy"})
    for (const std::string_view complaint : {": not found", ": command not found", ": No such file or directory"}) {
      if (text.find(fmt::format("{}{}", daemon, complaint)) == text.npos) continue;
      std::string node = word_after(from(text, "daemon failed to report back"), "Remote host: ");
      if (node.empty()) node = word_after(text, "Unable to run bstrap_proxy on ");
      take({"", "", "the launcher's MPI is not installed on {}", ""}, std::move(node), notice);
      notice.sentence += fmt::format(": {} is missing there", daemon);
      notice.remedy = "install the same MPI at the same path on every node, or on a shared file system";
      return true;
    }
  return false;
}

/// `nid001` of `/tmp/ompi.nid001.0`.
std::string node_of_folder(std::string_view folder) {
  constexpr std::string_view mark = "/ompi.";
  const auto at = folder.rfind(mark);
  if (at == folder.npos) return {};
  const auto name = folder.substr(at + mark.size());
  const auto user = name.rfind('.');
  return user == name.npos ? std::string() : std::string(name.substr(0, user));
}

/// Open MPI names the folder and the error below its sentence.
bool explain_session_folder(std::string_view text, LauncherNotice& notice) {
  const std::string_view message = from(text, "A call to mkdir was unable to create the desired directory");
  std::string folder = word_after(message, "Directory: ");
  if (folder.empty()) return false;
  // Of `/tmp/ompi.nid001.0/pid.32634` the first is in the way.
  if (const std::size_t top = folder.find("/ompi."); top != folder.npos)
    folder.resize(std::min(folder.size(), folder.find('/', top + 1)));
  std::string_view error = from(message, "Error: ");
  error = error.substr(0, error.find(" Please check"));
  notice.node = node_of_folder(folder);
  notice.sentence = fmt::format("Open MPI can't make its folder {}{}", folder,
                                notice.node.empty() ? std::string() : " on " + notice.node);
  if (error.size() > 7) notice.sentence += ": " + printable_line(error.substr(7), 80);
  const bool is_full = error.find("No space left") != error.npos;
  notice.remedy = fmt::format(fmt::runtime(is_full ? "on {}, free space for {} (df and df -i), or set TMPDIR"
                                                   : "on {}, remove {} if it belongs to another user (ls -ld), or set "
                                                     "TMPDIR"),
                              notice.node.empty() ? std::string("the node where that failed") : notice.node, folder);
  return true;
}

/// Of a lost daemon: a limit on memory ends it so, as does a user.
void explain_kill(LauncherNotice& notice) {
  notice.sentence += ", which was killed by SIGKILL";
  notice.remedy = fmt::format(
      "look in the kernel log of {0} (dmesg) for the out-of-memory killer, which names the limit that was reached, and "
      "raise the memory limit of the job there (memory.max or memory.limit_in_bytes of its control group); else see "
      "who ended the daemon",
      notice.node.empty() ? std::string("the node") : notice.node);
}

}  // namespace

bool reports_kill(std::string_view text) {
  for (const std::string_view line : lines(text)) {
    const std::string_view words = trim(line);
    if (words == "Killed") return true;
    const std::size_t at = words.find(" Killed");
    const std::string_view before = words.substr(0, std::min(at, words.size()));
    if (at != words.npos && before.find(": line ") != before.npos && std::isdigit(before.back()) != 0) return true;
  }
  return false;
}

void explain_lost_daemon(std::string_view text, bool is_intel, bool is_killed, LauncherNotice& notice) {
  const std::string_view words = is_intel ? lost_downstream : lost_daemon;
  const auto is_it = [&](const KnownFailure& failure) { return failure.text == words; };
  const auto* failure = std::find_if(std::begin(known_failures), std::end(known_failures), is_it);
  const auto message = from(text, words);
  if (message.empty()) return;
  take(*failure, failed_node(message, *failure), notice);
  if (is_killed) explain_kill(notice);
}

void explain_launch(std::string_view text, bool is_killed, LauncherNotice& notice) {
  if (explain_session_folder(text, notice)) return;
  if (text.find("hydra_pmi_proxy (No such file") == text.npos && explain_execvp(text, notice)) return;
  if (explain_missing_daemon(text, notice)) return;
  for (const KnownFailure& failure : known_failures) {
    const auto message = from(text, failure.text);
    if (message.empty()) continue;
    take(failure, failed_node(message, failure), notice);
    // PRRTE has the same words for a daemon that ends later.
    if (failure.text == silent_daemon && is_killed)
      notice.sentence = fmt::format("mpirun lost its daemon on {}", notice.node.empty() ? "a node" : notice.node);
    const bool is_lost = notice.sentence.starts_with("mpirun lost its daemon");
    if (is_lost && is_killed) explain_kill(notice);
    return;
  }
  // Of Hydra, which names no node; it has the same words for a rank that was killed, of which no shell reports.
  if (text.find("assert (!closed) failed") == text.npos || !is_killed) return;
  take({"", "", "the launcher lost its proxy on {}", ""}, "", notice);
  explain_kill(notice);
}

namespace {

/// The rank of a process: `[[23727,1],1]` of Open MPI 4, `[prterun-nid001-1097@1,3]` of PRRTE.
std::optional<int> rank_after_last_comma(std::string_view text, std::string_view mark) {
  const std::string name = word_after(text, mark);
  const std::size_t comma = name.rfind(',');
  return comma == std::string::npos ? std::nullopt : number_after(std::string_view(name).substr(comma), ",");
}

constexpr std::string_view closed_socket = "An error occurred in Socket closed";

/// Of each `An error occurred in Socket closed *** reported by process [3172859905,0]`.
std::vector<int> ranks_that_lost_a_peer(std::string_view text) {
  std::vector<int> ranks;
  for (auto one = from(text, closed_socket); !one.empty();
       one = from(one.substr(closed_socket.size()), closed_socket)) {
    const auto here = one.substr(0, one.find(closed_socket, closed_socket.size()));
    const auto rank = rank_after_last_comma(here, "reported by process [");
    if (rank && !is_in(*rank, ranks)) ranks.push_back(*rank);
  }
  return ranks;
}

}  // namespace

bool find_openmpi_rank(std::string_view text, LauncherNotice& notice) {
  notice.lost_a_peer = ranks_that_lost_a_peer(text);
  if (const auto signalled = from(text, "noticed that process rank"); !signalled.empty()) {
    notice.rank = number_after(signalled, "process rank");
    notice.pid = pid_after(signalled, "with PID");
    notice.node = word_after(signalled, " on node ");
    notice.signal = number_after(signalled, "exited on signal");
  } else if (const auto status = from(text, "Process name:"); !status.empty()) {
    notice.rank = rank_after_last_comma(status, "Process name: ");
    notice.exit_status = number_after(status, "Exit code:");
  } else if (const auto aborted = from(text, "MPI_ABORT was invoked on rank"); !aborted.empty()) {
    // Open MPI 5 also names the process, whose rank is that in MPI_COMM_WORLD.
    notice.rank = rank_after_last_comma(aborted, " Proc: ");
    if (!notice.rank) notice.rank = number_after(aborted, "on rank");
    notice.exit_status = number_after(aborted, "with errorcode");
    if (!notice.exit_status) notice.exit_status = number_after(aborted, "Errorcode:");
  } else if (const auto improper = from(text, "exited due to process rank"); !improper.empty()) {
    // A rank whose peer died calls abort, too, and Open MPI 5 at times names it instead of the peer.
    const bool lost_its_peer = text.find(closed_socket) != text.npos;
    if (lost_its_peer && improper.find("calling \"abort\"") != improper.npos) return false;
    notice.rank = number_after(improper, "process rank");
    notice.pid = pid_after(improper, "with PID");
    notice.node = word_after(improper, "node ");
    if (improper.find("exiting improperly") != improper.npos) notice.exit_status = 0;
  }
  return notice.rank.has_value();
}

namespace {

/// One of Intel MPI's: `RANK 3 PID 27442 RUNNING AT nid002 = KILLED BY SIGNAL: 11 (Segmentation fault)`.
struct Termination {
  std::string_view message;
  int signal;  ///< 0: it exited
};

std::vector<Termination> intel_terminations(std::string_view text) {
  constexpr std::string_view mark = "BAD TERMINATION";
  std::vector<Termination> found;
  for (auto message = from(text, mark); !message.empty(); message = from(message.substr(mark.size()), mark)) {
    const auto here = message.substr(0, message.find(mark, mark.size()));
    if (here.find("= RANK ") == here.npos) continue;
    found.push_back({here, number_after(here, "KILLED BY SIGNAL:").value_or(0)});
  }
  return found;
}

/// Intel MPI ends the other ranks of a node by SIGKILL (in MPI_Init: SIGTERM) and lists them like the first, and none
/// of other nodes. A rank that exited by itself is not listed at all, so that even a single SIGKILL may be such a
/// consequence.
bool find_intel_rank(std::string_view text, LauncherNotice& notice) {
  const auto all = intel_terminations(text);
  if (all.empty()) return false;
  const auto count = [&](int signal) {
    return std::count_if(all.begin(), all.end(), [=](const Termination& one) { return one.signal == signal; });
  };
  const bool is_kill_the_cause = count(SIGKILL) == 1 && count(SIGTERM) > 0;
  const auto first = std::find_if(all.begin(), all.end(), [&](const Termination& one) {
    return one.signal == SIGKILL ? is_kill_the_cause : one.signal != SIGTERM;
  });
  if (first == all.end()) {
    notice.signal = all.front().signal;
    if (count(SIGKILL) != static_cast<std::ptrdiff_t>(all.size())) return true;
    for (const Termination& one : all)
      if (const auto rank = number_after(one.message, "= RANK")) notice.killed.push_back(*rank);
    return true;
  }
  notice.rank = number_after(first->message, "= RANK");
  notice.pid = pid_after(first->message, " PID");
  notice.node = word_after(first->message, "RUNNING AT ");
  if (first->signal != 0)
    notice.signal = first->signal;
  else
    notice.exit_status = number_after(first->message, "EXIT STATUS:");
  return true;
}

bool is_crash(int signal) {
  static constexpr int crashes[] = {SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV};
  return is_in(signal, crashes);
}

}  // namespace

bool find_mpich_rank(std::string_view text, LauncherNotice& notice) {
  const auto aborted = from(text, "Abort(");
  // A rank whose peer died aborts, too: then the peer's end comes first.
  const bool is_meant = aborted.find("application called MPI_Abort") != aborted.npos;
  if (!is_meant && find_intel_rank(text, notice)) return true;
  if (const auto ended = from(text, "BAD TERMINATION"); !is_meant && !ended.empty()) {
    notice.pid = pid_after(ended, "PID");
    notice.node = word_after(ended, "RUNNING AT ");
    notice.signal = number_after(from(ended, "EXIT STRING"), "(signal");
    // With several nodes MPICH 5 leaves that string out. It prints no notice for a rank that exited.
    const auto code = number_after(ended, "EXIT CODE:");
    if (!notice.signal && code && is_crash(*code)) notice.signal = code;
    if (!notice.signal) notice.exit_status = code;
  } else if (!aborted.empty()) {
    // The rank in MPI_COMM_WORLD, then that in the communicator: `Abort(42) on node 3 (rank 1 in comm 496)`.
    notice.rank = number_after(aborted, ") on node");
    notice.exit_status = number_after(aborted, "Abort(");
  }
  return notice.signal || notice.exit_status;
}

}  // namespace muster::mpirun
