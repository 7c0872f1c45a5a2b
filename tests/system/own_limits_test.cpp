#include "system/own_limits.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace muster {
namespace {

TEST(OwnLimits, FreeDescriptorsAreThoseThatCanBeOpened) {
  rlimit kept{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &kept), 0);
  const rlimit narrow{100, kept.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &narrow), 0);
  const std::size_t reported = free_descriptors();
  std::vector<int> opened;
  for (int one = 0; (one = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) opened.push_back(one);
  const std::size_t none = free_descriptors();
  for (const int one : opened) ::close(one);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &kept), 0);
  EXPECT_EQ(reported, opened.size());
  EXPECT_EQ(none, 0U);
}

TEST(OwnLimits, AreNamedWithTheCommandThatRaisesThem) {
  EXPECT_EQ(too_small_limit(1), "");
  const std::string files = too_small_limit(free_descriptors() + 1);
  EXPECT_NE(files.find("may open only"), files.npos);
  EXPECT_NE(files.find("the limit on open files is "), files.npos);
  EXPECT_NE(files.find("ulimit -n"), files.npos);
}

TEST(OwnLimits, ThreadsThatCanBeStartedAreNotRefused) {
  EXPECT_EQ(too_few_threads(0), "");
  EXPECT_EQ(too_few_threads(2), "");
}

}  // namespace
}  // namespace muster
