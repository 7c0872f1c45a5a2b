#include "model/json.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "model/sample_report.hpp"

namespace muster {
namespace {

using nlohmann::json;
using test::Chance;

/// What reading the sample report says after `path` (a JSON pointer) was replaced.
std::string error_after(const char* path, const json& value) {
  auto document = to_json(test::sample_report());
  document[json::json_pointer(path)] = value;
  const auto back = run_report_from_json(document);
  return back ? "no error" : to_string(back.error());
}

TEST(ReportJson, GivesBackTheSampleReport) {
  const auto text = dump(to_json(test::sample_report()), 1);
  const auto back = run_report_from_json(json::parse(text));
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, test::sample_report());
}

TEST(ReportJson, GivesBackAReportThatSaysNothing) {
  const auto back = run_report_from_json(to_json(test::bare_report()));
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, test::bare_report());
}

TEST(ReportJson, GivesBackAnyReport) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const auto made = Chance(seed).report();
    const auto back = run_report_from_json(json::parse(dump(to_json(made))));
    ASSERT_TRUE(back) << seed << ": " << to_string(back.error());
    ASSERT_EQ(*back, made) << seed;
  }
}

TEST(ReportJson, PutsTheUnitBesideTheNumbers) {
  const auto item = to_json(test::sample_report())["cases"][0]["items"][0];
  EXPECT_EQ(item["metric"], "busbw");
  EXPECT_EQ(item["unit"], "GB/s");
  EXPECT_EQ(item["median"], 12.5);
  EXPECT_EQ(item["n"], 4);
  EXPECT_EQ(item["where"]["size"], "16MiB");
  EXPECT_EQ(item["verdict"], "fail");
  EXPECT_EQ(item["bounds"][0]["least"], 80.75);
  EXPECT_FALSE(item["bounds"][1].contains("least"));
}

TEST(ReportJson, CountsCasesByVerdict) {
  const auto document = to_json(test::sample_report());
  EXPECT_EQ(document["schema_version"], 1);
  EXPECT_EQ(document["tally"], (json{{"pass", 1}, {"fail", 1}, {"unmeasured", 0}, {"error", 0}, {"skip", 0}}));
}

TEST(ReportJson, ShowsNoValueWhereNothingWasMeasured) {
  const auto row = to_json(test::sample_report())["cases"][1]["metrics"][1];
  EXPECT_EQ(row["n"], 0);
  EXPECT_FALSE(row.contains("median"));
}

TEST(ReportJson, WritesNullForNumbersThatAreNone) {
  auto report = test::sample_report();
  report.seconds = std::numeric_limits<double>::infinity();
  report.cases[0].items[0].summary.mad = std::nan("");
  const auto document = to_json(report);
  EXPECT_TRUE(document["seconds"].is_null());
  EXPECT_TRUE(document["cases"][0]["items"][0]["mad"].is_null());
  const auto back = run_report_from_json(document);
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_TRUE(std::isnan(back->seconds));
}

TEST(ReportJson, MakesForeignTextHarmless) {
  auto report = test::bare_report();
  report.user = "a\x1b[31m\xff";
  report.nodes = {{"n", {{"env.\x07", "\x01"}}}};
  report.cases = {test::sample_failure()};
  report.cases[0].outputs[0].text = std::string("x\0y", 3);
  const auto text = dump(to_json(report));
  for (const char c : text) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  EXPECT_EQ(text.find("\\u00"), std::string::npos) << text;
  EXPECT_TRUE(json::accept(text));
}

TEST(ReportJson, NamesThePlaceOfWhatIsWrong) {
  EXPECT_EQ(error_after("/cases/1/verdict", "passs"),
            "cases[1].verdict: \"passs\" is not a verdict; did you mean \"pass\"?");
  EXPECT_EQ(error_after("/cases/0/items/0/n", "4"), "cases[0].items[0].n: expected an integer, found string");
  EXPECT_EQ(error_after("/cases/0/items/0/n", 4.5), "cases[0].items[0].n: expected an integer, found number");
  EXPECT_EQ(error_after("/cases/0/items/0/where", json::array()),
            "cases[0].items[0].where: expected an object, found array");
  EXPECT_EQ(error_after("/cases/0/items/0/where/size", 3), "cases[0].items[0].where.size: expected text, found number");
  EXPECT_EQ(error_after("/launches/0/argv", "mpirun -n 2"), "launches[0].argv: expected an array, found string");
  EXPECT_EQ(error_after("/launches/0/argv/1", 1), "launches[0].argv[1]: expected text, found number");
  EXPECT_EQ(error_after("/seconds", "12"), "seconds: expected a number, found string");
  EXPECT_EQ(error_after("/exit_status", 1LL << 40), "exit_status: is too large");
  EXPECT_EQ(error_after("/cases/0/items/0/n", 1ULL << 63), "cases[0].items[0].n: is too large");
  EXPECT_EQ(error_after("/nodes/0", nullptr), "nodes[0]: expected an object, found null");
  EXPECT_EQ(error_after("/nodes/0/facts/cores", 64), "nodes[0].facts.cores: expected text, found number");
  EXPECT_EQ(error_after("/cases/0/culprits/0/kind", "nodes"),
            "cases[0].culprits[0].kind: \"nodes\" is not a kind of culprit; did you mean \"node\"?");
}

