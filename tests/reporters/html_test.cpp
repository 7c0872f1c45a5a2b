// The page of the HTML report, as far as that can be said without a browser; tests/e2e/html_test.py opens it in one.
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "model/matrix.hpp"
#include "reporters/html/grouped_cases.hpp"
#include "reporters/html/json_text.hpp"
#include "reporters/html/template.hpp"
#include "reporters/sample_report.hpp"
#include "reporters/telling.hpp"

namespace muster {
namespace {

/// The data in a page: what a browser's parser sees of that element.
nlohmann::json data_in(const std::string& page) {
  const std::string opening = "<script id=\"data\" type=\"application/json\">";
  const auto at = page.find(opening);
  EXPECT_NE(at, std::string::npos);
  const auto begin = at + opening.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

nlohmann::json data_of(const RunReport& report) {
  return data_in(reported("html", report));
}

CaseResult on_node(const std::string& node, Verdict verdict, const std::string& reason) {
  auto result = sample::hello();
  result.node = node;
  result.id += "@" + node;
  result.node_rows = {{node, 4, verdict, {result.metrics.front()}}};
  result.verdict = verdict;
  result.reason = reason;
  if (verdict != Verdict::pass) result.findings = {{verdict, reason, {{CulpritKind::node, node, node, -1}}, "look"}};
  return result;
}

TEST(Html, IsOnePageWithoutAnythingFromOutside) {
  const auto page = reported("html", sample::report());
  EXPECT_EQ(page.rfind("<!doctype html>", 0), 0U);
  EXPECT_EQ(page.find("@DATA@"), std::string::npos);
  for (const auto* outside : {"src=", "<link", "@import", "fetch(", "XMLHttpRequest"})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  // Namespaces are names, not addresses.
  auto text = page;
  for (auto at = text.find("http"); at != std::string::npos; at = text.find("http", at + 1))
    EXPECT_TRUE(text.compare(at, 26, "http://www.w3.org/2000/svg") == 0 || text.compare(at, 10, "http-equiv") == 0)
        << text.substr(at, 60);
}

TEST(Html, PolicyNamesTheScriptByItsHash) {
  EXPECT_EQ(html::base64(""), "");
  EXPECT_EQ(html::base64("f"), "Zg==");
  EXPECT_EQ(html::base64("fo"), "Zm8=");
  EXPECT_EQ(html::base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(html::page_script_sha256().size(), 64U);
  const auto page = reported("html", sample::report());
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(page.find("script-src 'sha256-"), std::string::npos);
}

TEST(Html, DataHasEveryCaseTheWorstFirst) {
  const auto data = data_of(sample::report());
  std::vector<int> verdicts;
  for (const auto& one : data["cases"]) verdicts.push_back(one["verdict"]);
  EXPECT_EQ(verdicts, (std::vector<int>{1, 1, 1, 3, 2, 0, 0, 4}));
  EXPECT_EQ(data["nodes"], (nlohmann::json{"nid001", "nid002"}));
  const auto& first = data["cases"][0];
  EXPECT_EQ(first["id"], "allreduce%77aa0b11 sizes=16MiB");
  EXPECT_EQ(first["items"][0]["bounds"][0]["least"], 11.25);
  EXPECT_EQ(first["items"][0]["sum"], (nlohmann::json{20, 3.9, 4.02, 4.3, 4.3, 0.04}));
  EXPECT_EQ(first["culprits"][0],
            (nlohmann::json{{"kind", "rank"}, {"text", "rank 5 on nid002"}, {"node", 1}, {"rank", 5}}));
  EXPECT_EQ(first["on"], (nlohmann::json{0, 1}));
  EXPECT_EQ(first["on_verdicts"], "01");
  EXPECT_EQ(first["rerun"], shell_line(sample::allreduce().rerun));
  EXPECT_FALSE(data.contains("left_out"));
}

TEST(Html, TextOfOthersStaysText) {
  auto report = sample::report();
  const std::string name = "</script><script>alert(1)</script>\x1b[2J\"'&\\ <!-- \xff" + std::string(10'000, 'n');
  report.nodes[0].node = name;
  report.cases[0].node_rows[0].node = name;
  report.cases[2].culprits[0] = {CulpritKind::rank, name, name, 5};
  report.cases[2].reason = name;
  report.system = name;
  const auto page = reported("html", report);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_EQ(page.find('\xff'), std::string::npos);
  const auto data = data_in(page);
  const std::string expected = "</script><script>alert(1)</script>\\x1b[2J\"'&\\ <!-- \xEF\xBF\xBD";
  EXPECT_EQ(data["cases"][0]["reason"].get<std::string>().rfind(expected, 0), 0U);
  EXPECT_GT(data["nodes"][0].get<std::string>().size(), 9'900U);
}

TEST(Html, NumbersThatDoNotExistAreNull) {
  html::JsonText out;
  out.begin_list();
  for (const double value :
       {1.0, 12345.678, 1e-9, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    out.number(value);
  out.number(7);
  out.end_list();
  EXPECT_EQ(nlohmann::json::parse(out.view()), (nlohmann::json{1, 12346, 1e-9, nullptr, nullptr, 7}));
}

TEST(Html, LongTextIsCutAtACharacter) {
  html::JsonText out;
  out.text("\xC3\xA4\xC3\xA4\xC3\xA4", 3);
  EXPECT_EQ(out.view(), "\"\xC3\xA4... (4 bytes more)\"");
}

TEST(Html, NodesThatAreWellAreOneCase) {
  auto report = sample::report();
  report.cases.clear();
  for (int i = 0; i < 50; ++i) {
    const auto node = "nid" + std::to_string(100 + i);
    report.cases.push_back(
        on_node(node, i % 10 == 3 ? Verdict::fail : Verdict::pass, i % 10 == 3 ? node + " is hot" : ""));
    report.cases.back().metrics[0].over = sample::summary(1, i, i, i);
  }
  const auto shown = html::grouped_cases(report);
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_EQ(shown[0].all.size(), 5U);
  EXPECT_EQ(shown[1].all.size(), 45U);
  const auto data = data_of(report);
  EXPECT_EQ(data["cases"][0]["hosts"], "nid[103,113,123,133,143]");
  EXPECT_EQ(data["cases"][1]["metrics"][0]["by"].size(), 45U);
  EXPECT_EQ(data["cases"][1]["metrics"][0]["sum"][1], 0);
  EXPECT_EQ(data["cases"][1]["metrics"][0]["sum"][4], 49);
  EXPECT_EQ(data["cases"][1]["metrics"][0]["sum"][3], nullptr);
}

TEST(Html, MatricesComeFromTheFilesBesideTheReport) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "html_matrices";
  std::filesystem::create_directories(folder / "matrices");
  const float none = std::numeric_limits<float>::quiet_NaN();
  const Matrix matrix{"bandwidth", "GB/s", {{"size", "1MiB"}}, false, {"nid001", "nid002"}, {none, 10, 20, none}};
  std::ofstream(folder / "matrices/1.bin", std::ios::binary) << to_file(matrix);
  auto report = sample::report();
  report.folder = folder.string();
  report.cases[4].matrices = {{"bandwidth", {{"size", "1MiB"}}, "rank", 2, "matrices/1.bin"},
                              {"latency", {{"size", "8B"}}, "rank", 2, "../../etc/passwd"}};
  const auto data = data_of(report);
  const auto& found = data["cases"][4]["matrices"];
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]["nodes"], (nlohmann::json{0, 1}));
  EXPECT_EQ(found[0]["least"], 10);
  EXPECT_EQ(found[0]["most"], 20);
  // Not measured, least, most (of 65,535 levels), not measured.
  EXPECT_EQ(found[0]["levels"], html::base64(std::string("\xff\xff\x00\x00\xfe\xff\xff\xff", 8)));
  EXPECT_EQ(data["left_out"].size(), 1U);
}

TEST(Html, WithoutAFileMatricesComeFromReadings) {
  auto report = sample::report();
  auto& result = report.cases[4];
  result.matrices = {{"bandwidth", {}, "rank", 2, "matrices/1.bin"}};
  result.rank_rows = {{0, "nid001", {}}, {1, "nid002", {}}};
  result.metrics[0].readings = {{0, 1, sample::summary(3, 9, 10, 11), Verdict::skip},
                                {1, 0, sample::summary(3, 19, 20, 21), Verdict::skip}};
  const auto data = data_of(report);
  ASSERT_EQ(data["cases"][4]["matrices"].size(), 1U);
  EXPECT_EQ(data["cases"][4]["matrices"][0]["most"], 20);
  EXPECT_EQ(data["cases"][4]["metrics"][0]["peers"], (nlohmann::json{1, 0}));
}

TEST(Html, WhatHasNoRoomIsNamed) {
  auto report = sample::report();
  report.cases.clear();
  auto big = sample::hello();
  big.outputs.assign(30, {0, "nid001", std::string(8'000, 'x')});
  big.verdict = Verdict::fail;
  for (int i = 0; i < 100; ++i) report.cases.push_back(big);
  const auto page = reported("html", report);
  EXPECT_LT(page.size(), 15'000'000U);
  const auto data = data_in(page);
  EXPECT_EQ(data["cases"].size(), 100U);
  EXPECT_TRUE(data["cases"][99].contains("is_brief"));
  EXPECT_EQ(data["left_out"].size(), 1U);
}

TEST(Html, ACaseOfManyBadReadingsIsStillTold) {
  auto report = sample::report();
  auto& result = report.cases[2];
  result.items.assign(100'000, result.items.front());
  const auto page = reported("html", report);
  EXPECT_LT(page.size(), 1'000'000U);
  const auto data = data_in(page);
  EXPECT_FALSE(data["cases"][0].contains("is_brief"));
  EXPECT_EQ(data["cases"][0]["items"].size(), 200U);
  EXPECT_EQ(data["cases"][0]["items_left_out"], 99'800);
}

TEST(Html, SaysTheVerdictWithoutScripts) {
  auto report = sample::report();
  report.simulated = "lumi-g";
  const auto page = reported("html", report);
  EXPECT_NE(page.find("<title>SIMULATED FAIL cirrus 2026-11-21T08:00</title>"), std::string::npos);
  const auto plain = page.substr(page.find("<noscript>"), 2000);
  EXPECT_NE(plain.find("<b>FAIL allreduce%77aa0b11 sizes=16MiB</b>"), std::string::npos);
}

}  // namespace
}  // namespace muster
