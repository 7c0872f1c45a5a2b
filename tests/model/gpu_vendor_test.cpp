#include "model/gpu_vendor.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(GpuVendor, AServiceIsCalledSoAndOfTheSystem) {
  for (const char* process :
       {"77 nvidia-cuda-mps-server (30 MiB)", " 4242 nv-hostengine (12 MiB)", "5 nvidia-persiste (1 MiB)"})
    EXPECT_TRUE(is_gpu_service(process)) << process;
  for (const char* process :
       {"4242 python (61440 MiB)", "4242 my-nv-hostengine (12 MiB)", "4242 x nv-hostengine (12 MiB)",
        "4243 nv-hostengine of user 1003 (9 MiB)", "4242 (7 MiB)", "", "4242"})
    EXPECT_FALSE(is_gpu_service(process)) << process;
}

TEST(GpuVendor, IsFoundByTheVariableThatSelectsItsGpus) {
  EXPECT_EQ(vendor_by_visible_variable("ROCR_VISIBLE_DEVICES"), &terms_of_vendor("amd"));
  EXPECT_EQ(vendor_by_visible_variable("ZE_AFFINITY_MASK"), &terms_of_vendor("intel"));
  EXPECT_EQ(vendor_by_visible_variable(""), nullptr);
  EXPECT_EQ(vendor_by_visible_variable("OTHER_VISIBLE_DEVICES"), nullptr);
}

TEST(GpuVendor, WithoutMarksOfItsOwnTheLogHasItsDriver) {
  EXPECT_EQ(log_marks_of(terms_of_vendor("nvidia")), "NVRM, Xid");
  EXPECT_EQ(log_marks_of(terms_of_vendor("intel")), "i915");
}

}  // namespace
}  // namespace muster
