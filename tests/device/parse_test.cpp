#include "device/parse.hpp"

#include <gtest/gtest.h>

namespace muster {

TEST(DeviceParse, Ids) {
  EXPECT_EQ(parse_id("0x10de\n"), "10de");
  EXPECT_EQ(parse_id("0x030200"), "030200");
  EXPECT_EQ(parse_id("none"), "");
  EXPECT_EQ(parse_id(""), "");
}

TEST(DeviceParse, NumbersWithWhatFollows) {
  EXPECT_EQ(parse_amount("32.0 GT/s PCIe"), 32);
  EXPECT_EQ(parse_amount("2.5 GT/s"), 2.5);
  EXPECT_EQ(parse_amount("400 Gb/sec (4X NDR)\n"), 400);
  EXPECT_EQ(parse_amount("Unknown"), 0);
  EXPECT_EQ(parse_amount("-1"), 0) << "speed of an interface that is down";
  EXPECT_EQ(parse_amount("1e99"), 1);
  EXPECT_EQ(parse_width("16"), 16);
  EXPECT_EQ(parse_width("63"), 0) << "what a lost device answers";
  EXPECT_EQ(parse_width("255"), 0);
}

TEST(DeviceParse, StatesOfPorts) {
  EXPECT_EQ(parse_state("4: ACTIVE\n"), "ACTIVE");
  EXPECT_EQ(parse_state("5: LinkUp"), "LinkUp");
  EXPECT_EQ(parse_state("up"), "up");
}

TEST(DeviceParse, Versions) {
  EXPECT_EQ(parse_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024"),
            "550.54.15");
  EXPECT_EQ(parse_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86  Release Build"), "570.86");
  EXPECT_EQ(parse_version("no version"), "");
  EXPECT_EQ(parse_version("x86_64 12"), "");
}

TEST(DeviceParse, Tables) {
  const auto table = parse_table("Model: \t\t NVIDIA H100 80GB HBM3\nBus Location: \t 0000:19:00.0\nnoise\n", ':');
  EXPECT_EQ(table.at("Model"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(table.at("Bus Location"), "0000:19:00.0");
  EXPECT_EQ(table.size(), 2u);
}

TEST(DeviceParse, PlacesOfKfdNodes) {
  EXPECT_EQ(to_string(*kfd_address(parse_table("simd_count 440\nlocation_id 33536\ndomain 0", ' '))), "0000:83:00.0");
  EXPECT_EQ(to_string(*kfd_address(parse_table("simd_count 440\nlocation_id 256\ndomain 3", ' '))), "0003:01:00.0");
  EXPECT_EQ(to_string(*kfd_address(parse_table("simd_count 76\nlocation_id 1342177536", ' '))), "0000:01:00.0")
      << "partition 5 of the device at 01:00.0";
  EXPECT_FALSE(kfd_address(parse_table("simd_count 0\nlocation_id 0\ndomain 0", ' '))) << "a CPU";
  EXPECT_FALSE(kfd_address({})) << "what a control group may not read";
}

TEST(DeviceParse, UncorrectedErrors) {
  EXPECT_EQ(parse_uncorrected("ue: 3\nce: 17"), 3);
  EXPECT_EQ(parse_uncorrected("ce: 17"), 0);
}

TEST(DeviceParse, WhatIsAGpu) {
  const PciAddress slot{0, 0xc1, 0, 0};
  EXPECT_TRUE(is_gpu(slot, "030200", "10de"));
  EXPECT_TRUE(is_gpu(slot, "030000", "10de"));
  EXPECT_TRUE(is_gpu(slot, "038000", "1002"));
  EXPECT_TRUE(is_gpu(slot, "120000", "1002")) << "MI300";
  EXPECT_TRUE(is_gpu(slot, "038000", "8086"));
  EXPECT_FALSE(is_gpu({0, 0, 2, 0}, "030000", "8086")) << "in the processor";
  EXPECT_FALSE(is_gpu(slot, "068000", "10de")) << "NVSwitch";
  EXPECT_FALSE(is_gpu(slot, "040300", "10de")) << "sound of a graphics card";
  for (const char* vendor : {"1a03", "102b", "1234", "1013", "1af4", "15ad", ""})
    EXPECT_FALSE(is_gpu(slot, "030000", vendor)) << vendor;
  EXPECT_FALSE(is_gpu(slot, "", "10de"));
  EXPECT_TRUE(is_nic("020000"));
  EXPECT_TRUE(is_nic("020700"));
  EXPECT_FALSE(is_nic("0c0600"));
}

}  // namespace muster
