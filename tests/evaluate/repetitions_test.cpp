#include <gtest/gtest.h>

#include "evaluate/evaluate.hpp"

namespace muster {
namespace {

CaseResult repetition(int index, Verdict verdict, const std::string& reason) {
  CaseResult result;
  result.id = "scene%00000001";
  result.verdict = verdict;
  result.reason = reason;
  result.seconds = index;
  if (verdict != Verdict::pass) result.findings = {{verdict, reason, {}, "do something"}};
  result.notes = {"seen by all"};
  result.repetitions = {{index, verdict, reason, static_cast<double>(index), 0}};
  return result;
}

TEST(Repetitions, OneIsItself) {
  const auto one = repetition(1, Verdict::fail, "slow");
  EXPECT_EQ(combine_repetitions({one}), one);
}

TEST(Repetitions, ThatAgreeKeepTheFirst) {
  const auto result =
      combine_repetitions({repetition(1, Verdict::pass, "good"), repetition(2, Verdict::pass, "good too")});
  EXPECT_EQ(result.verdict, Verdict::pass);
  EXPECT_EQ(result.reason, "good");
  EXPECT_EQ(result.seconds, 1);
  ASSERT_EQ(result.repetitions.size(), 2u);
  EXPECT_EQ(result.repetitions[1].index, 2);
  EXPECT_EQ(result.repetitions[1].reason, "good too");
  EXPECT_EQ(result.notes, (std::vector<std::string>{"seen by all"}));
}

TEST(Repetitions, ThatDisagreeAreIntermittent) {
  std::vector<CaseResult> all;
  for (int i = 1; i <= 10; ++i)
    all.push_back(repetition(i, i % 3 == 0 ? Verdict::fail : Verdict::pass, "number " + std::to_string(i)));
  const auto result = combine_repetitions(all);
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_EQ(result.reason, "intermittent 3/10: number 3");
  EXPECT_EQ(result.seconds, 3);
  EXPECT_EQ(result.findings, all[2].findings);
  EXPECT_EQ(result.repetitions.size(), 10u);
}

TEST(Repetitions, FailureWithoutAnyPassIsNotIntermittent) {
  const auto result =
      combine_repetitions({repetition(1, Verdict::unmeasured, "silent"), repetition(2, Verdict::fail, "slow")});
  EXPECT_EQ(result.verdict, Verdict::fail);
  EXPECT_EQ(result.reason, "slow");
}

TEST(Repetitions, OtherMixturesAreTheWorst) {
  EXPECT_EQ(combine_repetitions({repetition(1, Verdict::pass, "a"), repetition(2, Verdict::unmeasured, "b")}).reason,
            "b");
  EXPECT_EQ(combine_repetitions({repetition(1, Verdict::unmeasured, "a"), repetition(2, Verdict::error, "b")}).verdict,
            Verdict::error);
}

TEST(Repetitions, SkipsAreNeutral) {
  const auto result = combine_repetitions(
      {repetition(1, Verdict::skip, "a"), repetition(2, Verdict::pass, "b"), repetition(3, Verdict::fail, "c")});
  EXPECT_EQ(result.reason, "intermittent 1/2: c");
  EXPECT_EQ(combine_repetitions({repetition(1, Verdict::skip, "a"), repetition(2, Verdict::pass, "b")}).verdict,
            Verdict::pass);
  EXPECT_EQ(combine_repetitions({repetition(1, Verdict::skip, "a")}).verdict, Verdict::skip);
}

TEST(Repetitions, ThatNeverRanAreListedToo) {
  auto first = repetition(1, Verdict::skip, "not here");
  first.repetitions.clear();
  auto second = first;
  const auto result = combine_repetitions({first, second});
  ASSERT_EQ(result.repetitions.size(), 2u);
  EXPECT_EQ(result.repetitions[0], (Repetition{1, Verdict::skip, "not here", 1, -1}));
  EXPECT_EQ(result.repetitions[1].index, 2);
}

TEST(Repetitions, NotesOfAllAreKeptOnce) {
  auto first = repetition(1, Verdict::pass, "a");
  auto second = repetition(2, Verdict::pass, "b");
  second.notes.emplace_back("only here");
  EXPECT_EQ(combine_repetitions({first, second}).notes, (std::vector<std::string>{"seen by all", "only here"}));
}

}  // namespace
}  // namespace muster
