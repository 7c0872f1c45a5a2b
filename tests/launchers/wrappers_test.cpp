// ibrun, flux and mpiexec: what each is started with.
#include <gtest/gtest.h>
#include <ostream>

#include "base/text.hpp"
#include "muster/launcher.hpp"

namespace muster {
namespace {

const AgentCommand agent{{"/opt/muster-rank"}, {{"MUSTER_TAG", "t1"}, {"MUSTER_KEY", "sesame"}}};

struct CommandCase {
  const char* launcher;
  LauncherIdentity identity;
  std::vector<std::string> nodes;
  int ranks_per_node;
  int cores_per_rank;
  bool oversubscribed;
  Argv options;
  const char* line;
  Environment env;  ///< besides the agent's
};
std::ostream& operator<<(std::ostream& out, const CommandCase& item) {
  return out << item.line;
}

LauncherIdentity at(std::string path, std::string flavor = {}, std::string version = {}) {
  return {std::move(path), std::move(flavor), std::move(version), "", {}, {}};
}

TEST(Ibrun, StartsAtTheSlotOfTheFirstNode) {
  const LauncherSpec& ibrun = *find_launcher("ibrun");
  JobShape shape;
  shape.ranks_per_node = 3;
  shape.job_nodes = {"c1", "c2", "c3", "c4"};
  const auto line_on = [&](std::vector<std::string> nodes) {
    shape.nodes = std::move(nodes);
    return shell_line(ibrun.command(at("ibrun"), shape, agent, {}).argv);
  };
  EXPECT_EQ(line_on({"c1"}), "ibrun -n 3 -o 0 /opt/muster-rank");
  EXPECT_EQ(line_on({"c3", "c4"}), "ibrun -n 6 -o 6 /opt/muster-rank");
  EXPECT_EQ(line_on({"c3", "c2"}), "ibrun -n 6 -o 3 /opt/muster-rank");
  EXPECT_EQ(ibrun.cannot_place(shape), "");
}

TEST(Ibrun, CannotLeaveOutANodeBetweenOthers) {
  const LauncherSpec& ibrun = *find_launcher("ibrun");
  JobShape shape;
  shape.job_nodes = {"c1", "c2", "c3"};
  shape.nodes = {"c1", "c3"};
  EXPECT_EQ(ibrun.cannot_place(shape),
            "ibrun starts ranks on nodes of the job that follow each other in its list, and c1 and c3 do not");
  shape.nodes = {"c4"};
  EXPECT_NE(ibrun.cannot_place(shape), "");
}

class Wrappers : public testing::TestWithParam<CommandCase> {};

TEST_P(Wrappers, ArgumentsAndEnvironmentAreAsWritten) {
  const CommandCase& item = GetParam();
  JobShape shape;
  shape.nodes = item.nodes;
  shape.ranks_per_node = item.ranks_per_node;
  shape.cores_per_rank = item.cores_per_rank;
  shape.oversubscribed = item.oversubscribed;
  const LaunchCommand made = find_launcher(item.launcher)->command(item.identity, shape, agent, item.options);
  EXPECT_EQ(shell_line(made.argv), item.line);
  EXPECT_EQ(shell_line(made.argv).find("sesame"), std::string::npos);
  Environment env = agent.env;
  env.insert(env.end(), item.env.begin(), item.env.end());
  EXPECT_EQ(made.env, env);
}

const CommandCase cases[] = {
    {"ibrun",
     at("/usr/local/bin/ibrun"),
     {"c608-081", "c608-082"},
     1,
     72,
     false,
     {},
     "/usr/local/bin/ibrun -n 2 -o 0 /opt/muster-rank",
     {{"IBRUN_TASKS_PER_NODE", "1"}}},
    {"ibrun",
     at("ibrun"),
     {},
     4,
     0,
     true,
     {"task_affinity"},
     "ibrun task_affinity -n 4 -o 0 /opt/muster-rank",
     {{"IBRUN_TASKS_PER_NODE", "4"}}},
    {"flux",
     at("/usr/bin/flux", "", "0.57.0"),
     {"frontier00144", "frontier00145"},
     8,
     7,
     false,
     {},
     "/usr/bin/flux run --nodes=2 --ntasks=16 --cores-per-task=7 --requires=host:frontier00144,frontier00145 "
     "--setopt=cpu-affinity=per-task --input=0 /opt/muster-rank",
     {}},
    {"flux",
     at("flux"),
     {},
     4,
     1,
     true,
     {},
     "flux run --nodes=1 --ntasks=4 --setopt=cpu-affinity=off --input=0 /opt/muster-rank",
     {}},
    {"flux",
     at("flux", "", "0.48.0"),
     {},
     4,
     1,
     true,
     {},
     "flux run --nodes=1 --ntasks=4 --setopt=cpu-affinity=off /opt/muster-rank",
     {}},
    {"flux",
     at("flux"),
     {"n1"},
     1,
     0,
     false,
     {"--requires=host:n1", "-ocpu-affinity=map:0-3"},
     "flux run --requires=host:n1 -ocpu-affinity=map:0-3 --nodes=1 --ntasks=1 --input=0 /opt/muster-rank",
     {}},
    {"mpiexec",
     at("/usr/bin/mpiexec", "mpich", "4.0.2"),
     {"n1", "n2"},
     2,
     3,
     false,
     {},
     "/usr/bin/mpiexec -hosts n1,n2 -n 4 -ppn 2 -bind-to core:3 -genvall /opt/muster-rank",
     {}},
    {"mpiexec",
     at("/usr/bin/mpiexec", "openmpi", "5.0.3"),
     {},
     4,
     0,
     true,
     {},
     "/usr/bin/mpiexec --host localhost:4 --noprefix -n 4 --map-by ppr:4:node:OVERSUBSCRIBE --bind-to none --mca "
     "mpi_yield_when_idle 1 -x MUSTER_TAG -x MUSTER_KEY /opt/muster-rank",
     {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
      {"PRTE_ALLOW_RUN_AS_ROOT", "1"},
      {"PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}}},
};
INSTANTIATE_TEST_SUITE_P(Launchers, Wrappers, testing::ValuesIn(cases));

TEST(Flux, TellsItsVersionOrIsRefused) {
  const LauncherSpec& flux = *find_launcher("flux");
  const auto known = flux.identify("/usr/bin/flux", "commands:    \t\t0.57.0\nlibflux-core:\t\t0.57.0\n");
  ASSERT_TRUE(known);
  EXPECT_EQ(known->banner, "Flux 0.57.0");
  const auto stranger = flux.identify("/x/flux", "redshift \x1b[1m2\n");
  ASSERT_FALSE(stranger);
  EXPECT_NE(stranger.error().what.find("redshift \\x1b[1m2"), std::string::npos) << stranger.error().what;
}

TEST(Flux, SaysWhyNothingWasStarted) {
  const LauncherSpec& flux = *find_launcher("flux");
  const auto none = flux.read_notice({}, "flux-run: Unable to connect to Flux: ENOENT: No such file or directory", 1);
  EXPECT_EQ(none.sentence, "there is no Flux instance to run in");
  EXPECT_FALSE(none.remedy.empty());
  EXPECT_EQ(flux.read_notice({}, "flux-job: exception: type=alloc note=unsatisfiable request", 1).sentence,
            "Flux lacks the requested nodes or cores");
  EXPECT_EQ(flux.read_notice({}, "flux-job: task(s) Killed", 137).sentence, "");
  EXPECT_EQ(flux.read_notice({}, "unsatisfiable request", 0).sentence, "");
}

TEST(Ibrun, PassesOnWhatTheWrappedMpirunSays) {
  const LauncherSpec& ibrun = *find_launcher("ibrun");
  const auto notice = ibrun.read_notice(
      {}, "TACC:  Starting up job 7\nmpirun noticed that process rank 3 with PID 0 on node c608-082 exited on signal 9",
      137);
  EXPECT_EQ(notice.rank, 3);
  EXPECT_EQ(notice.node, "c608-082");
  EXPECT_EQ(notice.signal, 9);
  const auto argv = ibrun.reach({}, "c608-082", {"/opt/muster", "node", "autopsy"}, {});
  EXPECT_EQ(shell_line(argv),
            "srun --overlap --mpi=none --cpu-bind=none --nodes=1 --ntasks=1 --nodelist=c608-082 "
            "/opt/muster node autopsy");
}

}  // namespace
}  // namespace muster
