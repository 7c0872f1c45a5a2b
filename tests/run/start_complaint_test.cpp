// What the driver makes of an agent that can't even begin.
#include "run/start_complaint.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run/other_mpi.hpp"
#include "system/system.hpp"

namespace muster {
namespace {

const Error full{ErrorKind::system, "/dev/shm/muster-1", "no space for it: No space left on device"};
const Error missing{ErrorKind::system, "/shm/muster-1", "can't create it: No such file or directory"};

TEST(StartComplaint, FullSharedMemoryIsTheNodesFault) {
  const auto text = "srun: some words\n2: " + complaint_line("nid002", full) + complaint_line("nid001", full);
  const auto finding = explain_complaint(text, {"nid001", "nid002.cluster"});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::fail);
  EXPECT_EQ(
      finding->reason,
      "no space left in /dev/shm of nid002.cluster and nid001: muster's agent can't start there (/dev/shm/muster-1: no "
      "space for it: No space left on device)");
  // With the file no node is drained (Drain.NotForWhatTheNodeMayNotHaveDone): any user may have filled it.
  EXPECT_EQ(finding->culprits, (std::vector<Culprit>{{CulpritKind::node, "nid002.cluster", "nid002.cluster", -1},
                                                     {CulpritKind::file, "/dev/shm", "nid002.cluster", -1},
                                                     {CulpritKind::node, "nid001", "nid001", -1},
                                                     {CulpritKind::file, "/dev/shm", "nid001", -1}}));
  EXPECT_NE(finding->remedy.find("df /dev/shm"), std::string::npos);
}

TEST(StartComplaint, AFullFolderForTemporaryFilesIsNamedWithItsNodes) {
  const std::string text =
      "[nid002:13870] PMIX ERROR: OUT-OF-RESOURCE in file ../../src/mca/common/dstore/dstore_segment.c at line 208\n"
      "[nid002:13871] PMIX ERROR: OUT-OF-RESOURCE in file ../../../src/client/pmix_client.c at line 323\n"
      "[nid001:13886] PMIX ERROR: ERROR in file ../../src/mca/gds/ds12/gds_ds12_lock_pthread.c at line 169\n";
  const auto finding = explain_complaint(text, {"nid001", "nid002.cluster"});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::fail);
  EXPECT_EQ(finding->reason,
            "no space left for Open MPI's files on nid002.cluster, in TMPDIR or else in /tmp: its ranks can't start "
            "there");
  EXPECT_EQ(finding->culprits, (std::vector<Culprit>{{CulpritKind::node, "nid002.cluster", "nid002.cluster", -1},
                                                     {CulpritKind::file, "TMPDIR", "nid002.cluster", -1}}));
  EXPECT_NE(finding->remedy.find("df"), std::string::npos);
  const auto elsewhere = explain_complaint(text, {"nid007"});
  ASSERT_TRUE(elsewhere);
  EXPECT_EQ(elsewhere->verdict, Verdict::error);
  EXPECT_TRUE(elsewhere->culprits.empty());
  EXPECT_FALSE(explain_complaint("] PMIX ERROR: OUT-OF-RESOURCE /dstore/\n[] PMIX ERROR: OUT-OF-RESOURCE /dstore/\n",
                                 {"nid001"}));
  // As where another user floods its port.
  EXPECT_FALSE(explain_complaint(
      "[nid001:18252] PMIX ERROR: OUT-OF-RESOURCE in file ../../src/mca/ptl/base/ptl_base_listener.c at line 207\n",
      {"nid001"}));
}

// Printed by ranks on a file system with 16 inodes, on which their launcher's own files had room.
TEST(StartComplaint, AFolderThatARankCanNotMakeForLackOfInodesIsNamedWithItsNode) {
  const std::string text =
      "A call to mkdir was unable to create the desired directory:\n  Directory: /tmp/ompi.nid002.0/pid.25241/1\n"
      "  Error:     No space left on device\n"
      "[nid002:25246] [[3687,1],1] ORTE_ERROR_LOG: Error in file ../../../orte/util/session_dir.c at line 107\n";
  const auto finding = explain_complaint(text, {"nid001", "nid002.cluster"});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::fail);
  EXPECT_EQ(finding->culprits, (std::vector<Culprit>{{CulpritKind::node, "nid002.cluster", "nid002.cluster", -1},
                                                     {CulpritKind::file, "TMPDIR", "nid002.cluster", -1}}));
  EXPECT_FALSE(explain_complaint("  Directory: /tmp/ompi.nid002.0/1\n  Error:     Permission denied\n", {"nid002"}));
  EXPECT_FALSE(explain_complaint("  Directory: /data\n  Error:     No space left on device\n", {"nid002"}));
  EXPECT_FALSE(
      explain_complaint("  Directory: /tmp/ompi.nid002.0/1\n  Error:     Not a directory\n"
                        "  Error:     No space left on device\n",
                        {"nid002"}));
  EXPECT_TRUE(
      explain_complaint("  Directory: /ompi.tmp/ompi.nid002.0/1\n  Error: No space left on device\n", {"nid002"}));
}

