#include "reporters/common/phrases.hpp"

#include <gtest/gtest.h>

#include "reporters/common/paragraph.hpp"
#include "reporters/sample_report.hpp"

namespace muster {
namespace {

TEST(Paragraph, WrapsBetweenWordsWithAHangingIndent) {
  EXPECT_EQ(wrap("one two three four five six", 24, 4), "one two three four\n    five six");
  EXPECT_EQ(wrap("", 80, 4), "");
  EXPECT_EQ(wrap("   ", 80, 4), "");
  EXPECT_EQ(wrap("  indented  twice", 80, 0), "  indented  twice");
}

TEST(Paragraph, NeverBreaksAWord) {
  const std::string command(100, 'c');
  EXPECT_EQ(wrap("run " + command + " now", 40, 2), "run\n  " + command + "\n  now");
}

TEST(Paragraph, KeepsShortQuotedTextOnOneLine) {
  EXPECT_EQ(wrap("add the line `a = [{ b = 1, c = 2 }]`, then run", 24, 2),
            "add the line\n  `a = [{ b = 1, c = 2 }]`,\n  then run");
  EXPECT_EQ(wrap("`x` is one of the `words` that fit", 24, 2), "`x` is one of the\n  `words` that fit");
  EXPECT_EQ(wrap("what `begins and does not end is text", 24, 2), "what `begins and does\n  not end is text");
}

TEST(Paragraph, NoLineEndsInASpace) {
  const auto wrapped = wrap("aaaa bbbb cccc dddd eeee ffff gggg hhhh", 20, 0);
  EXPECT_EQ(wrapped.find(" \n"), std::string::npos);
}

TEST(Paragraph, CountsCharactersAndCutsBetweenThem) {
  EXPECT_EQ(columns("a\xC3\xA9z"), 3u);
  EXPECT_EQ(cut("a\xC3\xA9zzzzzz", 5), "a\xC3\xA9...");
  EXPECT_EQ(cut("abcde", 5), "abcde");
  EXPECT_EQ(cut("abcdef", 2), "..");
  EXPECT_EQ(cut("ab cdefgh", 6), "ab...");
  EXPECT_EQ(cut("abc", 0), "");
  EXPECT_EQ(pad("\xC3\xA9", 3), "\xC3\xA9  ");
  EXPECT_EQ(pad_left("7", 3), "  7");
  EXPECT_EQ(pad_left("12345", 3), "12345");
}

TEST(Phrases, Times) {
  EXPECT_EQ(time_phrase(0.04), "0.0 s");
  EXPECT_EQ(time_phrase(99.9), "99.9 s");
  EXPECT_EQ(time_phrase(99.96), "1:40");
  EXPECT_EQ(time_phrase(-1), "?");
  EXPECT_EQ(clock_phrase(3723), "1:02:03");
  EXPECT_EQ(clock_phrase(59.6), "1:00");
  EXPECT_EQ(clock_phrase(1e30), "?");
}

TEST(Phrases, Shapes) {
  EXPECT_EQ(shape_phrase(2, 8), "2 nodes x 4 ranks");
  EXPECT_EQ(shape_phrase(1, 1), "1 node x 1 rank");
  EXPECT_EQ(shape_phrase(2, 7), "2 nodes, 7 ranks");
  EXPECT_EQ(shape_phrase(0, 0), "0 ranks");
}

TEST(Phrases, CulpritsByWhatAPersonWouldLookFor) {
  EXPECT_EQ(culprit_phrase({CulpritKind::rank, "rank 5", "nid003", 5}), "rank 5 on nid003");
  EXPECT_EQ(culprit_phrase({CulpritKind::node, "nid003", "nid003", -1}), "nid003");
  EXPECT_EQ(culprit_phrase({CulpritKind::device, "0000:c1:00.0", "nid003", -1}), "device 0000:c1:00.0 on nid003");
  EXPECT_EQ(culprit_phrase({CulpritKind::link, "link 3", "", -1}), "link 3");
}

TEST(Phrases, BriefHasTheValueAndItsBoundFirstAndTheCulpritOnce) {
  const auto text = brief(sample::allreduce());
  EXPECT_EQ(text.rfind("busbw", 0), 0u) << text;
  EXPECT_NE(text.find("bound"), std::string::npos) << text;
  const auto who = text.find("rank 5 on nid002");
  EXPECT_NE(who, std::string::npos) << text;
  EXPECT_EQ(text.find("rank 5 on nid002", who + 1), std::string::npos) << text;
  EXPECT_EQ(brief(sample::training()).rfind("rank 5 on nid002 is stopped", 0), 0u) << "not said twice";
  EXPECT_EQ(brief(sample::pytorch()).rfind("program \"python3", 0), 0u);
  EXPECT_EQ(brief(sample::allreduce_small()), "busbw 8.44 GB/s");
  EXPECT_EQ(brief(sample::hello()), "8 ranks on 2 nodes answered") << "evidence before metrics that nobody judged";
  auto two = sample::allreduce_small();
  two.metrics.push_back(two.metrics[0]);
  two.metrics[1].where = {{"size", "8B"}};
  EXPECT_EQ(brief(two), "busbw{size=1MiB,type=float} 8.44 GB/s, busbw{size=8B} 8.44 GB/s");
}

TEST(Phrases, BriefHasTheNumbersOfAProgramWithoutABound) {
  auto stream = sample::allreduce_small();
  stream.probe = "command";
  stream.evidence = {"each program had 56 CPUs"};
  stream.metrics = {sample::row("copy", "MB/s", {}, sample::summary(2, 22000, 23000, 24000)),
                    sample::row("triad", "MB/s", {}, sample::summary(2, 23000, 24044, 25000))};
  EXPECT_EQ(brief(stream), "copy 23000 MB/s, triad 24044 MB/s (no bound)");
  stream.metrics[1].judged = 2;
  EXPECT_EQ(brief(stream), "triad 24044 MB/s, copy 23000 MB/s (no bound)");
  for (int size = 1; size < 6; ++size) {
    stream.metrics.push_back(stream.metrics[0]);
    stream.metrics.back().where = {{"size", std::to_string(size)}};
  }
  EXPECT_TRUE(brief(stream).ends_with("copy{size=3} 23000 MB/s and 2 more (no bound)")) << brief(stream);
  stream.metrics[0].judged = 2;
  EXPECT_EQ(brief(stream), "copy 23000 MB/s, triad 24044 MB/s") << "other sizes of a metric with a bound";
}

TEST(Phrases, ASummaryWithoutSamplesHasNoValue) {
  EXPECT_EQ(value_phrase({}, "GB/s"), "no value");
  EXPECT_EQ(metric_phrase(sample::row("bandwidth", "GB/s", {}, {})), "no value; not judged");
}

TEST(Phrases, TalliesByUrgency) {
  EXPECT_EQ(tally_phrase(tally(sample::report().cases)), "3 fail, 1 error, 1 unmeasured, 2 pass, 1 skip");
  EXPECT_EQ(verdict_word(Verdict::unmeasured), "UNMEASURED");
  EXPECT_EQ(verdict_word(Verdict::skip), "skip");
}

}  // namespace
}  // namespace muster
