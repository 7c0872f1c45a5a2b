#include "run/init_failure.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

const std::string rule = std::string(74, '-') + "\n";

// Written by Open MPI 4.1.4 on four nodes, of which none has hsn9.
const std::string invalid =
    rule + "WARNING: An invalid value was given for btl_tcp_if_include.  This\nvalue will be ignored.\n\n" +
    "  Local host: nid003\n  Value:      hsn9\n  Message:    Unknown interface name\n" + rule;
const std::string unreachable = rule +
                                "At least one pair of MPI processes are unable to reach each other for\n"
                                "MPI communications.  This means that no Open MPI device has indicated\n"
                                "that it can be used to communicate between these processes.\n\n"
                                "  Process 1 ([[30717,1],2]) is on host: nid002\n" +
                                rule;
const std::string end =
    rule +
    "MPI_INIT has failed because at least one MPI process is unreachable\n"
    "from another.  This *usually* means that an underlying communication\nplugin has not loaded.\n" +
    rule + "[nid002:26665] *** An error occurred in MPI_Init\n";
const std::string more =
    "[vclogin:26639] 7 more processes have sent help message help-mpi-btl-tcp.txt / invalid if_inexclude\n"
    "[vclogin:26639] 5 more processes have sent help message help-mpi-runtime.txt / "
    "mpi_init:startup:pml-add-procs-fail\n";

TEST(InitFailureTest, IsTheNoticeBeforeTheEndOfMpiInit) {
  const InitFailure failure = init_failure("[vm:1] plm:rsh: Warning: setpgid failed\n" + unreachable + end);
  EXPECT_EQ(failure.reason, "At least one pair of MPI processes are unable to reach each other for MPI communications");
  EXPECT_EQ(failure.setting, "");
  EXPECT_EQ(init_failure(end).reason,
            "MPI_INIT has failed because at least one MPI process is unreachable from another");
  EXPECT_EQ(init_failure("[nid002:26665] *** An error occurred in MPI_Init\n").reason, "An error occurred in MPI_Init");
}

TEST(InitFailureTest, ARejectedValueIsTheReasonWithTheNumberOfRanksThatRejectedIt) {
  const InitFailure failure = init_failure(invalid + unreachable + end + more);
  EXPECT_EQ(failure.reason, "An invalid value was given for btl_tcp_if_include: hsn9 (Unknown interface name)");
  EXPECT_EQ(failure.setting, "btl_tcp_if_include");
  EXPECT_EQ(failure.ranks, 8);
  EXPECT_EQ(init_failure(invalid + unreachable + end).ranks, 1);
}

TEST(InitFailureTest, IsTheEndOfTheFirstStackOfMpich) {
  // Written by MPICH 4.0.2 with UCX_NET_DEVICES=mlx5_9:1 on two nodes.
  const std::string stack =
      "Abort(607768079) on node 1 (rank 1 in comm 0): Fatal error in internal_Init: Other MPI error, error stack:\n"
      "internal_Init(59).............: MPI_Init(argc=0x7fff4b78156c, argv=0x7fff4b781560) failed\n"
      "MPII_Init_thread(232).........: \n"
      "initial_address_exchange(145).:  ucx function returned with failed status(ucx_init.c 145 "
      "initial_address_exchange Destination is unreachable)\n";
  EXPECT_EQ(
      init_failure(stack + "Abort(2) on node 2 (rank 2 in comm 0): Fatal error in internal_Init: a\nf(1): b\n").reason,
      "ucx function returned with failed status(ucx_init.c 145 initial_address_exchange Destination is unreachable)");
}

TEST(InitFailureTest, IsEmptyWhereMpiInitDidNotFail) {
  EXPECT_EQ(init_failure("").reason, "");
  EXPECT_EQ(init_failure(invalid).reason, "");
  EXPECT_EQ(init_failure("Abort(1) on node 0 (rank 0 in comm 0): Fatal error in PMPI_Recv: Other MPI error\nf(1): b\n")
                .reason,
            "");
  EXPECT_EQ(init_failure(rule + "no end").reason, "");
}

}  // namespace
}  // namespace muster
