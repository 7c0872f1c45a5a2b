// What each runtime makes of the variables that select devices, as a table.
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "measure/device_selection.hpp"

#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace muster::gpu_mapping {
namespace {

std::vector<Device> gpus_of(const std::string& vendor_id, int count) {
  std::vector<Device> gpus(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    Device& gpu = gpus[static_cast<std::size_t>(i)];
    gpu.address.bus = static_cast<std::uint32_t>(i);
    gpu.vendor_id = vendor_id;
    gpu.device_id = "1";
    if (vendor_id == "10de") gpu.uuid = "GPU-" + std::string(1, static_cast<char>('a' + i)) + "123";
    if (vendor_id == "1002") gpu.uuid = std::to_string(160 + i);
    if (vendor_id == "1002") gpu.compute_order = i + 1;
  }
  return gpus;
}

/// Names by the bus: `0 3`; others as they are.
std::string seen(const std::vector<Device>& gpus, const Variables& variables) {
  std::vector<const Device*> pointers;
  for (const Device& gpu : gpus) pointers.push_back(&gpu);
  const Selection selection = select_devices(pointers, variables);
  std::vector<std::string> names;
  for (const Slot& slot : selection.slots) {
    const bool is_plain = slot.device != nullptr && slot.name == to_string(slot.device->address);
    names.push_back(is_plain ? std::to_string(slot.device->address.bus) : slot.name);
  }
  return join(names, " ");
}

struct Case {
  Variables variables;
  const char* expected;
};

TEST(GpuSelection, Cuda) {
  const auto gpus = gpus_of("10de", 4);
  const Case cases[] = {
      {{}, "0 1 2 3"},
      {{{"CUDA_VISIBLE_DEVICES", "2,1"}}, "2 1"},
      {{{"CUDA_VISIBLE_DEVICES", " 2, 1 "}}, "2 1"},
      {{{"CUDA_VISIBLE_DEVICES", "0,2,-1,1"}}, "0 2"},
      {{{"CUDA_VISIBLE_DEVICES", "0,4,1"}}, "0"},
      {{{"CUDA_VISIBLE_DEVICES", "0,,1"}}, "0"},
      {{{"CUDA_VISIBLE_DEVICES", "1gpu"}}, "1"},
      {{{"CUDA_VISIBLE_DEVICES", "+1"}}, "1"},
      {{{"CUDA_VISIBLE_DEVICES", "99999999999999999999"}}, ""},
      {{{"CUDA_VISIBLE_DEVICES", "none"}}, ""},
      {{{"CUDA_VISIBLE_DEVICES", "1,1"}}, ""},
      {{{"CUDA_VISIBLE_DEVICES", "GPU-c,GPU-a123"}}, "2 0"},
      {{{"CUDA_VISIBLE_DEVICES", "GPU-c,GPU-x,GPU-a"}}, "2"},
      {{{"CUDA_VISIBLE_DEVICES", "MIG-GPU-b123/1/0"}}, "MIG-GPU-b123/1/0"},
      {{{"HIP_VISIBLE_DEVICES", "1"}, {"ROCR_VISIBLE_DEVICES", "1"}}, "0 1 2 3"},
  };
  for (const Case& one : cases) EXPECT_EQ(seen(gpus, one.variables), one.expected);
}

TEST(GpuSelection, RocrAndHip) {
  const auto gpus = gpus_of("1002", 4);
  const Case cases[] = {
      {{}, "0 1 2 3"},
      {{{"ROCR_VISIBLE_DEVICES", "3,0"}}, "3 0"},
      {{{"ROCR_VISIBLE_DEVICES", "3,GPU-00000000000000a0,4"}}, "3 0"},
      {{{"ROCR_VISIBLE_DEVICES", "1,1,2"}}, "1"},
      {{{"ROCR_VISIBLE_DEVICES", "1x"}}, ""},
      {{{"ROCR_VISIBLE_DEVICES", ""}}, ""},
      {{{"ROCR_VISIBLE_DEVICES", "GPU-XX"}}, ""},
      {{{"HIP_VISIBLE_DEVICES", "2,2,0"}}, "2 0"},
      {{{"HIP_VISIBLE_DEVICES", "2,9,0"}}, "2"},
      {{{"HIP_VISIBLE_DEVICES", ""}}, "0 1 2 3"},
      {{{"CUDA_VISIBLE_DEVICES", "3"}}, "3"},
      {{{"CUDA_VISIBLE_DEVICES", "3"}, {"HIP_VISIBLE_DEVICES", "1"}}, "1"},
      {{{"ROCR_VISIBLE_DEVICES", "2,3"}, {"HIP_VISIBLE_DEVICES", "1"}}, "3"},
      {{{"ROCR_VISIBLE_DEVICES", "2,3"}, {"HIP_VISIBLE_DEVICES", "2"}}, ""},
  };
  for (const Case& one : cases) EXPECT_EQ(seen(gpus, one.variables), one.expected);
}

TEST(GpuSelection, KfdCounts) {
  auto gpus = gpus_of("1002", 3);
  gpus[0].compute_order = 3;
  gpus[2].compute_order = 1;
  EXPECT_EQ(seen(gpus, {{"ROCR_VISIBLE_DEVICES", "0,2"}}), "2 0");
  gpus[1].partitions = 4;
  EXPECT_EQ(seen(gpus, {{"ROCR_VISIBLE_DEVICES", "0,5"}}), "hip:0 hip:5") << "which one that is, nobody knows";
  for (std::size_t i = 0; i < 3; ++i) {
    gpus[i].partitions = 4;
    gpus[i].compute_order = static_cast<int>(4 * i) + 1;
  }
  EXPECT_EQ(seen(gpus, {{"ROCR_VISIBLE_DEVICES", "0,5"}}), "0000:00:00.0/0 0000:01:00.0/1");
}

TEST(GpuSelection, LevelZero) {
  const auto gpus = gpus_of("8086", 3);
  const std::string composite = "COMPOSITE";
  const Case cases[] = {
      {{{"ZE_FLAT_DEVICE_HIERARCHY", composite}}, "0 1 2"},
      {{{"ZE_FLAT_DEVICE_HIERARCHY", composite}, {"ZE_AFFINITY_MASK", "2,0"}}, "0 2"},
      {{{"ZE_FLAT_DEVICE_HIERARCHY", composite}, {"ZE_AFFINITY_MASK", "1.1"}}, "0000:01:00.0/1"},
      {{{"ZE_FLAT_DEVICE_HIERARCHY", composite}, {"ZE_AFFINITY_MASK", "1.0,1.1"}}, "1"},
      {{{"ZE_FLAT_DEVICE_HIERARCHY", composite}, {"ZE_AFFINITY_MASK", "7,1"}}, "1"},
      {{{"ZE_FLAT_DEVICE_HIERARCHY", composite}, {"ZE_AFFINITY_MASK", "x"}}, ""},
      {{{"ZE_AFFINITY_MASK", "3"}}, "tile:3"},
  };
  for (const Case& one : cases) EXPECT_EQ(seen(gpus, one.variables), one.expected);
}

#ifdef MUSTER_HAVE_RAPIDCHECK
TEST(GpuSelection, WhateverIsWrittenNothingIsSeenTwice) {
  const auto result = rc::check([] {
    const auto letters = rc::gen::container<std::string>(rc::gen::element('0', '1', '2', ',', '-', 'G', 'P', 'U', 'a'));
    const Variables variables = {{"CUDA_VISIBLE_DEVICES", *letters},
                                 {"ROCR_VISIBLE_DEVICES", *letters},
                                 {"HIP_VISIBLE_DEVICES", *letters},
                                 {"ZE_AFFINITY_MASK", *letters},
                                 {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}};
    for (const char* vendor : {"10de", "1002", "8086"}) {
      const auto gpus = gpus_of(vendor, 3);
      auto names = split(seen(gpus, variables), ' ');
      std::sort(names.begin(), names.end());
      RC_ASSERT(names.size() <= gpus.size());
      RC_ASSERT(std::adjacent_find(names.begin(), names.end()) == names.end());
    }
  });
  EXPECT_TRUE(result);
}
#endif

}  // namespace
}  // namespace muster::gpu_mapping
