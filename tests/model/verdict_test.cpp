#include "muster/verdict.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

#include "muster/report.hpp"

namespace muster {
namespace {

constexpr auto pass = Verdict::pass;
constexpr auto fail_ = Verdict::fail;
constexpr auto unmeasured = Verdict::unmeasured;
constexpr auto error = Verdict::error;
constexpr auto skip = Verdict::skip;

std::vector<CaseResult> cases(const std::vector<Verdict>& verdicts) {
  std::vector<CaseResult> all(verdicts.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i].verdict = verdicts[i];
  return all;
}

TEST(VerdictTest, WordsReadBack) {
  const std::pair<Verdict, const char*> words[]{
      {pass, "pass"}, {fail_, "fail"}, {unmeasured, "unmeasured"}, {error, "error"}, {skip, "skip"}};
  for (const auto& [verdict, word] : words) {
    EXPECT_EQ(to_string(verdict), word);
    EXPECT_EQ(parse_verdict(word), verdict);
  }
  for (const auto* word : {"", "PASS", "passed", "pass ", "ok"}) EXPECT_FALSE(parse_verdict(word)) << word;
}

TEST(VerdictTest, WordsOfCulpritsReadBack) {
  const std::pair<CulpritKind, const char*> words[]{
      {CulpritKind::node, "node"}, {CulpritKind::rank, "rank"},       {CulpritKind::device, "device"},
      {CulpritKind::link, "link"}, {CulpritKind::setting, "setting"}, {CulpritKind::launcher, "launcher"},
      {CulpritKind::file, "file"}, {CulpritKind::program, "program"}};
  for (const auto& [kind, word] : words) {
    EXPECT_EQ(to_string(kind), word);
    EXPECT_EQ(parse_culprit_kind(word), kind);
  }
  EXPECT_FALSE(parse_culprit_kind("gremlin"));
  EXPECT_FALSE(parse_culprit_kind(""));
}

TEST(VerdictTest, BoundsHaveWords) {
  EXPECT_EQ(to_string(BoundKind::reference), "reference");
  EXPECT_EQ(to_string(BoundKind::limit), "limit");
  EXPECT_EQ(to_string(BoundKind::peers), "peers");
  EXPECT_EQ(to_string(BoundKind::history), "history");
}

TEST(VerdictTest, TheWorstCountsAndSkipIsNeutral) {
  const std::pair<std::vector<Verdict>, Verdict> table[]{
      {{}, unmeasured},
      {{pass}, pass},
      {{skip}, skip},
      {{skip, skip}, skip},
      {{skip, pass}, pass},
      {{pass, unmeasured}, unmeasured},
      {{skip, unmeasured}, unmeasured},
      {{unmeasured, error, pass}, error},
      {{error, fail_, unmeasured}, fail_},
      {{pass, pass, skip, fail_}, fail_},
      {{error, skip}, error},
  };
  for (const auto& [verdicts, combined] : table) EXPECT_EQ(combine(verdicts), combined);
}

TEST(VerdictTest, TallyCountsEveryVerdict) {
  const auto counted = tally(cases({pass, pass, fail_, skip, pass, error}));
  EXPECT_EQ(counted.of(pass), 3);
  EXPECT_EQ(counted.of(fail_), 1);
  EXPECT_EQ(counted.of(unmeasured), 0);
  EXPECT_EQ(counted.of(error), 1);
  EXPECT_EQ(counted.of(skip), 1);
  EXPECT_EQ(counted.total(), 6);
  EXPECT_EQ(tally({}).total(), 0);
}

TEST(VerdictTest, ExitStatusTable) {
  const std::pair<std::vector<Verdict>, int> table[]{
      {{}, 2},
      {{pass}, 0},
      {{pass, skip}, 0},
      {{skip}, 2},
      {{skip, skip}, 2},
      {{unmeasured}, 2},
      {{pass, unmeasured}, 2},
      {{pass, error}, 2},
      {{pass, fail_}, 1},
      {{error, fail_, unmeasured}, 1},
      {{fail_, skip}, 1},
  };
  for (const auto& [verdicts, status] : table) EXPECT_EQ(exit_status(cases(verdicts)), status);
}

TEST(VerdictTest, NothingStartsAsAPass) {
  EXPECT_EQ(CaseResult().verdict, unmeasured);
  EXPECT_EQ(RunReport().verdict, unmeasured);
  EXPECT_EQ(RunReport().exit_status, 2);
  EXPECT_EQ(Item().verdict, unmeasured);
  EXPECT_EQ(BoundOutcome().verdict, unmeasured);
  EXPECT_EQ(Repetition().verdict, unmeasured);
  EXPECT_EQ(NodeRow().verdict, unmeasured);
}

#ifdef MUSTER_HAVE_RAPIDCHECK
rc::Gen<std::vector<Verdict>> verdicts() {
  return rc::gen::container<std::vector<Verdict>>(rc::gen::element(pass, fail_, unmeasured, error, skip));
}

TEST(VerdictTest, CombiningDoesNotDependOnOrderOrGrouping) {
  const bool good = rc::check([] {
    auto all = *verdicts();
    const auto whole = combine(all);
    const auto cut = *rc::gen::inRange<std::size_t>(0, all.size() + 1);
    if (cut > 0 && cut < all.size()) {
      const Verdict halves[]{combine(std::span(all).first(cut)), combine(std::span(all).subspan(cut))};
      RC_ASSERT(combine(halves) == whole);
    }
    std::reverse(all.begin(), all.end());
    RC_ASSERT(combine(all) == whole);
  });
  EXPECT_TRUE(good);
}

TEST(VerdictTest, ExitStatusIsZeroOnlyForAPass) {
  const bool good = rc::check([] {
    const auto all = *verdicts();
    RC_ASSERT((exit_status(cases(all)) == 0) == (combine(all) == pass));
    RC_ASSERT((exit_status(cases(all)) == 1) == (combine(all) == fail_));
  });
  EXPECT_TRUE(good);
}
#endif

}  // namespace
}  // namespace muster
