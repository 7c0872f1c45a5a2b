#include "run/stuck_finalize.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

// As MPI_Get_library_version returns them; the lines about how they were configured are left out.
constexpr const char* debian12 =
    "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\nMPICH ABI:\t14:2:2\nMPICH "
    "Device:\tch4:ucx\n";

TEST(StuckFinalize, OnlyMpichOfTheseVersionsWithUcx) {
  EXPECT_TRUE(can_hang_in_finalize(debian12));
  EXPECT_TRUE(can_hang_in_finalize("MPICH Version:      4.1.2\nMPICH Device:       ch4:ucx\n"));
  EXPECT_FALSE(can_hang_in_finalize("MPICH Version:      4.2.0\nMPICH Device:       ch4:ucx\n"));
  EXPECT_FALSE(can_hang_in_finalize("MPICH Version:      5.0.2\nMPICH Device:       ch4:ucx\n"));
  EXPECT_FALSE(can_hang_in_finalize("MPICH Version:\t4.0.2\nMPICH Device:\tch4:ofi\n"));
  EXPECT_FALSE(can_hang_in_finalize("MPICH Version:"));
  EXPECT_FALSE(can_hang_in_finalize("Open MPI v4.1.4, package: Debian OpenMPI"));
  EXPECT_FALSE(can_hang_in_finalize(""));
}

TEST(StuckFinalize, NoteCountsRanks) {
  const std::string line = "muster-rank: left MPI_Finalize, which did not return\n";
  EXPECT_EQ(note_of_left_finalize(""), "");
  EXPECT_EQ(note_of_left_finalize("muster-rank: something else\n"), "");
  EXPECT_NE(note_of_left_finalize(line).find("did not return within 3 s after all cases had ended; 1 rank left it"),
            std::string::npos);
  EXPECT_NE(note_of_left_finalize("[0] " + line + line + "other\n" + line).find("3 ranks left it"), std::string::npos);
}

}  // namespace
}  // namespace muster