TEST(ReportJson, KnowsEveryKey) {
  EXPECT_EQ(error_after("/cases/0/resaon", "x"), "cases[0].resaon: is not known; did you mean \"reason\"?");
  // Values that are not there because nothing was measured must not be there.
  EXPECT_EQ(error_after("/cases/1/metrics/1/median", 0).substr(0, 40), "cases[1].metrics[1].median: is not known");
}

TEST(ReportJson, RefusesADocumentWithoutAnyRequiredKey) {
  const auto whole = to_json(test::bare_report());
  for (const auto& [key, value] : whole.items()) {
    auto document = whole;
    document.erase(key);
    const auto back = run_report_from_json(document);
    ASSERT_FALSE(back) << key;
    EXPECT_EQ(back.error().kind, ErrorKind::file);
    EXPECT_EQ(back.error().where, key);
    EXPECT_EQ(back.error().what.substr(0, 10), "is missing");
  }
}

TEST(ReportJson, RefusesAnotherSchemaVersion) {
  EXPECT_EQ(error_after("/schema_version", 2), "schema_version: is 2, this muster reads up to 1; use a newer muster");
  EXPECT_EQ(error_after("/schema_version", 0), "schema_version: 0 does not exist");
  EXPECT_EQ(error_after("/schema_version", "1"), "schema_version: expected an integer, found string");
  for (const auto& other : {json(3), json("x"), json::array({1}), json(nullptr)})
    EXPECT_FALSE(run_report_from_json(other)) << other;
}

TEST(FindingJson, GivesBackTheFinding) {
  const auto finding = test::sample_failure().findings[1];
  const auto back = finding_from_json(to_json(finding));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, finding);
  EXPECT_FALSE(finding_from_json(json::object()));
}

const ParamSpec specs[] = {{"sizes", ParamType::bytes_list, "8B", "Sizes."},
                           {"argv", ParamType::text_list, "true", "Program."},
                           {"count", ParamType::integer, "1", "Count.", {}, 1, 100}};
const ProbeSpec probe_sample{.name = "sample", .summary = "A probe for tests.", .params = specs};

Params sample_params() {
  Params params;
  params.set("sizes", {ParamType::bytes_list, {Bytes{8}, Bytes{1u << 20}}});
  params.set("argv", {ParamType::text_list, {std::string("sh"), std::string("-c"), std::string("echo a,b")}});
  params.set("count", {ParamType::integer, {std::int64_t{7}}});
  return params;
}

TEST(ParamsJson, AreTextAsOneWouldTypeIt) {
  const auto document = to_json(sample_params());
  EXPECT_EQ(document["count"], "7");
  EXPECT_EQ(document["sizes"], (json{"8B", "1MiB"}));
  EXPECT_EQ(document["argv"], (json{"sh", "-c", "echo a,b"}));
  const auto back = params_from_json(document, probe_sample);
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, sample_params());
}

std::string params_error(const char* key, const json& value) {
  auto document = to_json(sample_params());
  document[key] = value;
  const auto back = params_from_json(document, probe_sample);
  return back ? "no error" : to_string(back.error());
}

TEST(ParamsJson, ReadsAListAlsoFromOneText) {
  auto document = to_json(sample_params());
  document["sizes"] = "8B,1MiB";
  const auto back = params_from_json(document, probe_sample);
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, sample_params());
}

TEST(ParamsJson, NamesTheParameterThatIsWrong) {
  EXPECT_EQ(params_error("counts", "7"), "counts: is not a parameter of probe sample; did you mean \"count\"?");
  EXPECT_EQ(params_error("count", 7), "count: expected text or an array of texts, found number");
  EXPECT_EQ(params_error("sizes", json{"8B", 9}), "sizes[1]: expected text, found number");
  EXPECT_EQ(params_error("count", "many").substr(0, 6), "count:");
  EXPECT_EQ(params_error("count", "1000").substr(0, 6), "count:");
  auto document = to_json(sample_params());
  document.erase("argv");
  EXPECT_EQ(to_string(params_from_json(document, probe_sample).error()), "argv: is missing");
  EXPECT_FALSE(params_from_json(json::array(), probe_sample));
}

