#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

bool has_children() {
  return waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD;
}

// True when no process of that number is left, or only one that is dead.
bool is_dead(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(in, text)) return true;
  return text[text.rfind(')') + 2] == 'Z';
}

bool dies_soon(int pid) {
  Loop loop;
  const double limit = seconds_now() + 20;
  std::shared_ptr<Loop::Timer> look = loop.every(0.002, [] {});
  loop.run_until([&] { return is_dead(pid) || seconds_now() > limit; });
  return is_dead(pid);
}

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "muster-process-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

// A child whose output and end a test looks at.
struct Watched {
  std::string out;
  std::string err;
  int ends = 0;
  ProcessEnd end;

  ProcessOptions options(Argv argv) {
    ProcessOptions result;
    result.argv = std::move(argv);
    result.on_stdout = [this](std::span<const char> chunk) { out.append(chunk.data(), chunk.size()); };
    result.on_stderr = [this](std::span<const char> chunk) { err.append(chunk.data(), chunk.size()); };
    result.on_end = [this](ProcessEnd how) {
      end = how;
      ++ends;
    };
    return result;
  }
  void wait(Loop& loop) {
    const auto limit = loop.after(30, [] { FAIL() << "still running after 30 s"; });
    loop.run_until([this] { return ends > 0; });
  }
};

Argv shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

TEST(ProcessTest, TellsStatusAndBothStreams) {
  Loop loop;
  Watched seen;
  const auto process = Process::start(loop, seen.options(shell("echo out; echo err >&2; exit 7")));
  ASSERT_TRUE(process.has_value()) << to_string(process.error());
  EXPECT_TRUE((*process)->is_running());
  EXPECT_GT((*process)->pid(), 1);
  seen.wait(loop);
  EXPECT_EQ(seen.end.status, 7);
  EXPECT_EQ(seen.end.signal, 0);
  EXPECT_EQ(seen.end.shell_status(), 7);
  EXPECT_EQ(seen.out, "out\n");
  EXPECT_EQ(seen.err, "err\n");
  EXPECT_FALSE((*process)->is_running());
  loop.run_until([] { return false; });
  EXPECT_EQ(seen.ends, 1);
}

TEST(ProcessTest, TellsTheSignalThatEndedIt) {
  const auto done = run_program(shell("kill -SEGV $$"), 30);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->end.signal, SIGSEGV);
  EXPECT_EQ(done->end.shell_status(), 128 + SIGSEGV);
  EXPECT_FALSE(done->timed_out);
}

TEST(ProcessTest, MissingProgramsAreErrorsThatNameThem) {
  const auto on_path = run_program({"muster-no-such-program"}, 30);
  ASSERT_FALSE(on_path.has_value());
  EXPECT_EQ(on_path.error(), (Error{ErrorKind::launch, "muster-no-such-program", "not found on PATH"}));
  const auto by_path = run_program({"/nonexistent/program"}, 30);
  ASSERT_FALSE(by_path.has_value());
  EXPECT_EQ(to_string(by_path.error()), "/nonexistent/program: can't be started: No such file or directory");
  const auto none = run_program({}, 30);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().kind, ErrorKind::launch);
  EXPECT_FALSE(has_children());
}

TEST(ProcessTest, FilesThatCantBeExecutedAreErrors) {
  const Folder folder;
  const fs::path plain = folder.path / "plain";
  std::ofstream(plain) << "text\n";
  const auto not_executable = run_program({plain.string()}, 30);
  ASSERT_FALSE(not_executable.has_value());
  EXPECT_EQ(to_string(not_executable.error()), plain.string() + ": can't be started: Permission denied");

  const fs::path script = folder.path / "script";
  std::ofstream(script) << "#!/nonexistent/interpreter\n";
  fs::permissions(script, fs::perms::owner_all);
  const auto no_interpreter = run_program({script.string()}, 30);
  ASSERT_FALSE(no_interpreter.has_value());
  EXPECT_NE(no_interpreter.error().what.find("interpreter"), std::string::npos);
}

TEST(ProcessTest, MissingFolderIsNamed) {
  Loop loop;
  Watched seen;
  auto options = seen.options({"/bin/true"});
  options.folder = "/nonexistent/folder";
  const auto process = Process::start(loop, std::move(options));
  ASSERT_FALSE(process.has_value());
  EXPECT_EQ(to_string(process.error()),
            "/bin/true: can't be started in the folder /nonexistent/folder: No such file or directory");
  loop.run_until([] { return false; });
  EXPECT_EQ(seen.ends, 0);
}

