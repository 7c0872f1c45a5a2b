// The spool on a disk without a byte left: a small tmpfs that only a child sees.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.hpp"
#include "run/sample_spool.hpp"

namespace muster {
namespace {

using namespace test;

using SpoolOnFullDisk = SpoolFile;

/// Runs `body` in a child with its own mounts and a tmpfs of `bytes` at `folder`. The child's exit status; -1 when
/// this machine does not let us, `why` then says so.
template <class Body>
int in_small_disk(const fs::path& folder, std::size_t bytes, std::string& why, Body body) {
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto options = fmt::format("size={}", bytes);
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", folder.c_str(), "tmpfs", 0, options.c_str()) != 0) {
      const std::string text = std::strerror(errno);
      (void)!::write(pipe_ends[1], text.data(), text.size());
      ::_exit(0);
    }
    body();
    // gtest's failures of the child are told by its status; its output is ours.
    ::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 1 : 42);
  }
  ::close(pipe_ends[1]);
  char text[200];
  const auto got = ::read(pipe_ends[0], text, sizeof text);
  ::close(pipe_ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (got > 0) return why.assign(text, static_cast<std::size_t>(got)), -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/// Fills the file system below `folder` to the last byte.
void fill(const fs::path& folder) {
  std::ofstream out(folder / "filler", std::ios::binary);
  const std::string block(4096, 'f');
  while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
}

CaseRecord large_record(int case_index) {
  auto record = good_record(case_index);
  record.observations[0].output.assign(100'000, 'o');
  return record;
}

/// A plan on a full disk: bulk gives way, and every verdict is kept.
void verdicts_outlive_the_disk(const fs::path& file, bool full_from_the_start) {
  constexpr int cases = 400;
  {
    auto spool = Spool::create(file);
    ASSERT_TRUE(spool) << to_string(spool.error());
    if (full_from_the_start) fill(file.parent_path());
    ASSERT_TRUE(spool->plan(plan_of(cases), header()));
    ASSERT_TRUE(spool->world(0, two_ranks()));
    int refused = 0;
    for (int i = 0; i < cases; ++i) {
      const auto written = spool->record(large_record(i));
      if (!written) {
        ++refused;
        EXPECT_EQ(written.error().kind, ErrorKind::system);
        EXPECT_TRUE(spool->is_degraded());
        // Even if others take the last bytes of the disk now.
        fill(file.parent_path());
      }
      const auto verdict = spool->verdict(fmt::format("hello%{:08x}", i),
                                          {1, i % 2 == 0 ? Verdict::pass : Verdict::fail, std::string(500, 'r'), 1, 0});
      ASSERT_TRUE(verdict) << i << ": " << to_string(verdict.error());
    }
    EXPECT_EQ(refused, 1);  // told once
  }
  const auto report = recover_spool(file);
  ASSERT_TRUE(report) << to_string(report.error());
  ASSERT_EQ(report->cases.size(), static_cast<std::size_t>(cases));
  int measured = 0;
  for (int i = 0; i < cases; ++i) {
    const auto& result = report->cases[static_cast<std::size_t>(i)];
    if (!result.metrics.empty())
      ++measured;
    else
      EXPECT_EQ(result.verdict, i % 2 == 0 ? Verdict::pass : Verdict::fail) << i;
  }
  if (!full_from_the_start) {
    EXPECT_GT(measured, 10);
  }
  EXPECT_LT(measured, cases);
}

TEST_F(SpoolOnFullDisk, KeepsEveryVerdictWhenTheDiskFillsUp) {
  std::string why;
  const int status = in_small_disk(folder_, 6u << 20, why, [&] { verdicts_outlive_the_disk(file(), false); });
  if (status == -1) GTEST_SKIP() << "no private tmpfs here: " << why;
  EXPECT_EQ(status, 42);
}

TEST_F(SpoolOnFullDisk, KeepsEveryVerdictWhenOthersFillTheDisk) {
  std::string why;
  const int status = in_small_disk(folder_, 6u << 20, why, [&] { verdicts_outlive_the_disk(file(), true); });
  if (status == -1) GTEST_SKIP() << "no private tmpfs here: " << why;
  EXPECT_EQ(status, 42);
}

TEST_F(SpoolOnFullDisk, CanNotBeCreatedWithoutRoomForItsReserve) {
  std::string why;
  const int status = in_small_disk(folder_, 64u << 10, why, [&] {
    const auto spool = Spool::create(file());
    ASSERT_FALSE(spool);
    EXPECT_EQ(spool.error().kind, ErrorKind::system);
  });
  if (status == -1) GTEST_SKIP() << "no private tmpfs here: " << why;
  EXPECT_EQ(status, 42);
}

TEST_F(SpoolOnFullDisk, SaysWhenEvenTheReserveIsUsedUp) {
  std::string why;
  const int status = in_small_disk(folder_, 2u << 20, why, [&] {
    auto spool = Spool::create(file());
    ASSERT_TRUE(spool);
    ASSERT_TRUE(spool->plan(plan_of(1), header()));
    fill(folder_);
    int kept = 0;
    Result<void> written;
    while (kept < 100'000 && (written = spool->verdict("hello%00000000", {1, Verdict::fail, "r", 1, 0}))) ++kept;
    EXPECT_GT(kept, 1000);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind, ErrorKind::system);
    // What was written before is still whole.
    const auto report = recover_spool(file());
    ASSERT_TRUE(report);
    EXPECT_EQ(report->notes.size(), 1u) << join(report->notes, "\n");
  });
  if (status == -1) GTEST_SKIP() << "no private tmpfs here: " << why;
  EXPECT_EQ(status, 42);
}

}  // namespace
}  // namespace muster
