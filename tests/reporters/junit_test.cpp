#include <pugixml.hpp>

#include "base/text.hpp"
#include "reporters/sample_report.hpp"
#include "reporters/telling.hpp"

namespace muster {
namespace {

pugi::xml_document parsed(const std::string& text) {
  pugi::xml_document document;
  const auto result = document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  EXPECT_TRUE(result) << result.description();
  return document;
}

pugi::xml_node case_named(const pugi::xml_document& document, const std::string& name) {
  return document.child("testsuites").child("testsuite").find_child_by_attribute("testcase", "name", name.c_str());
}

std::string property(pugi::xml_node node, const char* name) {
  return node.child("properties").find_child_by_attribute("property", "name", name).attribute("value").value();
}

TEST(Junit, CountsAgreeWithTheElements) {
  const auto document = parsed(reported("junit", sample::report()));
  const auto suite = document.child("testsuites").child("testsuite");
  int tests = 0, failures = 0, errors = 0, skipped = 0;
  for (const auto one : suite.children("testcase")) {
    ++tests;
    failures += !one.child("failure").empty();
    errors += !one.child("error").empty();
    skipped += !one.child("skipped").empty();
  }
  EXPECT_EQ(tests, 8);
  for (const auto counted : {document.child("testsuites"), suite}) {
    EXPECT_EQ(counted.attribute("tests").as_int(), tests);
    EXPECT_EQ(counted.attribute("failures").as_int(), failures);
    EXPECT_EQ(counted.attribute("errors").as_int(), errors);
  }
  EXPECT_EQ(suite.attribute("skipped").as_int(), skipped);
  EXPECT_EQ(failures, 3);
  EXPECT_EQ(errors, 2);
}

TEST(Junit, EachVerdictHasItsElement) {
  const auto document = parsed(reported("junit", sample::report()));
  const auto hello = case_named(document, "hello%3f2a9c1d");
  EXPECT_STREQ(hello.attribute("classname").value(), "cirrus.gpu.hello");
  EXPECT_STREQ(hello.attribute("time").value(), "0.410");
  EXPECT_TRUE(hello.child("failure").empty() && hello.child("error").empty() && hello.child("skipped").empty());
  EXPECT_STREQ(case_named(document, "p2p%5e1f1e55").child("error").attribute("type").value(), "unmeasured");
  EXPECT_STREQ(case_named(document, "pytorch%d15ea5e0").child("error").attribute("type").value(), "error");
  EXPECT_STREQ(case_named(document, "training%0badc0de").child("failure").attribute("type").value(), "training");
  EXPECT_NE(
      std::string(case_named(document, "device_visibility%00c0ffee").child("skipped").attribute("message").value())
          .find("no GPU"),
      std::string::npos);
}

TEST(Junit, PropertiesCarryMetricsParametersAndCulprits) {
  const auto document = parsed(reported("junit", sample::report()));
  const auto one = case_named(document, "allreduce%77aa0b11 sizes=16MiB");
  EXPECT_EQ(property(one, "metric.busbw{size=16MiB,type=float}"), "11.9 GB/s");
  EXPECT_EQ(property(one, "param.type"), "float");
  EXPECT_EQ(property(one, "culprit"), "rank 5 on nid002");
  EXPECT_NE(std::string(one.child("failure").text().get()).find("\nremedy: compare the link rate"), std::string::npos);
  const auto suite = document.child("testsuites").child("testsuite");
  EXPECT_EQ(property(suite, "run"), "a1b2c3d4");
  EXPECT_EQ(property(suite, "nid002.kernel"), "6.1.0-17-amd64");
  EXPECT_STREQ(suite.attribute("timestamp").value(), "2026-11-21T08:00:00");
}

TEST(Junit, TextThatNobodyVouchesForComesBackAsPrintable) {
  const auto document = parsed(reported("junit", sample::report()));
  const std::string out = case_named(document, "training%0badc0de").child("system-out").text().get();
  EXPECT_NE(out.find(printable(sample::hostile)), std::string::npos) << out;
}

TEST(Junit, WellFormedForAnyBytes) {
  auto run = sample::good_report();
  std::string all("\xEF\xBF\xBE\xEF\xBF\xBF\xED\xA0\x80\xC2\x9B");  // not in XML; a surrogate; C1
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  run.cases[0].outputs = {{0, all, all + "]]>"}};
  run.cases[0].id = all;
  const auto text = reported("junit", run);
  EXPECT_EQ(text.find("\xEF\xBF\xBE"), std::string::npos);
  EXPECT_EQ(text.find("\xEF\xBF\xBF"), std::string::npos);
  EXPECT_EQ(printable(text), text);
  const auto document = parsed(text);
  const auto first = document.child("testsuites").child("testsuite").child("testcase");
  EXPECT_NE(std::string(first.child("system-out").text().get()).find("]]>"), std::string::npos);
}

TEST(Junit, TimesAreNumbersWhateverTheRunSays) {
  auto run = sample::good_report();
  run.cases[0].seconds = -1;
  run.cases[1].seconds = 1e300;
  run.cases[2].seconds = 12345678.9;
  run.started = "";
  const auto document = parsed(reported("junit", run));
  const auto suite = document.child("testsuites").child("testsuite");
  std::vector<std::string> times;
  for (const auto one : suite.children("testcase")) times.emplace_back(one.attribute("time").value());
  EXPECT_EQ(times, (std::vector<std::string>{"0.000", "0.000", "12345678.900"}));
}

}  // namespace
}  // namespace muster
