#include "muster/launcher.hpp"

namespace muster {

namespace {

/// The agent itself: MPI starts as a world of one when no launcher is around.
LaunchCommand command(const LauncherIdentity&, const JobShape&, const AgentCommand& agent, const Argv&) {
  return {agent.argv, agent.env};
}

/// The rank may use what muster itself may.
Binder binder(const LauncherIdentity&, const JobShape& shape, const Argv&) {
  return shape.binding.kind == BindKind::node ? Binder::launcher : Binder::agent;
}

/// No launcher prints messages: its exit status is the rank's own.
LauncherNotice read_notice(const LauncherIdentity&, std::string_view, int status) {
  LauncherNotice notice;
  if (status == 0) return notice;
  notice.rank = 0;
  if (status > 128)
    notice.signal = status - 128;
  else
    notice.exit_status = status;
  return notice;
}

}  // namespace

extern const LauncherSpec launcher_local{
    .name = "local",
    .summary = "One rank on this machine, started directly.",
    .most_ranks = 1,
    .gives_input_to_rank_0 = true,
    .program = "",
    .command = command,
    .binder = binder,
    .read_notice = read_notice,
};

}  // namespace muster
