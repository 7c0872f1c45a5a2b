#include "run/autopsy.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/loop.hpp"
#include "run/diagnose.hpp"
#include "run/launch_tag.hpp"
#include "run/messages.hpp"
#include "run/process_status.hpp"
#include "run/rank_process.hpp"

namespace muster {
namespace {

class AutopsyTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(setenv("MUSTER_RECORDER_FOLDER", folder_.path.c_str(), 1), 0); }
  void TearDown() override { unsetenv("MUSTER_RECORDER_FOLDER"); }
  [[nodiscard]] bool is_empty() const { return fs::is_empty(folder_.path); }

  Folder folder_;
};

bool becomes_true(const std::function<bool()>& claim) {
  Loop loop;
  const auto look = loop.every(0.002, [] {});
  const double until = monotonic_seconds() + 20;
  bool is_true = false;
  loop.run_until([&] { return (is_true = claim()) || monotonic_seconds() > until; });
  return is_true;
}

void end_by_default() {
  for (const int signal : {SIGTERM, SIGSEGV}) std::signal(signal, SIG_DFL);
}

bool is_gone(int pid) {
  const auto status = process_status(pid);
  return !status || status->state == 'Z';
}

TEST_F(AutopsyTest, SeesRunningStoppedZombieAndGone) {
  const auto act = [](int rank) {
    return [rank](FlightRecorder& recorder) {
      recorder.place(rank, 4);
      recorder.phase(Phase::running);
      recorder.step("barrier");
      RankProcess::hang();
    };
  };
  RankProcess running(folder_.path, "t", act(0));
  RankProcess stopped(folder_.path, "t", act(1));
  RankProcess zombie(folder_.path, "t", act(2));
  RankProcess gone(folder_.path, "t", act(3));
  RankProcess other(folder_.path, "other", act(0));
  kill(stopped.pid, SIGSTOP);
  kill(zombie.pid, SIGKILL);
  kill(gone.pid, SIGKILL);
  gone.wait();
  ASSERT_TRUE(becomes_true(
      [&] { return process_status(stopped.pid)->state == 'T' && process_status(zombie.pid)->state == 'Z'; }));
  const NodeAutopsy seen = look_at_this_node("t");
  EXPECT_TRUE(seen.answered);
  EXPECT_GT(seen.now_s, 0);
  ASSERT_EQ(seen.ranks.size(), 4u);
  EXPECT_EQ(seen.ranks[0].state, ProcessState::running);
  EXPECT_EQ(seen.ranks[1].state, ProcessState::stopped);
  EXPECT_EQ(seen.ranks[2].state, ProcessState::zombie);
  EXPECT_EQ(seen.ranks[3].state, ProcessState::gone);
  EXPECT_EQ(seen.ranks[1].record.pid, stopped.pid);
  EXPECT_EQ(seen.ranks[1].record.step, "barrier");
  EXPECT_TRUE(look_at_this_node("unknown").ranks.empty());
}

// Until the child that a vfork made runs a program, its parent waits in the kernel and can only be killed.
TEST_F(AutopsyTest, SeesARankThatHangsInTheKernel) {
#ifdef MUSTER_SANITIZED_THREADS
  GTEST_SKIP() << "ThreadSanitizer makes a fork of vfork, and nothing hangs";
#endif
  RankProcess rank(folder_.path, "t", [](FlightRecorder& recorder) {
    recorder.phase(Phase::running);
    const pid_t self = getpid();
    RankProcess::ready();
    if (vfork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (getppid() == self) pause();
      _exit(0);
    }
  });
  ASSERT_TRUE(becomes_true([&] { return process_status(rank.pid)->state == 'D'; }));
  const NodeAutopsy seen = look_at_this_node("t");
  ASSERT_EQ(seen.ranks.size(), 1u);
  EXPECT_EQ(seen.ranks[0].state, ProcessState::uninterruptible);
}

