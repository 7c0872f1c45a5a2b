// Errors that links counted during a case: what fails, what is a note, and of which link.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "case_fixture.hpp"

namespace muster::testing {
namespace {

/// A case that passes, with facts of the first rank of each node.
struct LinkScene : CaseFixture {
  explicit LinkScene(int nodes = 2) : CaseFixture(nodes, 1) { message.evidence = {"all met"}; }
  LinkScene& with(int node, const std::string& key, const std::string& value) {
    rank(node).facts.push_back({key, value});
    return *this;
  }
  LinkScene& grew(int node, const std::string& what) { return with(node, "link_error", what); }
};

TEST(LinkErrors, ALinkThatWentDownFailsAnyCase) {
  for (const char* counter : {"link_downed", "carrier_down_count", "link_error_recovery", "aer_fatal"}) {
    const auto result = LinkScene().grew(1, fmt::format("mlx5_0/1 {} 1 2.0", counter)).result();
    EXPECT_EQ(result.verdict, Verdict::fail) << counter;
    ASSERT_EQ(result.culprits.size(), 1u);
    EXPECT_EQ(result.culprits[0], (Culprit{CulpritKind::link, "mlx5_0/1", "nid002", -1}));
    EXPECT_NE(result.reason.find(fmt::format("mlx5_0/1 on nid002 counted 1 more {} during this case: the link was down "
                                             "or had to be trained again",
                                             counter)),
              std::string::npos)
        << result.reason;
    EXPECT_FALSE(result.remedy.empty());
  }
}

TEST(LinkErrors, ErrorsCountByTheirRate) {
  EXPECT_EQ(LinkScene().grew(0, "hsn0 rx_crc_errors 10 2.0").result().verdict, Verdict::fail);
  EXPECT_EQ(LinkScene().grew(0, "0000:c1:00.0 aer_correctable 5000 100").result().verdict, Verdict::fail);
  for (const char* few : {"hsn0 rx_crc_errors 9 0.1", "hsn0 rx_crc_errors 10 20",
                          "0000:c1:00.0 aer_correctable 400 100", "cxi0 hni_llr_rx_replay_event 90 10"}) {
    const auto result = LinkScene().grew(0, few).result();
    EXPECT_EQ(result.verdict, Verdict::pass) << few << result.reason;
    EXPECT_NE(join(result.notes, "; ").find("during this case"), std::string::npos) << few;
  }
}

TEST(LinkErrors, ALinkFarAboveItsLikeFails) {
  const auto alone = LinkScene().grew(0, "hsn0 rx_errors 10 50").with(0, "link_counters", "rx_errors 4").result();
  EXPECT_EQ(alone.verdict, Verdict::pass) << "four are too few to compare";
  LinkScene scene;
  scene.grew(0, "hsn0 rx_errors 10 50").with(0, "link_counters", "rx_errors 4").with(1, "link_counters", "rx_errors 4");
  EXPECT_EQ(scene.result().verdict, Verdict::fail);
  EXPECT_NE(scene.result().reason.find("0.2 per second, the median of 8 links is 0"), std::string::npos)
      << scene.result().reason;
  LinkScene alike(6);
  for (int node = 0; node < 6; ++node)
    alike.grew(node, "hsn0 rx_errors 10 50").with(node, "link_counters", "rx_errors 1");
  EXPECT_EQ(alike.result().verdict, Verdict::pass) << alike.result().reason;
}

TEST(LinkErrors, APortThatJobsDoNotUseNeverFails) {
  for (const char* grown : {"eth0 rx_errors 9000 2.0 beside", "eth0 carrier_down_count 3 2.0 beside"}) {
    const auto result = LinkScene().grew(0, grown).result();
    EXPECT_EQ(result.verdict, Verdict::pass) << grown << result.reason;
    EXPECT_NE(join(result.notes, "; ").find("per second); the data of jobs takes other ports"), std::string::npos);
  }
}

/// Whatever its name: the probe declares it.
TEST(LinkErrors, AProbeThatReadsThemItselfIsLeftAlone) {
  LinkScene scene;
  scene.probe.judges_link_errors = true;
  const auto result = scene.grew(0, "mlx5_0/1 link_downed 1 2.0").result();
  EXPECT_EQ(result.verdict, Verdict::pass) << result.reason;
  EXPECT_TRUE(result.notes.empty()) << join(result.notes, "; ");
}

TEST(LinkErrors, WhatIsCorrectedNeverFails) {
  LinkScene scene(6);
  for (int node = 0; node < 6; ++node) {
    const int errors = node == 3 ? 90000000 : 20;
    scene.grew(node, fmt::format("cxi0 hni_pcs_corrected_cw {} 10", errors));
    scene.with(node, "link_counters", "hni_pcs_corrected_cw 1");
  }
  const auto result = scene.result();
  EXPECT_EQ(result.verdict, Verdict::pass);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_NE(result.notes[0].find("cxi0 on nid004"), std::string::npos) << result.notes[0];
}

TEST(LinkErrors, DamagedFactsSayNothing) {
  for (const char* text : {"", "hsn0", "hsn0 rx_errors", "hsn0 no_such_counter 99 1", "hsn0 rx_errors -5 1",
                           "hsn0 rx_errors 99 1 1", "hsn0 rx_errors x 1"})
    EXPECT_EQ(LinkScene().grew(0, text).result().verdict, Verdict::pass) << text;
}

TEST(LinkErrors, NoEvidenceByThemselves) {
  LinkScene scene;
  message.evidence.clear();
  EXPECT_EQ(scene.with(0, "link_counters", "rx_errors 4").result().verdict, Verdict::unmeasured);
}

}  // namespace
}  // namespace muster::testing
