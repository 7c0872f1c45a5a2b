// Every report format, drawn from the one run of sample_report.hpp.
#include "reporters/listed_report.hpp"
#include "reporters/sample_report.hpp"
#include "reporters/telling.hpp"

namespace muster {
namespace {

RunReport sample_run() {
  auto run = sample::report();
  run.muster_version = MUSTER_VERSION;
  return run;
}

TEST(Golden, Console) {
  expect_golden("console.txt", reported("console", sample_run()));
}

TEST(Golden, ConsoleWithColor) {
  ReporterOptions options;
  options.color = true;
  options.width = 120;
  expect_golden("console-color.txt", reported("console", sample_run(), options));
}

TEST(Golden, ConsoleQuiet) {
  ReporterOptions options;
  options.quiet = true;
  expect_golden("console-quiet.txt", reported("console", sample_run(), options));
}

TEST(Golden, ConsoleOfAGoodRun) {
  auto run = sample::good_report();
  run.muster_version = MUSTER_VERSION;
  expect_golden("console-good.txt", reported("console", run));
}

TEST(Golden, Json) {
  expect_golden("report.json", reported("json", sample_run()));
}

TEST(Golden, Junit) {
  expect_golden("junit.xml", reported("junit", sample_run()));
}

TEST(Golden, Prometheus) {
  expect_golden("muster.prom", reported("prometheus", sample_run()));
}

TEST(Golden, Markdown) {
  expect_golden("report.md", reported("markdown", sample_run()));
}

TEST(Golden, Csv) {
  expect_golden("readings.csv", reported("csv", sample::listed_report()));
}

TEST(Golden, EveryFormatIsRegisteredWithASummary) {
  for (const auto* name : {"console", "csv", "html", "json", "junit", "markdown", "prometheus"}) {
    const auto* spec = find_reporter(name);
    ASSERT_NE(spec, nullptr) << name;
    EXPECT_FALSE(spec->summary.empty());
  }
  EXPECT_EQ(find_reporter("json")->file_name, "report.json");
  EXPECT_EQ(find_reporter("junit")->file_name, "junit.xml");
  EXPECT_TRUE(find_reporter("console")->file_name.empty());
}

}  // namespace
}  // namespace muster
