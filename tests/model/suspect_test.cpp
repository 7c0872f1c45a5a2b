#include "model/suspect.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Suspect, NodesByComparisonAlone) {
  using enum Suspect;
  EXPECT_EQ(find_suspect({1, 1, false}, Half::is_of_nodes), job) << "the only node";
  EXPECT_EQ(find_suspect({1, 4, false}, Half::is_of_job), nodes);
  EXPECT_EQ(find_suspect({2, 4, false}, Half::is_of_job), job);
  EXPECT_EQ(find_suspect({2, 4, false}, Half::is_of_nodes), nodes);
  EXPECT_EQ(find_suspect({2, 3, false}, Half::is_of_nodes), job);
  EXPECT_EQ(find_suspect({0, 4, false}, Half::is_of_job), nodes);
}

TEST(Suspect, Rank0AloneIsUndetermined) {
  EXPECT_EQ(find_suspect({1, 4, true}, Half::is_of_job), Suspect::rank_0);
  EXPECT_EQ(find_suspect({1, 2, true}, Half::is_of_job), Suspect::rank_0);
  EXPECT_EQ(find_suspect({1, 1, true}, Half::is_of_job), Suspect::job) << "no other node to compare with";
}

Finding of(std::vector<Culprit> culprits) {
  return {Verdict::fail, "x", std::move(culprits), "y"};
}

TEST(Suspect, AFindingAboutRank0Alone) {
  const Culprit file{CulpritKind::file, "/f", "", 0};
  EXPECT_TRUE(is_about_rank_0_alone(of({rank_0_culprit()})));
  EXPECT_TRUE(is_about_rank_0_alone(of({file, rank_0_culprit()})));
  EXPECT_FALSE(is_about_rank_0_alone(of({})));
  EXPECT_FALSE(is_about_rank_0_alone(of({file})));
  EXPECT_FALSE(is_about_rank_0_alone(of({{CulpritKind::rank, "rank 0", "a", 0}})));
  EXPECT_FALSE(is_about_rank_0_alone(of({rank_0_culprit(), {CulpritKind::rank, "rank 1", "", 1}})));
}

TEST(Suspect, TheRemedyNamesTheOtherNodes) {
  EXPECT_EQ(rank_0_remedy(std::vector<std::string>{"nid001", "nid001", "nid002", "nid003", "nid003"})
                .find("run it once more without nid001 (--nodes 'nid[002-003]'): "),
            0u);
}

TEST(Suspect, TheRemedyOfTheProgramIsItsOwn) {
  const std::vector<std::string> hosts{"nid001", "nid002"};
  EXPECT_EQ(remedy_before_rank_0("empty it; " + rank_0_remedy(hosts)), "empty it");
  EXPECT_EQ(remedy_before_rank_0(rank_0_remedy(hosts)), "");
  EXPECT_EQ(remedy_before_rank_0("empty it"), "empty it");
}

}  // namespace
}  // namespace muster
