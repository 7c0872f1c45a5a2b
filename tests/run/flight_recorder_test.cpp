#include "run/flight_recorder.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/process_status.hpp"
#include "run/rank_process.hpp"
#include "run/signal_stamp.hpp"

namespace muster {
namespace {

FlightRecord only_record(const fs::path& folder, const std::string& tag) {
  const auto records = read_recorders(folder, tag);
  EXPECT_EQ(records.size(), 1u);
  return records.empty() ? FlightRecord{} : records.front();
}

TEST(FlightRecorderTest, WhatIsWrittenIsRead) {
  const Folder folder;
  auto recorder = FlightRecorder::create(folder.path, "tag-1");
  ASSERT_TRUE(recorder.has_value()) << to_string(recorder.error());
  FlightRecord record = only_record(folder.path, "tag-1");
  EXPECT_EQ(record.pid, getpid());
  EXPECT_EQ(record.start_ticks, process_status(getpid())->start_ticks);
  EXPECT_EQ(record.rank, -1);
  EXPECT_EQ(record.phase, Phase::starting);
  EXPECT_EQ(record.item, -1);
  EXPECT_EQ(record.peer, -1);

  (*recorder)->place(5, 8);
  (*recorder)->item(3);
  (*recorder)->phase(Phase::running);
  (*recorder)->step("barrier");
  (*recorder)->iteration(12);
  (*recorder)->peer(7);
  (*recorder)->child_group(4711);
  record = only_record(folder.path, "tag-1");
  EXPECT_EQ(record.rank, 5);
  EXPECT_EQ(record.world_size, 8);
  EXPECT_EQ(record.item, 3);
  EXPECT_EQ(record.phase, Phase::running);
  EXPECT_EQ(record.step, "barrier");
  EXPECT_EQ(record.steps, 1u);
  EXPECT_EQ(record.iteration, 12u);
  EXPECT_EQ(record.peer, 7);
  EXPECT_EQ(record.child_group, 4711);
  EXPECT_GT(record.changed_s, 0);
  EXPECT_EQ(record.signal, 0);

  (*recorder)->step("gather");
  record = only_record(folder.path, "tag-1");
  EXPECT_EQ(record.steps, 2u);
  EXPECT_EQ(record.iteration, 0u);
  EXPECT_EQ(record.peer, -1);
  (*recorder)->phase(Phase::gathering);
  record = only_record(folder.path, "tag-1");
  EXPECT_EQ(record.step, "");
  EXPECT_EQ(record.steps, 0u);
}

TEST(FlightRecorderTest, VendorsCallsAreKeptApartFromSteps) {
  const Folder folder;
  auto recorder = FlightRecorder::create(folder.path, "t");
  ASSERT_TRUE(recorder.has_value());
  (*recorder)->phase(Phase::running);
  (*recorder)->step("allreduce");
  (*recorder)->iteration(12);
  const FlightRecord before = only_record(folder.path, "t");
  (*recorder)->device("GPU 0000:c1:00.0 (GPU-11111111-2222-3333-4444-555555555555)");
  for (int i = 0; i < 1000; ++i) {
    (*recorder)->call("cuStreamSynchronize");
    (*recorder)->call("");
  }
  (*recorder)->call("ncclAllReduce");
  FlightRecord record = only_record(folder.path, "t");
  EXPECT_EQ(record.call, "ncclAllReduce");
  EXPECT_GE(record.call_s, before.changed_s);
  EXPECT_EQ(record.device, "GPU 0000:c1:00.0 (GPU-11111111-2222-3333-4444-555555555555)");
  // However many there were, the rank is where it was, since when it was.
  EXPECT_EQ(record.step, "allreduce");
  EXPECT_EQ(record.steps, before.steps);
  EXPECT_EQ(record.iteration, 12u);
  EXPECT_EQ(record.changed_s, before.changed_s);

  (*recorder)->step("verify");
  EXPECT_EQ(only_record(folder.path, "t").call, "");
  EXPECT_NE(only_record(folder.path, "t").device, "");
  (*recorder)->item(1);
  EXPECT_EQ(only_record(folder.path, "t").device, "");
}

TEST(FlightRecorderTest, FileIsPrivateAndStaysUnlessFinished) {
  const Folder folder;
  const fs::path file = folder.path / ("muster-t-" + std::to_string(getpid()));
  {
    auto recorder = FlightRecorder::create(folder.path, "t");
    ASSERT_TRUE(recorder.has_value());
    EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    (*recorder)->phase(Phase::finishing);
  }
  EXPECT_TRUE(fs::exists(file));
  {
    auto again = FlightRecorder::create(folder.path, "t");  // replaces what an earlier process left
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(only_record(folder.path, "t").phase, Phase::starting);
    (*again)->phase(Phase::finished);
  }
  EXPECT_FALSE(fs::exists(file));
}

TEST(FlightRecorderTest, LongAndForeignStepNamesAreCutAndHarmless) {
  const Folder folder;
  auto recorder = FlightRecorder::create(folder.path, "t");
  ASSERT_TRUE(recorder.has_value());
  (*recorder)->step("0123456789012345678901234567890123456789");
  EXPECT_EQ(only_record(folder.path, "t").step, "0123456789012345678901234567890");
  (*recorder)->step("012345678901234567890123456789\u00e4");  // two bytes, of which one would fit
  EXPECT_EQ(only_record(folder.path, "t").step, "012345678901234567890123456789");
  (*recorder)->step("\x1b[31mred\nline");
  const std::string step = only_record(folder.path, "t").step;
  EXPECT_EQ(step.find('\x1b'), std::string::npos);
  EXPECT_EQ(step.find('\n'), std::string::npos);
  (*recorder)->phase(Phase::finished);
}

TEST(FlightRecorderTest, FolderThatIsMissingOrTagThatIsNoneIsAnError) {
  const auto missing = FlightRecorder::create("/nonexistent/folder", "t");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, ErrorKind::system);
  EXPECT_NE(missing.error().what.find("No such file"), std::string::npos);
  const Folder folder;
  EXPECT_FALSE(FlightRecorder::create(folder.path, "../up").has_value());
  EXPECT_FALSE(FlightRecorder::create(folder.path, "").has_value());
}

TEST(FlightRecorderTest, OtherTagsDamageAndForeignFilesAreLeftOut) {
  const Folder folder;
  auto recorder = FlightRecorder::create(folder.path, "a");
  auto other = FlightRecorder::create(folder.path, "a-1");
  ASSERT_TRUE(recorder.has_value() && other.has_value());
  (*recorder)->phase(Phase::running);
  const std::string name = "muster-a-" + std::to_string(getpid());
  std::string bytes(8192, '\0');
  std::ifstream(folder.path / name, std::ios::binary).read(bytes.data(), 8192);
  const auto put = [&](const std::string& file, const std::string& text) {
    std::ofstream(folder.path / file, std::ios::binary) << text;
  };
  put("muster-a-1", bytes);                   // says it is of another pid
  put("muster-a-77", bytes.substr(0, 4096));  // too short
  put("muster-a-78", std::string(8192, '\0'));
  put("muster-a-79", std::string(8192, '\xff'));
  put("muster-a-", bytes);
  put("muster-a-x", bytes);
  fs::create_directory(folder.path / "muster-a-80");
  fs::create_symlink(folder.path / name, folder.path / "muster-a-81");
  ASSERT_EQ(mkfifo((folder.path / "muster-a-82").c_str(), 0600), 0);
  const auto records = read_recorders(folder.path, "a");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].file, (folder.path / name).string());
  EXPECT_TRUE(read_recorders("/nonexistent/folder", "a").empty());
  if (geteuid() == 0) {
    ASSERT_EQ(chown((folder.path / name).c_str(), 12345, 12345), 0);
    EXPECT_TRUE(read_recorders(folder.path, "a").empty());
  }
}

