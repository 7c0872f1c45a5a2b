// Hand-over between the threads that stream and the one that times them, for the thread sanitizer.
#include "probes/memory_bandwidth/stream.hpp"

#include <gtest/gtest.h>
#include <optional>

namespace muster::memory_bandwidth {

namespace {

CpuMask one_cpu() {
  const auto mine = CpuMask::of_this_thread();
  EXPECT_TRUE(mine.has_value());
  CpuMask mask;
  mask.add(mine->lowest());
  return mask;
}

TEST(StreamThreads, OrdersAndTimesPassBetweenThem) {
  const CpuMask cpu = one_cpu();
  const auto stream = Stream::start({{cpu, 64U << 10U}, {cpu, 32U << 10U}});
  ASSERT_TRUE(stream.has_value()) << stream.error().what;
  for (const Kernel kernel : {Kernel::copy, Kernel::triad})
    for (const int domain : {0, 1, Stream::everywhere}) EXPECT_GT((*stream)->pass(kernel, domain), 0);
  EXPECT_EQ((*stream)->verify(), std::nullopt);
}

TEST(StreamThreads, AWrongElementIsReportedByTheThreadThatHasIt) {
  const auto stream = Stream::start({{one_cpu(), 64U << 10U}});
  ASSERT_TRUE(stream.has_value()) << stream.error().what;
  (*stream)->array(0, 1)[3] += 1;
  EXPECT_NE((*stream)->verify(), std::nullopt);
}

}  // namespace

}  // namespace muster::memory_bandwidth
