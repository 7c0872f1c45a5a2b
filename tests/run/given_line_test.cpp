#include "run/given_line.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string launcher_name(std::string_view text) {
  const auto* launcher = launcher_of(*parse_given_line(text));
  return launcher == nullptr ? "none" : std::string(launcher->name);
}

TEST(GivenLine, ItsLauncherIsFoundByTheProgramsName) {
  EXPECT_EQ(launcher_name("srun -N 2"), "srun");
  EXPECT_EQ(launcher_name("/opt/openmpi/bin/mpirun -n 2"), "mpirun");
  EXPECT_EQ(launcher_name("orterun -n 2"), "mpirun");
  EXPECT_EQ(launcher_name("mpiexec.hydra -n 2"), "mpiexec");
  EXPECT_EQ(launcher_name("ibrun"), "ibrun");
  EXPECT_EQ(launcher_name("my_launcher -n 2"), "none");
  EXPECT_EQ(launcher_name("local"), "none");
}

// They stay in the line, but for what only a shell can start.
TEST(GivenLine, ItsLauncherIsFoundBehindProgramsThatStartIt) {
  struct Row {
    std::string_view text;
    Argv argv;
    std::string_view launcher;
  };
  for (const Row& row :
       {Row{"time srun -N 2", {"srun", "-N", "2"}, "srun"}, Row{"time -p srun", {"srun"}, "srun"},
        Row{"exec mpirun -n 2", {"mpirun", "-n", "2"}, "mpirun"}, Row{"A=b exec srun", {"srun"}, "srun"},
        Row{"nohup srun", {"nohup", "srun"}, "srun"},
        Row{"timeout -s TERM --kill-after=5 600 srun",
            {"timeout", "-s", "TERM", "--kill-after=5", "600", "srun"},
            "srun"},
        Row{"env -u X A=b nice -n 5 /usr/bin/time -v srun",
            {"env", "-u", "X", "A=b", "nice", "-n", "5", "/usr/bin/time", "-v", "srun"},
            "srun"},
        Row{"taskset -c 0 stdbuf -oL ibrun", {"taskset", "-c", "0", "stdbuf", "-oL", "ibrun"}, "ibrun"},
        Row{"numactl --interleave all mpirun", {"numactl", "--interleave", "all", "mpirun"}, "mpirun"},
        Row{"timeout 600 my_launcher", {"timeout", "600", "my_launcher"}, "none"}}) {
    const auto line = parse_given_line(row.text);
    ASSERT_TRUE(line) << row.text;
    EXPECT_EQ(line->argv, row.argv);
    EXPECT_EQ(launcher_name(row.text), row.launcher) << row.text;
  }
  EXPECT_FALSE(parse_given_line("timeout 600"));
  EXPECT_FALSE(parse_given_line("env A=b"));
}

TEST(GivenLine, TheAgentFollowsTheLineAndValuesStayOutOfIt) {
  const auto* mpirun = find_launcher("mpirun");
  const auto line = parse_given_line("A=b mpirun -n 4 singularity exec a.sif");
  const AgentCommand agent{{"/opt/muster-rank"}, {{"MUSTER_KEY", "secret"}}};
  LauncherIdentity openmpi{"/usr/bin/mpirun", "openmpi", "4.1.4", "Open MPI 4.1.4"};
  const auto command = put_behind(*line, *mpirun, openmpi, agent);
  EXPECT_EQ(command.argv,
            (Argv{"mpirun", "-x", "MUSTER_KEY", "-n", "4", "singularity", "exec", "a.sif", "/opt/muster-rank"}));
  EXPECT_EQ(command.env, (Environment{{"A", "b"}}));
  EXPECT_EQ(put_behind(*parse_given_line("timeout 60 mpirun -n 4"), *mpirun, openmpi, agent).argv,
            (Argv{"timeout", "60", "mpirun", "-x", "MUSTER_KEY", "-n", "4", "/opt/muster-rank"}));
  LauncherIdentity mpich{"/usr/bin/mpirun", "mpich", "4.0.2", "MPICH"};
  EXPECT_EQ(put_behind(*line, *mpirun, mpich, agent).argv,
            (Argv{"mpirun", "-n", "4", "singularity", "exec", "a.sif", "/opt/muster-rank"}));
}

