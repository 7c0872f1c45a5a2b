#include "run/spool_reader.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/frame.hpp"
#include "base/text.hpp"
#include "model/json.hpp"
#include "run/messages.hpp"
#include "run/sample_spool.hpp"

namespace muster {
namespace {

using namespace test;

TEST(SpoolReaderTest, TakesTheVerdictWhereTheRanksOfALaunchAreNotRecorded) {
  std::vector<std::byte> bytes;
  const auto add = [&](MessageType type, const std::vector<std::byte>& payload) {
    const auto frame = encode_frame(static_cast<std::uint8_t>(type), payload);
    bytes.insert(bytes.end(), frame.begin(), frame.end());
  };
  add(MessageType::plan, encode_plan(plan_of(2), header()));
  add(MessageType::record, encode_record(good_record(0))[0]);
  add(MessageType::verdict, encode_verdict("hello%00000000", {1, Verdict::pass, "fine", 0.5, 0}));
  add(MessageType::record, encode_record(good_record(1))[0]);
  const auto report = salvage_bytes(bytes);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->cases[0].verdict, Verdict::pass);
  EXPECT_EQ(report->cases[0].evidence, (std::vector<std::string>{"fine"}));
  EXPECT_EQ(report->cases[1].verdict, Verdict::unmeasured);
  EXPECT_NE(join(report->notes, "\n").find("2 frames of the spool could not be used"), std::string::npos);
}

/// A spool in memory: a plan of two cases, its world, and whatever is added.
class Frames {
 public:
  explicit Frames(const Plan& plan = plan_of(2)) {
    add(MessageType::plan, encode_plan(plan, header()));
    add(MessageType::world, encode_spool_world(0, two_ranks()));
  }
  Frames& add(MessageType type, const std::vector<std::byte>& payload) {
    const auto frame = encode_frame(static_cast<std::uint8_t>(type), payload);
    bytes_.insert(bytes_.end(), frame.begin(), frame.end());
    return *this;
  }
  Frames& add(const CaseRecord& record, std::size_t most = 64u << 20) {
    for (const auto& payload : encode_record(record, most)) add(MessageType::record, payload);
    return *this;
  }
  [[nodiscard]] Result<RunReport> recover_spool() const { return salvage_bytes(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

TEST(SpoolReaderTest, JoinsARecordThatIsDividedIntoFrames) {
  ASSERT_EQ(encode_record(good_record(0), 1).size(), 2u);
  const auto report = Frames().add(good_record(0), 1).add(good_record(1), 1).recover_spool();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->cases[0].verdict, Verdict::pass) << report->cases[0].reason;
  EXPECT_EQ(report->cases[1].verdict, Verdict::pass) << report->cases[1].reason;
}

TEST(SpoolReaderTest, DoesNotJudgeARecordOfWhichAPartIsMissing) {
  const auto parts = encode_record(good_record(0), 1);
  const auto cut = Frames().add(MessageType::record, parts[0]).recover_spool();
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->cases[0].verdict, Verdict::unmeasured);
  EXPECT_EQ(cut->cases[0].reason, "the driver ended before this case finished");
  EXPECT_NE(join(cut->notes, "\n").find("ends before all of its observations"), std::string::npos);
  const auto other = Frames().add(MessageType::record, parts[0]).add(good_record(1)).recover_spool();
  ASSERT_TRUE(other);
  EXPECT_EQ(other->cases[0].verdict, Verdict::unmeasured);
  EXPECT_EQ(other->cases[1].verdict, Verdict::pass);
}

TEST(SpoolReaderTest, CombinesRepetitions) {
  auto failed = good_record(0, 2);
  failed.findings = {hang()};
  const auto report = Frames(plan_of(1, 3)).add(good_record(0, 1)).add(failed).add(good_record(0, 3)).recover_spool();
  ASSERT_TRUE(report);
  ASSERT_EQ(report->cases.size(), 1u);
  EXPECT_EQ(report->cases[0].verdict, Verdict::fail);
  ASSERT_EQ(report->cases[0].repetitions.size(), 3u);
  EXPECT_EQ(report->cases[0].repetitions[1].verdict, Verdict::fail);
  EXPECT_EQ(report->cases[0].repetitions[1].index, 2);
}

TEST(SpoolReaderTest, SaysWhenItJudgesOtherwiseThanTheRunDid) {
  const auto verdict = encode_verdict("hello%00000000", {1, Verdict::fail, "by another muster", 0.5, 0});
  const auto report = Frames().add(good_record(0)).add(MessageType::verdict, verdict).recover_spool();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->cases[0].verdict, Verdict::pass);
  EXPECT_EQ(report->cases[0].notes.back(), "it was fail when it ran (by another muster), and is pass judged again");
}

TEST(SpoolReaderTest, ReportsCasesThatCouldNotBeLaunched) {
  auto plan = plan_of(1);
  plan.cases[0].unable = {{Verdict::skip, "needs 3 nodes", {}, "request more"}};
  const auto report = Frames(plan).recover_spool();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->cases[0].verdict, Verdict::skip);
  EXPECT_EQ(report->cases[0].reason, "needs 3 nodes");
}

