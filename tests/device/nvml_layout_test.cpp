// What crosses the border to NVIDIA's management library lies where its own bindings (nvidia-ml-py 13) have it: sizes
// and offsets of structures as they are there, in bytes. A slip here is a wrong number on real hardware, and on it
// alone.
#include <cstddef>
#include <gtest/gtest.h>

#include "device/nvidia/nvml_api.hpp"

namespace muster::nvml {
namespace {

TEST(NvmlLayout, PlacesOfDevices) {
  EXPECT_EQ(offsetof(PciInfo, domain), 16u);
  EXPECT_EQ(offsetof(PciInfo, bus), 20u);
  EXPECT_EQ(offsetof(PciInfo, device), 24u);
  EXPECT_EQ(offsetof(PciInfo, ids), 28u);
  EXPECT_EQ(offsetof(PciInfo, subsystem), 32u);
  EXPECT_EQ(offsetof(PciInfo, text), 36u);
  EXPECT_GE(sizeof(PciInfo), 68u) << "as long as the longest form";
}

TEST(NvmlLayout, Memory) {
  EXPECT_EQ(sizeof(Memory), 24u);
  EXPECT_EQ(offsetof(Memory, free), 8u);
  EXPECT_EQ(offsetof(Memory, used), 16u);
  EXPECT_EQ(sizeof(MemoryV2), 40u);
  EXPECT_EQ(offsetof(MemoryV2, total), 8u);
  EXPECT_EQ(offsetof(MemoryV2, reserved), 16u);
  EXPECT_EQ(offsetof(MemoryV2, free), 24u);
  EXPECT_EQ(offsetof(MemoryV2, used), 32u);
  EXPECT_EQ(version_word<MemoryV2>(2), 0x02000028u);
}

TEST(NvmlLayout, PartsOfDevices) {
  EXPECT_EQ(sizeof(MigAttributes), 40u);
  EXPECT_EQ(offsetof(MigAttributes, copy_engines), 4u);
  EXPECT_EQ(offsetof(MigAttributes, ofas), 20u);
  EXPECT_EQ(offsetof(MigAttributes, instance_slices), 24u);
  EXPECT_EQ(offsetof(MigAttributes, compute_slices), 28u);
  EXPECT_EQ(offsetof(MigAttributes, memory_mib), 32u);
}

TEST(NvmlLayout, Fabric) {
  EXPECT_EQ(sizeof(Fabric), 28u);
  EXPECT_EQ(offsetof(Fabric, status), 16u);
  EXPECT_EQ(offsetof(Fabric, clique), 20u);
  EXPECT_EQ(offsetof(Fabric, state), 24u);
  EXPECT_EQ(sizeof(FabricV2), 36u);
  EXPECT_EQ(offsetof(FabricV2, cluster), 4u);
  EXPECT_EQ(offsetof(FabricV2, status), 20u);
  EXPECT_EQ(offsetof(FabricV2, state), 28u);
  EXPECT_EQ(offsetof(FabricV2, health), 32u);
}

TEST(NvmlLayout, Fields) {
  EXPECT_EQ(sizeof(Field), 40u);
  EXPECT_EQ(offsetof(Field, scope), 4u);
  EXPECT_EQ(offsetof(Field, at), 8u);
  EXPECT_EQ(offsetof(Field, latency), 16u);
  EXPECT_EQ(offsetof(Field, type), 24u);
  EXPECT_EQ(offsetof(Field, code), 28u);
  EXPECT_EQ(offsetof(Field, value), 32u);
}

TEST(NvmlLayout, CodesThatAreToldApart) {
  EXPECT_EQ(not_supported, 3);
  EXPECT_EQ(no_permission, 4);
  EXPECT_EQ(driver_not_loaded, 9);
  EXPECT_EQ(gpu_is_lost, 15);
  EXPECT_EQ(version_mismatch, 18);
}

}  // namespace
}  // namespace muster::nvml