// Lines as the programs print them.
TEST(GivenLine, CausesThatStandardErrorNames) {
  const Finding unknown{Verdict::error, "srun ended with status 127", {}, "look"};
  const auto with = [&](std::string_view text) {
    return explain_given_line({.finding = unknown, .stderr_text = std::string(text)}, "/opt/muster/bin/muster-rank");
  };
  const LineFailure of_agents{.finding = unknown, .tasks = {1, 0, {{0, 1}}}, .launcher_status = 1};
  EXPECT_EQ(explain_given_line(of_agents, "/opt/muster/bin/muster-rank"), unknown);
  const auto library = with(
      "/opt/muster/bin/muster-rank: error while loading shared libraries: libmpi.so.40: cannot open shared object "
      "file: No "
      "such file or directory\n");
  EXPECT_NE(library.reason.find("libmpi.so.40"), std::string::npos);
  EXPECT_NE(library.remedy.find("--agent"), std::string::npos);
  const auto missing = with(
      "FATAL:   stat /opt/muster/bin/muster-rank: no such file or directory\nsrun: error: nid001: task 0: Exited with "
      "exit "
      "code 255\n");
  EXPECT_NE(missing.reason.find("is not there where the line starts it"), std::string::npos);
  EXPECT_NE(missing.remedy.find("--bind /opt/muster/bin"), std::string::npos);
  // Open MPI breaks its notice into lines.
  const auto absolute = with("access\nor execute an executable:\n\nExecutable: /opt/muster/bin/muster-rank\nNode: n\n");
  EXPECT_EQ(absolute.reason, "the agent /opt/muster/bin/muster-rank is not there where the line starts it");
  const auto wrapper = with(
      "slurmstepd-nid001: error: execve(): singularty: No such file or directory\nsrun: error: nid001: task 0: Exited "
      "with exit code 2\n");
  EXPECT_EQ(wrapper.reason, "the line starts singularty, which is not a program on the nodes");
  EXPECT_NE(wrapper.remedy.find("install singularty on all nodes"), std::string::npos);
  EXPECT_EQ(with("access\nor execute an executable:\n\nExecutable: numactl\nNode: nid001\n").reason,
            "the line starts numactl, which is not a program on the nodes");
  EXPECT_EQ(with("[proxy:0:0@vm] HYDU_create_process (utils/launch/launch.c:74): execvp error on file numactl (No such "
                 "file or directory)\n")
                .reason,
            "the line starts numactl, which is not a program on the nodes");
  const auto cleared = with("0: muster-rank on nid001: MUSTER_TAG: muster's variables are not set\nlikely to abort\n");
  EXPECT_NE(cleared.reason.find("the line keeps muster's variables from the agent: 0: muster-rank on nid001"),
            std::string::npos);
  EXPECT_NE(cleared.remedy.find("--cleanenv"), std::string::npos);
  const auto other_way = with(
      "The application appears to have been direct launched using \"srun\",\nbut OMPI was not built with SLURM's PMI "
      "support\n");
  EXPECT_NE(other_way.remedy.find("--mpi=TYPE"), std::string::npos);
  const auto masks = with(
      "slurmstepd: error: CPU binding outside of job step allocation, allocated CPUs are: 0x3\nsrun: error: task 0 "
      "launch "
      "failed: Unable to satisfy cpu bind request\n");
  EXPECT_NE(masks.reason.find("allocated CPUs are: 0x3"), std::string::npos);
  EXPECT_NE(masks.remedy.find("a mask list or -c, never both"), std::string::npos);
  const auto old = with(
      "/opt/muster/bin/muster-rank: /lib64/libc.so.6: version `GLIBC_2.36' not found (required by "
      "/opt/muster/bin/muster-rank)\n");
  EXPECT_NE(old.reason.find("newer C library"), std::string::npos);
}