TEST_F(AutopsyTest, CleanEndsRanksAndRemovesTheirRecords) {
  RankProcess one(folder_.path, "t", [](FlightRecorder&) {
    end_by_default();
    RankProcess::hang();
  });
  RankProcess stopped(folder_.path, "t", [](FlightRecorder&) {
    end_by_default();
    RankProcess::hang();
  });
  RankProcess other(folder_.path, "other", [](FlightRecorder&) { RankProcess::hang(); });
  kill(stopped.pid, SIGSTOP);
  ASSERT_TRUE(becomes_true([&] { return process_status(stopped.pid)->state == 'T'; }));
  EXPECT_TRUE(clean_this_node("t", 30).empty());
  EXPECT_EQ(WTERMSIG(one.wait()), SIGTERM);
  EXPECT_EQ(WTERMSIG(stopped.wait()), SIGTERM);
  EXPECT_TRUE(read_recorders(folder_.path, "t").empty());
  EXPECT_EQ(read_recorders(folder_.path, "other").size(), 1u);
  EXPECT_FALSE(is_gone(other.pid));
}

/// A rank that is killed in MPI_Init leaves them; one that another process has open is in use.
TEST_F(AutopsyTest, CleanRemovesFilesOfMpichThatAreNotInUse) {
  RankProcess rank(folder_.path, "t", [](FlightRecorder&) { RankProcess::hang(); });
  const auto file = [](const char* name) {
    return fs::path("/dev/shm") / ("mpich_shm_" + std::string(name) + std::to_string(getpid()));
  };
  const fs::path left = file("left"), in_use = file("used");
  const int used = ::open(in_use.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_GE(used, 0);
  ASSERT_TRUE(write_file(left, "x"));
  EXPECT_TRUE(clean_this_node("other", 0.1).empty());
  EXPECT_TRUE(fs::exists(left)) << "no rank of that launch was here";
  EXPECT_TRUE(clean_this_node("t", 0.1).empty());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(in_use));
  ::close(used);
  fs::remove(in_use);
}

TEST_F(AutopsyTest, CleanKillsWhatIgnoresTerm) {
  RankProcess rank(folder_.path, "t", [](FlightRecorder&) {
    std::signal(SIGTERM, SIG_IGN);
    RankProcess::hang();
  });
  EXPECT_TRUE(clean_this_node("t", 0.1).empty());
  EXPECT_EQ(WTERMSIG(rank.wait()), SIGKILL);
  EXPECT_TRUE(is_empty());
}

