// Whatever a report holds, Prometheus' own tool takes the file.
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <limits>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.hpp"
#include "reporters/common/exposition.hpp"
#include "reporters/listed_report.hpp"
#include "reporters/telling.hpp"

namespace muster {
namespace {

bool has(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t times = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++times;
  return times;
}

/// What promtool says; its exit status is 0 when the file is fine, 3 when only a name could be better.
std::string by_promtool(const std::string& text, int& status) {
  const auto path = fs::temp_directory_path() / fmt::format("muster-prometheus-test-{}.prom", ::getpid());
  EXPECT_TRUE(write_file(path, text));
  std::string message;
  std::FILE* pipe = ::popen(fmt::format("promtool check metrics < {} 2>&1", path.string()).c_str(), "r");
  char bytes[4096];
  while (pipe != nullptr && std::fgets(bytes, sizeof bytes, pipe) != nullptr) message += bytes;
  status = pipe == nullptr ? -1 : WEXITSTATUS(::pclose(pipe));
  fs::remove(path);
  return message;
}

void expect_taken(const RunReport& report, int allowed = 0) {
  if (find_program("promtool").empty()) GTEST_SKIP() << "there is no promtool (Debian package prometheus)";
  int status = -1;
  const auto text = reported("prometheus", report);
  const auto message = by_promtool(text, status);
  EXPECT_TRUE(status == 0 || status == allowed) << status << "\n" << message;
}

RunReport hostile_run() {
  auto run = sample::report();
  const std::string evil = sample::hostile + "\"},{\\\n# TYPE muster_forged counter\nmuster_forged 1\n";
  run.system = run.host = run.muster_version = run.simulated = evil;
  run.nodes = {{evil, {}}, {evil + "2", {}}};
  run.variables = {{evil, evil}};
  for (auto& result : run.cases) {
    result.id = result.check = result.partition = result.system = result.node = evil;
    result.params = {{evil, evil}};
    result.swept = {evil};
    result.node_rows = {{evil, 1, Verdict::fail, {}}, {"b", 1, Verdict::pass, {}}};
    for (auto& row : result.metrics) {
      row.metric = row.unit = evil;
      row.where = {{evil, evil}, {"le", "1"}, {"case", "x"}, {"9", "x"}, {"", "x"}};
    }
  }
  return run;
}

TEST(Prometheus, PromtoolTakesTheSampleWithoutAWord) {
  expect_taken(sample::report());
}

TEST(Prometheus, PromtoolTakesAnEmptyRun) {
  expect_taken({});
}

TEST(Prometheus, PromtoolTakesHostileText) {
  expect_taken(hostile_run(), 3);
}

TEST(Prometheus, PromtoolRefusesWhatIsBroken) {
  if (find_program("promtool").empty()) GTEST_SKIP() << "there is no promtool (Debian package prometheus)";
  int status = 0;
  by_promtool(reported("prometheus", sample::report()) + "muster_cases{verdict=\"fail} 1\n", status);
  EXPECT_NE(status, 0);
}

TEST(Prometheus, HostileTextForgesNoSeries) {
  const auto text = reported("prometheus", hostile_run());
  EXPECT_FALSE(has(text, "\nmuster_forged"));
  EXPECT_FALSE(has(text, "\n# TYPE muster_forged"));
}

TEST(Prometheus, NoSampleHasATimestamp) {
  const auto text = reported("prometheus", sample::report());
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);)
    if (line[0] != '#') {
      const auto value = line.substr(line.find('}') + 2);
      EXPECT_EQ(value.find(' '), std::string::npos) << line;
    }
}

TEST(Prometheus, ASimulatedRunSaysSoInEverySeries) {
  auto run = sample::report();
  run.simulated = "lumi-g";
  std::istringstream all(reported("prometheus", run));
  for (std::string line; std::getline(all, line);) {
    EXPECT_TRUE(line[0] == '#' || has(line, "simulated=\"lumi-g\"")) << line;
  }
}

TEST(Prometheus, ValuesAreInBaseUnits) {
  EXPECT_EQ(base_unit("GB/s").name, "bytes_per_second");
  EXPECT_DOUBLE_EQ(base_unit("GB/s").factor, 1e9);
  EXPECT_DOUBLE_EQ(base_unit("Gbit/s").factor, 1e9 / 8);
  EXPECT_EQ(base_unit("us").name, "seconds");
  EXPECT_DOUBLE_EQ(base_unit("us").factor, 1e-6);
  EXPECT_EQ(base_unit("%").name, "ratio");
  EXPECT_DOUBLE_EQ(base_unit("%").factor, 0.01);
  EXPECT_EQ(base_unit("1").name, "");
  EXPECT_EQ(base_unit("furlongs/fortnight").name, "furlongs_fortnight");
}

TEST(Prometheus, NamesAreInSnakeCase) {
  EXPECT_EQ(snake_case("busbw.capable"), "busbw_capable");
  EXPECT_EQ(snake_case("rankTime"), "rank_time");
  EXPECT_EQ(snake_case("__a--b "), "a_b");
  EXPECT_EQ(snake_case("\x1b\xff"), "unnamed");
  EXPECT_EQ(snake_case(""), "unnamed");
  EXPECT_LE(snake_case(std::string(10'000, 'a')).size(), 80u);
}

TEST(Prometheus, EndingsThatMeanSomethingElseGetAWord) {
  auto run = sample::good_report();
  run.cases[0].metrics = {sample::row("retries_total", "1", {}, sample::summary(1, 3, 3, 3))};
  const auto text = reported("prometheus", run);
  EXPECT_TRUE(has(text, "muster_metric_retries_total_value{")) << text;
  expect_taken(run);
}

TEST(Prometheus, OnlyWhatIsFiniteAndNewIsWritten) {
  auto run = sample::good_report();
  const auto nothing = sample::summary(1, 0, std::numeric_limits<double>::quiet_NaN(), 0);
  run.cases[0].metrics = {
      sample::row("first", "1", {}, nothing), sample::row("second", "1", {}, sample::summary(1, 1, 1, 1)),
      sample::row("second", "1", {}, sample::summary(1, 2, 2, 2)), sample::row("third", "1", {}, {})};
  const auto text = reported("prometheus", run);
  EXPECT_FALSE(has(text, "muster_metric_first"));
  EXPECT_EQ(count(text, "\nmuster_metric_second{"), 1u);
  EXPECT_FALSE(has(text, "muster_metric_third"));
  EXPECT_TRUE(has(text, "muster_series_left_out{system=\"cirrus\"} 2\n")) << text;
  expect_taken(run);
}

TEST(Prometheus, ALargeClusterFillsNoServer) {
  RunReport run;
  CaseResult result;
  result.id = "hello%1";
  for (int i = 0; i < 20'000; ++i)
    result.node_rows.push_back({fmt::format("nid{:05}", i), 1, i == 19'999 ? Verdict::fail : Verdict::pass, {}});
  run.cases = {result};
  const auto text = reported("prometheus", run);
  EXPECT_EQ(count(text, "\nmuster_node_verdict{"), most_series);
  EXPECT_TRUE(has(text, "muster_node_verdict{node=\"nid19999\",verdict=\"fail\"} 1")) << "those in trouble come first";
  EXPECT_TRUE(has(text, "muster_nodes{verdict=\"pass\"} 19999"));
  EXPECT_TRUE(has(text, "muster_series_left_out 15000"));
}

}  // namespace
}  // namespace muster
