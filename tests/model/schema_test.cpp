// Documents that the published schema must accept; tests/house/schema_test.py puts them to an independent validator.
#include <cstdlib>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "model/json.hpp"
#include "model/sample_report.hpp"

namespace muster {
namespace {

/// Compares with tests/golden/report/<name>; MUSTER_UPDATE_GOLDEN=1 writes it instead.
void expect_golden(const std::string& name, const RunReport& report) {
  const auto file = fs::path(MUSTER_SOURCE_DIR) / "tests/golden/report" / name;
  const auto text = dump(to_json(report), 1) + "\n";
  if (const char* update = std::getenv("MUSTER_UPDATE_GOLDEN"); update != nullptr && std::string(update) == "1") {
    const auto written = write_file(file, text);
    ASSERT_TRUE(written) << to_string(written.error());
  }
  const auto golden = read_file(file);
  ASSERT_TRUE(golden) << to_string(golden.error());
  EXPECT_EQ(*golden, text) << "if this is meant: MUSTER_UPDATE_GOLDEN=1";
  const auto back = run_report_from_json(nlohmann::json::parse(*golden));
  ASSERT_TRUE(back) << to_string(back.error());
}

TEST(GoldenReport, FullReportIsAsApproved) {
  expect_golden("full.json", test::sample_report());
}

TEST(GoldenReport, BareReportIsAsApproved) {
  expect_golden("bare.json", test::bare_report());
}

TEST(GoldenReport, ReportWithNumbersThatAreNoneIsAsApproved) {
  auto report = test::sample_report();
  report.seconds = std::numeric_limits<double>::infinity();
  auto& item = report.cases[0].items[0];
  item.summary.median = item.summary.mad = std::numeric_limits<double>::quiet_NaN();
  item.bounds[0].most = std::numeric_limits<double>::infinity();
  expect_golden("no-numbers.json", report);
}

}  // namespace
}  // namespace muster