TEST_F(AutopsyTest, CleanEndsARankWithoutARecordOnceTheLauncherHasEnded) {
  const LaunchTag tag = make_launch_tag("young");
  const pid_t young = ::fork();
  if (young == 0) {
    const std::string name = std::string(env_tag) + "=" + tag.tag;
    const std::string secret = std::string(env_tag_secret) + "=" + tag.secret;
    ::execle("/bin/sleep", "sleep", "600", nullptr,
             std::vector<const char*>{name.c_str(), secret.c_str(), nullptr}.data());
    ::_exit(1);
  }
  ASSERT_GT(young, 0);
  ASSERT_TRUE(becomes_true(
      [&] { return fs::read_symlink("/proc/" + std::to_string(young) + "/exe").filename() != "run_tests"; }));
  EXPECT_TRUE(clean_this_node(tag.tag, 30).empty());
  EXPECT_FALSE(is_gone(young));
  EXPECT_TRUE(clean_this_node(tag.tag, 30, {.launcher_has_ended = true}).empty());
  int status = 0;
  EXPECT_EQ(::waitpid(young, &status, 0), young);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST_F(AutopsyTest, CleanLeavesAProcessAloneThatHasTheTagAndNotItsSecret) {
  const std::string tag = make_launch_tag("t").tag;
  for (const std::string& secret : {make_launch_tag("t").secret, tag.substr(2), std::string()}) {
    const pid_t other = ::fork();
    if (other == 0) {
      const std::string name = std::string(env_tag) + "=" + tag;
      const std::string guess = std::string(env_tag_secret) + "=" + secret;
      ::execle("/bin/sleep", "sleep", "600", nullptr,
               std::vector<const char*>{name.c_str(), guess.c_str(), "MUSTER_PROGRAM=1", nullptr}.data());
      ::_exit(1);
    }
    ASSERT_GT(other, 0);
    ASSERT_TRUE(becomes_true(
        [&] { return fs::read_symlink("/proc/" + std::to_string(other) + "/exe").filename() != "run_tests"; }));
    EXPECT_TRUE(clean_this_node(tag, 5, {.launcher_has_ended = true}).empty());
    EXPECT_FALSE(is_gone(other));
    kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
  }
}

TEST_F(AutopsyTest, SeesARankThatWasStoppedBeforeItMadeItsRecorder) {
  const LaunchTag tag = make_launch_tag("t");
  const LaunchTag other = make_launch_tag("t");
  const Folder programs;
  fs::create_symlink("/bin/sleep", programs.path / "muster-rank");
  fs::create_symlink("/bin/sleep", programs.path / "launcher");
  std::vector<pid_t> started;
  for (const auto& one :
       {std::pair{"muster-rank", tag.secret}, {"launcher", tag.secret}, {"muster-rank", other.secret}}) {
    const std::string path = programs.path / one.first;
    const std::string name = fmt::format("{}={}", env_tag, tag.tag);
    const std::string secret = fmt::format("{}={}", env_tag_secret, one.second);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::execle(path.c_str(), one.first, "600", nullptr,
               std::vector<const char*>{name.c_str(), secret.c_str(), nullptr}.data());
      ::_exit(1);
    }
    started.push_back(pid);
    const auto comm = fmt::format("/proc/{}/comm", pid);
    ASSERT_TRUE(becomes_true([&] { return read_file(comm).value_or("").starts_with(one.first); }));
    kill(pid, SIGSTOP);
    ASSERT_TRUE(becomes_true([&] { return process_status(pid)->state == 'T'; }));
  }
  const NodeAutopsy seen = look_at_this_node(tag.tag);
  ASSERT_EQ(seen.ranks.size(), 1u);
  EXPECT_EQ(seen.ranks[0].record.pid, started[0]);
  EXPECT_EQ(seen.ranks[0].record.rank, -1);
  EXPECT_EQ(seen.ranks[0].state, ProcessState::stopped);
  for (const pid_t one : started) {
    kill(one, SIGKILL);
    ::waitpid(one, nullptr, 0);
  }
}

TEST_F(AutopsyTest, CleanCountsZombiesAsEnded) {
  RankProcess rank(folder_.path, "t", [](FlightRecorder&) { RankProcess::hang(); });
  kill(rank.pid, SIGKILL);
  ASSERT_TRUE(becomes_true([&] { return process_status(rank.pid)->state == 'Z'; }));
  const double start = monotonic_seconds();
  EXPECT_TRUE(clean_this_node("t", 60).empty());
  EXPECT_LT(monotonic_seconds() - start, 30);
  EXPECT_TRUE(is_empty());
}

TEST_F(AutopsyTest, CleanLeavesAProcessAloneThatOnlyHasThePid) {
  RankProcess rank(folder_.path, "t", [](FlightRecorder&) { RankProcess::hang(); });
  const FlightRecord record = read_recorders(folder_.path, "t").at(0);
  // The same file, but written by a process of that pid that started earlier.
  std::fstream file(record.file, std::ios::in | std::ios::out | std::ios::binary);
  std::string bytes(8192, '\0');
  file.read(bytes.data(), 8192);
  const std::string ticks(reinterpret_cast<const char*>(&record.start_ticks), 8);
  const std::size_t at = bytes.find(ticks);
  ASSERT_NE(at, std::string::npos);
  const std::uint64_t earlier = record.start_ticks - 1;
  file.seekp(static_cast<std::streamoff>(at));
  file.write(reinterpret_cast<const char*>(&earlier), 8);
  file.close();
  EXPECT_EQ(look_at_this_node("t").ranks.at(0).state, ProcessState::gone);
  EXPECT_TRUE(clean_this_node("t", 30).empty());
  EXPECT_FALSE(is_gone(rank.pid));
  EXPECT_TRUE(is_empty());
}

