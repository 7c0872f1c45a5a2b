// The table of what GPUs can do at most, and who is found in it.
#include "device/device_models.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

#include "base/files.hpp"

namespace muster {
namespace {

TEST(DeviceModels, AreFoundByWhatTheirRuntimesCallThem) {
  for (const auto& [name, label] : {std::pair("NVIDIA H100 80GB HBM3", "H100 SXM"),
                                    {"NVIDIA H100 NVL", "H100 NVL"},
                                    {"NVIDIA H100 PCIe", "H100 PCIe"},
                                    {"NVIDIA GH200 120GB", "GH200 96GB"},
                                    {"NVIDIA GH200 480GB", "GH200 96GB"},
                                    {"NVIDIA GH200 144G HBM3e", "GH200 144GB"},
                                    {"NVIDIA H200", "H200 SXM"},
                                    {"NVIDIA H200 NVL", "H200 NVL"},
                                    {"A100-SXM4-40GB", "A100 SXM 40GB"},
                                    {"NVIDIA A100-SXM4-80GB", "A100 SXM 80GB"},
                                    {"NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"},
                                    {"Tesla T4", "T4"},
                                    {"NVIDIA L40S", "L40S"},
                                    {"AMD Instinct MI250X", "MI250X"},
                                    {"AMD Instinct MI250X/MI250", "MI250X"},
                                    {"AMD Instinct MI300X", "MI300X"}})
    EXPECT_EQ(model_label(name), label);
  EXPECT_EQ(model_label("A GPU of tomorrow\n"), "A GPU of tomorrow ");
  EXPECT_EQ(model_label(""), "");
}

TEST(DeviceModels, SharesOfAGpuAreNoneOfThem) {
  EXPECT_EQ(find_device_model("NVIDIA H100 80GB HBM3 MIG 1g.10gb"), nullptr);
  EXPECT_EQ(find_device_model("AMD Instinct MI300X", 38), nullptr);
  EXPECT_NE(find_device_model("AMD Instinct MI300X", 304), nullptr);
  EXPECT_EQ(peak_products("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 16, "bf16"), 0);
}

TEST(DeviceModels, HaveTheirPeaksByPrecision) {
  EXPECT_EQ(peak_products("NVIDIA H200", 132, "bf16"), 989.5);
  EXPECT_EQ(peak_products("NVIDIA A100-SXM4-40GB", 108, "tf32"), 156);
  EXPECT_EQ(peak_products("NVIDIA A100-SXM4-40GB", 108, "double"), 19.5);
  EXPECT_EQ(peak_products("Tesla T4", 40, "fp64"), 0) << "not told";
  EXPECT_EQ(peak_products("Tesla T4", 40, "int8"), 0);
}

TEST(DeviceModels, NothingExceedsTheWholeAtItsHighestClock) {
  const DeviceModel* h100 = find_whole_model("NVIDIA H100 80GB HBM3 MIG 1g.10gb");
  ASSERT_NE(h100, nullptr) << "a share is not faster than the whole";
  EXPECT_NEAR(most_products(*h100, "fp16"), 1.2 * 989.5, 1e-9);
  EXPECT_NEAR(most_products(*h100, "int8"), 1.2 * 1979, 1e-9);
  EXPECT_NEAR(most_of_links(*h100), 450 + 63, 0.1);
  EXPECT_EQ(most_of_links(*find_whole_model("AMD Instinct MI210")), 0) << "its links are not in the table";
  EXPECT_EQ(find_whole_model("A GPU of tomorrow"), nullptr);
}

TEST(DeviceModels, CachesBeatMemoryByNoMoreThanTheyHold) {
  const DeviceModel* h100 = find_whole_model("NVIDIA H100 80GB HBM3");
  EXPECT_EQ(most_of_memory(*h100, 100, 0), 3352);
  EXPECT_EQ(most_of_memory(*h100, 100, 50), 6704);
  EXPECT_EQ(most_of_memory(*h100, 100, 51), 0) << "mostly a measurement of caches";
}

/// Every figure with its source, and no two models that can be taken for one another.
TEST(DeviceModels, AreCompleteAndApart) {
  std::set<std::string_view> names;
  for (const DeviceModel& model : device_models()) {
    SCOPED_TRACE(model.name);
    EXPECT_TRUE(names.insert(model.name).second);
    EXPECT_FALSE(model.source.empty());
    EXPECT_EQ(find_device_model(model.part), &model) << "hidden behind another";
    EXPECT_GT(model.memory, 0);
    EXPECT_GT(model.processors, 0);
    EXPECT_GE(model.fp16, model.fp32);
    EXPECT_GE(model.fp32, model.fp64);
    EXPECT_EQ(model.links > 0, model.link > 0);
    EXPECT_EQ(model.host > 0, !model.host_way.empty());
    EXPECT_GT(model.cache, 0);
    EXPECT_EQ(model.int8 == 0 || model.int8 >= model.bf16, true) << "whole numbers are no slower";
  }
}

TEST(DeviceModels, StandInTheDocumentation) {
  const auto page = read_file(fs::path(MUSTER_SOURCE_DIR) / "docs/methods/gpu_copy.md");
  ASSERT_TRUE(page);
  for (const DeviceModel& model : device_models())
    EXPECT_NE(page->find(fmt::format("\n| {} | {:g} | {:g} | ", model.name, model.memory, model.cache)),
              std::string::npos)
        << model.name;
}

TEST(DeviceModels, PcieByLanesAndGeneration) {
  EXPECT_NEAR(pcie_rate(16, pcie_speed(5)), 63.0e9, 0.1e9);
  EXPECT_NEAR(pcie_rate(16, pcie_speed(4)), 31.5e9, 0.1e9);
  EXPECT_NEAR(pcie_rate(16, pcie_speed(1)), 4e9, 1);
  EXPECT_EQ(pcie_rate(0, 16), 0);
  EXPECT_EQ(pcie_speed(9), 0);
}

TEST(DeviceModels, WholeNumbersAndHalves) {
  for (const DeviceModel& model : device_models()) {
    if (model.int8 == 0) continue;
    const bool is_equal = model.name == "MI100" || model.part.starts_with("MI2");
    EXPECT_NEAR(model.int8 / model.fp16, is_equal ? 1 : 2, 0.03) << model.name;
  }
}

// NVIDIA's white papers: halves that a multiprocessor multiplies and adds in a clock, and the clock of the data sheet.
TEST(DeviceModels, PeaksAreProcessorsTimesClocks) {
  struct Row {
    std::string_view name;
    int per_clock;
    double gigahertz;
  };
  for (const Row& row : {Row{"V100 SXM2", 1024, 1.53}, Row{"T4", 1024, 1.59}, Row{"A100 SXM 80GB", 2048, 1.41},
                         Row{"H100 SXM", 4096, 1.83}, Row{"H100 PCIe", 4096, 1.62}, Row{"H100 NVL", 4096, 1.545}}) {
    const auto models = device_models();
    const auto model =
        std::find_if(models.begin(), models.end(), [&](const auto& one) { return one.name == row.name; });
    ASSERT_NE(model, models.end()) << row.name;
    EXPECT_NEAR(model->fp16, model->processors * row.per_clock * row.gigahertz / 1000, 0.005 * model->fp16) << row.name;
  }
}

TEST(DeviceModels, CachesAreThoseOfAllDies) {
  EXPECT_EQ(find_device_model("AMD Instinct MI300X")->cache, 256 + 8 * 4) << "Infinity Cache and the L2 of 8 XCDs";
  EXPECT_EQ(find_device_model("AMD Instinct MI300A")->cache, 256 + 6 * 4);
  EXPECT_EQ(find_device_model("NVIDIA H200")->cache, 60) << "no more is on the die";
}

}  // namespace
}  // namespace muster
