// What must hold for any case, world and observations.
#ifdef MUSTER_HAVE_RAPIDCHECK

#include <array>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "case_fixture.hpp"

namespace muster::testing {
namespace {

/// A scene that passes: every rank reports every size well inside of all its bounds.
CaseFixture good_scene() {
  CaseFixture fixture(*rc::gen::inRange(1, 5), *rc::gen::inRange(1, 5));
  const int ranks = static_cast<int>(fixture.world.ranks.size());
  for (const char* size : {"8B", "16MiB"})
    for (int rank = 0; rank < ranks; ++rank) {
      fixture.add(rank, "busbw", *rc::gen::inRange(95, 105), {{"size", size}});
      fixture.add(rank, "busbw.capable", 200, {{"size", size}});
    }
  auto& asked = fixture.expect_reference("busbw", 100, -0.2);
  if (*rc::gen::arbitrary<bool>()) asked.limit = Limit{0.25, 1.0};
  if (*rc::gen::arbitrary<bool>()) asked.peers = Peers{};
  return fixture;
}

int any_rank(const CaseFixture& fixture) {
  return *rc::gen::inRange(0, static_cast<int>(fixture.world.ranks.size()));
}

/// Something may be wrong with each rank.
CaseFixture any_scene() {
  CaseFixture fixture = good_scene();
  const int troubles = *rc::gen::inRange(0, 4);
  for (int i = 0; i < troubles && !fixture.record.observations.empty(); ++i) {
    auto& one = fixture.record.observations[*rc::gen::inRange<std::size_t>(0, fixture.record.observations.size())];
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
        one.state = ObservationState::failed;
        break;
      case 1:
        one.state = ObservationState::not_prepared;
        break;
      case 2:
        one.readings.clear();
        break;
      case 3:
        if (!one.readings.empty()) one.readings[0].summary.median = *rc::gen::inRange(-10, 1000);
        break;
      case 4:
        one.readings.clear(), one.state = ObservationState::not_run;
        break;
      default:
        fixture.leave(one.rank);
        break;
    }
  }
  return fixture;
}

/// 0 best: the order of `combine`.
int badness(Verdict verdict) {
  switch (verdict) {
    case Verdict::fail:
      return 3;
    case Verdict::error:
      return 2;
    case Verdict::unmeasured:
      return 1;
    case Verdict::pass:
    case Verdict::skip:
      return 0;
  }
  return 0;
}

TEST(EvaluateProperty, AGoodSceneIsAPass) {
  EXPECT_TRUE(rc::check([] {
    const auto result = good_scene().result();
    RC_ASSERT(result.verdict == Verdict::pass);
    RC_ASSERT(!result.reason.empty());
    RC_ASSERT(result.items.empty());
    for (const auto& row : result.node_rows) RC_ASSERT(row.verdict == Verdict::pass);
  }));
}

TEST(EvaluateProperty, AMissingRankIsNeverAPass) {
  EXPECT_TRUE(rc::check([] {
    CaseFixture fixture = good_scene();
    message.evidence = {"everything is fine"};
    fixture.leave(any_rank(fixture));
    RC_ASSERT(fixture.result().verdict == Verdict::unmeasured);
  }));
}

TEST(EvaluateProperty, AnItemThatIsNoPassIsNeverAPass) {
  EXPECT_TRUE(rc::check([] {
    const auto result = any_scene().result();
    if (!result.items.empty()) RC_ASSERT(badness(result.verdict) >= 1);
    for (const Item& item : result.items) {
      RC_ASSERT(item.verdict != Verdict::pass);
      RC_ASSERT(badness(result.verdict) >= badness(item.verdict));
    }
  }));
}

TEST(EvaluateProperty, WhatIsNoPassHasAReasonAndARemedy) {
  EXPECT_TRUE(rc::check([] {
    const auto result = any_scene().result();
    RC_ASSERT(!result.reason.empty());
    if (result.verdict != Verdict::pass) RC_ASSERT(!result.remedy.empty());
    for (const Finding& finding : result.findings) {
      RC_ASSERT(finding.verdict != Verdict::pass);
      RC_ASSERT(!finding.reason.empty());
      RC_ASSERT(!finding.remedy.empty());
      RC_ASSERT(finding.culprits.size() <= 16u);
    }
  }));
}

TEST(EvaluateProperty, TheOrderOfObservationsDoesNotMatter) {
  EXPECT_TRUE(rc::check([] {
    CaseFixture fixture = any_scene();
    const auto before = fixture.result();
    const auto keys =
        *rc::gen::container<std::vector<int>>(fixture.record.observations.size(), rc::gen::arbitrary<int>());
    std::vector<std::pair<int, Observation>> keyed;
    for (std::size_t i = 0; i < keys.size(); ++i) keyed.emplace_back(keys[i], fixture.record.observations[i]);
    std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < keys.size(); ++i) fixture.record.observations[i] = keyed[i].second;
    RC_ASSERT(fixture.result() == before);
  }));
}