TEST_F(AutopsyTest, CleanEndsTheProgramsThatAKilledRankStarted) {
  RankProcess rank(folder_.path, "t", [](FlightRecorder& recorder) {
    const int child = fork();
    if (child == 0) {
      setpgid(0, 0);
      std::signal(SIGTERM, SIG_IGN);
      for (;;) pause();
    }
    setpgid(child, child);
    recorder.child_group(child);
    RankProcess::hang();
  });
  const int program = read_recorders(folder_.path, "t").at(0).child_group;
  ASSERT_GT(program, 1);
  kill(rank.pid, SIGKILL);
  rank.wait();
  EXPECT_FALSE(is_gone(program));
  EXPECT_TRUE(clean_this_node("t", 0.1).empty());
  EXPECT_TRUE(is_gone(program));
  EXPECT_TRUE(is_empty());
}

TEST_F(AutopsyTest, OldLaunchesOfEndedRanksAreForgotten) {
  RankProcess ended(folder_.path, "a", [](FlightRecorder&) { RankProcess::hang(); });
  RankProcess lives(folder_.path, "b-c", [](FlightRecorder&) { RankProcess::hang(); });
  kill(ended.pid, SIGKILL);
  ended.wait();
  forget_old_launches(3600);
  EXPECT_EQ(read_recorders(folder_.path, "").size(), 2u) << "young";
  const timespec long_ago[2]{};
  for (const FlightRecord& record : read_recorders(folder_.path, ""))
    ASSERT_EQ(utimensat(AT_FDCWD, record.file.c_str(), long_ago, 0), 0);
  forget_old_launches(3600);
  const auto left = read_recorders(folder_.path, "");
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].pid, lives.pid);
}

TEST_F(AutopsyTest, CleanEndsWhatAProgramStartedInASessionOfItsOwn) {
  const LaunchTag launch = make_launch_tag("t");
  const std::string& tag = launch.tag;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  RankProcess rank(folder_.path, tag, [&](FlightRecorder&) {
    if (fork() == 0) {
      setsid();
      setenv(env_tag, tag.c_str(), 1);
      setenv(env_tag_secret, launch.secret.c_str(), 1);
      const int child = getpid();
      (void)!write(ready[1], &child, sizeof child);
      execlp("env", "env", "MUSTER_PROGRAM=1", "sleep", "60", nullptr);
      _exit(1);
    }
    RankProcess::hang();
  });
  int program = 0;
  ASSERT_EQ(read(ready[0], &program, sizeof program), static_cast<ssize_t>(sizeof program));
  close(ready[0]);
  close(ready[1]);
  ASSERT_TRUE(becomes_true([&] {
    const auto name = read_file("/proc/" + std::to_string(program) + "/comm");
    return name && *name == "sleep\n";
  }));
  kill(rank.pid, SIGKILL);
  rank.wait();
  EXPECT_TRUE(clean_this_node(tag, 5).empty());
  EXPECT_TRUE(is_gone(program));
}

