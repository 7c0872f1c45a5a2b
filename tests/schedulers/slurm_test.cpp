// Slurm: scripts character by character, and answers as a real Slurm 22.05 gave them (answers/).
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <ostream>

#include "base/files.hpp"
#include "base/text.hpp"
#include "muster/scheduler.hpp"

namespace muster {
namespace {

const SchedulerSpec& slurm() {
  return *find_scheduler("slurm");
}

JobOption option(const std::string& word) {
  auto read = slurm().read_option(word);
  EXPECT_TRUE(read.has_value()) << word;
  return read ? *read : JobOption{};
}

JobRequest small() {
  JobRequest request;
  request.name = "muster-3f2a9c";
  request.time_limit = {20 * 60};
  request.folder = "/home/me";
  request.output = "/home/me/muster-runs/x/job/output";
  request.starts = "/home/me/muster-runs/x/job";
  request.command = {"/opt/muster", "run"};
  return request;
}

void expect_golden(const std::string& name, const std::string& written) {
  const auto path = fs::path(MUSTER_SOURCE_DIR) / "tests/golden/schedulers" / name;
  const char* update = std::getenv("MUSTER_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") std::ofstream(path, std::ios::binary) << written;
  const auto approved = read_file(path);
  ASSERT_TRUE(approved.has_value()) << path
                                    << " is missing; run with MUSTER_UPDATE_GOLDEN=1 and look at what it writes";
  EXPECT_EQ(written, *approved) << "differs from " << path;
}

TEST(SlurmScript, OneNode) {
  expect_golden("slurm-one-node.sh", slurm().script(small()));
}

TEST(SlurmScript, NodesByNameModulesAndOptions) {
  auto request = small();
  request.nodes = 3;
  request.node_names = {"nid001", "nid002", "nid004"};
  request.tasks_per_node = 8;
  request.time_limit = {26 * 3600 + 1};
  request.modules = {"rocm/6.2.4", "rccl-net-plugin"};
  request.options = {option("account=project_1"), option("-q debug"), option("--gpus-per-node=8"),
                     option("--comment=it's # a test")};
  request.command = {"/opt/muster", "run", "my checks/", "--environment=container", "-S=p2p.sizes=8B,1MiB"};
  expect_golden("slurm-many.sh", slurm().script(request));
}

TEST(SlurmScript, WhatIsChosenStandsInsteadOfOurs) {
  auto request = small();
  request.tasks_per_node = 2;
  request.options = {option("time=5"), option("--job-name=mine"), option("--export=NONE"), option("--exclusive=user")};
  request.folder = "/home/me/50% full";
  expect_golden("slurm-chosen.sh", slurm().script(request));
}

TEST(SlurmScript, SharedNodesAreNotExclusive) {
  auto request = small();
  request.options = {option("-s")};
  const auto script = slurm().script(request);
  EXPECT_EQ(script.find("exclusive"), std::string::npos);
  EXPECT_NE(script.find("#SBATCH --oversubscribe\n"), std::string::npos);
}

TEST(SlurmScript, VariablesThatWouldStandOverIt) {
  auto request = small();
  request.options = {option("-A x"), option("time=5")};
  const auto names = slurm().variables(request);
  for (const char* name : {"SBATCH_ACCOUNT", "SBATCH_TIMELIMIT", "SBATCH_WAIT", "SBATCH_EXPORT", "SBATCH_ARRAY_INX"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  // A site's own choice, where nobody made another.
  EXPECT_EQ(std::find(names.begin(), names.end(), "SBATCH_PARTITION"), names.end());
}

struct OptionCase {
  const char* word;
  const char* text;  ///< empty: refused
  const char* says;
};
std::ostream& operator<<(std::ostream& out, const OptionCase& item) {
  return out << item.word;
}

class SlurmOptions : public testing::TestWithParam<OptionCase> {};

TEST_P(SlurmOptions, AreSpeltOutOrRefused) {
  const auto& item = GetParam();
  const auto read = slurm().read_option(item.word);
  if (*item.text == '\0') {
    ASSERT_FALSE(read.has_value());
    EXPECT_NE(read.error().what.find(item.says), std::string::npos) << read.error().what;
    return;
  }
  ASSERT_TRUE(read.has_value()) << read.error().what;
  EXPECT_EQ(read->text, item.text);
  EXPECT_EQ(read->name, std::string(item.text).substr(0, std::string(item.text).find('=')));
}

constexpr OptionCase option_cases[] = {
    {"account=x", "--account=x", ""},
    {"--account=x", "--account=x", ""},
    {"--account x", "--account=x", ""},
    {"-A x", "--account=x", ""},
    {"-Ax", "--account=x", ""},
    {"-A=x", "--account=x", ""},
    {"A=x", "--account=x", ""},
    {"qos=", "--qos=", ""},
    {"--constraint=gpu&hbm80g", "--constraint=gpu&hbm80g", ""},
    {"--hint=a b", "--hint=a b", ""},
    {"--exclusive", "--exclusive", ""},
    {"-s", "--oversubscribe", ""},
    {"-t 1-0", "--time=1-0", ""},
    {"account", "", "is not an option of sbatch"},
    {"", "", "is not an option of sbatch"},
    {"-", "", "is not an option of sbatch"},
    {"--", "", "is not an option of sbatch"},
    {"-Z", "", "is not an option of sbatch"},
    {"=x", "", "is not an option of sbatch"},
    {"a b=c", "", "is not an option of sbatch"},
    {"account=x\n#SBATCH --wrap=y", "", "not allowed in a batch script"},
    {"-N 4", "", "muster's own --nodes"},
    {"nodes=4", "", "muster's own --nodes"},
    {"-w nid001", "", "muster's own --nodes"},
    {"--ntasks-per-node=4", "", "--ranks-per-node"},
    {"-o out", "", "muster reads the job's output"},
    {"--array=1-3", "", "follows one job"},
    {"-W", "", "waits itself"},
};
INSTANTIATE_TEST_SUITE_P(Table, SlurmOptions, testing::ValuesIn(option_cases));

TEST(SlurmCommands, AreAsWritten) {
  EXPECT_EQ(shell_line(slurm().submit("/r/job/script")), "sbatch --parsable /r/job/script");
  EXPECT_EQ(shell_line(slurm().ask("12")), "scontrol --oneliner show job 12");
  EXPECT_EQ(shell_line(slurm().ask_past("12")),
            "sacct --noheader --parsable2 --allocations --jobs=12 --format=JobID,State,ExitCode,NodeList");
  EXPECT_EQ(shell_line(slurm().ask_queue("gpu")),
            "squeue --noheader --states=PENDING --sort=-p,i --format=%i --partition=gpu");
  EXPECT_EQ(shell_line(slurm().cancel("12")), "scancel 12");
  const std::vector<JobOption> options{option("-p gpu"), option("account=x")};
  EXPECT_EQ(shell_line(slurm().ask_nodes(options)), "sinfo --noheader --Node '--format=%N|%T|%P|%E' --partition=gpu");
  EXPECT_EQ(shell_line(slurm().ask_steps("12")), "squeue --noheader --steps --jobs=12 '--format=%i|%N'");
}

TEST(SlurmSubmission, TellsTheJobsNumber) {
  EXPECT_EQ(slurm().read_submit("12\n", "", 0).value(), "12");
  EXPECT_EQ(slurm().read_submit("12;cluster\n", "", 0).value(), "12");
  EXPECT_EQ(slurm().read_submit("Welcome!\n12\n", "sbatch: warning: can't run 1 processes on 2 nodes\n", 0).value(),
            "12");
}

struct RefusalCase {
  const char* err;
  int status;
  const char* what;
};
std::ostream& operator<<(std::ostream& out, const RefusalCase& item) {
  return out << item.err;
}

class SlurmRefusals : public testing::TestWithParam<RefusalCase> {};

TEST_P(SlurmRefusals, SayWhatToChange) {
  const auto read = slurm().read_submit("", GetParam().err, GetParam().status);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().kind, ErrorKind::launch);
  EXPECT_EQ(read.error().where, "sbatch");
  EXPECT_EQ(read.error().what, GetParam().what);
}

constexpr RefusalCase refusal_cases[] = {
    {"sbatch: unrecognized option '--nosuch=x'\nTry \"sbatch --help\" for more information\n", 255,
     "unrecognized option '--nosuch=x'; correct it, or leave it out; options for the launcher inside the job are given "
     "with --launcher-option"},
    {"sbatch: error: invalid partition specified: x\nsbatch: error: Batch job submission failed: Invalid partition "
     "name "
     "specified\n",
     1,
     "invalid partition specified: x; Invalid partition name specified; choose a partition of sinfo: -J partition=..."},
    {"sbatch: error: Batch job submission failed: Invalid feature specification\n", 1,
     "Invalid feature specification; choose a feature of the nodes (sinfo --format=%f): -J constraint=..."},
    {"sbatch: error: Batch job submission failed: Requested reservation is invalid\n", 1,
     "Requested reservation is invalid; see scontrol show reservation for its name, its users and when it begins: -J "
     "reservation=..."},
    {"sbatch: error: Batch job submission failed: Invalid node name specified\n", 1,
     "Invalid node name specified; correct --nodes; sinfo lists the nodes"},
    {"sbatch: error: Batch job submission failed: Requested node configuration is not available\n", 1,
     "Requested node configuration is not available; request less: fewer --nodes, --ranks-per-node or GPUs "
     "(scheduler_options of the profile, -J)"},
    {"sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified\n", 1,
     "Invalid account or account/partition combination specified; name an account that may use the partition: -J "
     "account=..."},
    {"--> Verifying valid submit host (login1)...OK\n--> Specified --gres is not allowed\n", 1,
     "--> Verifying valid submit host (login1)...OK; --> Specified --gres is not allowed; see its message, and sbatch "
     "--help; muster run --submit --dry-run shows the script"},
    {"", 7, "ended with status 7; see its message, and sbatch --help; muster run --submit --dry-run shows the script"},
    {"", 0, "did not print the job's number, but \"\"; see squeue for the job, and end it with scancel"},
};
INSTANTIATE_TEST_SUITE_P(Table, SlurmRefusals, testing::ValuesIn(refusal_cases));

JobStatus answer(const std::string& name) {
  const auto text = read_file(fs::path(MUSTER_SOURCE_DIR) / "tests/schedulers/answers" / (name + ".txt"));
  EXPECT_TRUE(text.has_value()) << name;
  const auto status = slurm().read_status(text ? *text : "", "", 0);
  EXPECT_TRUE(status.has_value()) << name;
  return status ? *status : JobStatus{};
}

struct StatusCase {
  const char* name;
  JobPhase phase;
  JobFault fault;
  const char* why;
  bool is_stuck;
};
std::ostream& operator<<(std::ostream& out, const StatusCase& item) {
  return out << item.name;
}

class SlurmAnswers : public testing::TestWithParam<StatusCase> {};

TEST_P(SlurmAnswers, AreUnderstood) {
  const auto& item = GetParam();
  const auto status = answer(item.name);
  EXPECT_EQ(status.phase, item.phase);
  EXPECT_EQ(status.fault, item.fault);
  EXPECT_EQ(status.why, item.why);
  EXPECT_EQ(status.is_stuck, item.is_stuck);
  EXPECT_EQ(status.remedy.empty(), !item.is_stuck && item.fault == JobFault::none);
  EXPECT_EQ(status.partition, "standard");
}

constexpr StatusCase status_cases[] = {
    {"resources", JobPhase::waiting, JobFault::none, "waits for nodes to become free", false},
    {"requeued", JobPhase::waiting, JobFault::none, "waits for the time from which it may start", false},
    {"held", JobPhase::waiting, JobFault::none, "is held by its user", true},
    {"held_by_requeue", JobPhase::waiting, JobFault::none, "was requeued and is held", true},
    {"time_limit", JobPhase::waiting, JobFault::none, "can't start: the partition allows less time", true},
    {"node_drained", JobPhase::waiting, JobFault::none,
     "can't start: a node that it names is down, drained or reserved (nid002)", true},
    {"nodes_drained", JobPhase::waiting, JobFault::none,
     "can't start: too few nodes are left that are not down, drained or reserved", true},
    {"too_many_nodes", JobPhase::waiting, JobFault::none, "can't start: the partition does not have what it requests",
     true},
    {"running", JobPhase::running, JobFault::none, "runs", false},
    {"running_again", JobPhase::running, JobFault::none, "runs", false},
    {"cancelled", JobPhase::ended, JobFault::nobody, "was cancelled", false},
    {"cancelled_in_queue", JobPhase::ended, JobFault::nobody, "was cancelled", false},
    {"failed", JobPhase::ended, JobFault::job, "has failed", false},
    {"killed", JobPhase::ended, JobFault::job, "has failed", false},
    {"node_fail", JobPhase::ended, JobFault::node, "was ended because a node failed", false},
    {"timeout", JobPhase::ended, JobFault::job, "was ended at its time limit", false},
};
INSTANTIATE_TEST_SUITE_P(Table, SlurmAnswers, testing::ValuesIn(status_cases));

TEST(SlurmStatus, TellsNodesTimesAndExit) {
  const auto again = answer("running_again");
  EXPECT_EQ(again.restarts, 1);
  EXPECT_EQ(again.run_s, 2);
  EXPECT_EQ(again.nodes, (std::vector<std::string>{"nid001", "nid002", "nid003", "nid004"}));
  EXPECT_EQ(answer("resources").expected_start, "2026-11-22T00:08:56");
  EXPECT_TRUE(answer("held").expected_start.empty());
  EXPECT_TRUE(answer("resources").nodes.empty());
  EXPECT_EQ(answer("failed").exit_status, 7);
  EXPECT_EQ(answer("failed").signal, 0);
  EXPECT_EQ(answer("timeout").signal, 15);
  EXPECT_EQ(answer("timeout").run_s, 85);
}

TEST(SlurmStatus, AJobThatIsForgottenIsUnknownAndNoAnswerIsNone) {
  const auto gone = slurm().read_status("", "slurm_load_jobs error: Invalid job id specified\n", 1);
  ASSERT_TRUE(gone.has_value());
  EXPECT_EQ(gone->phase, JobPhase::unknown);
  const auto silent =
      slurm().read_status("", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n", 1);
  ASSERT_FALSE(silent.has_value());
  EXPECT_NE(silent.error().what.find("Unable to contact"), std::string::npos);
  EXPECT_FALSE(slurm().read_status("JobId=1 JobName=x", "", 0).has_value());
}

struct Word {
  const char* state;
  const char* reason;
  JobPhase phase;
  bool is_stuck;
};
std::ostream& operator<<(std::ostream& out, const Word& item) {
  return out << item.state << " " << item.reason;
}

class SlurmWords : public testing::TestWithParam<Word> {};

/// Not recorded: states and reasons that this machine's Slurm can't be brought to.
TEST_P(SlurmWords, AreKnown) {
  const auto& item = GetParam();
  const auto line = std::string("JobId=1 JobName=x JobState=") + item.state + " Reason=" + item.reason + " Restarts=0";
  const auto status = slurm().read_status(line, "", 0);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->phase, item.phase);
  EXPECT_EQ(status->is_stuck, item.is_stuck);
  EXPECT_FALSE(status->why.empty());
  EXPECT_EQ(status->remedy.empty(), !item.is_stuck && item.phase != JobPhase::ended);
}

constexpr Word words[] = {
    {"PENDING", "Priority", JobPhase::waiting, false},
    {"PENDING", "Reservation", JobPhase::waiting, false},
    {"PENDING", "ReservationDeleted", JobPhase::waiting, true},
    {"PENDING", "PartitionNodeLimit", JobPhase::waiting, true},
    {"PENDING", "AssocGrpCPUMinutesLimit", JobPhase::waiting, true},
    {"PENDING", "AssocMaxJobsLimit", JobPhase::waiting, false},
    {"PENDING", "QOSMaxNodePerUserLimit", JobPhase::waiting, true},
    {"PENDING", "QOSMaxJobsPerUserLimit", JobPhase::waiting, false},
    {"PENDING", "InvalidAccount", JobPhase::waiting, true},
    {"PENDING", "DependencyNeverSatisfied", JobPhase::waiting, true},
    {"PENDING", "SomethingNew", JobPhase::waiting, false},
    {"CONFIGURING", "None", JobPhase::waiting, false},
    {"COMPLETING", "None", JobPhase::ending, false},
    {"OUT_OF_MEMORY", "None", JobPhase::ended, false},
    {"PREEMPTED", "None", JobPhase::ended, false},
    {"BOOT_FAIL", "None", JobPhase::ended, false},
};
INSTANTIATE_TEST_SUITE_P(Table, SlurmWords, testing::ValuesIn(words));

TEST(SlurmPast, SaysWhoCancelled) {
  const auto past = slurm().read_past("12|CANCELLED by 1000|0:15|nid[001-002]\n", "12");
  ASSERT_TRUE(past.has_value());
  EXPECT_EQ(past->phase, JobPhase::ended);
  EXPECT_EQ(past->state, "CANCELLED");
  EXPECT_EQ(past->ended_by, "1000");
  EXPECT_EQ(past->nodes.size(), 2U);
  EXPECT_FALSE(slurm().read_past("Slurm accounting storage is disabled\n", "12").has_value());
  EXPECT_FALSE(slurm().read_past("13|COMPLETED|0:0|nid001\n", "12").has_value());
}

TEST(SlurmNodes, AreTakenOnceWithWhatOperatorsWrote) {
  // As recorded, with a node that does not answer and one whose reason has a bar added.
  const auto nodes = slurm().read_nodes(
      "nid001|allocated|standard*|none\nnid001|allocated|debug|none\nnid002|drained|standard*|bad DIMM\n"
      "nid003|idle|standard*|none\nnid003|idle|debug|none\nnid004|idle*|standard*|none\nnid005|down|gpu|a|b\n");
  ASSERT_EQ(nodes.size(), 5U);
  EXPECT_EQ(nodes[0], (NodeState{"nid001", "allocated", "", false, true}));
  EXPECT_EQ(nodes[1], (NodeState{"nid002", "drained", "bad DIMM", false, false}));
  EXPECT_EQ(nodes[2], (NodeState{"nid003", "idle", "", true, true}));
  EXPECT_EQ(nodes[3], (NodeState{"nid004", "idle*", "", false, false}));
  EXPECT_EQ(nodes[4], (NodeState{"nid005", "down", "a|b", false, false}));
}

TEST(SlurmNodes, TheScriptsOwnStepIsNoWork) {
  EXPECT_TRUE(slurm().read_busy("1.batch|nid001\n1.extern|nid[001-002]\n1.interactive|nid001\n").empty());
  EXPECT_EQ(slurm().read_busy("1.batch|nid001\n1.0|nid[002-003]\n1.1|nid002\n"),
            (std::vector<std::string>{"nid002", "nid003"}));
}

TEST(SlurmQueue, PlacesCountFromOne) {
  EXPECT_EQ(slurm().read_position("7\n12\n13\n", "12"), 2);
  EXPECT_EQ(slurm().read_position("7\n", "12"), 0);
  EXPECT_EQ(slurm().read_position("", "12"), 0);
}

}  // namespace
}  // namespace muster
