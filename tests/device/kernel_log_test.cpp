// The kernel's log, the numbers of NVIDIA's driver, and amdgpu's table of measurements.
#include "device/kernel_log.hpp"

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>

#include "device/amd/gpu_metrics.hpp"
#include "device/nvidia/xid.hpp"

namespace muster {
namespace {

TEST(KernelLog, XidsOfThisBoot) {
  const auto events = parse_kernel_log(
      "NVRM: Xid (PCI:0000:c1:00): 48, of the boot before\n"
      "6,0,0,-;Linux version 6.1.0 (somebody)\n"
      "4,812,99,-;NVRM: Xid (PCI:0000:c1:00): 79, pid='<unknown>', GPU has fallen off the bus.\n"
      "[   12.3] NVRM: Xid (0000:c5:00): 31, Ch 00000010\n"
      "NVRM: Xid (PCI:0001:c5:00.0): 119, Timeout\n"
      "NVRM: Xid (nonsense): 119\n"
      "NVRM: loading NVIDIA UNIX x86_64 Kernel Module\n");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(to_string(events[0].at), "0000:c1:00.0");
  EXPECT_EQ(events[0].xid, 79);
  EXPECT_EQ(events[0].words, "NVRM: Xid (PCI:0000:c1:00): 79, pid='<unknown>', GPU has fallen off the bus.");
  EXPECT_EQ(events[1].xid, 31);
  EXPECT_EQ(to_string(events[2].at), "0001:c5:00.0");
}

TEST(KernelLog, FaultsOfAmdgpu) {
  const auto events = parse_kernel_log(
      "amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!\n"
      "amdgpu 0000:c6:00.0: [drm] *ERROR* ring sdma0 timeout, signaled seq=1\n"
      "amdgpu 0000:c6:00.0: amdgpu: ring gfx uses VM inv eng 0 on hub 0\n"
      "amdgpu 0000:c9:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block\n");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].words, "amdgpu: GPU reset begin!");
  EXPECT_EQ(to_string(events[1].at), "0000:c6:00.0");
  EXPECT_EQ(events[2].xid, 0);
}

TEST(Xid, ProgramsAreNotTheDevicesFault) {
  for (const int code : {13, 31, 43, 45}) EXPECT_EQ(xid_meaning(code).blame, XidBlame::program) << code;
  for (const int code : {48, 62, 63, 64, 74, 79, 94, 95, 119, 120, 9999}) {
    EXPECT_EQ(xid_meaning(code).blame, XidBlame::device) << code;
    EXPECT_FALSE(xid_meaning(code).remedy.empty());
  }
}

/// A table of ones, as amdgpu begins it.
std::string table(std::size_t size, int revision) {
  std::string bytes(size, '\xff');
  const auto length = static_cast<std::uint16_t>(size);
  std::memcpy(bytes.data(), &length, sizeof(length));
  bytes[2] = 1;
  bytes[3] = static_cast<char>(revision);
  return bytes;
}
template <class Number>
void put(std::string& bytes, std::size_t at, Number number) {
  std::memcpy(bytes.data() + at, &number, sizeof(number));
}

TEST(GpuMetrics, RevisionsAreToldApart) {
  auto old = table(120, 3);
  put(old, 112, std::uint64_t{1} | std::uint64_t{1} << 36);
  put(old, 54, std::uint16_t{1700});
  put(old, 74, std::uint16_t{16});
  put(old, 76, std::uint16_t{160});
  auto values = parse_gpu_metrics(old);
  EXPECT_EQ(values["throttled_by"], "power_cap, heat");
  EXPECT_EQ(values["clock_gfx"], "1700");
  EXPECT_EQ(values["pcie_speed_now"], "16");
  EXPECT_EQ(values.count("clock_memory"), 0u) << "not filled";

  auto newer = table(1664, 6);
  put(newer, 36, std::uint32_t{3});
  put(newer, 52, std::uint32_t{900});
  put(newer, 104, std::uint64_t{12});
  values = parse_gpu_metrics(newer);
  EXPECT_EQ(values["gpu_metrics"], "1.6");
  EXPECT_EQ(values["throttle_prochot"], "3");
  EXPECT_EQ(values["throttle_heat"], "900");
  EXPECT_EQ(values["pcie_replays"], "12");
}

TEST(GpuMetrics, WhatIsNotKnownTellsNothing) {
  EXPECT_TRUE(parse_gpu_metrics("").empty());
  EXPECT_TRUE(parse_gpu_metrics("abc").empty());
  EXPECT_EQ(parse_gpu_metrics(table(64, 9)).size(), 1u) << "its revision";
  EXPECT_EQ(parse_gpu_metrics(table(120, 3).substr(0, 100)).size(), 1u) << "cut off";
  EXPECT_EQ(parse_gpu_metrics(table(124, 3)).size(), 1u) << "longer than it should be";
}

}  // namespace
}  // namespace muster