TEST(EvaluateProperty, AFailingItemMoreNeverImprovesTheVerdict) {
  EXPECT_TRUE(rc::check([] {
    CaseFixture fixture = any_scene();
    const auto before = fixture.result();
    if (fixture.record.observations.empty()) return;
    auto& one = fixture.record.observations[*rc::gen::inRange<std::size_t>(0, fixture.record.observations.size())];
    const bool counts = one.state == ObservationState::measured;
    fixture.add(one.rank, "busbw", 1, {{"size", *rc::gen::element<std::string>("8B", "16MiB", "1KiB")}});
    const auto after = fixture.result();
    RC_ASSERT(badness(after.verdict) >= badness(before.verdict));
    if (counts) RC_ASSERT(after.verdict == Verdict::fail);
  }));
}

TEST(EvaluateProperty, NodesOfAPassAreAPassAndNodesOfItemsAreNot) {
  EXPECT_TRUE(rc::check([] {
    const auto result = any_scene().result();
    for (const NodeRow& row : result.node_rows) {
      if (result.verdict == Verdict::pass) RC_ASSERT(row.verdict == Verdict::pass);
      for (const Item& item : result.items)
        if (item.node == row.node) RC_ASSERT(badness(row.verdict) >= badness(item.verdict));
    }
  }));
}

TEST(EvaluateProperty, JudgedCoversPassed) {
  EXPECT_TRUE(rc::check([] {
    const auto result = any_scene().result();
    int passed = 0;
    for (const MetricRow& row : result.metrics) {
      RC_ASSERT(row.passed <= row.judged);
      passed += row.passed;
    }
    for (const NodeRow& node : result.node_rows)
      for (const MetricRow& row : node.metrics) passed -= row.passed;
    RC_ASSERT(passed == 0);
  }));
}

Verdict any_verdict() {
  return static_cast<Verdict>(*rc::gen::inRange(0, 5));
}

Verdict both(Verdict a, Verdict b) {
  const std::array pair{a, b};
  return combine(pair);
}

TEST(CombineProperty, IsCommutativeAndAssociative) {
  EXPECT_TRUE(rc::check([] {
    const Verdict a = any_verdict();
    const Verdict b = any_verdict();
    const Verdict c = any_verdict();
    RC_ASSERT(both(a, b) == both(b, a));
    RC_ASSERT(both(a, both(b, c)) == both(both(a, b), c));
    const std::array all{a, b, c};
    RC_ASSERT(combine(all) == both(a, both(b, c)));
  }));
}

TEST(CombineProperty, RepetitionsAreNeverBetterThanTheirWorst) {
  EXPECT_TRUE(rc::check([] {
    std::vector<CaseResult> all(*rc::gen::inRange<std::size_t>(1, 6));
    int worst = 0;
    for (CaseResult& one : all) {
      one.verdict = any_verdict();
      one.reason = "x";
      worst = std::max(worst, badness(one.verdict));
    }
    const auto count = all.size();
    const auto result = combine_repetitions(all);
    RC_ASSERT(badness(result.verdict) == worst);
    RC_ASSERT(result.repetitions.size() == count);
  }));
}

}  // namespace
}  // namespace muster::testing

#endif