TEST(StartComplaint, AReadOnlyFolderForTemporaryFilesIsTheNodesFault) {
  const std::string words =
      "A call to mkdir was unable to create the desired directory:\n\n  Directory: /tmp/ompi.nid002.0/pid.7\n"
      "  Error:     Read-only file system\n\nPlease check to ensure\n";
  const auto finding = explain_complaint(words, {"nid001", "nid002.cluster"});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::fail);
  EXPECT_EQ(finding->reason,
            "the file system of TMPDIR, or else of /tmp, is read-only on nid002.cluster: Open MPI can't make "
            "/tmp/ompi.nid002.0/pid.7");
  EXPECT_EQ(finding->culprits, (std::vector<Culprit>{{CulpritKind::node, "nid002.cluster", "nid002.cluster", -1},
                                                     {CulpritKind::file, "TMPDIR", "nid002.cluster", -1}}))
      << "no node is drained for a file, which a setting may name";
  EXPECT_FALSE(explain_complaint(words, {"nid001"})) << "of another node";
}

// What mpirun printed where it lost its own notice: "Data unpack would read past end of buffer".
TEST(StartComplaint, AFolderThatWasNotMadeIsNamedWithItsNode) {
  const std::string line =
      "[nid002:29771] [[6331,1],0] ORTE_ERROR_LOG: Error in file ../orte/util/session_dir.c at line 107\n";
  const auto finding = explain_complaint("[nid001:1] x\n" + line + line, {"nid001", "nid002"});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::fail);
  EXPECT_EQ(finding->reason, "Open MPI can't make its folder on nid002, in TMPDIR or else in /tmp");
  EXPECT_EQ(finding->culprits, (std::vector<Culprit>{{CulpritKind::node, "nid002", "nid002", -1},
                                                     {CulpritKind::file, "TMPDIR", "nid002", -1}}));
  const auto tagged = explain_complaint("[1,0]<stderr>:" + line, {"nid001", "nid002"});
  EXPECT_EQ(tagged ? tagged->culprits : std::vector<Culprit>(), finding->culprits);
  EXPECT_FALSE(explain_complaint("A call to mkdir was unable to create the desired directory:\n" + line, {"nid002"}))
      << "its notice has the error";
  EXPECT_FALSE(
      explain_complaint("[nid002:1] ORTE_ERROR_LOG: Error in file ../orte/util/nidmap.c at line 1\n", {"nid002"}));
}

TEST(StartComplaint, AFolderThatAnotherLauncherRemovedIsACollision) {
  const auto with = [](const char* folder, const char* error) {
    return has_collided(
        fmt::format("A call to mkdir was unable to create the desired directory:\n\n  Directory: {}\n"
                    "  Error:     {}\n\nPlease check to ensure\n",
                    folder, error));
  };
  EXPECT_TRUE(with("/tmp/ompi.nid002.0", "No such file or directory"));
  EXPECT_TRUE(with("/tmp/ompi.nid002.0/pid.7", "File exists"));
  EXPECT_FALSE(with("/tmp/ompi.nid002.0/pid.7", "No space left on device"));
  EXPECT_FALSE(with("/tmp/results", "No such file or directory"));
  EXPECT_FALSE(has_collided("  Error:     No such file or directory\n"));
}

TEST(StartComplaint, AnotherNodeIsNotBlamed) {
  const auto finding = explain_complaint(complaint_line("other", full), {"nid001"});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::error);
  EXPECT_TRUE(finding->culprits.empty());
}

TEST(StartComplaint, AFolderThatIsMissingIsAnErrorOfTheSurroundings) {
  const auto finding = explain_complaint(complaint_line(host_name(), missing), {});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::error);
  EXPECT_TRUE(finding->culprits.empty());
  EXPECT_NE(finding->remedy.find("MUSTER_RECORDER_FOLDER"), std::string::npos);
}