// Whatever single byte of a file is damaged, reading it is safe and gives something that makes sense, or nothing.
TEST(FlightRecorderTest, DamagedBytesNeverDoHarm) {
  const Folder folder;
  auto recorder = FlightRecorder::create(folder.path, "a");
  ASSERT_TRUE(recorder.has_value());
  (*recorder)->place(1, 2);
  (*recorder)->step("barrier");
  const fs::path file = folder.path / ("muster-a-" + std::to_string(getpid()));
  const int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  for (off_t at = 0; at < 200; ++at) {
    char good = 0;
    ASSERT_EQ(pread(descriptor, &good, 1, at), 1);
    const char bad = static_cast<char>(~good);
    ASSERT_EQ(pwrite(descriptor, &bad, 1, at), 1);
    for (const FlightRecord& record : read_recorders(folder.path, "a")) {
      EXPECT_EQ(record.pid, getpid());
      EXPECT_LE(record.phase, Phase::finished);
      EXPECT_LE(record.shared_memory.size(), 24u);
    }
    ASSERT_EQ(pwrite(descriptor, &good, 1, at), 1);
  }
  close(descriptor);
  EXPECT_EQ(only_record(folder.path, "a").step, "barrier");
}

TEST(FlightRecorderTest, KilledRankLeavesItsRecord) {
  const Folder folder;
  RankProcess rank(folder.path, "t", [](FlightRecorder& recorder) {
    recorder.place(1, 2);
    recorder.item(4);
    recorder.phase(Phase::running);
    recorder.step("barrier");
    recorder.iteration(9);
    recorder.stamp_signals();
    RankProcess::hang();
  });
  kill(rank.pid, SIGKILL);
  EXPECT_EQ(WTERMSIG(rank.wait()), SIGKILL);
  const FlightRecord record = only_record(folder.path, "t");
  EXPECT_EQ(record.pid, rank.pid);
  EXPECT_EQ(record.rank, 1);
  EXPECT_EQ(record.item, 4);
  EXPECT_EQ(record.step, "barrier");
  EXPECT_EQ(record.iteration, 9u);
  EXPECT_EQ(record.signal, 0);
}