// As seen with MPICH 5 in place of Debian's, and with MPICH under the name of Open MPI's library.
TEST(GivenLine, LibrariesOfAnotherMpiInTheContainer) {
  const auto with = [](std::string_view text) {
    return explain_given_line({.finding = {Verdict::fail, "rank 1 exited with status 127 during start-up", {}, "look"},
                               .stderr_text = std::string(text),
                               .launcher_status = 127},
                              "/opt/muster/bin/muster-rank-mpich");
  };
  const auto version = with(
      "/opt/muster/bin/muster-rank-mpich: /lib/x86_64-linux-gnu/libfabric.so.1: version `FABRIC_1.9' not found "
      "(required by /opt/mpich/libmpich.so.12)\n");
  EXPECT_EQ(version.verdict, Verdict::error);
  EXPECT_NE(version.reason.find("finds libraries of other versions where the line starts it"), std::string::npos);
  EXPECT_NE(version.remedy.find("MUSTER_BUNDLE=ON"), std::string::npos);
  const auto other = with(
      "/opt/muster/bin/muster-rank-mpich: symbol lookup error: /opt/muster/bin/muster-rank-mpich: undefined symbol: "
      "MPI_Session_init\n");
  EXPECT_EQ(other.verdict, Verdict::error);
  EXPECT_NE(other.reason.find("finds the library of another MPI where the line starts it"), std::string::npos);
  EXPECT_EQ(other.culprits.at(0).kind, CulpritKind::launcher);
  const auto musl = with(
      "Error loading shared library libmpi.so.40: No such file or directory (needed by "
      "/opt/muster/bin/muster-rank-mpich)\n");
  EXPECT_NE(musl.remedy.find("build muster in that container"), std::string::npos);
  // A program of the user's that took the agent for an argument: no rank of muster's ended.
  const auto program = with("ls: cannot access '/no/such/folder': No such file or directory\n");
  EXPECT_EQ(program.verdict, Verdict::error);
  EXPECT_EQ(program.culprits.at(0).name, "the launch line");
  EXPECT_EQ(program.remedy.find("see that the line ends before the program"), 0u) << program.remedy;
  // That of a wrapper says nothing about the agent.
  EXPECT_EQ(with("singularity: symbol lookup error: singularity: undefined symbol: x\n").reason,
            "rank 1 exited with status 127 during start-up");
}

// The options are those of the line, not of muster.
TEST(GivenLine, WhatTheLineAsksForInVain) {
  struct Row {
    std::string_view says, reason, remedy;
  };
  for (const Row& row : {
           Row{"srun: error: Unable to create step for job 2: More processors requested than permitted\n",
               "more ranks or CPUs", "--ntasks-per-node"},
           Row{"srun: error: Task launch for StepId=1.6 failed on node nid003: Unable to layout tasks on given cpus\n",
               "can't place the tasks of the line", "--threads-per-core"},
           Row{"srun: error: Only allocated 2 nodes requested 3\n", "more nodes than the job has", "(-N)"},
           Row{"srun: error: Unable to create step for job 2: Requested node configuration is not available\n",
               "does not have the nodes or resources of the line", "scontrol show job"},
           Row{"srun: error: Unable to create step for job 17: Cannot request more threads per core than the job "
               "allocation\n",
               "more threads per core than the job", "--hint"},
           Row{"There are not enough slots available in the system to satisfy the 9\nslots",
               "more ranks than there are slots", "--oversubscribe"},
           Row{"A request was made to bind to that would result in binding more\nprocesses than cpus on a resource:\n",
               "more ranks than a node has cores", "--bind-to none"},
           Row{"slurmstepd-nid001: error: execve(): /tmp/./train: Exec format error\n", "neither a program",
               "#!/bin/sh"},
           Row{"srun: error: Invalid MPI type 'x', --mpi=list for acceptable types\n", "MPI type", "--mpi=list"},
           Row{"Open MPI has detected that a parameter given to a command line\noption does not match the expected "
               "format:\n"
               "\n  Option: n\n  Param:  two\n",
               "an option of the line has a value that mpirun does not take", "launches/line/stderr has the option"},
           Row{"srun: error: Invalid numeric value \"two\" for --ntasks.\n",
               "an option of the line has a value that is not a number: srun: error: Invalid numeric value \"two\"",
               "correct the line"},
           Row{"srun: unrecognized option '--no-such-option'\n", "an option that its program does not know",
               "correct the line"},
           Row{"srun: error: Could not open multi_prog config file f\n", "--multi-prog",
               "the same program on all ranks"},
       }) {
    const auto reported = explain_given_line(
        {.finding = {Verdict::error, "srun ended with status 1", {}, "correct the options (-J, profile)"},
         .stderr_text = std::string(row.says),
         .launcher_status = 1},
        "/opt/muster/bin/muster-rank");
    EXPECT_NE(reported.reason.find(row.reason), std::string::npos) << reported.reason;
    EXPECT_NE(reported.remedy.find(row.remedy), std::string::npos) << reported.remedy;
    EXPECT_EQ(reported.remedy.find("-J"), std::string::npos) << reported.remedy;
    ASSERT_EQ(reported.culprits.size(), 1u);
    EXPECT_EQ(reported.culprits[0].name, "the launch line");
  }
}