TEST(SpoolReaderTest, RefusesPlansThatCanNotBe) {
  const auto damaged = [](const Plan& plan) {
    const auto report = Frames(plan).recover_spool();
    return !report && report.error().kind == ErrorKind::file;
  };
  auto plan = plan_of(1);
  plan.repeat = 0;
  EXPECT_TRUE(damaged(plan));
  plan.repeat = 2'000'000'000;
  EXPECT_TRUE(damaged(plan));
  plan.repeat = 1;
  plan.cases[0].shape.ranks_per_node = -1;
  EXPECT_TRUE(damaged(plan));
  plan.cases[0].shape.ranks_per_node = 2'000'000'000;
  plan.cases[0].shape.nodes = {"a", "b"};
  EXPECT_TRUE(damaged(plan));
}

TEST(SpoolReaderTest, NotesRecordsItCanNotUse) {
  const auto notes_of = [](const CaseRecord& record, const Plan& plan) {
    const auto report = Frames(plan).add(record).recover_spool();
    return report ? join(report->notes, "\n") : "no report";
  };
  const auto unused = "could not be used; the first: ";
  EXPECT_NE(notes_of(good_record(7), plan_of(1)).find(unused + std::string("record: of a case that is not planned")),
            std::string::npos);
  EXPECT_NE(notes_of(good_record(0, 2), plan_of(1)).find(unused), std::string::npos);
  auto plan = plan_of(1);
  plan.cases[0].probe = "no_such";
  EXPECT_NE(notes_of(good_record(0), plan).find("this muster has no such probe: no_such"), std::string::npos);
  plan = plan_of(1);
  plan.cases[0].params = {};
  EXPECT_NE(notes_of(good_record(0), plan).find(unused), std::string::npos);
}

TEST(SpoolReaderTest, RefusesASpoolOfANewerMuster) {
  auto json = *from_cbor(encode_plan(plan_of(1), header()));
  json["version"] = 2;
  const auto entry = decode_plan(to_cbor(json));
  ASSERT_FALSE(entry);
  EXPECT_EQ(entry.error().what, "the spool was written by a newer muster");
}

TEST(SalvageTest, SaysWhatCanNotBeRead) {
  EXPECT_EQ(recover_spool("/no/such/spool").error().kind, ErrorKind::file);
  EXPECT_EQ(recover_spool("/tmp").error().what, "is a directory, not a spool file");
  const auto pipe = fs::temp_directory_path() / fmt::format("muster-pipe-{}", ::getpid());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(recover_spool(pipe).error().what, "can't be read: it is a pipe or a device, not a spool file");
  fs::remove(pipe);
  ASSERT_TRUE(write_file(pipe, ""));
  const auto nothing = recover_spool(pipe);
  fs::remove(pipe);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().what, "holds neither a plan nor a verdict that can be read");
}

}  // namespace
}  // namespace muster