TEST(FlightRecorderTest, StoppedRankCanBeRead) {
  const Folder folder;
  RankProcess rank(folder.path, "t", [](FlightRecorder& recorder) {
    recorder.phase(Phase::prepare);
    RankProcess::hang();
  });
  kill(rank.pid, SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(rank.pid, &status, WUNTRACED), rank.pid);
  ASSERT_TRUE(WIFSTOPPED(status));
  EXPECT_EQ(only_record(folder.path, "t").phase, Phase::prepare);
}

TEST(FlightRecorderTest, EachEndingSignalIsStampedAndStillEnds) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    const Folder folder;
    RankProcess rank(folder.path, "t", [](FlightRecorder& recorder) {
      for (const int one : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
        std::signal(one, SIG_DFL);  // a sanitizer may have its own
      recorder.stamp_signals();
      recorder.stamp_signals();
      RankProcess::hang();
    });
    rank.wait_until_paused();
    kill(rank.pid, signal);
    EXPECT_EQ(WTERMSIG(rank.wait()), signal);
    const FlightRecord record = only_record(folder.path, "t");
    EXPECT_EQ(record.signal, signal);
    EXPECT_GT(record.signal_s, 0);
  }
}

// As of a launcher's daemon: what it started lives on.
TEST(FlightRecorderTest, TheEndOfTheParentIsStamped) {
  const Folder folder;
  int ends[2];
  int pipe_of_rank[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::pipe(pipe_of_rank), 0);
  char byte = 0;
  const pid_t parent = ::fork();
  if (parent == 0) {
    const pid_t rank = ::fork();
    if (rank == 0) {
      auto recorder = FlightRecorder::create(folder.path, "t");
      (*recorder)->stamp_signals();
      (*recorder)->stamp_signals();
      (void)!::write(pipe_of_rank[1], "r", 1);
      for (;;) ::pause();
    }
    (void)!::read(ends[0], &byte, 1);
    ::_exit(0);
  }
  ASSERT_EQ(::read(pipe_of_rank[0], &byte, 1), 1);
  const FlightRecord before = only_record(folder.path, "t");
  EXPECT_EQ(before.orphaned_s, 0);
  EXPECT_EQ(before.parent, parent);
  ASSERT_EQ(::write(ends[1], "e", 1), 1);
  ASSERT_EQ(::waitpid(parent, nullptr, 0), parent);
  FlightRecord after = before;
  for (int i = 0; i < 1000 && after.orphaned_s == 0; ++i) {
    ::usleep(10'000);
    after = only_record(folder.path, "t");
  }
  EXPECT_GT(after.orphaned_s, 0);
  EXPECT_EQ(after.signal, 0);
  EXPECT_EQ(::kill(before.pid, 0), 0) << "it lives on";
  ::kill(before.pid, SIGKILL);
  for (const int end : {ends[0], ends[1], pipe_of_rank[0], pipe_of_rank[1]}) ::close(end);
}

TEST(FlightRecorderTest, CrashAndAbortAreStamped) {
  const Folder folder;
  const auto crash = [&](const std::string& tag, const std::function<void()>& act) {
    RankProcess rank(folder.path, tag, [&](FlightRecorder& recorder) {
      std::signal(SIGSEGV, SIG_DFL);
      std::signal(SIGABRT, SIG_DFL);
      recorder.stamp_signals();
      RankProcess::ready();
      act();
    });
    return WTERMSIG(rank.wait());
  };
  // Memory that may not be touched: a real fault, which a sanitizer has no say in.
  void* forbidden = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(crash("segv", [=] { *static_cast<volatile char*>(forbidden) = 1; }), SIGSEGV);
  EXPECT_EQ(only_record(folder.path, "segv").signal, SIGSEGV);
  EXPECT_EQ(crash("abort", [] { std::abort(); }), SIGABRT);
  EXPECT_EQ(only_record(folder.path, "abort").signal, SIGABRT);
  munmap(forbidden, 4096);
}

TEST(FlightRecorderTest, AnExitCountsAsMpisWhereItsCallerIsOfMpi) {
  void* mpi = nullptr;
  for (const char* name : {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libfabric.so.1"})
    if (mpi == nullptr) mpi = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (mpi == nullptr) GTEST_SKIP() << "no MPI library can be loaded";
  const void* symbol = ::dlsym(mpi, "MPI_Init");
  const void* in_mpi = symbol != nullptr ? symbol : ::dlsym(mpi, "fi_version");
  ASSERT_NE(in_mpi, nullptr);
  const Folder folder;
  const auto leave = [&](const std::string& tag, const void* caller) {
    RankProcess rank(folder.path, tag, [&](FlightRecorder& recorder) {
      recorder.stamp_signals();
      RankProcess::ready();
      stamp_exit(caller);
      ::_exit(3);
    });
    rank.wait();
    return only_record(folder.path, tag).is_exit_in_mpi;
  };
  EXPECT_TRUE(leave("mpi", in_mpi));
  EXPECT_FALSE(leave("own", reinterpret_cast<const void*>(&stamp_exit)));
}

volatile std::sig_atomic_t former_called = 0;
void (*volatile chained)(int) = nullptr;
void chain_on(int signal) {
  former_called = former_called + 1;
  if (chained != nullptr) chained(signal);
}

TEST(FlightRecorderTest, FormerHandlerIsCalledAndIgnoredStaysIgnored) {
  const Folder folder;
  RankProcess rank(folder.path, "t", [](FlightRecorder& recorder) {
    std::signal(SIGTERM, chain_on);
    std::signal(SIGHUP, SIG_IGN);
    recorder.stamp_signals();
    raise(SIGHUP);
    raise(SIGTERM);
    recorder.place(former_called, 10);
    RankProcess::hang();
  });
  const FlightRecord record = only_record(folder.path, "t");
  EXPECT_EQ(record.rank, 1);
  EXPECT_EQ(record.signal, SIGTERM);  // the ignored one never arrived
}

// As an MPI library does it: its handler stands in front of ours and calls ours, while ours stands in front again.
TEST(FlightRecorderTest, LibraryThatChainsBackDoesNotLoop) {
  const Folder folder;
  RankProcess rank(folder.path, "t", [](FlightRecorder& recorder) {
    std::signal(SIGTERM, SIG_DFL);
    recorder.stamp_signals();
    struct sigaction ours {};
    sigaction(SIGTERM, nullptr, &ours);
    static struct sigaction saved;
    saved = ours;
    std::signal(SIGTERM, [](int signal) {
      former_called = former_called + 1;
      saved.sa_sigaction(signal, nullptr, nullptr);
    });
    recorder.stamp_signals();
    RankProcess::hang();
  });
  kill(rank.pid, SIGTERM);
  EXPECT_EQ(WTERMSIG(rank.wait()), SIGTERM);
  EXPECT_EQ(only_record(folder.path, "t").signal, SIGTERM);
}

TEST(FlightRecorderTest, ForkedChildDoesNotDisturb) {
  const Folder folder;
  auto recorder = FlightRecorder::create(folder.path, "t");
  ASSERT_TRUE(recorder.has_value());
  (*recorder)->phase(Phase::running);
  (*recorder)->step("command");
  const int child = fork();
  if (child == 0) {
    std::signal(SIGTERM, SIG_DFL);
    (*recorder)->stamp_signals();
    (*recorder)->step("in the child");
    (*recorder)->phase(Phase::finished);
    recorder->reset();
    raise(SIGTERM);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  const FlightRecord record = only_record(folder.path, "t");
  EXPECT_EQ(record.step, "command");
  EXPECT_EQ(record.phase, Phase::running);
  EXPECT_EQ(record.signal, 0);
  (*recorder)->phase(Phase::finished);
}

TEST(FlightRecorderTest, SignalInAForkedChildOfAStampingRankIsNotTheRanks) {
  const Folder folder;
  RankProcess rank(folder.path, "t", [](FlightRecorder& recorder) {
    std::signal(SIGTERM, SIG_DFL);
    recorder.stamp_signals();
    const int child = fork();
    if (child == 0) {
      raise(SIGTERM);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    recorder.place(WIFSIGNALED(status) ? WTERMSIG(status) : 0, 100);
    RankProcess::hang();
  });
  const FlightRecord record = only_record(folder.path, "t");
  EXPECT_EQ(record.rank, SIGTERM);
  EXPECT_EQ(record.signal, 0);
}

TEST(FlightRecorderTest, MappedSharedMemoryIsNoted) {
  const Folder folder;
  const std::string name = "muster_test_segment." + std::to_string(getpid());
  const std::string gone = name + ".gone";
  std::vector<void*> maps;
  for (const std::string& one : {name, gone}) {
    const int descriptor = shm_open(("/" + one).c_str(), O_CREAT | O_RDWR, 0600);
    ASSERT_GE(descriptor, 0);
    ASSERT_EQ(ftruncate(descriptor, 4096), 0);
    maps.push_back(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, descriptor, 0));
    close(descriptor);
  }
  shm_unlink(("/" + gone).c_str());
  auto recorder = FlightRecorder::create("/dev/shm", "noted");
  ASSERT_TRUE(recorder.has_value());
  (*recorder)->note_shared_memory();
  (*recorder)->note_shared_memory();
  const FlightRecord record = only_record("/dev/shm", "noted");
  EXPECT_EQ(std::count(record.shared_memory.begin(), record.shared_memory.end(), "/dev/shm/" + name), 1);
  for (const std::string& file : record.shared_memory) {
    EXPECT_EQ(file.find("/dev/shm/muster-"), std::string::npos);
    EXPECT_EQ(file.find(gone), std::string::npos);
  }
  (*recorder)->phase(Phase::finished);
  recorder->reset();
  for (void* map : maps) munmap(map, 4096);
  shm_unlink(("/" + name).c_str());
}

TEST(FlightRecorderTest, MoreSharedMemoryThanFitsIsCut) {
  std::vector<std::pair<std::string, void*>> maps;
  for (int i = 0; i < 30; ++i) {
    const std::string name = "/muster_test_many." + std::to_string(getpid()) + "." + std::to_string(i);
    const int descriptor = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
    ASSERT_EQ(ftruncate(descriptor, 4096), 0);
    maps.emplace_back(name, mmap(nullptr, 4096, PROT_READ, MAP_SHARED, descriptor, 0));
    close(descriptor);
  }
  const Folder folder;
  auto recorder = FlightRecorder::create(folder.path, "t");
  ASSERT_TRUE(recorder.has_value());
  (*recorder)->note_shared_memory();
  EXPECT_EQ(only_record(folder.path, "t").shared_memory.size(), 24u);
  for (const auto& [name, map] : maps) {
    munmap(map, 4096);
    shm_unlink(name.c_str());
  }
}

TEST(FlightRecorderTest, FolderComesFromTheEnvironment) {
  ASSERT_EQ(setenv("MUSTER_RECORDER_FOLDER", "/some/folder", 1), 0);
  EXPECT_EQ(recorder_folder(), "/some/folder");
  ASSERT_EQ(setenv("MUSTER_RECORDER_FOLDER", "", 1), 0);
  EXPECT_TRUE(recorder_folder() == "/dev/shm" || recorder_folder() == "/tmp");
  unsetenv("MUSTER_RECORDER_FOLDER");
}

TEST(FlightRecorderTest, EveryPhaseHasItsOwnName) {
  std::vector<std::string_view> names;
  for (std::uint32_t i = 0; i <= static_cast<std::uint32_t>(Phase::finished); ++i)
    names.push_back(to_string(static_cast<Phase>(i)));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_EQ(to_string(static_cast<Phase>(99)), "unknown");
}

TEST(ProcessStatusTest, NameMayHoldAnything) {
  const std::string rest = " S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654321 1000 20";
  const ProcessStatus wanted{'S', 42, 987654321};
  EXPECT_EQ(parse_process_status("7 (sh)" + rest), wanted);
  EXPECT_EQ(parse_process_status("7 (a b) R 1 (c)" + rest + "\n"), wanted);
  EXPECT_EQ(parse_process_status("7 ()))" + rest), wanted);
  EXPECT_EQ(parse_process_status(""), std::nullopt);
  EXPECT_EQ(parse_process_status("7 (sh)"), std::nullopt);
  EXPECT_EQ(parse_process_status("7 (sh) S 1 2 3"), std::nullopt);
  EXPECT_EQ(parse_process_status("7 (sh) S 1 x" + rest), std::nullopt);
  EXPECT_EQ(process_status(0), std::nullopt);
  EXPECT_TRUE(process_status(getpid()).has_value());
}

}  // namespace
}  // namespace muster