TEST(ProcessTest, RunsInItsFolderWithItsEnvironment) {
  const Folder folder;
  ASSERT_EQ(setenv("MUSTER_TEST_REPLACED", "before", 1), 0);
  ASSERT_EQ(setenv("MUSTER_TEST_KEPT", "kept", 1), 0);
  Loop loop;
  Watched seen;
  auto options = seen.options(
      shell("pwd; echo $MUSTER_TEST_REPLACED $MUSTER_TEST_KEPT $MUSTER_TEST_NEW; env | grep -c MUSTER_TEST_REPLACED"));
  options.folder = folder.path;
  options.env = {{"MUSTER_TEST_NEW", "first"}, {"MUSTER_TEST_REPLACED", "after"}, {"MUSTER_TEST_NEW", "new"}};
  const auto process = Process::start(loop, std::move(options));
  ASSERT_TRUE(process.has_value());
  seen.wait(loop);
  EXPECT_EQ(seen.out, fs::canonical(folder.path).string() + "\nafter kept new\n1\n");
  unsetenv("MUSTER_TEST_REPLACED");
  unsetenv("MUSTER_TEST_KEPT");
}

TEST(ProcessTest, IsASessionOfItsOwnWithoutInputAndWithDefaultSignals) {
  // Fields 5 and 6 of stat: process group and session.
  const auto done = run_program(shell("read x && echo input; cut -d' ' -f1,5,6 /proc/$$/stat; grep SigIgn "
                                      "/proc/$$/status; echo to-device > /dev/stderr"),
                                30);
  ASSERT_TRUE(done.has_value());
  const std::string pid = done->out.substr(0, done->out.find(' '));
  EXPECT_EQ(done->out, pid + " " + pid + " " + pid + "\nSigIgn:\t0000000000000000\n");
  EXPECT_EQ(done->err, "to-device\n");
}

TEST(ProcessTest, OutputLargerThanThePipeArrivesWhole) {
  const auto done = run_program(shell("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2"), 30);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->out.size(), 3000000u);
  EXPECT_EQ(done->err.size(), 3000000u);
}

TEST(ProcessTest, InputLargerThanThePipeArrivesWhole) {
  std::string text(3000000, 'x');
  text[1500000] = 'y';
  const auto done = run_program({"/bin/cat"}, 30, {}, text);
  ASSERT_TRUE(done.has_value());
  EXPECT_TRUE(done->out == text);
}

TEST(ProcessTest, InputThatNobodyReadsIsNoFailure) {
  const auto done = run_program(shell("exec <&-; exit 4"), 30, {}, std::string(3000000, 'x'));
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->end.status, 4);
}

TEST(ProcessTest, DeadlineEndsAProgramThatIgnoresTerm) {
  const double start = seconds_now();
  const auto done = run_program(shell("trap '' TERM; echo ready; while :; do sleep 600; done"), 0.3);
  ASSERT_TRUE(done.has_value());
  EXPECT_TRUE(done->timed_out);
  EXPECT_EQ(done->end.signal, SIGKILL);
  EXPECT_EQ(done->out, "ready\n");
  EXPECT_GE(seconds_now() - start, 1.2);
  EXPECT_LT(seconds_now() - start, 60);
  EXPECT_FALSE(has_children());
}

TEST(ProcessTest, DeadlineEndsAStoppedProgram) {
  const auto done = run_program(shell("kill -STOP $$"), 0.2);
  ASSERT_TRUE(done.has_value());
  EXPECT_TRUE(done->timed_out);
  EXPECT_EQ(done->end.signal, SIGTERM);
}

TEST(ProcessTest, DeadlineEndsTheWholeGroup) {
  const auto done =
      run_program(shell("(trap '' TERM; echo $BASHPID; while :; do sleep 600; done) & echo $!; wait"), 0.3);
  ASSERT_TRUE(done.has_value());
  EXPECT_TRUE(done->timed_out);
  const int grandchild = std::stoi(done->out.substr(done->out.find_first_of("0123456789")));
  EXPECT_TRUE(dies_soon(grandchild));
}

TEST(ProcessTest, GrandchildThatHoldsTheOutputDelaysTheEndByASecondOnly) {
  const double start = seconds_now();
  const auto done = run_program(shell("sleep 600 & echo $!; exit 3"), 30);
  ASSERT_TRUE(done.has_value());
  EXPECT_FALSE(done->timed_out);
  EXPECT_EQ(done->end.status, 3);
  EXPECT_GE(seconds_now() - start, 0.9);
  EXPECT_LT(seconds_now() - start, 20);
  kill(std::stoi(done->out), SIGKILL);
}

TEST(ProcessTest, EndGivesTimeThenKills) {
  Loop loop;
  Watched seen;
  const auto process = Process::start(
      loop, seen.options(shell("trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.01; done")));
  ASSERT_TRUE(process.has_value());
  loop.run_until([&] { return seen.out == "ready\n"; });
  (*process)->end(30);
  seen.wait(loop);
  EXPECT_EQ(seen.out, "ready\nasked\n");
  EXPECT_EQ(seen.end.status, 5);
  (*process)->end(1);
  (*process)->signal_group(SIGKILL);  // both: nothing happens
  EXPECT_EQ(seen.ends, 1);
}