TEST_F(AutopsyTest, CleanRemovesSharedMemoryThatNobodyUsesAnyMore) {
  const std::string stem = "/muster_test_clean." + std::to_string(getpid());
  const std::string left = stem + ".left";
  const std::string used = stem + ".used";
  RankProcess rank(folder_.path, "t", [&](FlightRecorder& recorder) {
    for (const std::string& name : {left, used}) {
      const int descriptor = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
      if (descriptor < 0 || ftruncate(descriptor, 4096) != 0) _exit(98);
      mmap(nullptr, 4096, PROT_READ, MAP_SHARED, descriptor, 0);
    }
    recorder.note_shared_memory();
    RankProcess::hang();
  });
  const int descriptor = shm_open(used.c_str(), O_RDONLY, 0);
  ASSERT_GE(descriptor, 0);
  void* mine = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, descriptor, 0);
  kill(rank.pid, SIGKILL);
  rank.wait();
  EXPECT_TRUE(fs::exists("/dev/shm" + left));
  EXPECT_TRUE(clean_this_node("t", 30).empty());
  EXPECT_FALSE(fs::exists("/dev/shm" + left));
  EXPECT_TRUE(fs::exists("/dev/shm" + used));
  munmap(mine, 4096);
  close(descriptor);
  shm_unlink(used.c_str());
}

TEST_F(AutopsyTest, CleanLeavesWhatIsNoPlainFileOfOurs) {
  const std::string name = "/muster_test_swap." + std::to_string(getpid());
  const fs::path file = "/dev/shm" + name;
  RankProcess rank(folder_.path, "t", [&](FlightRecorder& recorder) {
    const int descriptor = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
    if (descriptor < 0 || ftruncate(descriptor, 4096) != 0) _exit(98);
    mmap(nullptr, 4096, PROT_READ, MAP_SHARED, descriptor, 0);
    recorder.note_shared_memory();
    RankProcess::hang();
  });
  kill(rank.pid, SIGKILL);
  rank.wait();
  fs::remove(file);
  fs::create_symlink("/etc/hostname", file);
  EXPECT_TRUE(clean_this_node("t", 30).empty());
  EXPECT_TRUE(fs::is_symlink(file));
  fs::remove(file);
}

TEST_F(AutopsyTest, CleanRemovesARecorderThatARankHadNoTimeToBegin) {
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  waitpid(dead, nullptr, 0);
  const auto file = [&](const std::string& tag, pid_t pid) {
    return folder_.path / ("muster-" + tag + "-" + std::to_string(pid));
  };
  for (const auto& one : {file("t", dead), file("t", getpid()), file("other", dead), folder_.path / "muster-t-12a"})
    ASSERT_TRUE(write_file(one, ""));
  EXPECT_TRUE(clean_this_node("t", 0.1).empty());
  EXPECT_FALSE(fs::exists(file("t", dead)));
  for (const auto& one : {file("t", getpid()), file("other", dead), folder_.path / "muster-t-12a"})
    EXPECT_TRUE(fs::exists(one)) << one;
}

TEST_F(AutopsyTest, CleanEndsDaemonsThatTheEndedLauncherStarted) {
  const fs::path program = folder_.path / "orted";
  fs::copy_file("/bin/sh", program);
  // The same test may run beside it, with the thread sanitizer.
  const int port = 20000 + 2 * (getpid() % 20000);
  const std::string uri = "tcp://10.0.0.1,10.1.0.1:" + std::to_string(port);
  std::array<int, 2> input{};
  ASSERT_EQ(pipe(input.data()), 0);
  const pid_t daemon = fork();
  if (daemon == 0) {
    dup2(input[0], STDIN_FILENO);
    execl(program.c_str(), "orted", "-c", "trap '' TERM; while :; do read line; done", uri.c_str(), nullptr);
    _exit(99);
  }
  while (!is_daemon_of_one_launch(daemon)) usleep(1000);
  const auto clean = [&](const EndedLauncher& launcher) {
    return clean_this_node("t", 0.2, {.launcher_has_ended = true, .launcher = launcher});
  };
  const auto is_there = [&] { return waitpid(daemon, nullptr, WNOHANG) == 0; };
  EXPECT_TRUE(clean({{"10.0.0.1"}, {port + 1}, 1}).empty());
  EXPECT_TRUE(is_there()) << "of another launcher";
  EXPECT_TRUE(clean({{"10.0.0.2", "nid001"}, {port}, 1}).empty());
  EXPECT_TRUE(is_there()) << "of another host";
  EXPECT_TRUE(clean({{"10.1.0.1"}, {port}, -100}).empty());
  EXPECT_TRUE(is_there()) << "older than the launcher that had this port";
  EXPECT_TRUE(clean({{"nid001", "10.1.0.1"}, {port}, 1}).empty());
  EXPECT_FALSE(is_there());
  close(input[0]);
  close(input[1]);
}