Plan sample_plan() {
  Case item;
  item.id = "sample%01234567";
  item.check = "sample";
  item.probe = "sample";
  item.summary = "bytes \xff stay";
  item.tags = {"default"};
  item.file = "checks/sample.toml";
  item.place = "checks/sample.toml:1";
  item.params = sample_params();
  item.params.set("real", {ParamType::real, {0.1}});
  item.params.set("flag", {ParamType::boolean, {true}});
  item.params.set("time", {ParamType::duration, {Seconds{90}}});
  item.swept = {"count"};
  item.timeout = Seconds{2.5};
  Reference reference{85, -0.05, {}, "GB/s", "somewhere", "lumi.toml:3:1"};
  item.expects = {{"busbw", {{"size", "16MiB"}}, reference, Limit{0.25, {}}, Peers{4, 0.1, 6}, Drift{}, true, "x:1"},
                  {"latency", {}, {}, {}, Peers{}, {}, false, ""}};
  item.metrics = {{"rate", "GB/s", Better::higher}};
  item.references = {{"sample", {{"nodes", "2"}}, "busbw", reference}};
  item.system = "lumi";
  item.partition = "standard-g";
  item.environment = "container";
  item.ranks = {RanksSpec::Kind::per_node, 4};
  item.min_nodes = 2;
  item.shape = {{"nid001", "nid002"}, 4, 7, 2, true, true, "standard-g", "container"};
  item.rerun = {"muster", "run"};
  item.unable = {{Verdict::skip, "needs 3 nodes", {}, "request more"}};
  Plan plan;
  plan.system = "lumi";
  plan.system_file = "lumi.toml";
  plan.launcher = "mpirun";
  plan.repeat = 3;
  plan.cases = {item, Case{}};
  plan.launches = {{item.shape, {{0, 1}, {0, 2}, {1, 1}}}};
  return plan;
}

TEST(PlanJson, GivesBackThePlanByteForByte) {
  const auto back = plan_from_json(to_json(sample_plan()));
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, sample_plan());
  const auto cbor = from_cbor(to_cbor(to_json(sample_plan())));
  ASSERT_TRUE(cbor);
  EXPECT_EQ(*plan_from_json(*cbor), sample_plan());
}

TEST(PlanJson, NamesThePlaceOfWhatIsWrong) {
  auto document = to_json(sample_plan());
  document["cases"][0]["params"]["count"]["items"] = {"seven"};
  const auto back = plan_from_json(document);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().where, "cases[0].params");
  EXPECT_EQ(back.error().what.substr(0, 6), "count:");
  document = to_json(sample_plan());
  document["cases"][0]["params"]["count"]["type"] = "number";
  EXPECT_EQ(plan_from_json(document).error().where, "cases[0].params.count.type");
  document = to_json(sample_plan());
  document["cases"][1]["ranks"]["kind"] = "one-per-gpus";
  EXPECT_EQ(to_string(plan_from_json(document).error()),
            "cases[1].ranks.kind: \"one-per-gpus\" is not a number of ranks; did you mean \"one-per-gpu\"?");
}

TEST(WorldJson, GivesBackTheWorld) {
  World world;
  world.library = "Open MPI v4.1.4";
  world.ranks = {{0, 2, 0, 1, 0, 2, "nid001"}, {1, 2, 0, 1, 1, 2, "nid002"}};
  world.pids = {100, 200};
  world.nodes = {{"nid001", {{"kernel", "6.1"}}}, {"nid002", {}}};
  world.timing_doubt = "4 ranks share 2 cores on nid001";
  const auto back = world_from_json(to_json(world));
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, world);
  auto document = to_json(world);
  document["ranks"][1].erase("host");
  EXPECT_EQ(to_string(world_from_json(document).error()), "ranks[1].host: is missing");
}

TEST(Cbor, RefusesWhatIsNotExactlyOneDocument) {
  auto bytes = to_cbor(json{{"a", 1}});
  ASSERT_TRUE(from_cbor(bytes));
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(from_cbor(bytes));
  bytes.resize(bytes.size() - 2);
  const auto cut = from_cbor(bytes);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind, ErrorKind::protocol);
  EXPECT_FALSE(from_cbor({}));
}

TEST(Cbor, RefusesNestingThatWouldExhaustTheStack) {
  const std::vector<std::byte> deep(10'000'000, std::byte{0x81});  // arrays of one array
  EXPECT_FALSE(from_cbor(deep));
  json nested = 1;
  for (int i = 0; i < 64; ++i) nested = json::array({nested});
  EXPECT_TRUE(from_cbor(to_cbor(nested)));
  EXPECT_FALSE(from_cbor(to_cbor(json::array({nested}))));
}

TEST(Dump, ReplacesBadUtf8InsteadOfThrowing) {
  EXPECT_EQ(dump(json("a\xff")), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(dump(json{{"a", 1}}, 1), "{\n \"a\": 1\n}");
}

}  // namespace
}  // namespace muster
