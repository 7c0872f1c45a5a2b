#include <algorithm>
#include <gtest/gtest.h>
#include <ostream>

#include "base/files.hpp"
#include "base/text.hpp"
#include "launchers/launching.hpp"
#include "muster/launcher.hpp"

namespace muster {
namespace {

const LauncherSpec& mpirun() {
  return *find_launcher("mpirun");
}

LauncherIdentity openmpi(std::string version = "4.1.4") {
  return {"/usr/bin/mpirun", "openmpi", version, "Open MPI " + version, {}, {}};
}
LauncherIdentity mpich() {
  return {"/usr/bin/mpirun", "mpich", "4.0.2", "MPICH (Hydra) 4.0.2", {}, {}};
}

LauncherIdentity intel() {
  return {"/x/mpirun", "mpich", "2021.18.1", "Intel MPI 2021.18.1", {}, {}};
}

class Commands : public testing::TestWithParam<CommandCase> {};

TEST_P(Commands, ArgumentsAreAsWritten) {
  const CommandCase& item = GetParam();
  const LaunchCommand made = mpirun().command(item.identity, item.shape, agent, item.options);
  EXPECT_EQ(shell_line(made.argv), item.line);
  // The launcher's own variables come after those of the ranks, and are not passed on to these.
  ASSERT_GE(made.env.size(), agent.env.size());
  EXPECT_TRUE(std::equal(agent.env.begin(), agent.env.end(), made.env.begin()));
}

// How Open MPI 4.1.4 and Hydra 4.0.2 take these was tried on real ones.
const CommandCase command_cases[] = {
    {"openmpi here",
     openmpi(),
     shape({}, 2),
     {},
     "/usr/bin/mpirun --host localhost:2 --noprefix -n 2 --map-by ppr:2:node --bind-to core -x MUSTER_TAG -x "
     "MUSTER_KEY "
     "/opt/muster-rank"},
    {"openmpi on nodes",
     openmpi(),
     shape({"n1", "n2"}, 2),
     {},
     "/usr/bin/mpirun --host n1:2,n2:2 -n 4 --map-by ppr:2:node --bind-to core -x MUSTER_TAG -x MUSTER_KEY "
     "/opt/muster-rank"},
    {"openmpi with cores",
     openmpi(),
     shape({"n1"}, 2, 4),
     {},
     "/usr/bin/mpirun --host n1:2 -n 2 --map-by ppr:2:node:PE=4 --bind-to core -x MUSTER_TAG -x MUSTER_KEY "
     "/opt/muster-rank"},
    {"openmpi with too many",
     openmpi(),
     shape({}, 4, 1, true),
     {},
     "/usr/bin/mpirun --host localhost:4 --noprefix -n 4 --map-by ppr:4:node --oversubscribe --bind-to none --mca "
     "mpi_yield_when_idle 1 -x MUSTER_TAG -x MUSTER_KEY /opt/muster-rank"},
    {"openmpi 5 with too many",
     openmpi("5.0.3"),
     shape({}, 4, 1, true),
     {},
     "/usr/bin/mpirun --host localhost:4 --noprefix -n 4 --map-by ppr:4:node:OVERSUBSCRIBE --bind-to none --mca "
     "mpi_yield_when_idle 1 -x MUSTER_TAG -x MUSTER_KEY /opt/muster-rank"},
    {"openmpi 10 with too many",
     openmpi("10.0.0"),
     shape({}, 4, 1, true),
     {},
     "/usr/bin/mpirun --host localhost:4 --noprefix -n 4 --map-by ppr:4:node:OVERSUBSCRIBE --bind-to none --mca "
     "mpi_yield_when_idle 1 -x MUSTER_TAG -x MUSTER_KEY /opt/muster-rank"},
    {"prrte with too many",
     {"/usr/bin/mpirun", "openmpi", "3.0.13", "PRRTE 3.0.13", {}, {}},
     shape({}, 4, 1, true),
     {},
     "/usr/bin/mpirun --host localhost:4 --noprefix -n 4 --map-by ppr:4:node:OVERSUBSCRIBE --bind-to none --mca "
     "mpi_yield_when_idle 1 -x MUSTER_TAG -x MUSTER_KEY /opt/muster-rank"},
    {"openmpi told otherwise",
     openmpi(),
     shape({"n1"}, 2),
     {"--bind-to", "none", "--mca", "btl", "tcp,self"},
     "/usr/bin/mpirun --bind-to none --mca btl tcp,self --host n1:2 -n 2 --map-by ppr:2:node -x MUSTER_TAG -x "
     "MUSTER_KEY /opt/muster-rank"},
    {"openmpi with a prefix",
     openmpi(),
     shape({}, 2),
     {"--prefix", "/opt/mpi"},
     "/usr/bin/mpirun --prefix /opt/mpi --host localhost:2 -n 2 --map-by ppr:2:node --bind-to core -x MUSTER_TAG -x "
     "MUSTER_KEY /opt/muster-rank"},
    {"mpich here",
     mpich(),
     shape({}, 2),
     {},
     "/usr/bin/mpirun -hosts localhost -n 2 -ppn 2 -bind-to core -genvall /opt/muster-rank"},
    {"mpich on nodes",
     mpich(),
     shape({"n1", "n2"}, 2, 3),
     {},
     "/usr/bin/mpirun -hosts n1,n2 -n 4 -ppn 2 -bind-to core:3 -genvall /opt/muster-rank"},
    {"mpich with too many",
     mpich(),
     shape({}, 4, 1, true),
     {},
     "/usr/bin/mpirun -hosts localhost -n 4 -ppn 4 -bind-to none -genvall /opt/muster-rank"},
    {"mpich told otherwise",
     mpich(),
     shape({}, 1),
     {"-bind-to", "numa"},
     "/usr/bin/mpirun -bind-to numa -hosts localhost -n 1 -ppn 1 -genvall /opt/muster-rank"},
};
INSTANTIATE_TEST_SUITE_P(Mpirun, Commands, testing::ValuesIn(command_cases));

TEST(Mpirun, NoValueOfTheEnvironmentIsInAnArgument) {
  for (const LauncherIdentity& identity : {openmpi(), mpich()}) {
    const LaunchCommand made = mpirun().command(identity, shape({"n1"}, 1), agent, {});
    EXPECT_EQ(shell_line(made.argv).find("sesame"), std::string::npos) << identity.flavor;
  }
}

TEST(Mpirun, RanksStartForRootToo) {
  const auto set_by = [](const LauncherIdentity& identity) {
    return mpirun().command(identity, shape({}, 2), {}, {}).env;
  };
  const Environment four{{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
  Environment five = four;
  five.insert(five.end(), {{"PRTE_ALLOW_RUN_AS_ROOT", "1"}, {"PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
  EXPECT_EQ(set_by(openmpi()), four);
  EXPECT_EQ(set_by(openmpi("5.0.3")), five);
  EXPECT_EQ(set_by(mpich()), Environment()) << "Hydra does not refuse root";
}

TEST(Mpirun, ManyHostsStayOnTheCommandLine) {
  std::vector<std::string> nodes;
  for (int i = 0; i < 2000; ++i) nodes.push_back("nid" + std::to_string(100000 + i));
  const LaunchCommand made = mpirun().command(openmpi(), shape(nodes, 8), agent, {});
  const auto host = std::find(made.argv.begin(), made.argv.end(), "--host");
  ASSERT_NE(host, made.argv.end());
  EXPECT_EQ(split(*(host + 1), ',').size(), 2000u);
  // One argument may be 128 KiB long on Linux.
  EXPECT_LT((host + 1)->size(), 128u << 10);
}

TEST(Mpirun, IsToldApartByWhatItSays) {
  const auto open = mpirun().identify("/usr/bin/mpirun", "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://x/\n");
  ASSERT_TRUE(open);
  EXPECT_EQ(open->flavor, "openmpi");
  EXPECT_EQ(open->version, "4.1.4");
  EXPECT_EQ(open->banner, "Open MPI 4.1.4");
  EXPECT_EQ(open->remote_agent_variables.size(), 3u);
  const auto five = mpirun().identify("mpirun", "mpirun (Open MPI) 5.0.3rc1\n");
  ASSERT_TRUE(five);
  EXPECT_EQ(five->version, "5.0.3rc1");
  const auto hydra = mpirun().identify(
      "/opt/mpirun",
      "HYDRA build details:\n    Version:                                 4.0.2\n    Release Date: Thu\n");
  ASSERT_TRUE(hydra);
  EXPECT_EQ(hydra->flavor, "mpich");
  EXPECT_EQ(hydra->version, "4.0.2");
  const auto intel = mpirun().identify(
      "/opt/mpirun", "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b44796a)\nCopyright\n");
  ASSERT_TRUE(intel);
  EXPECT_EQ(intel->flavor, "mpich");
  EXPECT_EQ(intel->version, "2021.18.1");
  EXPECT_EQ(intel->banner, "Intel MPI 2021.18.1");
  const auto prrte = mpirun().identify("/usr/bin/prterun", "prterun (PRRTE) 3.0.13\n\nReport bugs to x\n");
  ASSERT_TRUE(prrte);
  EXPECT_EQ(prrte->flavor, "openmpi");
  EXPECT_EQ(prrte->banner, "PRRTE 3.0.13");
  const auto orte = mpirun().identify("/usr/bin/orterun", "orterun (OpenRTE) 4.1.4\n");
  ASSERT_TRUE(orte);
  EXPECT_EQ(orte->flavor, "openmpi");
}

TEST(Mpirun, IntelsWithoutItsModuleNamesTheVariable) {
  const auto identity = mpirun().identify("/x/mpirun", "/x/mpirun: 109: mpiexec.hydra: not found\n");
  ASSERT_FALSE(identity);
  EXPECT_NE(identity.error().what.find("set I_MPI_ROOT"), std::string::npos) << identity.error().what;
}

TEST(Mpirun, AnUnknownOneIsAnErrorThatQuotesIt) {
  const auto identity = mpirun().identify("/x/mpirun", "Some\x1b[31m thing 9\n");
  ASSERT_FALSE(identity);
  EXPECT_EQ(identity.error().kind, ErrorKind::launch);
  EXPECT_EQ(identity.error().where, "/x/mpirun");
  EXPECT_NE(identity.error().what.find("Some\\x1b[31m thing 9"), std::string::npos) << identity.error().what;
  EXPECT_FALSE(mpirun().identify("/x/mpirun", ""));
}

struct NoticeCase {
  const char* file;  ///< recorded from the real launcher
  int status;        ///< that it ended with
  std::optional<int> rank;
  const char* node;
  std::optional<int> signal;
  std::optional<int> exit_status;
  const char* sentence;
  std::optional<int> pid = {};
};
std::ostream& operator<<(std::ostream& out, const NoticeCase& item) {
  return out << item.file;
}

class Notices : public testing::TestWithParam<NoticeCase> {};

TEST_P(Notices, SayWhoAndWhy) {
  const NoticeCase& item = GetParam();
  const std::string file(item.file);
  const auto text = read_file(fs::path(MUSTER_SOURCE_DIR "/tests/launchers/notices") / (file + ".txt"));
  ASSERT_TRUE(text);
  const bool is_openmpi = file.rfind("openmpi", 0) == 0;
  const LauncherIdentity identity =
      !is_openmpi ? mpich() : openmpi(file.rfind("openmpi5", 0) == 0 ? "5.0.11" : "4.1.4");
  const LauncherNotice notice = mpirun().read_notice(identity, *text, item.status);
  EXPECT_EQ(notice.rank, item.rank);
  EXPECT_EQ(notice.pid, item.pid);
  EXPECT_EQ(notice.node, item.node);
  EXPECT_EQ(notice.signal, item.signal);
  EXPECT_EQ(notice.exit_status, item.exit_status);
  EXPECT_EQ(notice.sentence, item.sentence);
  EXPECT_EQ(notice.sentence.empty(), notice.remedy.empty());
}

TEST(Mpirun, AFullFolderForTemporaryFilesHasItsOwnRemedy) {
  const auto remedy = [](const std::string& name) {
    const auto text = read_file(fs::path(MUSTER_SOURCE_DIR "/tests/launchers/notices") / (name + ".txt"));
    return text ? mpirun().read_notice(openmpi("4.1.4"), *text, 1).remedy : "";
  };
  EXPECT_EQ(remedy("openmpi-full"), "on nid001, free space for /tmp/ompi.nid001.0 (df and df -i), or set TMPDIR");
  EXPECT_EQ(remedy("openmpi-session"),
            "on nid001, remove /tmp/ompi.nid001.0 if it belongs to another user (ls -ld), or set TMPDIR");
}

constexpr auto none = std::nullopt;
const NoticeCase notice_cases[] = {
    {"openmpi-kill", 137, 1, "nid001", 9, none, "", 4711},
    {"openmpi-segv", 139, 1, "nid001", 11, none, "", 4711},
    {"openmpi-exit3", 3, 1, "", none, 3, ""},
    {"openmpi-exit0", 1, 1, "nid001", none, 0, "", 4711},
    {"openmpi-abort", 42, 1, "", none, 42, ""},
    {"openmpi-missing", 132, none, "nid001", none, none, "the agent can't be started on nid001"},
    {"openmpi-slots", 1, none, "", none, none, "mpirun has fewer slots than requested ranks"},
    {"openmpi-binding", 1, none, "nid001", none, none,
     "nid001 has fewer cores for this job than ranks to be bound, one core each"},
    {"openmpi-pe", 1, none, "nid001", none, none,
     "nid001 has not enough cores for the cores that each rank was to get"},
    {"openmpi-session", 1, none, "nid001", none, none,
     "Open MPI can't make its folder /tmp/ompi.nid001.0 on nid001: Not a directory"},
    {"openmpi-full", 1, none, "nid001", none, none,
     "Open MPI can't make its folder /tmp/ompi.nid001.0 on nid001: No space left on device"},
    {"openmpi-root", 1, none, "", none, none, "mpirun refuses to start ranks as root"},
    {"openmpi-unreachable", 255, none, "nid002", none, none, "node nid002 has no address: its name can't be resolved"},
    {"openmpi-noagent", 243, none, "", none, none, "the remote agent configured for mpirun does not exist"},
    {"openmpi-lost-killed", 205, none, "nid003", none, none,
     "mpirun lost its daemon on nid003, which was killed by SIGKILL"},
    {"openmpi-lost", 205, none, "nid002", none, none, "mpirun lost its daemon on nid002"},
    {"mpich-kill", 9, none, "nid001", 9, none, "", 12349},
    {"mpich-lost", 255, none, "", none, none, "the launcher lost its proxy on a node, which was killed by SIGKILL"},
    {"mpich-segv", 11, none, "nid001", 11, none, "", 12366},
    {"mpich-abort", 42, 1, "", none, 42, ""},
    {"mpich-missing", 255, none, "nid001", none, none, "the agent can't be started on nid001"},
    {"mpich-unreachable", 255, none, "nid002", none, none, "node nid002 has no address: its name can't be resolved"},
};
// PRRTE's notices and Hydra's as Open MPI 5.0.11, MPICH 5.0.2 and Intel MPI 2021.18.1 print them where ranks or their
// surroundings were really broken: rank 3 of 2 x 2.
const NoticeCase newer_notice_cases[] = {
    {"openmpi5-kill", 137, 3, "nid002", 9, none, "", 32569},
    {"openmpi5-segv", 139, 3, "nid002", 11, none, "", 1034},
    {"openmpi5-exit3", 3, 3, "", none, 3, ""},
    {"openmpi5-abort", 42, 3, "", none, 42, ""},
    {"openmpi5-kill-peer", 14, none, "", none, none, ""},
    {"openmpi5-exit0", 14, none, "", none, none, ""},
    {"openmpi5-missing", 183, none, "nid001", none, none, "the agent can't be started on nid001"},
    {"openmpi5-ppr", 213, none, "", none, none, "mpirun has fewer slots than requested ranks"},
    {"openmpi5-cores", 213, none, "", none, none,
     "a node has fewer cores than its ranks, with the cores that each was to get, need"},
    {"openmpi5-noagent", 250, none, "", none, none, "the remote agent configured for mpirun does not exist"},
    {"openmpi5-unreachable", 255, none, "nid002", none, none, "node nid002 has no address: its name can't be resolved"},
    {"openmpi5-nompi", 127, none, "nid002", none, none,
     "the launcher's MPI is not installed on nid002: prted is missing there"},
    {"openmpi5-daemon-killed", 137, none, "nid002", none, none,
     "mpirun lost its daemon on nid002, which was killed by SIGKILL"},
    {"openmpi5-root", 1, none, "", none, none, "mpirun refuses to start ranks as root"},
    {"mpich5-kill", 255, none, "nid002", 9, none, "", 27352},
    {"mpich5-segv", 255, none, "nid002", 11, none, "", 27415},
    {"mpich5-abort", 42, 3, "", none, 42, ""},
    {"mpich5-missing", 255, none, "nid001", none, none, "the agent can't be started on nid001"},
    {"mpich5-unreachable", 255, none, "nid009", none, none, "node nid009 has no address: its name can't be resolved"},
    {"mpich5-nompi", 255, none, "", none, none,
     "the launcher's MPI is not installed on a node: hydra_pmi_proxy is missing there"},
    {"mpich5-noagent", 255, none, "", none, none, "the remote agent configured for mpirun does not exist"},
    {"intel-kill", 255, none, "", 9, none, ""},
    {"intel-segv", 255, 3, "nid002", 11, none, "", 27442},
    {"intel-start", 255, 1, "localhost", 9, none, "", 17854},
    {"intel-abort", 42, 3, "", none, 42, ""},
    {"intel-exit3", 255, none, "", 9, none, ""},
    {"intel-daemon", 255, none, "nid002", none, none, "mpirun lost its daemon on nid002, which was killed by SIGKILL"},
    {"intel-missing", 255, none, "nid001", none, none, "the agent can't be started on nid001"},
    {"intel-unreachable", 255, none, "nid009", none, none, "node nid009 has no address: its name can't be resolved"},
    {"intel-nompi", 255, none, "nid009", none, none,
     "the launcher's MPI is not installed on nid009: hydra_bstrap_proxy is missing there"},
    {"intel-noagent", 255, none, "", none, none, "the remote agent configured for mpirun does not exist"},
};
INSTANTIATE_TEST_SUITE_P(Newer, Notices, testing::ValuesIn(newer_notice_cases));
INSTANTIATE_TEST_SUITE_P(Mpirun, Notices, testing::ValuesIn(notice_cases));

TEST(Mpirun, SilenceIsNoNotice) {
  for (const LauncherIdentity& identity : {openmpi(), mpich()}) {
    for (const char* text : {"", "warning: something else", "Process name: ", "mpirun noticed that process rank x"}) {
      const LauncherNotice notice = mpirun().read_notice(identity, text, 1);
      EXPECT_FALSE(notice.rank) << text;
      EXPECT_EQ(notice.sentence, "") << text;
    }
  }
  EXPECT_FALSE(mpirun().read_notice(openmpi(), "Process name: [[1,1],1]\n Exit code: 3", 0).rank);
}

std::string notice_text(const char* name) {
  const auto text = read_file(fs::path(MUSTER_SOURCE_DIR "/tests/launchers/notices") / (std::string(name) + ".txt"));
  return text ? *text : "";
}

/// Rank 3 was killed, and rank 1 ended because of that; PRRTE names it, or none.
TEST(Mpirun, RanksOfOpenMpi5ThatLostAPeer) {
  const auto read = [](std::string_view text) { return mpirun().read_notice(openmpi("5.0.11"), text, 14).lost_a_peer; };
  EXPECT_EQ(read(notice_text("openmpi5-kill-peer")), std::vector{1});
  EXPECT_EQ(read(notice_text("openmpi5-exit3") + notice_text("openmpi5-kill-peer")), std::vector{1}) << "once";
  EXPECT_EQ(read("[a:0] *** An error occurred in Socket closed\n[a:0] *** An error occurred in Socket closed\n"
                 "[a:0] *** reported by process [7,5]\n"),
            std::vector{5});
  EXPECT_EQ(read("An error occurred in Socket closed, reported by process [x"), std::vector<int>{});
  EXPECT_EQ(read(notice_text("openmpi-kill")), std::vector<int>{});
}

/// Ranks that exit are not in its list, those that are killed are, beside those that it kills: all of one node.
TEST(Mpirun, IntelsListOfKilledRanks) {
  EXPECT_EQ(mpirun().read_notice(intel(), notice_text("intel-kill"), 255).killed, (std::vector{2, 3}));
  EXPECT_EQ(mpirun().read_notice(intel(), notice_text("intel-exit3"), 255).killed, std::vector{2});
  for (const char* other : {"intel-segv", "intel-start", "mpich5-kill"})
    EXPECT_EQ(mpirun().read_notice(intel(), notice_text(other), 255).killed, std::vector<int>{}) << other;
}

TEST(Mpirun, IntelsEndsWith0AlsoWithoutADaemon) {
  const auto notice = mpirun().read_notice(intel(), notice_text("intel-daemon"), 0);
  EXPECT_EQ(notice.sentence, "mpirun lost its daemon on nid002, which was killed by SIGKILL");
  EXPECT_TRUE(notice.is_about_a_node);
  EXPECT_EQ(mpirun().read_notice(intel(), notice_text("intel-missing"), 0).sentence, "");
  EXPECT_EQ(mpirun().read_notice(openmpi(), notice_text("intel-daemon"), 0).sentence, "");
}

TEST(Mpirun, PrrteEndsWith0WhereADaemonIsLostAfterItsRanks) {
  // Written by prterun of Open MPI 5.0.11.
  const std::string text = "Killed\n" + std::string(74, '-') +
                           "\nPRTE has lost communication with a remote daemon.\n\n"
                           "  HNP daemon   : [prterun-vclogin-18107@0,0] on node vclogin\n"
                           "  Remote daemon: [prterun-vclogin-18107@0,3] on node nid003\n\n"
                           "This is usually due to either a failure of the TCP network\n";
  const auto notice = mpirun().read_notice(openmpi(), text, 0);
  EXPECT_EQ(notice.sentence, "mpirun lost its daemon on nid003, which was killed by SIGKILL");
  EXPECT_EQ(notice.node, "nid003");
  EXPECT_TRUE(notice.is_about_a_node);
  EXPECT_EQ(mpirun().read_notice(mpich(), text, 0).sentence, "");
}

TEST(Mpirun, OnlyAShellReportsThatADaemonWasKilled) {
  const std::string lost = "ORTE has lost communication with a remote daemon.\n";
  for (const char* text : {"Killed\n", "  Killed \r\n", "bash: line 1:  4711 Killed                  orted -mca a b\n"})
    EXPECT_NE(mpirun().read_notice(openmpi(), text + lost, 1).sentence.find("killed by SIGKILL"), std::string::npos)
        << text;
  for (const char* text : {"", "worker 3 Killed\n", "Killed 4 idle workers\n", "input: line Killed\n"}) {
    const std::string sentence = mpirun().read_notice(openmpi(), text + lost, 1).sentence;
    EXPECT_NE(sentence.find("lost its daemon"), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find("killed by"), std::string::npos) << text;
  }
}

TEST(Mpirun, ReachesANodeAsTheLauncherWould) {
  const Argv look{"/opt/muster", "node", "autopsy", "a b"};
  EXPECT_EQ(mpirun().reach(openmpi(), "n1", look, {}),
            (Argv{"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=4", "n1", "/opt/muster node autopsy 'a b'"}));
  EXPECT_EQ(mpirun().reach(openmpi(), "n1", look, {"--mca", "plm_rsh_agent", "/x/agent -q"}),
            (Argv{"/x/agent", "-q", "n1", "/opt/muster node autopsy 'a b'"}));
  EXPECT_EQ(mpirun().reach(mpich(), "n1", look, {"-launcher-exec", "/x/agent"})[0], "/x/agent");
  LauncherIdentity reported = openmpi();
  reported.remote_agent = "rsh : ssh";
  EXPECT_EQ(mpirun().reach(reported, "n1", look, {}), (Argv{"rsh", "n1", "/opt/muster node autopsy 'a b'"}));
}

TEST(Local, IsTheAgentItself) {
  const LauncherSpec& local = *find_launcher("local");
  EXPECT_EQ(local.most_ranks, 1);
  EXPECT_TRUE(local.program.empty());
  const LaunchCommand made = local.command({}, shape({}, 1), agent, {});
  EXPECT_EQ(made.argv, agent.argv);
  EXPECT_EQ(made.env, agent.env);
  EXPECT_EQ(local.read_notice({}, "", 137).signal, 9);
  EXPECT_EQ(local.read_notice({}, "", 3).exit_status, 3);
  EXPECT_FALSE(local.read_notice({}, "", 0).rank);
}

}  // namespace
}  // namespace muster
