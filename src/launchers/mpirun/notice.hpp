/// The messages of mpirun and mpiexec when a job fails, verbatim.
#pragma once

#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "muster/launcher.hpp"

namespace muster::mpirun {

/// A text that explains a failed launch as a whole.
struct KnownFailure {
  std::string_view says;
  std::string_view node_after;  ///< a node's name follows this text; empty: none is named
  std::string_view sentence;    ///< `{}`: the node, or `a node`
  std::string_view remedy;
};

// Causes before consequences: the first that is found explains the launch. Messages of the remote shell come first.
inline constexpr KnownFailure known_failures[] = {
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
     "ask for fewer --ranks-per-node, or run inside an allocation with enough tasks"},
    {"binding more\nprocesses than cpus on a resource",
     "Node:        ", "{} has fewer cores for this job than ranks to be bound, one core each",
     "ask for fewer --ranks-per-node, or let ranks share cores with -J=--bind-to -J=none"},
    {"found no available cpus", "Node:  ", "{} has not enough cores for the cores that each rank was to get",
     "ask for fewer ranks or fewer cores per rank"},
    {"not access\nor execute an executable", "Node: ", "the agent can't be started on {}",
     "install muster, and the environment's wrapper, at the same path on all nodes, or on a shared file system"},
    {"hydra_pmi_proxy (No such file", "", "mpirun does not find its own helper, hydra_pmi_proxy",
     "put the folder that mpirun is installed in first on PATH; a link to mpirun elsewhere does not do"},
    {"HYDU_create_process", "[proxy:0:", "the agent can't be started on {}",
     "install muster at the same path on all nodes, or on a shared file system"},
    {"was set to a path\nthat could not be found", "", "the remote agent configured for mpirun does not exist",
     "correct or unset plm_rsh_agent (OMPI_MCA_plm_rsh_agent in the environment)"},
    {"lost communication with a remote daemon", " on node ", "mpirun lost its daemon on {}",
     "check that the node is up and that its network carries TCP between all nodes"},
    {"unable to reliably start one or more daemons", "", "mpirun could not start its daemon on {}",
     "check the remote shell, that the same MPI is installed on every node, and that nodes can reach each other by "
     "TCP"},
    {"unable to write data to proxy", "", "mpirun could not start its proxy on {}",
     "check the remote shell, that the same MPI is installed on every node, and that nodes can reach each other by "
     "TCP"},
};

/// The word after `mark`, up to a blank or one of `:,.])` at its end.
inline std::string word_after(std::string_view text, std::string_view mark) {
  const std::size_t at = mark.empty() ? text.npos : text.find(mark);
  if (at == text.npos) return {};
  text.remove_prefix(at + mark.size());
  text = text.substr(0, text.find_first_of(" \n\t"));
  while (!text.empty() && std::string_view(":,.])").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return printable_line(text, 255);
}

inline std::optional<int> number_after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == text.npos) return std::nullopt;
  text = trim(text.substr(at + mark.size()));
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data() || number < 0) return std::nullopt;
  return number;
}

/// From `mark` on; empty when it is not there.
inline std::string_view from(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  return at == text.npos ? std::string_view() : text.substr(at);
}

/// The node that a known failure names. Hydra's proxy writes `[proxy:0:0@node]`; Open MPI's notice of a lost daemon
/// names mpirun's own node first and the lost one second.
inline std::string failed_node(std::string_view text, const KnownFailure& failure) {
  std::string_view place = text;
  if (failure.says.substr(0, 4) == "lost") place = from(text, "Remote daemon");
  std::string node = word_after(place, failure.node_after);
  const std::size_t at = node.find('@');
  return at == std::string::npos ? node : node.substr(at + 1);
}

inline void explain_launch(std::string_view text, LauncherNotice& notice) {
  for (const KnownFailure& failure : known_failures) {
    if (text.find(failure.says) == text.npos) continue;
    notice.node = failed_node(text, failure);
    const std::string_view named = notice.node.empty() ? std::string_view("a node") : std::string_view(notice.node);
    notice.sentence = fmt::format(fmt::runtime(failure.sentence), named);
    notice.remedy = failure.remedy;
    return;
  }
}

/// The four ways in which Open MPI names the rank that ended the job. True when it named one.
inline bool find_openmpi_rank(std::string_view text, LauncherNotice& notice) {
  if (const auto signalled = from(text, "noticed that process rank"); !signalled.empty()) {
    notice.rank = number_after(signalled, "process rank");
    notice.node = word_after(signalled, " on node ");
    notice.signal = number_after(signalled, "exited on signal");
  } else if (const auto status = from(text, "Process name:"); !status.empty()) {
    // `[[23727,1],1]`: job family, job, rank.
    notice.rank = number_after(status, "],");
    notice.exit_status = number_after(status, "Exit code:");
  } else if (const auto aborted = from(text, "MPI_ABORT was invoked on rank"); !aborted.empty()) {
    notice.rank = number_after(aborted, "on rank");
    notice.exit_status = number_after(aborted, "with errorcode");
  } else if (const auto improper = from(text, "exited due to process rank"); !improper.empty()) {
    notice.rank = number_after(improper, "process rank");
    notice.node = word_after(improper, "node ");
    notice.exit_status = 0;
  }
  return notice.rank.has_value();
}

/// Hydra names process and node, but no rank, unless the program called MPI_Abort.
inline bool find_mpich_rank(std::string_view text, LauncherNotice& notice) {
  if (const auto ended = from(text, "BAD TERMINATION"); !ended.empty()) {
    notice.node = word_after(ended, "RUNNING AT ");
    notice.signal = number_after(from(ended, "EXIT STRING"), "(signal");
    if (!notice.signal) notice.exit_status = number_after(ended, "EXIT CODE:");
  } else if (const auto aborted = from(text, "Abort("); !aborted.empty()) {
    notice.rank = number_after(aborted, "(rank");
    notice.exit_status = number_after(aborted, "Abort(");
  }
  return notice.signal || notice.exit_status;
}

}  // namespace muster::mpirun
