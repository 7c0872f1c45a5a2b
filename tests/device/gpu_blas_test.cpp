// Products by stand-ins of the vendors' BLAS, and power and clock of a GPU.
#include "device/gpu_blas.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.hpp"
#include "device/gpu_meter.hpp"
#include "model/machine_description.hpp"
#include "system/this_machine.hpp"

namespace muster {
namespace {

/// This process is on a machine with one GPU from now on; false: it could not be made.
bool be_on_machine(const std::string& vendor, std::vector<std::string> lines) {
  MachineDescription machine;
  machine.name = "one";
  machine.cores = 2;
  machine.domains.push_back({0, *CpuMask::parse_list("0-1"), std::uint64_t{1} << 34});
  machine.gpus.vendor = vendor;
  machine.gpus.model = "a model";
  machine.gpus.id = vendor == "amd" ? "1002:74a1" : "10de:2330";
  machine.gpus.memory = std::uint64_t{80} << 30;
  machine.gpus.driver = std::move(lines);
  DescribedGpu gpu;
  gpu.address = "0000:c1:00.0";
  gpu.domain = 0;
  gpu.files = {vendor == "amd" ? "/dev/dri/renderD128" : "/dev/nvidia0"};
  machine.gpus.devices.push_back(gpu);
  const fs::path folder = fs::temp_directory_path() / ("muster-blas-" + std::to_string(::getpid()));
  ::setenv(env_drivers, MUSTER_STAND_INS "/drivers", 1);
  RankPlace place;
  place.host = "a";
  const bool is_there = write_machine(machine, "a", folder) && simulate(folder, place);
  std::atexit([] { fs::remove_all(fs::temp_directory_path() / ("muster-blas-" + std::to_string(::getpid()))); });
  return is_there;
}

/// A is 2 x 3, B is 3 x 4, in every mix of transposes; true when all are right.
bool multiplies_well(const std::string& vendor) {
  if (!be_on_machine(vendor, {})) return false;
  for (const GpuRuntime& runtime : open_gpu_runtimes({})) {
    if (!runtime.gpus) continue;
    const Gpus& gpus = *runtime.gpus;
    auto blas = GpuBlas::make(open_gpu_blas(vendor, {}), gpus, 0, {});
    auto stream = gpus.stream(0);
    auto a = gpus.allocate(0, 64);
    auto b = gpus.allocate(0, 64);
    auto c = gpus.allocate(0, 64);
    if (!blas || !stream || !a || !b || !c) return false;
    for (int mix = 0; mix < 4; ++mix) {
      const bool ta = (mix & 1) != 0;
      const bool tb = (mix & 2) != 0;
      // Memory of the stand-in is memory of this process.
      auto* left = static_cast<float*>(a->get());
      auto* right = static_cast<float*>(b->get());
      for (int i = 0; i < 2; ++i)
        for (int k = 0; k < 3; ++k) left[ta ? k * 2 + i : i * 3 + k] = static_cast<float>(i * 3 + k + 1);
      for (int k = 0; k < 3; ++k)
        for (int j = 0; j < 4; ++j) right[tb ? j * 3 + k : k * 4 + j] = static_cast<float>(k * 4 + j);
      const auto done = (*blas)->multiply({a->get(), b->get(), c->get(), 2, 4, 3, ta, tb}, stream->get());
      if (!done || !gpus.synchronize(0, stream->get())) return false;
      constexpr std::array<float, 8> expected{32, 38, 44, 50, 68, 83, 98, 113};
      if (std::memcmp(c->get(), expected.data(), sizeof expected) != 0) return false;
    }
    return true;
  }
  return false;
}

TEST(GpuBlas, RowsOfBothVendorsAndTransposes) {
  EXPECT_EXIT(std::exit(multiplies_well("nvidia") ? 0 : 1), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::exit(multiplies_well("amd") ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

TEST(GpuBlas, FailuresAreInTheLibrarysOwnWords) {
  EXPECT_EXIT(
      {
        if (!be_on_machine("nvidia", {"fail cublasCreate_v2 1"})) std::exit(2);
        std::vector<std::string> calls;
        const auto library = open_gpu_blas("nvidia", [&](std::string_view call) { calls.emplace_back(call); });
        if (library.report.state != LibraryState::working || library.report.version != "12.8.4") std::exit(3);
        const auto runtimes = open_gpu_runtimes({});
        const auto blas = GpuBlas::make(library, *runtimes[0].gpus, 0, {});
        if (blas || calls.empty()) std::exit(4);
        std::fprintf(stderr, "%s\n", blas.error().what.c_str());
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "cublasCreate_v2 returned 1: CUBLAS_STATUS_NOT_INITIALIZED, the library was not");
}

TEST(GpuBlas, OfTypes) {
  EXPECT_EQ(to_string(NumberType::bfloat16), "bfloat16");
  EXPECT_EQ(bytes_of_input(NumberType::bfloat16), 2u);
  EXPECT_EQ(bytes_of_result(NumberType::bfloat16), 4u);
  EXPECT_EQ(bytes_of_result(NumberType::float64), 8u);
  EXPECT_EQ(bytes_of_input(NumberType::int8), 1u);
}

TEST(GpuMeter, ReadsTheSensorsOfAmdgpu) {
  const fs::path root = fs::temp_directory_path() / ("muster-meter-" + std::to_string(::getpid()));
  const fs::path sensors = root / "sys/bus/pci/devices/0000:c1:00.0/hwmon/hwmon4";
  fs::create_directories(sensors);
  const auto write = [&](const char* file, const char* text) { std::ofstream(sensors / file) << text << '\n'; };
  const PciAddress address{0, 0xc1, 0, 0};
  auto meter = open_gpu_meter("amd", address, root.string(), {});
  ASSERT_NE(meter, nullptr);
  EXPECT_FALSE(meter->read().watts);
  write("power1_input", "702000000");
  write("freq1_input", "2100000000");
  EXPECT_DOUBLE_EQ(meter->read().watts.value_or(0), 702);
  EXPECT_DOUBLE_EQ(meter->read().megahertz.value_or(0), 2100);
  // Where both are there, this one is the mean.
  write("power1_average", "560000000");
  EXPECT_DOUBLE_EQ(meter->read().watts.value_or(0), 560);
  EXPECT_EQ(open_gpu_meter("amd", {0, 0xc2, 0, 0}, root.string(), {}), nullptr);
  fs::remove_all(root);
}

}  // namespace
}  // namespace muster
