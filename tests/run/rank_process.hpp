/// Real processes that keep a flight recorder, for tests that stop, kill and crash them.
#pragma once

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <poll.h>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/flight_recorder.hpp"

namespace muster {

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "muster-recorder-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};

/// A child process that keeps a recorder, says so, and then does what the test wants.
class RankProcess {
 public:
  RankProcess(const fs::path& folder, const std::string& tag, const std::function<void(FlightRecorder&)>& act) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
      ready_ = ends[1];
      auto recorder = FlightRecorder::create(folder, tag);
      if (!recorder) _exit(99);
      self_ = this;
      act(**recorder);
      recorder->reset();
      _exit(0);
    }
    close(ends[1]);
    pollfd ready{ends[0], POLLIN, 0};
    EXPECT_EQ(poll(&ready, 1, 30000), 1) << "the child said nothing within 30 s";
    close(ends[0]);
  }
  ~RankProcess() {
    if (!is_reaped_) {
      kill(pid, SIGKILL);
      wait();
    }
  }
  /// In the child: what the test looks at is written.
  static void ready() { EXPECT_EQ(write(self_->ready_, "r", 1), 1); }
  [[noreturn]] static void hang() {
    ready();
    // ThreadSanitizer keeps a signal that meets the way into a wait until the next one.
    const timespec second{1, 0};
    for (;;) ppoll(nullptr, 0, &second, nullptr);
  }
  /// For up to 10 s, until hang() waits in the kernel. ThreadSanitizer runs the handler of a signal that it takes for a
  /// fault at once, also where the signal came from kill() and meets it with a lock of its own in hand.
  void wait_until_paused() const {
    for (int tries = 0; tries < 10000; ++tries) {
      std::ifstream file("/proc/" + std::to_string(pid) + "/syscall");
      long number = -1;
      // Not readable on some kernels; while the process runs, it has no number.
      if (!file || (file >> number && (number == SYS_ppoll))) return;
      usleep(1000);
    }
    ADD_FAILURE() << "the child does not wait";
  }
  int wait() {
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    is_reaped_ = true;
    return status;
  }
  int pid = -1;

 private:
  inline static RankProcess* self_ = nullptr;
  int ready_ = -1;
  bool is_reaped_ = false;
};

}  // namespace muster
