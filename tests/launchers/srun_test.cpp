#include <algorithm>
#include <gtest/gtest.h>
#include <ostream>

#include "base/files.hpp"
#include "base/text.hpp"
#include "launchers/launching.hpp"
#include "muster/launcher.hpp"

namespace muster {
namespace {

using Types = std::vector<std::string>;

const LauncherSpec& srun() {
  return *find_launcher("srun");
}

LauncherIdentity slurm(std::string flavor = "openmpi",
                       Types types = {"cray_shasta", "none", "pmi2", "pmix", "pmix_v4"}) {
  LauncherIdentity identity{"/usr/bin/srun", std::move(flavor), "", "Slurm", {}, {}};
  identity.mpi_types = std::move(types);
  return identity;
}

class SrunCommands : public testing::TestWithParam<CommandCase> {};

TEST_P(SrunCommands, ArgumentsAreAsWritten) {
  const CommandCase& item = GetParam();
  EXPECT_EQ(shell_line(srun().command(item.identity, item.shape, agent, item.options).argv), item.line);
}

// How Slurm 22.05 takes these was tried on a real one.
const CommandCase command_cases[] = {
    {"one node",
     slurm(),
     shape({"nid001"}, 1),
     {},
     "/usr/bin/srun --overlap --nodes=1 --ntasks=1 --ntasks-per-node=1 --nodelist=nid001 --distribution=block "
     "--cpu-bind=cores --mpi=pmix --input=0 --kill-on-bad-exit=1 --export=ALL /opt/muster-rank"},
    {"four nodes",
     slurm(),
     shape({"nid001", "nid002", "nid003", "nid004"}, 2),
     {},
     "/usr/bin/srun --overlap --nodes=4 --ntasks=8 --ntasks-per-node=2 '--nodelist=nid[001-004]' --distribution=block "
     "--cpu-bind=cores --mpi=pmix --input=0 --kill-on-bad-exit=1 --export=ALL /opt/muster-rank"},
    {"a node left out",
     slurm(),
     shape({"nid001", "nid002", "nid004", "login1"}, 2),
     {},
     "/usr/bin/srun --overlap --nodes=4 --ntasks=8 --ntasks-per-node=2 '--nodelist=nid[001-002,004],login1' "
     "--distribution=block --cpu-bind=cores --mpi=pmix --input=0 --kill-on-bad-exit=1 --export=ALL /opt/muster-rank"},
    {"cores for each",
     slurm(),
     shape({"n1", "n2"}, 8, 7),
     {},
     "/usr/bin/srun --overlap --nodes=2 --ntasks=16 --ntasks-per-node=8 '--nodelist=n[1-2]' --distribution=block "
     "--cpus-per-task=7 --cpu-bind=cores --mpi=pmix --input=0 --kill-on-bad-exit=1 --export=ALL /opt/muster-rank"},
    {"too many",
     slurm(),
     shape({"n1"}, 4, 1, true),
     {},
     "/usr/bin/srun --overlap --nodes=1 --ntasks=4 --ntasks-per-node=4 --nodelist=n1 --distribution=block --overcommit "
     "--cpu-bind=none --mpi=pmix --input=0 --kill-on-bad-exit=1 --export=ALL /opt/muster-rank"},
    {"this machine",
     slurm(),
     shape({}, 2),
     {},
     "/usr/bin/srun --overlap --nodes=1 --ntasks=2 --ntasks-per-node=2 --distribution=block --cpu-bind=cores "
     "--mpi=pmix "
     "--input=0 --kill-on-bad-exit=1 --export=ALL /opt/muster-rank"},
    {"an agent of MPICH",
     slurm("mpich"),
     shape({"n1"}, 1),
     {},
     "/usr/bin/srun --overlap --nodes=1 --ntasks=1 --ntasks-per-node=1 --nodelist=n1 --distribution=block "
     "--cpu-bind=cores --mpi=pmi2 --input=0 --kill-on-bad-exit=1 --export=ALL /opt/muster-rank"},
    {"an agent of Cray's MPICH",
     slurm("cray-mpich"),
     shape({"n1"}, 1),
     {},
     "/usr/bin/srun --overlap --nodes=1 --ntasks=1 --ntasks-per-node=1 --nodelist=n1 --distribution=block "
     "--cpu-bind=cores --mpi=cray_shasta --input=0 --kill-on-bad-exit=1 --export=ALL /opt/muster-rank"},
    {"only a versioned PMIx",
     slurm("openmpi", {"none", "pmix_v3", "pmix_v4"}),
     shape({"n1"}, 1),
     {},
     "/usr/bin/srun --overlap --nodes=1 --ntasks=1 --ntasks-per-node=1 --nodelist=n1 --distribution=block "
     "--cpu-bind=cores --mpi=pmix_v4 --input=0 --kill-on-bad-exit=1 --export=ALL /opt/muster-rank"},
    {"an unknown MPI is left to the site's default",
     slurm("other"),
     shape({"n1"}, 1),
     {},
     "/usr/bin/srun --overlap --nodes=1 --ntasks=1 --ntasks-per-node=1 --nodelist=n1 --distribution=block "
     "--cpu-bind=cores --input=0 --kill-on-bad-exit=1 --export=ALL /opt/muster-rank"},
    {"told otherwise by a profile",
     slurm(),
     shape({"n1", "n2"}, 8),
     {"--cpu-bind=mask_cpu:0xfe,0xfe00", "--mpi=pmi2", "--distribution=cyclic", "-K0", "--kill-on-bad-exit=0"},
     "/usr/bin/srun --cpu-bind=mask_cpu:0xfe,0xfe00 --mpi=pmi2 --distribution=cyclic -K0 --kill-on-bad-exit=0 "
     "--overlap "
     "--nodes=2 --ntasks=16 --ntasks-per-node=8 '--nodelist=n[1-2]' --input=0 --export=ALL /opt/muster-rank"},
    {"no binding, and options in two words",
     slurm(),
     shape({"n1"}, 2, 4),
     {"--cpu-bind", "none", "-c", "2", "--exclusive"},
     "/usr/bin/srun --cpu-bind none -c 2 --exclusive --nodes=1 --ntasks=2 --ntasks-per-node=2 --nodelist=n1 "
     "--distribution=block --mpi=pmix --input=0 --kill-on-bad-exit=1 --export=ALL /opt/muster-rank"},
    {"an environment of one's own still has what the agent needs",
     slurm(),
     shape({"n1"}, 1),
     {"--export=PATH,HOME=/h"},
     "/usr/bin/srun --export=PATH,HOME=/h --overlap --nodes=1 --ntasks=1 --ntasks-per-node=1 --nodelist=n1 "
     "--distribution=block --cpu-bind=cores --mpi=pmix --input=0 --kill-on-bad-exit=1 "
     "--export=PATH,HOME=/h,MUSTER_TAG,MUSTER_KEY /opt/muster-rank"},
    {"no environment but what the agent needs",
     slurm(),
     shape({"n1"}, 1),
     {"--export", "NONE"},
     "/usr/bin/srun --export NONE --overlap --nodes=1 --ntasks=1 --ntasks-per-node=1 --nodelist=n1 "
     "--distribution=block "
     "--cpu-bind=cores --mpi=pmix --input=0 --kill-on-bad-exit=1 --export=MUSTER_TAG,MUSTER_KEY /opt/muster-rank"},
};
INSTANTIATE_TEST_SUITE_P(Srun, SrunCommands, testing::ValuesIn(command_cases));

TEST(Srun, TheEnvironmentIsTheAgentsAndRanksThatShareACoreYield) {
  EXPECT_EQ(srun().command(slurm(), shape({"n1"}, 2), agent, {}).env, agent.env);
  Environment yielding = agent.env;
  yielding.emplace_back("OMPI_MCA_mpi_yield_when_idle", "1");
  EXPECT_EQ(srun().command(slurm(), shape({"n1"}, 9, 0, true), agent, {}).env, yielding);
  EXPECT_EQ(srun().command(slurm("mpich"), shape({"n1"}, 9, 0, true), agent, {}).env, agent.env);
}

TEST(Srun, NoValueOfTheEnvironmentIsInAnArgument) {
  for (const Argv& options : {Argv{}, Argv{"--export=NONE"}, Argv{"--export=ALL,A=b"}})
    EXPECT_EQ(shell_line(srun().command(slurm(), shape({"n1"}, 1), agent, options).argv).find("sesame"),
              std::string::npos);
}

TEST(Srun, ManyHostsAreOneShortArgument) {
  std::vector<std::string> nodes;
  for (int i = 0; i < 9000; ++i) nodes.push_back("nid" + std::to_string(100000 + i));
  const Argv argv = srun().command(slurm(), shape(nodes, 8), agent, {}).argv;
  EXPECT_NE(std::find(argv.begin(), argv.end(), "--nodelist=nid[100000-108999]"), argv.end());
}

TEST(Srun, TellsItsTypes) {
  const auto now = srun().identify("/usr/bin/srun",
                                   "MPI plugin types are...\n\tpmix\n\tnone\n\tcray_shasta\n\tpmi2\n"
                                   "specific pmix plugin versions available: pmix_v3,pmix_v4\n");
  ASSERT_TRUE(now);
  EXPECT_EQ(now->mpi_types, (Types{"cray_shasta", "none", "pmi2", "pmix", "pmix_v3", "pmix_v4"}));
  EXPECT_EQ(now->banner, "Slurm, MPI types cray_shasta, none, pmi2, pmix, pmix_v3 and pmix_v4");
  EXPECT_EQ(now->flavor, "");
  const auto before =
      srun().identify("/usr/bin/srun", "srun: MPI types are...\nsrun: openmpi\nsrun: pmi2\nsrun: none\n");
  ASSERT_TRUE(before);
  EXPECT_EQ(before->mpi_types, (Types{"none", "openmpi", "pmi2"}));
}

TEST(Srun, OneThatIsOutOfOrderIsAnErrorThatQuotesIt) {
  for (const char* message : {"", "srun: fatal: Could not establish a configuration source\x1b[31m\n"}) {
    const auto identity = srun().identify("/usr/bin/srun", message);
    ASSERT_FALSE(identity) << message;
    EXPECT_EQ(identity.error().kind, ErrorKind::launch);
    EXPECT_EQ(identity.error().what.find('\x1b'), std::string::npos);
    EXPECT_NE(identity.error().what.find(std::string(message).substr(0, 30)), std::string::npos)
        << identity.error().what;
  }
}

struct NoticeCase {
  const char* file;  ///< recorded from Slurm 22.05, 4 nodes x 2 tasks; `pmi`: as LUMI's page on known issues has it
  int status;
  std::optional<int> rank;
  const char* node;
  std::optional<int> signal;
  std::optional<int> exit_status;
  const char* sentence;
  bool is_first_cause = false;
};
std::ostream& operator<<(std::ostream& out, const NoticeCase& item) {
  return out << item.file;
}

class SrunNotices : public testing::TestWithParam<NoticeCase> {};

TEST_P(SrunNotices, SayWhoAndWhy) {
  const NoticeCase& item = GetParam();
  const auto text =
      read_file(fs::path(MUSTER_SOURCE_DIR "/tests/launchers/notices") / ("srun-" + std::string(item.file) + ".txt"));
  ASSERT_TRUE(text);
  const LauncherNotice notice = srun().read_notice(slurm(), *text, item.status);
  EXPECT_EQ(notice.rank, item.rank);
  EXPECT_EQ(notice.node, item.node);
  EXPECT_EQ(notice.signal, item.signal);
  EXPECT_EQ(notice.exit_status, item.exit_status);
  EXPECT_EQ(notice.sentence, item.sentence);
  EXPECT_EQ(notice.sentence.empty(), notice.remedy.empty());
  EXPECT_EQ(notice.is_first_cause, item.is_first_cause);
}

constexpr auto none = std::nullopt;
const NoticeCase notice_cases[] = {
    {"kill", 137, 3, "nid002", 9, none, ""},
    {"segv", 143, 3, "nid002", 11, none, ""},
    {"abort", 143, 3, "nid002", 6, none, ""},
    {"exit3", 143, 3, "nid002", none, 3, ""},
    {"missing", 2, none, "nid004", none, none, "the agent can't be started on nid004"},
    {"binding", 192, none, "", none, none, "Slurm can't bind the ranks to CPUs as the job asks"},
    {"layout", 192, none, "", none, none, "the step has too few CPUs for the ranks as the job requests them"},
    {"dead-slurmd", 233, none, "nid003", none, none, "Slurm could not start ranks on nid003"},
    {"toomany", 1, none, "", none, none, "the allocation has fewer CPUs on a node than requested ranks"},
    {"nodelist", 1, none, "", none, none, "the allocation does not have the nodes or resources of this launch"},
    {"gpus", 1, none, "", none, none, "Slurm can't give the ranks the GPUs that the job's options name"},
    {"threads", 1, none, "", none, none, "the launch requests more threads per core than the job"},
    {"badmpi", 1, none, "", none, none, "srun does not support the requested MPI type"},
    {"option", 255, none, "", none, none, "srun does not support one of its options"},
    {"expired", 1, none, "", none, none, "the job around muster has ended", true},
    {"no-job", 1, none, "", none, none, "Slurm does not know the job around muster: it has ended", true},
    {"step-cancelled", 137, none, "", none, none, "the job or its step was cancelled", true},
    {"job-cancelled", 143, none, "", none, none, "the job or its step was cancelled", true},
    {"time-limit", 143, none, "", none, none, "Slurm ended the job: its time limit was reached", true},
    {"pmi", 255, none, "nid002", none, none, "Cray's PMI did not start on nid002"},
    {"node-failure", 143, none, "nid002", none, none, "Slurm ended the job's step: it counts nid002 as failed", true},
};
INSTANTIATE_TEST_SUITE_P(Srun, SrunNotices, testing::ValuesIn(notice_cases));

TEST(Srun, TasksThatDiedTogetherAreNotTakenForOne) {
  const LauncherNotice notice = srun().read_notice(slurm(), "srun: error: nid002: tasks 2-3: Killed\n", 137);
  EXPECT_FALSE(notice.rank);
  EXPECT_EQ(notice.node, "nid002");
  EXPECT_EQ(notice.signal, 9);
}

TEST(Srun, AMemoryLimitAndACoreFileAreSignals) {
  EXPECT_EQ(srun().read_notice(slurm(), "srun: error: n1: task 1: Out Of Memory\n", 1).signal, 9);
  EXPECT_EQ(srun().read_notice(slurm(), "srun: error: n1: task 1: Segmentation fault (core dumped)\n", 139).signal, 11);
}

TEST(Srun, WhatFollowsAnAbortIsNoCause) {
  const LauncherNotice notice = srun().read_notice(
      slurm(),
      "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\nsrun: error: n1: task 1: Killed\n",
      137);
  EXPECT_FALSE(notice.rank || notice.signal);
}

TEST(Srun, WhyAStepWasCancelledMayBeSaidAfterwards) {
  const std::string cancelled = "slurmstepd: error: *** STEP 2.0 ON nid001 CANCELLED AT 2026-11-22T01:12:36 ***\n";
  for (const char* why :
       {"srun: error: Node failure on nid003\n",
        "slurmstepd: error: *** STEP 2.0 ON nid002 CANCELLED AT 2026-11-22T01:12:36 DUE TO NODE FAILURE, "
        "SEE SLURMCTLD LOG FOR DETAILS ***\nsrun: error: Node failure on nid003\n"}) {
    const LauncherNotice notice = srun().read_notice(slurm(), cancelled + why, 143);
    EXPECT_EQ(notice.sentence, "Slurm ended the job's step: it counts nid003 as failed");
    EXPECT_EQ(notice.node, "nid003");
    EXPECT_TRUE(notice.is_first_cause);
  }
  EXPECT_EQ(srun().read_notice(slurm(), cancelled, 143).sentence, "the job or its step was cancelled");
}

TEST(Srun, WordsOfTheProgramAreNoNotice) {
  for (const char* text :
       {"", "nid002: task 3: Killed\n", "my own: execve(): no\n", "CANCELLED AT the box office\n",
        "srun: error: nid002: task 3: Levitated\n", "srun: error: nid002: task", "srun: error: : "}) {
    const LauncherNotice notice = srun().read_notice(slurm(), text, 1);
    EXPECT_FALSE(notice.rank || notice.signal || notice.exit_status || notice.is_first_cause) << text;
    EXPECT_EQ(notice.sentence, "") << text;
  }
  EXPECT_FALSE(srun().read_notice(slurm(), "srun: error: nid002: task 3: Killed\n", 0).rank);
}

TEST(Srun, ReachesANodeBesideARunningLaunch) {
  EXPECT_EQ(
      shell_line(srun().reach(slurm(), "nid002", {"/opt/muster", "node", "autopsy", "a b"}, {"--cpu-bind=cores"})),
      "/usr/bin/srun --overlap --mpi=none --cpu-bind=none --nodes=1 --ntasks=1 --gpus=0 --export=ALL "
      "--ntasks-per-node=1 --input=none --nodelist=nid002 /opt/muster node autopsy 'a b'");
}

TEST(Srun, ReachesManyNodesByOneStep) {
  const std::vector<std::string> nodes{"nid001", "nid002", "nid004"};
  EXPECT_EQ(shell_line(srun().reach_all(slurm(), nodes, {"/opt/muster", "node", "autopsy"}, {"--cpu-bind=cores"})),
            "/usr/bin/srun --no-kill --kill-on-bad-exit=0 --wait=0 --label --overlap --mpi=none --cpu-bind=none "
            "--nodes=3 --ntasks=3 --gpus=0 --export=ALL --ntasks-per-node=1 --input=none '--nodelist=nid[001-002,004]' "
            "/opt/muster node autopsy");
  EXPECT_EQ(srun().node_variable, "SLURMD_NODENAME");
}

}  // namespace
}  // namespace muster
