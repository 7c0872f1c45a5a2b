#include "model/json.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "reporters/sample_report.hpp"
#include "reporters/telling.hpp"

namespace muster {
namespace {

TEST(JsonReport, ReadsBackAsTheSameRun) {
  auto run = sample::report();
  const auto json = nlohmann::json::parse(told("json", run), nullptr, false);
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

TEST(JsonReport, IsWrittenForReadingAndEndsInANewline) {
  const auto text = told("json", sample::good_report());
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