TEST_F(AutopsyTest, CleanOfNothingIsQuick) {
  EXPECT_TRUE(clean_this_node("t", 60).empty());
}

// JSON ---------------------------------------------------------------------------------------------------------

NodeAutopsy sample() {
  NodeAutopsy autopsy;
  autopsy.node = "nid001";
  autopsy.answered = true;
  autopsy.now_s = 1234.5;
  autopsy.stopped_daemon = 4712;
  RankRemains rank;
  rank.record.pid = 77;
  rank.record.start_ticks = 0xffff'ffff'ffff'ffffu;
  rank.record.rank = 5;
  rank.record.world_size = 8;
  rank.record.phase = Phase::gathering;
  rank.record.item = 3;
  rank.record.step = "barrier";
  rank.record.steps = 4;
  rank.record.iteration = 0xffff'ffff'ffff'fffeu;
  rank.record.peer = 2;
  rank.record.changed_s = 1000.25;
  rank.record.signal = 15;
  rank.record.signal_s = 1001;
  rank.record.is_signal_in_mpi = true;
  rank.record.is_exit_in_mpi = true;
  rank.record.child_group = 80;
  rank.state = ProcessState::uninterruptible;
  rank.kernel_function = "rpc_wait_bit_killable";
  rank.parent_state = ProcessState::stopped;
  rank.record.parent = 99;
  rank.record.orphaned_s = 1000.75;
  autopsy.ranks = {rank, {}};
  autopsy.ranks[1].record.pid = 78;
  autopsy.places = {{"hsn0", "10.78.1.2", 24, "no carrier"}, {"eth0", "10.77.1.2", 16, ""}};
  return autopsy;
}

void expect_same(const NodeAutopsy& a, const NodeAutopsy& b) {
  EXPECT_EQ(a.node, b.node);
  EXPECT_EQ(a.answered, b.answered);
  EXPECT_EQ(a.error, b.error);
  EXPECT_EQ(a.now_s, b.now_s);
  EXPECT_EQ(a.stopped_daemon, b.stopped_daemon);
  EXPECT_EQ(a.places, b.places);
  ASSERT_EQ(a.ranks.size(), b.ranks.size());
  for (std::size_t i = 0; i < a.ranks.size(); ++i) {
    EXPECT_TRUE(a.ranks[i].record == b.ranks[i].record);
    EXPECT_EQ(a.ranks[i].state, b.ranks[i].state);
    EXPECT_EQ(a.ranks[i].kernel_function, b.ranks[i].kernel_function);
    EXPECT_EQ(a.ranks[i].parent_state, b.ranks[i].parent_state);
    EXPECT_EQ(a.ranks[i].record.parent, b.ranks[i].record.parent);
  }
}

// KILL for the daemons of other nodes would end what they still have to do.
TEST(LaunchDiagnosis, DaemonsAreEndedOnlyWhereNothingElseReachesThem) {
  LaunchDiagnosis::Inspection inspection;
  inspection.seen = {sample(), sample()};
  inspection.seen[0].node = "nid001";
  inspection.seen[1].node = "nid002";
  for (RankRemains& rank : inspection.seen[0].ranks) rank.parent_state = ProcessState::running;
  EXPECT_FALSE(LaunchDiagnosis::must_end_daemons(inspection, "nid001"));
  EXPECT_TRUE(LaunchDiagnosis::must_end_daemons(inspection, "nid002"));
  EXPECT_FALSE(LaunchDiagnosis::must_end_daemons(inspection, "nid003"));
  inspection.cut_off.resize(1);
  EXPECT_TRUE(LaunchDiagnosis::must_end_daemons(inspection, "nid001")) << "nothing else reaches them";
}

