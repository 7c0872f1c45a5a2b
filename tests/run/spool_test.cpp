#include "run/spool.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/frame.hpp"
#include "base/text.hpp"
#include "run/messages.hpp"
#include "run/sample_spool.hpp"

namespace muster {
namespace {

using namespace test;

TEST_F(SpoolFile, IsJudgedAgainAfterTheDriverDied) {
  {
    auto spool = Spool::create(file());
    ASSERT_TRUE(spool);
    write_sample(*spool);
    EXPECT_FALSE(spool->is_degraded());
  }
  const auto report = recover_spool(file());
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->run_id, "abc123");
  ASSERT_EQ(report->cases.size(), 5u);
  EXPECT_EQ(report->cases[0].id, "node%n2");
  EXPECT_EQ(report->cases[0].culprits, (std::vector<Culprit>{{CulpritKind::node, "n2", "n2", -1}}));

  const auto& passed = report->cases[1];
  EXPECT_EQ(passed.verdict, Verdict::pass) << passed.reason;
  EXPECT_EQ(passed.metrics.size(), 1u);
  const auto& hung = report->cases[2];
  EXPECT_EQ(hung.verdict, Verdict::fail);
  EXPECT_EQ(hung.reason, hang().reason);
  EXPECT_EQ(hung.culprits, hang().culprits);
  const auto& brief = report->cases[3];
  EXPECT_EQ(brief.verdict, Verdict::fail);
  EXPECT_EQ(brief.reason, "too slow");
  EXPECT_FALSE(brief.remedy.empty());
  EXPECT_EQ(brief.summary, "Ranks say hello.");
  const auto& unfinished = report->cases[4];
  EXPECT_EQ(unfinished.verdict, Verdict::unmeasured);
  EXPECT_EQ(unfinished.reason, "the driver ended before this case finished");

  EXPECT_EQ(report->verdict, Verdict::fail);
  EXPECT_EQ(report->exit_status, 1);
  ASSERT_EQ(report->nodes.size(), 1u);
  EXPECT_EQ(report->nodes[0].node, "n1");
  // The launch that was, not those that were planned.
  ASSERT_EQ(report->launches.size(), 1u);
  EXPECT_EQ(report->launches[0].nodes, (std::vector<std::string>{"n1"}));
  EXPECT_EQ(report->launches[0].cases, (std::vector<std::string>{"hello%00000000", "hello%00000001"}));
  ASSERT_EQ(report->notes.size(), 1u);
  EXPECT_EQ(report->notes[0],
            "rebuilt from the spool: there is no report.json (the driver ended before it, or the disk was full)");
}

TEST_F(SpoolFile, IsNotLargerThanWhatIsInIt) {
  std::size_t size = 0;
  {
    auto spool = Spool::create(file());
    ASSERT_TRUE(spool);
    write_sample(*spool);
    struct stat status {};
    ASSERT_EQ(::stat(file().c_str(), &status), 0);
    size = static_cast<std::size_t>(status.st_size);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
  }
  struct stat status {};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(static_cast<std::size_t>(status.st_size), size);
  EXPECT_LT(static_cast<std::size_t>(status.st_blocks) * 512, size + (64u << 10));  // the reserve is given back
}

TEST_F(SpoolFile, CanBeCutAnywhere) {
  {
    auto spool = Spool::create(file());
    ASSERT_TRUE(spool);
    write_sample(*spool);
  }
  const auto bytes = bytes_of(file());
  // Where each verdict's frame ends, and which case it is of.
  std::vector<std::pair<std::size_t, std::string>> verdicts;
  FrameDecoder decoder;
  std::size_t plan_end = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    decoder.feed(std::span(bytes).subspan(i, 1));
    while (const auto frame = decoder.next()) {
      if (frame->type == static_cast<std::uint8_t>(MessageType::plan)) plan_end = i + 1;
      if (frame->type == static_cast<std::uint8_t>(MessageType::verdict))
        verdicts.emplace_back(i + 1, decode_verdict(frame->payload)->case_id);
    }
  }
  ASSERT_EQ(verdicts.size(), 4u);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const auto report = salvage_bytes(std::span(bytes).first(size));
    ASSERT_EQ(report.has_value(), size >= plan_end) << size;
    if (!report) continue;
    for (const auto& [end, id] : verdicts) {
      const auto* found = find_case(*report, id);
      if (end > size) continue;
      ASSERT_NE(found, nullptr) << size << " " << id;
      EXPECT_EQ(found->verdict, id == "hello%00000000" ? Verdict::pass : Verdict::fail) << size << " " << id;
    }
    const auto planned =
        std::count_if(report->cases.begin(), report->cases.end(), [](const auto& one) { return one.check == "hello"; });
    EXPECT_EQ(planned, 4) << size;
  }
}

TEST_F(SpoolFile, LosesOnlyTheFrameThatIsDamaged) {
  {
    auto spool = Spool::create(file());
    ASSERT_TRUE(spool);
    write_sample(*spool);
  }
  const auto bytes = bytes_of(file());
  // Every 7th byte in turn is turned over: never a crash, never a pass for what did not pass.
  for (std::size_t at = 0; at < bytes.size(); at += 7) {
    auto damaged = bytes;
    damaged[at] ^= std::byte{0xff};
    const auto report = salvage_bytes(damaged);
    ASSERT_TRUE(report) << at << ": " << to_string(report.error());
    EXPECT_GE(report->notes.size(), 2u) << at;
    for (const auto& one : report->cases) {
      if (one.id == "hello%00000000") continue;
      EXPECT_NE(one.verdict, Verdict::pass) << at << " " << one.id;
    }
  }
}

TEST_F(SpoolFile, WithoutItsPlanStillReportsVerdicts) {
  {
    auto spool = Spool::create(file());
    ASSERT_TRUE(spool);
    write_sample(*spool);
  }
  auto bytes = bytes_of(file());
  bytes[40] ^= std::byte{0xff};
  const auto report = salvage_bytes(bytes);
  ASSERT_TRUE(report) << to_string(report.error());
  ASSERT_EQ(report->cases.size(), 5u);
  EXPECT_EQ(report->cases[3].id, "hello%00000002");
  EXPECT_EQ(report->cases[3].check, "hello");
  EXPECT_EQ(report->cases[3].reason, "too slow");
  // What nobody remembers keeps the whole from being a pass.
  EXPECT_EQ(report->cases[4].id, "run%plan");
  EXPECT_EQ(report->cases[4].verdict, Verdict::unmeasured);
  EXPECT_NE(report->exit_status, 0);
  EXPECT_NE(join(report->notes, "\n").find("the plan is damaged"), std::string::npos);
}

TEST(VerdictFrame, FitsIntoTheReserveThatIsKeptForIt) {
  const Repetition repetition{2'000'000'000, Verdict::unmeasured, std::string(5000, 'x'), 1e-300, 2'000'000'000};
  const auto payload = encode_verdict(std::string(120, 'n'), repetition);
  EXPECT_LE(frame_head_size + payload.size(), largest_verdict_frame);
  EXPECT_EQ(decode_verdict(payload)->repetition.reason.size(), longest_reason);
}

}  // namespace
}  // namespace muster