TEST(StartComplaint, AnotherMpiIsNamedWithWhatToDo) {
  const auto finding = explain_complaint(
      complaint_line("nid001", {ErrorKind::system, "MPI", other_mpi("MPICH 4.0.2", "Intel(R) MPI Library 2021.18")}),
      {"nid001"});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::error);
  EXPECT_EQ(finding->reason,
            "muster's agent can't start on nid001: MPI: built for MPICH 4.0.2, and finds another MPI: Intel(R) MPI "
            "Library 2021.18");
  EXPECT_TRUE(finding->culprits.empty());
  EXPECT_NE(finding->remedy.find("built with the MPI of the container"), std::string::npos);
}

// As with mpiexec of MPICH and a bundle of Open MPI's agent in a container.
TEST(StartComplaint, ALauncherOfAnotherMpiIsNamedWithWhatToDo) {
  EXPECT_EQ(other_launcher("Open MPI 4.1.4", "MPICH"),
            "built for Open MPI 4.1.4, and started by the launcher of another MPI: MPICH");
  EXPECT_EQ(other_launcher("Open MPI 4.1.4", "Open MPI"), "");
  EXPECT_EQ(other_launcher("Open MPI 4.1.4", "Slurm"), "");
  EXPECT_EQ(other_launcher("MPICH 4.0.2", "MPICH"), "");
  EXPECT_EQ(other_launcher("MPICH 4.0.2", "Open MPI"), "") << "it may come by PMIx";
  const auto finding = explain_complaint(
      complaint_line("nid001", {ErrorKind::system, "MPI", other_launcher("Open MPI 4.1.4", "MPICH")}), {"nid001"});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::error);
  EXPECT_TRUE(finding->culprits.empty());
  EXPECT_NE(finding->remedy.find("built with the launcher's MPI with --agent"), std::string::npos);
}

TEST(StartComplaint, ALimitOfTheRankIsAnErrorWithTheCommandThatRaisesIt) {
  const Error narrow{ErrorKind::system, "",
                     "this process may open only 4 more files, and needs 32; raise the limit: ulimit -n 1024"};
  const auto finding = explain_complaint(complaint_line("nid001", narrow), {"nid001"});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::error);
  EXPECT_TRUE(finding->culprits.empty());
  EXPECT_EQ(finding->remedy, "raise the limit of the job on nid001: ulimit -n 1024");
}

TEST(StartComplaint, ALimitOnProcessesIsNamedWithItsValue) {
  const Error few{ErrorKind::system, "MPI",
                  "this process can start only 1 of 2 threads (Resource temporarily unavailable); pids.max of its "
                  "control group is 5; raise the limit: ulimit -u and pids.max"};
  const auto finding = explain_complaint(complaint_line("nid001", few), {"nid001"});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::error);
  EXPECT_NE(finding->reason.find("pids.max of its control group is 5"), std::string::npos);
  EXPECT_EQ(finding->remedy, "raise the limit of the job on nid001: ulimit -u and pids.max");
}

// Where a daemon of Open MPI could not start a rank.
TEST(StartComplaint, ADaemonThatCanNotStartARankIsNamedWithItsNode) {
  const std::string line =
      "[nid001:17099] [[22451,0],1] ORTE_ERROR_LOG: The system limit on number of children a process can have was "
      "reached in file ../orte/mca/odls/default/odls_default_module.c at line 657\n";
  const auto finding = explain_complaint(line, {"nid001.cluster", "nid002"});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::error);
  EXPECT_EQ(
      finding->reason,
      "the limit on processes and threads is reached on nid001.cluster: the daemon of Open MPI can't start a rank "
      "there");
  EXPECT_NE(finding->remedy.find("ulimit -u"), std::string::npos);
  EXPECT_FALSE(explain_complaint(line, {"nid002"}));
}

TEST(StartComplaint, OtherWordsAreNone) {
  for (const char* text : {"", "muster-rank: something", "muster-rank on nid001", "mpirun ended"})
    EXPECT_FALSE(explain_complaint(text, {"nid001"})) << text;
}

TEST(StartComplaint, AComponentOfOpenMpiThatIsNotThereIsAboutTheVariable) {
  const auto finding = explain_complaint(
      "---\nA requested component was not found, or was unable to be opened.  This\nmeans that\n\nHost:      nid002\n"
      "Framework: btl\nComponent: nosuch\n---\nsrun: error: nid002: task 0: Exited with exit code 1\n",
      {"nid001", "nid002"});
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::error);
  EXPECT_EQ(finding->reason, "Open MPI has no component nosuch of btl on nid002, or can't open it");
  EXPECT_EQ(finding->culprits, (std::vector<Culprit>{{CulpritKind::setting, "OMPI_MCA_btl", "", -1}}));
  EXPECT_FALSE(explain_complaint("A requested component was not found\n", {}));
}

}  // namespace
}  // namespace muster
