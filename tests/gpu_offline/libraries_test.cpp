// The vendors' own libraries as far as they go without a GPU. Each test is skipped where its library is not.
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.hpp"
#include "device/amd/hip.hpp"
#include "device/gpu_blas_table.hpp"
#include "device/kernels.hpp"
#include "device/library.hpp"
#include "device/nvidia/cuda.hpp"
#include "device/runtime_compiler.hpp"

namespace muster {
namespace {

bool has(const char* library) {
  return ::dlopen(library, RTLD_NOW | RTLD_LOCAL) != nullptr;
}

bool has_nvrtc() {
  for (const char* folder : {"", "/usr/local/cuda/lib64/"})
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"})
      if (has((std::string(folder) + name).c_str())) return true;
  return false;
}

constexpr const char* kernel_names[] = {"muster_gate",        "muster_copy",           "muster_fill",
                                        "muster_check",       "muster_numbers",        "muster_product",
                                        "muster_fingerprint", "muster_typed_numbers",  "muster_product64",
                                        "muster_product8",    "muster_train_product",  "muster_train_bias",
                                        "muster_train_mask",  "muster_train_sum_rows", "muster_train_classify",
                                        "muster_train_tally", "muster_train_update"};

class Nvrtc : public ::testing::TestWithParam<int> {};

TEST_P(Nvrtc, CompilesEveryKernel) {
  if (!has_nvrtc()) GTEST_SKIP() << "there is no NVRTC";
  const auto ptx = compile_by_nvrtc("compute_" + std::to_string(GetParam()));
  ASSERT_TRUE(ptx) << to_string(ptx.error());
  EXPECT_NE(ptx->find(".target sm_" + std::to_string(GetParam())), std::string::npos);
  for (const char* name : kernel_names) EXPECT_NE(ptx->find(std::string(".entry ") + name), std::string::npos) << name;
  // Machine code, too: what PTX can say a device may still lack.
  const auto code = compile_by_nvrtc("sm_" + std::to_string(GetParam()));
  EXPECT_TRUE(code) << to_string(code.error());
}
INSTANTIATE_TEST_SUITE_P(Targets, Nvrtc, ::testing::Values(75, 80, 90, 100));

TEST(NvrtcErrors, SayWhatTheCompilerSaid) {
  if (!has_nvrtc()) GTEST_SKIP() << "there is no NVRTC";
  const auto ptx = compile_by_nvrtc("compute_1");
  ASSERT_FALSE(ptx);
  EXPECT_EQ(ptx.error().kind, ErrorKind::device);
  EXPECT_NE(ptx.error().what.find("did not compile the kernels"), std::string::npos) << ptx.error().what;
}

TEST(Ptx, ThatIsBuiltInHasEveryKernelForTheOldestTarget) {
  if (kernel_ptx().empty()) GTEST_SKIP() << "muster was built without nvcc";
  EXPECT_NE(kernel_ptx().find(".target sm_75"), std::string_view::npos);
  for (const char* name : kernel_names)
    EXPECT_NE(kernel_ptx().find(std::string(".entry ") + name), std::string_view::npos) << name;
}

/// Starts this program again where the loader finds `file` under `name`, to do `test` alone.
std::string again(const std::string& file, const std::string& name, const std::string& test) {
  const fs::path folder = fs::temp_directory_path() / ("muster-stub-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  fs::create_symlink(file, folder / name);
  const std::string command = "LD_LIBRARY_PATH=" + folder.string() + " " + fs::read_symlink("/proc/self/exe").string() +
                              " --gtest_also_run_disabled_tests --gtest_filter=" + test + " 2>&1";
  std::string message;
  if (FILE* out = ::popen(command.c_str(), "r")) {
    char part[512];
    while (std::fgets(part, sizeof part, out) != nullptr) message += part;
    ::pclose(out);
  }
  fs::remove_all(folder);
  return message;
}

TEST(CudaStub, DISABLED_Tell) {
  const GpuRuntime runtime = open_cuda({});
  std::printf("state %s code %d error %s remedy %s\n", std::string(to_string(runtime.library.state)).c_str(),
              runtime.library.code, runtime.library.error.c_str(), runtime.remedy.c_str());
}

TEST(CudaStub, IsToldAsAStub) {
  constexpr const char* stub = "/usr/local/cuda/lib64/stubs/libcuda.so";
  if (::access(stub, R_OK) != 0) GTEST_SKIP() << "there is no stub of libcuda";
  const std::string message = again(stub, "libcuda.so.1", "CudaStub.DISABLED_Tell");
  EXPECT_NE(message.find("state broken code 34 error cuInit returned 34: CUDA_ERROR_STUB_LIBRARY"), std::string::npos)
      << message;
  EXPECT_NE(message.find("stubs) out of LD_LIBRARY_PATH"), std::string::npos) << message;
}

TEST(Cublas, TellsItsRealErrorWithoutADriver) {
  std::vector<std::string> calls;
  const auto library = open_gpu_blas("nvidia", [&](std::string_view call) {
    if (!call.empty()) calls.emplace_back(call);
  });
  if (library.report.state == LibraryState::absent) GTEST_SKIP() << "there is no libcublas";
  if (has("libcuda.so.1")) GTEST_SKIP() << "there is a driver";
  // All of it is there, by the names that muster knows; it is the driver that is missing.
  ASSERT_EQ(library.report.state, LibraryState::working) << library.report.error;
  EXPECT_TRUE(library.report.missing.empty());
  EXPECT_NE(library.report.file.find("libcublas.so."), std::string::npos) << library.report.file;
  EXPECT_EQ(library.table->label, "cuBLAS " + library.report.version);
  EXPECT_NE(library.table->set_workspace.function, nullptr);
  EXPECT_NE(library.table->set_math_mode.function, nullptr);
  EXPECT_NE(library.table->set_atomics.function, nullptr);
  void* handle = nullptr;
  const int code = library.table->create.function(&handle);
  EXPECT_NE(code, 0);
  EXPECT_NE(library.table->words(code).find("CUBLAS_STATUS_"), std::string::npos) << library.table->words(code);
  EXPECT_EQ(library.table->words(15).rfind("CUBLAS_STATUS_NOT_SUPPORTED, ", 0), 0u) << library.table->words(15);
}

TEST(Hip, TellsItsRealErrorWithoutAGpu) {
  if (::access("/dev/kfd", F_OK) == 0) GTEST_SKIP() << "there is an AMD GPU";
  if (!has("libamdhip64.so.7") && !has("libamdhip64.so.6") && !has("libamdhip64.so.5"))
    GTEST_SKIP() << "there is no libamdhip64";
  std::vector<std::string> calls;
  const GpuRuntime runtime = open_hip([&](std::string_view call) {
    if (!call.empty()) calls.emplace_back(call);
  });
  EXPECT_EQ(runtime.library.state, LibraryState::broken);
  // ROCm 5 calls it an invalid device where later ones say that there is none.
  EXPECT_TRUE(runtime.library.code == 100 || runtime.library.code == 101) << runtime.library.code;
  EXPECT_NE(runtime.library.error.find("Device"), std::string::npos) << runtime.library.error;
  EXPECT_NE(runtime.library.error.find("hipInit returned 10"), std::string::npos) << runtime.library.error;
  EXPECT_NE(runtime.remedy.find("/dev/kfd"), std::string::npos) << runtime.remedy;
  EXPECT_TRUE(runtime.library.missing.empty()) << runtime.library.missing.front();
  EXPECT_EQ(runtime.gpus, nullptr);
  EXPECT_NE(std::find(calls.begin(), calls.end(), "hipInit"), calls.end());
}

}  // namespace
}  // namespace muster
