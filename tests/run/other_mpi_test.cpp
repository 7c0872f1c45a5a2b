#include "run/other_mpi.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

// As the libraries print them.
constexpr const char* openmpi4 =
    "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022";
constexpr const char* openmpi5 = "Open MPI v5.0.8, package: Open MPI builder, ident: 5.0.8";
constexpr const char* intel = "Intel(R) MPI Library 2021.18 for Linux* OS";
constexpr const char* mpich = "MPICH Version:      4.0.2";
constexpr const char* cray = "MPI VERSION    : CRAY MPICH version 8.1.27.26 (ANL base 3.4a2)";

TEST(OtherMpi, TheSameIsNone) {
  EXPECT_EQ(other_mpi("Open MPI 4.1.4", openmpi4), "");
  EXPECT_EQ(other_mpi("MPICH 4.0.2", mpich), "");
  EXPECT_EQ(other_mpi("MPICH 3.4.3", mpich), "") << "one ABI";
  EXPECT_EQ(other_mpi("MPICH 3.4a2", cray), "") << "Cray's mpi.h says so";
  EXPECT_EQ(other_mpi("Cray MPICH 3.4a2", cray), "");
  EXPECT_EQ(other_mpi("Intel MPI 2021.18.1", intel), "");
}

TEST(OtherMpi, AnotherIsNamedWithBoth) {
  EXPECT_EQ(other_mpi("MPICH 4.0.2", intel),
            "built for MPICH 4.0.2, and finds another MPI: Intel(R) MPI Library 2021.18 for Linux* OS");
  EXPECT_NE(other_mpi("Cray MPICH 3.4a2", mpich), "");
  EXPECT_NE(other_mpi("Cray MPICH 3.4a2", intel), "");
  EXPECT_NE(other_mpi("Intel MPI 2021.18.1", cray), "");
  EXPECT_NE(other_mpi("Open MPI 4.1.4", openmpi5), "");
  EXPECT_NE(other_mpi("MPICH 4.0.2", "MVAPICH2 Version      :\t2.3.7"), "");
}

TEST(OtherMpi, WhatIsNotKnownIsNotJudged) {
  EXPECT_EQ(other_mpi("", intel), "");
  EXPECT_EQ(other_mpi("MPICH 4.0.2", "unknown MPI"), "");
}

}  // namespace
}  // namespace muster
