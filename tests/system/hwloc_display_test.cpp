#include "system/hwloc_display.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <vector>

namespace muster {
namespace {

using MoreVariables = std::vector<std::pair<std::string, std::string>>;

TEST(HwlocDisplay, ATopologyThatIsChosenIsKept) {
  for (const char* name : {"HWLOC_COMPONENTS", "HWLOC_XMLFILE", "HWLOC_FSROOT", "HWLOC_SYNTHETIC", "HWLOC_CPUID_PATH"})
    ::unsetenv(name);  // each test is a process of its own
  for (const char* name : {"HWLOC_COMPONENTS", "HWLOC_XMLFILE", "HWLOC_SYNTHETIC"}) {
    EXPECT_FALSE(hwloc_without_display(MoreVariables{{"PATH", "/bin"}, {name, "x"}})) << name;
    ::setenv(name, "x", 1);
    EXPECT_FALSE(hwloc_without_display()) << name;
    ::unsetenv(name);
  }
  EXPECT_EQ(hwloc_without_display(MoreVariables{{"PATH", "/bin"}}),
            (MoreVariables::value_type("HWLOC_COMPONENTS", "-gl")));
}

}  // namespace
}  // namespace muster