TEST(GivenLine, SentencesThatOpenMpiBreaksIntoLinesAreNotQuoted) {
  const LineFailure failure{.finding = {},
                            .stderr_text = "that would result in binding more\nprocesses than cpus on a resource:\n",
                            .launcher_status = 1};
  EXPECT_EQ(explain_given_line(failure, "/opt/muster/bin/muster-rank").reason,
            "the line binds more ranks than a node has cores");
}

TEST(GivenLine, OneThatHangsIsAnErrorOfTheLine) {
  const Finding hung{
      Verdict::fail, "no rank is left during start-up, and the launcher did not end within 60 s", {}, "look"};
  const auto reported = explain_given_line({.finding = hung}, "/opt/muster/bin/muster-rank");
  EXPECT_EQ(reported.verdict, Verdict::error);
  EXPECT_EQ(reported.reason.find("the line did not start muster's agent, and did not end"), 0u);
  EXPECT_NE(reported.remedy.find("end the line before the program"), std::string::npos);
}

// `mpirun -n 3 sh -c '[ $OMPI_COMM_WORLD_RANK = 1 ] && exec sleep 600; exec "$@"' x`
TEST(GivenLine, ATaskThatStartsNoAgentIsAnErrorOfTheLine) {
  const Finding hung{Verdict::fail,
                     "all 2 ranks are in MPI_Init since 60 s: no rank stands out",
                     {{CulpritKind::rank, "rank 0", "nid001", 0}},
                     "check the network"};
  LineFailure failure{.finding = hung, .tasks = {3, 0, {{0, 1}, {2, 1}}}};
  const auto reported = explain_given_line(failure, "/opt/muster/bin/muster-rank");
  EXPECT_EQ(reported.verdict, Verdict::error);
  EXPECT_EQ(reported.reason, "the line starts 3 tasks, 2 of which started muster's agent: not task 1");
  EXPECT_NE(reported.remedy.find("exec \"$@\", on every rank"), std::string::npos);
  ASSERT_EQ(reported.culprits.size(), 1u);
  EXPECT_EQ(reported.culprits[0].name, "the launch line");
  EXPECT_EQ(reported.culprits[0].node, "");
  // All of them are there: something else keeps them.
  failure.tasks.agents[1] = 1;
  EXPECT_EQ(explain_given_line(failure, "/opt/muster/bin/muster-rank"), hung);
}

TEST(GivenLine, TheOthersOfALaunchThatAnAgentBroughtDownMayNotHaveStarted) {
  LineFailure failure{.finding = {Verdict::fail, "rank 0 was killed by signal 11 (SIGSEGV) in MPI_Init", {}, "look"},
                      .tasks = {3, 0, {{0, 1}}},
                      .launcher_status = 139};
  failure.notice.rank = 0;
  EXPECT_EQ(explain_given_line(failure, "/opt/muster/bin/muster-rank"), failure.finding);
  failure.notice.rank = 2;
  EXPECT_EQ(explain_given_line(failure, "/opt/muster/bin/muster-rank").reason,
            "the line starts 3 tasks, 1 of which started muster's agent: not tasks 1 and 2; the launcher ended with "
            "status 139");
  failure.is_of_agent = true;
  EXPECT_EQ(explain_given_line(failure, "/opt/muster/bin/muster-rank"), failure.finding);
}

TEST(GivenLine, ATaskThatStartsTheAgentTwiceIsAnErrorOfTheLine) {
  LineFailure failure{.tasks = {2, 0, {{0, 2}, {1, 1}}}, .launcher_status = 0};
  EXPECT_EQ(explain_given_line(failure, "/opt/muster/bin/muster-rank").reason,
            "the line starts 2 tasks, and 3 agents: task 0 started several");
}

