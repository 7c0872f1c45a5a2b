#include "run/rank_complaint.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(RankComplaint, IsTheLastLineThatTellsOfAnError) {
  EXPECT_EQ(rank_complaint(""), "");
  EXPECT_EQ(rank_complaint("hello\nworld\n"), "");
  EXPECT_EQ(
      rank_complaint("first error: a\nprogress 3 of 4\n  terminate called after throwing 'std::bad_alloc'\nbye\n"),
      "terminate called after throwing 'std::bad_alloc'");
  EXPECT_EQ(rank_complaint("x: Cannot allocate\x1b[31m memory\n"), "x: Cannot allocate\\x1b[31m memory");
  EXPECT_LE(rank_complaint("error " + std::string(4000, 'x')).size(), 210u);
}

TEST(RankComplaint, IsNoFrameOfAStack) {
  EXPECT_EQ(rank_complaint("[vm:77:0:77] Caught signal 11 (Segmentation fault: address not mapped)\n"
                           "==== backtrace (tid:     77) ====\n"
                           " 0  /lib/x86_64-linux-gnu/libucs.so.0(ucs_handle_error+0x2e4) [0x7fbb64c3d4c4]\n"),
            "");
}

TEST(RankComplaint, IsNotTheLaunchers) {
  EXPECT_EQ(rank_complaint("muster-rank: unsupported PMI version PMIx\n"
                           "[mpiexec@nid001] main (mpiexec.c:270): process manager error waiting for completion\n"),
            "muster-rank: unsupported PMI version PMIx");
  const std::string rule(74, '-');
  EXPECT_EQ(rank_complaint(rule +
                           "\nprterun detected that one or more processes exited with non-zero status,\n"
                           "thus causing the job to be terminated: an error\n" +
                           rule + "\n"),
            "");
  EXPECT_EQ(rank_complaint("[nid001:00000] *** An error occurred in Socket closed\n"), "");
  EXPECT_EQ(rank_complaint("[vm:9] 7 more processes have sent help message help-mpi-errors.txt / unknown handle\n"),
            "");
}

// Seen with Open MPI 4.1.4 on a busy machine.
constexpr std::string_view harmless =
    "[nid001:14430] plm:rsh: Warning: setpgid(14445,14445) failed in parent with errno=Permission denied(13)\n";

TEST(RankComplaint, IsNotOfALauncherThatStartedALittleLate) {
  EXPECT_EQ(rank_complaint(harmless), "");
}

TEST(LauncherComplaint, IsTheFirstLineOrElseTheFirstWarning) {
  EXPECT_EQ(launcher_complaint("-----\nWarning: a\nWarning: b\nno such option\nbye\n"), "no such option");
  EXPECT_EQ(launcher_complaint("=====\nWarning: a\nWarning: b\n"), "Warning: a");
  EXPECT_EQ(launcher_complaint(harmless), "");
  EXPECT_EQ(launcher_complaint(std::string(harmless) + "Warning: b\n"), "Warning: b");
  EXPECT_EQ(launcher_complaint(""), "");
}

}  // namespace
}  // namespace muster