TEST(AutopsyJsonTest, RoundTrip) {
  const auto back = node_autopsy_from_json(nlohmann::json::parse(to_json(sample()).dump()));
  ASSERT_TRUE(back.has_value()) << to_string(back.error());
  expect_same(sample(), *back);
}

TEST(AutopsyJsonTest, ACallerOfAnotherUserIsKept) {
  NodeAutopsy called = sample();
  called.foreign_caller = ForeignCaller{40961, 65534};
  nlohmann::json object = to_json(called);
  const auto back = node_autopsy_from_json(nlohmann::json::parse(object.dump()));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->foreign_caller, called.foreign_caller);
  EXPECT_FALSE(node_autopsy_from_json(to_json(sample()))->foreign_caller);
  for (const char* key : {"port", "user"}) {
    nlohmann::json bad = object;
    bad["foreign_caller"][key] = -1;
    EXPECT_FALSE(node_autopsy_from_json(bad)) << key;
  }
}

TEST(AutopsyJsonTest, HostileTextBecomesHarmless) {
  NodeAutopsy hostile = sample();
  hostile.node = "nid\xff\x1b[2J001";
  hostile.error = "line\n\"quoted\" \xc3\x28";
  hostile.ranks[0].record.step = "\xf0\x28\x8c\x28";
  hostile.ranks[0].kernel_function = std::string("a\0b", 3);
  const std::string text = to_json(hostile).dump();  // throws on bad UTF-8
  const auto back = node_autopsy_from_json(nlohmann::json::parse(text));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->node.find('\x1b'), std::string::npos);
  EXPECT_EQ(back->error.find('\n'), std::string::npos);
  EXPECT_NE(back->error.find("\"quoted\""), std::string::npos);
}

TEST(AutopsyJsonTest, EveryMissingOrWrongFieldIsAnError) {
  const nlohmann::json good = to_json(sample());
  ASSERT_TRUE(node_autopsy_from_json(good).has_value());
  const auto is_refused = [](const nlohmann::json& bad) {
    const auto result = node_autopsy_from_json(bad);
    return !result && result.error().kind == ErrorKind::protocol;
  };
  for (const auto& field : good.items()) {
    nlohmann::json bad = good;
    bad.erase(field.key());
    EXPECT_TRUE(is_refused(bad)) << field.key() << " missing";
    bad[field.key()] = nullptr;
    EXPECT_TRUE(is_refused(bad)) << field.key() << " null";
  }
  for (const auto& field : good["ranks"][0].items()) {
    nlohmann::json bad = good;
    bad["ranks"][0].erase(field.key());
    EXPECT_TRUE(is_refused(bad)) << field.key() << " missing";
    bad["ranks"][0][field.key()] = nlohmann::json::array();
    EXPECT_TRUE(is_refused(bad)) << field.key() << " of another type";
  }
  const std::pair<const char*, nlohmann::json> wrong[] = {
      {"pid", 0},        {"pid", 1e300}, {"pid", 3.5},          {"pid", 5000000000},
      {"rank", -2},      {"rank", "5"},  {"phase", "lost"},     {"state", "tired"},
      {"iteration", -1}, {"signal", -9}, {"steps", 5000000000}, {"child_group", -1}};
  for (const auto& [key, value] : wrong) {
    nlohmann::json bad = good;
    bad["ranks"][0][key] = value;
    EXPECT_TRUE(is_refused(bad)) << key << " " << value;
  }
  EXPECT_TRUE(is_refused(nlohmann::json::array()));
  EXPECT_TRUE(is_refused(nlohmann::json("text")));
  EXPECT_TRUE(is_refused(nlohmann::json::parse("{", nullptr, false)));
}

}  // namespace
}  // namespace muster
