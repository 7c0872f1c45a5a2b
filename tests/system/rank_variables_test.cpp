#include "system/rank_variables.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

namespace muster {
namespace {

AskedBinding two(Binder binder = Binder::launcher) {
  AskedBinding asked;
  asked.binder = binder;
  asked.masks = {*CpuMask::parse_list("1-7"), *CpuMask::parse_list("9-15")};
  asked.gpus = {4, -1};
  asked.nics = {"hsn2", ""};
  return asked;
}

class Variables : public testing::Test {
 protected:
  static constexpr const char* names[] = {"MUSTER_TEST_RANK", "MUSTER_TEST_NIC", "MUSTER_TEST_GPU",
                                          "MUSTER_TEST_BRACES"};
  void SetUp() override {
    ::setenv("MUSTER_TEST_RANK", "{local_rank}-{local_rank}", 1);
    ::setenv("MUSTER_TEST_NIC", "{nic}:1", 1);
    ::setenv("MUSTER_TEST_GPU", "{gpu}", 1);
    ::setenv("MUSTER_TEST_BRACES", "{\"json\": 1}", 1);
  }
  void TearDown() override {
    for (const char* name : names) ::unsetenv(name);
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    ::unsetenv("CUDA_DEVICE_ORDER");
    for (const char* name : {"ZE_AFFINITY_MASK", "ZE_FLAT_DEVICE_HIERARCHY", "ZE_ENABLE_PCI_ID_DEVICE_ORDER"})
      ::unsetenv(name);
  }
  static std::string value(const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? "not set" : text;
  }
};

TEST_F(Variables, PlaceholdersBecomeWhatTheRankHas) {
  fill_rank_variables(0, two());
  EXPECT_EQ(value("MUSTER_TEST_RANK"), "0-0");
  EXPECT_EQ(value("MUSTER_TEST_NIC"), "hsn2:1");
  EXPECT_EQ(value("MUSTER_TEST_GPU"), "4");
  EXPECT_EQ(value("MUSTER_TEST_BRACES"), "{\"json\": 1}");
}

TEST_F(Variables, WithoutACardTheVariableIsNotSetAndWithoutAGpuItIsThatOfTheLocalRank) {
  fill_rank_variables(1, two());
  EXPECT_EQ(value("MUSTER_TEST_NIC"), "not set");
  EXPECT_EQ(value("MUSTER_TEST_GPU"), "1");
}

TEST_F(Variables, WithoutABindingOnlyTheLocalRankIsKnown) {
  fill_rank_variables(3, std::nullopt);
  EXPECT_EQ(value("MUSTER_TEST_RANK"), "3-3");
  EXPECT_EQ(value("MUSTER_TEST_NIC"), "not set");
  EXPECT_EQ(value("MUSTER_TEST_GPU"), "3");
}

TEST_F(Variables, AnUnknownRankChangesNothing) {
  fill_rank_variables(-1, two());
  EXPECT_EQ(value("MUSTER_TEST_RANK"), "{local_rank}-{local_rank}");
}

TEST_F(Variables, TheGpuVariableIsSetUnlessOptionsOfTheUserBind) {
  AskedBinding asked = two(Binder::options);
  asked.gpu_variable = "CUDA_VISIBLE_DEVICES";
  fill_rank_variables(0, asked);
  EXPECT_EQ(value("CUDA_VISIBLE_DEVICES"), "not set");
  asked.binder = Binder::agent;
  fill_rank_variables(0, asked);
  EXPECT_EQ(value("CUDA_VISIBLE_DEVICES"), "4");
  EXPECT_EQ(value("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
}

TEST_F(Variables, TheMaskOfLevelZeroCountsWholeGpusByAddress) {
  AskedBinding asked = two();
  asked.gpu_variable = "ZE_AFFINITY_MASK";
  fill_rank_variables(0, asked);
  EXPECT_EQ(value("ZE_AFFINITY_MASK"), "4");
  EXPECT_EQ(value("ZE_FLAT_DEVICE_HIERARCHY"), "COMPOSITE");
  EXPECT_EQ(value("ZE_ENABLE_PCI_ID_DEVICE_ORDER"), "1");
  EXPECT_EQ(value("CUDA_DEVICE_ORDER"), "not set");
}

}  // namespace
}  // namespace muster