TEST(ProcessTest, DroppingTheHandleKillsTheGroupAndReapsIt) {
  Loop loop;
  Watched seen;
  auto process = Process::start(loop, seen.options(shell("sleep 600 & echo $!; wait")));
  ASSERT_TRUE(process.has_value());
  loop.run_until([&] { return !seen.out.empty(); });
  const int leader = (*process)->pid();
  const int grandchild = std::stoi(seen.out);
  process->reset();
  EXPECT_TRUE(dies_soon(leader));
  EXPECT_TRUE(dies_soon(grandchild));
  EXPECT_EQ(seen.ends, 0);
}

TEST(ProcessTest, HandleMayBeDroppedByItsOwnCallbacks) {
  Loop loop;
  std::shared_ptr<Process> process;
  int ends = 0;
  ProcessOptions options;
  options.argv = shell("echo one; sleep 600");
  options.on_stdout = [&](std::span<const char>) { process.reset(); };
  options.on_end = [&](ProcessEnd) { ++ends; };
  process = Process::start(loop, options).value();
  loop.run_until([&] { return process == nullptr; });
  EXPECT_EQ(ends, 0);

  options.argv = {"/bin/true"};
  options.on_end = [&](ProcessEnd) {
    ++ends;
    process.reset();
  };
  process = Process::start(loop, options).value();
  loop.run_until([&] { return process == nullptr; });
  EXPECT_EQ(ends, 1);
}

TEST(ProcessTest, LoopEndsItsChildrenAndLeavesNoZombie) {
  auto loop = std::make_unique<Loop>();
  Watched seen;
  const auto process = Process::start(*loop, seen.options({"/bin/sleep", "600"}));
  ASSERT_TRUE(process.has_value());
  const int pid = (*process)->pid();
  loop.reset();
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_FALSE((*process)->is_running());
  (*process)->end(1);
  EXPECT_FALSE(has_children());
}

TEST(ProcessTest, OneCallbackMayStartTheNextProcess) {
  Loop loop;
  Watched second;
  std::shared_ptr<Process> next;
  ProcessOptions options;
  options.argv = {"/bin/true"};
  options.on_end = [&](ProcessEnd) { next = Process::start(loop, second.options(shell("echo second"))).value(); };
  const auto first = Process::start(loop, options);
  ASSERT_TRUE(first.has_value());
  second.wait(loop);
  EXPECT_EQ(second.out, "second\n");
}

TEST(ProcessTest, ManyShortProcessesLeaveNothingBehind) {
#ifdef MUSTER_SANITIZED_THREADS
  // Of many programs started below ThreadSanitizer, one may wait forever for a lock of its own thread.
  constexpr int rounds = 2;
#else
  constexpr int rounds = 20;
#endif
  ASSERT_TRUE(run_program({"/bin/true"}, 30).has_value());  // libuv opens what it keeps for good
  const std::size_t before = open_descriptors();
  {
    Loop loop;
    int ended = 0;
    for (int round = 0; round < rounds; ++round) {
      std::vector<std::shared_ptr<Process>> processes;
      for (int i = 0; i < 10; ++i) {
        ProcessOptions options;
        options.argv = {"/bin/true"};
        options.on_end = [&](ProcessEnd end) { ended += end.shell_status() == 0 ? 1 : 1000; };
        processes.push_back(Process::start(loop, std::move(options)).value());
      }
      loop.run_until([&] { return ended >= (round + 1) * 10; });
    }
    EXPECT_EQ(ended, rounds * 10);
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_FALSE(has_children());
}

TEST(ProcessTest, FailuresToStartLeaveNothingBehind) {
  Loop loop;
  std::size_t after_first = 0;  // with what libuv opens when it is needed first
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(Process::start(loop, {.argv = {"/nonexistent/program"}}).has_value());
    loop.run_until([] { return false; });
    if (i == 0) after_first = open_descriptors();
  }
  EXPECT_EQ(open_descriptors(), after_first);
  EXPECT_FALSE(has_children());
}

TEST(ProcessTest, WithoutDescriptorsStartingIsAnError) {
#ifdef MUSTER_SANITIZED
  GTEST_SKIP() << "sanitizers need descriptors of their own to look at memory";
#endif
  Loop loop;
  std::vector<int> taken;
  for (int one = open("/dev/null", O_RDONLY | O_CLOEXEC); one >= 0 && taken.size() < 2000000;
       one = open("/dev/null", O_RDONLY | O_CLOEXEC))
    taken.push_back(one);
  for (int spare = 0; spare < 3; ++spare) {  // enough for half of it, and then for a sanitizer
    close(taken.back());
    taken.pop_back();
  }
  const auto process = Process::start(loop, {.argv = {"/bin/true"}});
  const auto program = run_program({"/bin/true"}, 30);
  for (const int one : taken) close(one);
  ASSERT_FALSE(process.has_value());
  EXPECT_EQ(process.error().kind, ErrorKind::launch);
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().kind, ErrorKind::system);
}

}  // namespace
}  // namespace muster