TEST(LineTasks, AreReadFromStandardErrorOfAnyLauncher) {
  const auto line = [](int task) { return task_line("nid001", {task, 3, "Slurm", task}); };
  EXPECT_EQ(line(1), "muster-rank: started by task 1 of 3 on nid001\n");
  const std::string text = "Loading module\n" + line(0) + "2: " + line(2) + "[1,0]<stderr>:" + line(0);
  const auto tasks = read_line_tasks(text, {});
  EXPECT_EQ(tasks.expected, 3);
  EXPECT_EQ(tasks.agents, (std::map<int, int>{{0, 2}, {2, 1}}));
  EXPECT_EQ(tasks.without_agent(), std::vector<int>{1});
  EXPECT_EQ(tasks.with_several_agents(), std::vector<int>{0});
  EXPECT_EQ(without_task_lines(text), "Loading module\n");
  EXPECT_EQ(uneven_tasks(tasks),
            "3 tasks, 2 of which started muster's agent: not task 1, and 3 agents: task 0 started "
            "several");
}

TEST(LineTasks, WithoutNumbersNothingIsCounted) {
  const auto tasks = read_line_tasks(task_line("nid001", {}) + "muster-rank: started by task x of 3 on y\n", {});
  EXPECT_EQ(tasks.unnumbered, 2);
  EXPECT_TRUE(tasks.has_agents());
  EXPECT_EQ(uneven_tasks(tasks), "");
}

// A wrapper that sends standard error elsewhere.
TEST(LineTasks, AreReadFromRecordsElse) {
  NodeAutopsy node{.node = "nid001", .answered = true};
  for (const int rank : {0, 2}) {
    RankRemains remains;
    remains.record.rank = rank;
    remains.record.world_size = 3;
    node.ranks.push_back(remains);
  }
  EXPECT_EQ(read_line_tasks("", {node}).without_agent(), std::vector<int>{1});
}

TEST(GivenLine, WhatSlurmRefusesIsNamedAsTheLineHasIt) {
  const auto reason = [](const Argv& line) {
    const LineFailure failure{
        .stderr_text = "slurmstepd: error: CPU binding outside of job step allocation, allocated CPUs are: 0x3\n",
        .argv = line};
    return explain_given_line(failure, "/opt/muster-rank").reason;
  };
  EXPECT_EQ(reason({"srun", "--cpu-bind=mask_cpu:0xfe"}).rfind("Slurm refuses the masks of the line: slurmstepd", 0),
            0u);
  for (const char* option : {"--cpu-bind=rank_ldom", "--cpu-bind=v,rank_ldom"})
    EXPECT_EQ(reason({"srun", option}).rfind("Slurm refuses the NUMA domains (rank_ldom) of the line: ", 0), 0u);
  EXPECT_EQ(reason({"srun", "--cpu-bind", "map_ldom:0,1"}).rfind("Slurm refuses the NUMA domains (map_ldom)", 0), 0u);
  EXPECT_EQ(reason({"srun", "--cpu-bind=mask_ldom:0x1"}).rfind("Slurm refuses the NUMA domains (mask_ldom)", 0), 0u);
  EXPECT_EQ(reason({"srun", "--cpu_bind=map_cpu:0"}).rfind("Slurm refuses the CPUs (map_cpu) of the line", 0), 0u);
  EXPECT_EQ(reason({"srun", "-c", "4"}).rfind("Slurm refuses the CPU binding of the line", 0), 0u);
}

// As Open MPI 4.1.4 prints it, with and without its help files.
TEST(GivenLine, OpenMpiWithoutItsPlugIns) {
  const auto with = [](const char* text, bool is_of_agent = false) {
    LineFailure failure{.stderr_text = text};
    failure.is_of_agent = is_of_agent;
    return explain_given_line(failure, "/opt/muster-rank");
  };
  for (const char* text :
       {"Sorry!  You were supposed to get help about:\n    opal_init:startup:internal-failure\nBut I "
        "couldn't open the help file:\n",
        "Open MPI developer):\n\n  opal_shmem_base_select failed\n  --> Returned value -1\n"}) {
    const Finding finding = with(text);
    EXPECT_NE(finding.reason.find("finds Open MPI's library where the line starts it, but not its plug-ins"),
              std::string::npos);
    EXPECT_NE(finding.remedy.find("MUSTER_BUNDLE"), std::string::npos);
    EXPECT_EQ(with(text, true).reason, "") << "the agent's own report";
  }
}

}  // namespace
}  // namespace muster
