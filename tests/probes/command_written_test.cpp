#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "model/program_metric.hpp"
#include "probes/command/patterns.hpp"

namespace muster {
namespace {

class WrittenFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = (fs::temp_directory_path() / "muster-written-XXXXXX").string();
    ASSERT_NE(::mkdtemp(made.data()), nullptr);
    folder_ = made;
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// What a metric finds in the file `out` of a program: `before` is a shell script that an earlier run was, `program`
  /// this run. Numbers joined by blanks, or the fact that there are none.
  std::string found(const std::string& before, const std::string& program) {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    shell(before);
    auto readings =
        *program::PatternReadings::make({to_text(ProgramMetric{"load", "1", "load: ([0-9]+)", "{check}/out"})}, {});
    readings.note_files(folder_.string());
    shell("sleep 0.02; " + program);  // the kernel's clock of files has ticks of up to 10 ms
    readings.read_files();
    Observation seen;
    readings.deliver(seen);
    if (const auto* fact = seen.fact("unwritten")) return fact->substr(fact->rfind('/') + 1);
    if (seen.readings.empty()) return "nothing";
    const auto& summary = seen.readings[0].summary;
    return fmt::format("{} from {} to {}", summary.n, summary.min, summary.max);
  }

 private:
  void shell(const std::string& script) const {
    EXPECT_EQ(std::system(fmt::format("cd {} && {{ {}\n}}", folder_.string(), script).c_str()), 0) << script;
  }
  fs::path folder_;
};

TEST_F(WrittenFile, OfAnAppendedFileOnlyTheNewTextCounts) {
  EXPECT_EQ(found("echo load: 1 >> out", "echo load: 2 >> out; echo load: 3 >> out"), "2 from 2 to 3");
  EXPECT_EQ(found("echo load: 1 >> out", "echo no result >> out"), "nothing");
  EXPECT_EQ(found("printf 'load: 1' >> out", "printf 2 >> out"), "nothing") << "the rest of an old line";
  EXPECT_EQ(found("seq -f 'load: %.0f' 200000 > out", "echo load: 7 >> out"), "1 from 7 to 7")
      << "longer than is compared";
  EXPECT_EQ(found("echo load: 1 > out", "{ cat out; echo load: 2; } > new; mv new out"), "1 from 2 to 2")
      << "appended to by way of a copy";
  EXPECT_EQ(found("true > out", "echo load: 2 >> out"), "1 from 2 to 2") << "it was empty";
}

TEST_F(WrittenFile, ANewOrRewrittenFileCountsAsAWhole) {
  EXPECT_EQ(found("true", "echo load: 2 > out"), "1 from 2 to 2") << "new";
  EXPECT_EQ(found("echo load: 1 > out", "echo load: 2 > out"), "1 from 2 to 2") << "as large as before";
  EXPECT_EQ(found("echo load: 1 > out", "echo load: 1 > out"), "1 from 1 to 1") << "the same text again";
  EXPECT_EQ(found("echo load: 1 > out", "echo load: 22 > out"), "1 from 22 to 22") << "larger";
  EXPECT_EQ(found("echo load: 11 > out", "echo load: 2 > out"), "1 from 2 to 2") << "smaller";
  EXPECT_EQ(found("echo load: 1 > out", "echo load: 22 > new; mv new out"), "1 from 22 to 22") << "another file";
  const std::string header = "yes header | head -n 20000";
  EXPECT_EQ(found("{ " + header + "; echo load: 1; } > out", "{ " + header + "; echo load: 22; } > out"),
            "1 from 22 to 22")
      << "a header longer than the beginning that is compared";
}

TEST_F(WrittenFile, AFileThatWasNotTouchedHasNoValues) {
  EXPECT_EQ(found("echo load: 1 > out", "true"), "out was not written by this run");
  EXPECT_EQ(found("echo load: 1 > out", "true >> out"), "out was not written by this run") << "opened alone";
  EXPECT_EQ(found("true", "true"), "out does not exist");
  EXPECT_EQ(found("echo load: 1 > out", "rm out; mkdir out"), "out can't be read: Is a directory");
}

}  // namespace
}  // namespace muster
