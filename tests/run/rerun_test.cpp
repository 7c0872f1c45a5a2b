// A whole run once more, by hand.
#include "run/rerun.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Rerun, WithoutWhatIsForTheNight) {
  EXPECT_EQ(
      rerun_by_hand({"muster", "run", "--quiet", "--lock", "--nodes", "nid[001-004]", "--on-fail", "drain",
                     "--max-drain=3", "--lock-file", "/l", "--on-pass=resume", "--dry-run-actions", "-n", "hello"}),
      (Argv{"muster", "run", "--nodes", "nid[001-004]", "-n", "hello"}));
}

TEST(Rerun, AllElseStays) {
  const Argv line{"muster", "run", "checks/network", "--report", "html=x.html", "--repeat", "3"};
  EXPECT_EQ(rerun_by_hand(line), line);
  EXPECT_EQ(rerun_by_hand({"muster", "run", "--on-fail"}), (Argv{"muster", "run"}));
}

}  // namespace
}  // namespace muster
