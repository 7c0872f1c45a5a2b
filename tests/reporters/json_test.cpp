#include "model/json.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "reporters/listed_report.hpp"
#include "reporters/telling.hpp"

namespace muster {
namespace {

TEST(JsonReport, ReadsBackAsTheSameRun) {
  auto run = sample::report();
  const auto json = nlohmann::json::parse(reported("json", run), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  const auto back = run_report_from_json(json);
  ASSERT_TRUE(back) << to_string(back.error());
  for (auto& result : run.cases)
    for (auto& output : result.outputs) output.text = printable(output.text);
  ASSERT_EQ(back->cases.size(), run.cases.size());
  for (std::size_t i = 0; i < run.cases.size(); ++i) EXPECT_EQ(back->cases[i], run.cases[i]) << run.cases[i].id;
  EXPECT_EQ(back->launches, run.launches);
  EXPECT_EQ(*back, run);
}

TEST(JsonReport, TheTextIsTheDocument) {
  auto hostile = sample::listed_report();
  hostile.notes = {sample::hostile, "\"quoted\" \\ and \t\n", ""};
  hostile.cases[2].params = {{sample::hostile, sample::hostile}, {"a", "first"}, {"a", "second"}};
  hostile.cases[2].metrics[0].over.mad = std::numeric_limits<double>::infinity();
  hostile.cases[2].metrics[0].bounds = {{BoundKind::limit, Verdict::fail, 1.5, {}, "a limit"}};
  for (const auto& run : {hostile, sample::report(), RunReport{}})
    EXPECT_EQ(nlohmann::json::parse(reported("json", run), nullptr, false), to_json(run));
}

TEST(JsonReport, ReadFromTextItIsTheSame) {
  for (auto run : {sample::listed_report(), sample::report(), RunReport{}}) {
    for (auto& result : run.cases) {
      result.outputs.clear();
      for (auto& row : result.node_rows) row.metrics = {sample::row("triad", "GB/s", {}, sample::summary(4, 1, 2, 3))};
    }
    const auto back = read_run_report(reported("json", run));
    ASSERT_TRUE(back) << to_string(back.error());
    EXPECT_EQ(*back, run);
  }
}

TEST(JsonReport, WhatIsWrongInTheTextHasAPlace) {
  const auto text = reported("json", sample::report());
  const auto with = [&](const std::string& from, const std::string& to, std::size_t times) {
    auto changed = text;
    auto at = changed.find(from);
    for (; times > 1; --times) at = changed.find(from, at + 1);
    const auto read = read_run_report(changed.replace(at, from.size(), to));
    return read ? std::string("read") : to_string(read.error());
  };
  EXPECT_NE(with("\"ranks\": 4", "\"ranks\": \"4\"", 4).find("cases[1].node_rows[1].ranks"), std::string::npos)
      << with("\"ranks\": 4", "\"ranks\": \"4\"", 4);
  EXPECT_NE(with("\"ranks\": 4", "\"rank\": 4", 1).find("cases[0].node_rows[0]"), std::string::npos);
  EXPECT_NE(with("\"exit_status\": 1", "\"exit_status\": true", 1).find("exit_status"), std::string::npos);
  EXPECT_NE(with("{", "", 1).find("is not valid JSON"), std::string::npos);
  EXPECT_NE(with("\"schema_version\": 1", "\"schema_version\": 99", 1).find("schema_version"), std::string::npos);
}

TEST(JsonReport, IsWrittenForReadingAndEndsInANewline) {
  const auto text = reported("json", sample::good_report());
  EXPECT_EQ(text.rfind("{\n \"", 0), 0u);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(printable(text), text);
}

TEST(JsonReport, SaysNothingBeforeTheEnd) {
  const auto reporter = find_reporter("json")->make({});
  std::ostringstream out;
  reporter->run_started(header_of(sample::report()), out);
  reporter->case_finished(sample::hello(), out);
  reporter->notice("a node is lost", out);
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace muster
