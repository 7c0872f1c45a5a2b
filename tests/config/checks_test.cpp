// Check files that are right, value by value.
#include "config/malformed.hpp"

namespace muster::fake {

namespace {

std::vector<Check> good_checks(const std::string& document) {
  Diagnostics diagnostics;
  auto checks = parse_checks(document, "dir/f.toml", probes, diagnostics);
  EXPECT_EQ(texts(diagnostics), std::vector<std::string>{});
  return checks;
}

Check good_check(const std::string& keys) {
  auto checks = good_checks("[check.a]\nprobe = \"bandwidth\"\n" + keys);
  EXPECT_EQ(checks.size(), 1u);
  return checks.empty() ? Check{} : checks.front();
}

std::vector<std::string> texts_of(const std::vector<ParamValue>& values) {
  std::vector<std::string> all;
  for (const auto& value : values) all.push_back(to_string(value));
  return all;
}

}  // namespace

TEST(Checks, DefaultsAreThoseOfTheDocumentation) {
  const auto check = good_check("");
  EXPECT_EQ(check.name, "a");
  EXPECT_EQ(check.probe, "bandwidth");
  EXPECT_EQ(check.summary, "Messages between ranks.") << "the probe's";
  EXPECT_EQ(check.ranks, RanksSpec{});
  EXPECT_EQ(check.min_nodes, 1);
  EXPECT_EQ(check.timeout, Seconds{60});
  EXPECT_EQ(check.file, "dir/f.toml");
  EXPECT_EQ(check.place, "dir/f.toml:1:8");
  EXPECT_TRUE(check.tags.empty() && check.params.empty() && check.sweep.empty() && check.expects.empty() &&
              check.metrics.empty());
}

TEST(Checks, ComeInTheOrderOfTheFile) {
  const auto checks = good_checks("[check.z]\nprobe = \"bandwidth\"\n[check.a]\nprobe = \"bandwidth\"\n");
  ASSERT_EQ(checks.size(), 2u);
  EXPECT_EQ(checks[0].name + checks[1].name, "za");
  EXPECT_EQ(checks[1].place, "dir/f.toml:3:8");
}

TEST(Checks, TakePlainKeys) {
  const auto check = good_check("summary = \"Links carry.\"\ntags = [\"default\", \"a-b_1\"]\nnodes = 2\n");
  EXPECT_EQ(check.summary, "Links carry.");
  EXPECT_EQ(check.tags, (std::vector<std::string>{"default", "a-b_1"}));
  EXPECT_EQ(check.min_nodes, 2);
}

TEST(Checks, TakeALaunchLine) {
  const auto check = good_check("launch = \"srun -N 2 --cpu-bind=$MUSTER_TEST_UNSET_MASKS\"\n");
  EXPECT_EQ(check.launch, "srun -N 2 --cpu-bind=$MUSTER_TEST_UNSET_MASKS");
  EXPECT_EQ(check.launch_place, "dir/f.toml:3:10");
}

TEST(Checks, TakeEveryWayToSayRanks) {
  using Kind = RanksSpec::Kind;
  EXPECT_EQ(good_check("ranks = \"one-per-node\"\n").ranks.kind, Kind::one_per_node);
  EXPECT_EQ(good_check("ranks = \"one-per-core\"\n").ranks.kind, Kind::one_per_core);
  EXPECT_EQ(good_check("ranks = \"one-per-numa\"\n").ranks.kind, Kind::one_per_numa);
  EXPECT_EQ(good_check("ranks = \"one-per-gpu\"\n").ranks.kind, Kind::one_per_gpu);
  EXPECT_EQ(good_check("ranks = { per_node = 4 }\n").ranks, (RanksSpec{Kind::per_node, 4}));
  EXPECT_EQ(good_check("ranks = { per_gpu = 1, otherwise = 2 }\n").ranks, (RanksSpec{Kind::one_per_gpu, 2}));
  for (const char* bind : {"none", "profile", "auto", "cores"})
    EXPECT_EQ(good_check(std::string("bind = \"") + bind + "\"\n").bind, bind);
  EXPECT_EQ(good_check("").bind, "");
}

TEST(Checks, TakeTimeoutsAsTextOrSeconds) {
  EXPECT_EQ(good_check("timeout = \"1m30s\"\n").timeout, Seconds{90});
  EXPECT_EQ(good_check("timeout = \"500ms\"\n").timeout, Seconds{0.5});
  EXPECT_EQ(good_check("timeout = 5\n").timeout, Seconds{5});
  EXPECT_EQ(good_check("timeout = 0.25\n").timeout, Seconds{0.25});
}

TEST(Checks, TakeParametersAsTextOrTyped) {
  const auto typed = good_check(R"([check.a.params]
sizes = ["8B", 1024]
type = "half"
repetitions = 4
share = 1
cap = 2.5
verify = false
)");
  const auto text = good_check(R"([check.a.params]
sizes = "8B,1KiB"
type = "half"
repetitions = "4"
share = "1.0"
cap = "2500ms"
verify = "false"
)");
  EXPECT_EQ(typed.params, text.params);
  ASSERT_EQ(typed.params.size(), 6u);
  EXPECT_EQ(typed.params.at("sizes").items, (std::vector<ParamScalar>{Bytes{8}, Bytes{1024}}));
  EXPECT_EQ(typed.params.at("cap").items, std::vector<ParamScalar>{Seconds{2.5}});
  EXPECT_EQ(typed.params.at("verify").items, std::vector<ParamScalar>{false});
}

TEST(Checks, KeepTextItemsAsTheyAre) {
  const auto checks = good_checks("[check.a]\nprobe = \"program\"\nparams.argv = [\"sh\", \"-c\", \" a,b \"]\n");
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].params.at("argv").items,
            (std::vector<ParamScalar>{std::string("sh"), std::string("-c"), std::string(" a,b ")}));
}

TEST(Checks, SweepScalarsAndLists) {
  const auto check =
      good_check("[check.a.sweep]\nrepetitions = [1, \"2\"]\nsizes = [[\"8B\", \"1KiB\"], \"1MiB,2MiB\", \"4KiB\"]\n");
  EXPECT_TRUE(check.params.empty());
  EXPECT_EQ(texts_of(check.sweep.at("repetitions")), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(texts_of(check.sweep.at("sizes")), (std::vector<std::string>{"8B,1KiB", "1MiB,2MiB", "4KiB"}));
}

TEST(Checks, SweepMaySupplyWhatHasNoDefault) {
  const auto checks = good_checks("[check.a]\nprobe = \"program\"\nsweep.argv = [[\"true\"], [\"sleep\", \"1\"]]\n");
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(texts_of(checks[0].sweep.at("argv")), (std::vector<std::string>{"true", "sleep,1"}));
}

TEST(Checks, SweepHasAMostNumberOfCases) {
  std::string sweep = "[check.a.sweep]\nrepetitions = [";
  for (int i = 1; i <= 101; ++i) sweep += std::to_string(i) + ", ";
  sweep += "]\nshare = [";
  for (int i = 100; i < 200; ++i) sweep += "0." + std::to_string(i) + ", ";
  EXPECT_EQ(errors_of_checks("[check.a]\nprobe = \"bandwidth\"\n" + sweep + "]\n"),
            std::vector<std::string>{"f.toml:3:10: the sweep makes 10100 cases; at most 10000"});
}

TEST(Checks, DeclareMetricsOfPrograms) {
  const auto checks = good_checks(R"([check.a]
probe = "program"
params.argv = ["true"]
[check.a.metrics]
rate = { unit = "samples/s", better = "higher" }
load = { unit = "1", better = "neither" }
temperature = { unit = "degC" }
[[check.a.expect]]
metric = "rate"
peers = {}
)");
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].metrics, (std::vector<DeclaredMetric>{{"rate", "samples/s", Better::higher},
                                                            {"load", "1", Better::neither},
                                                            {"temperature", "degC", Better::neither}}));
  EXPECT_EQ(checks[0].expects.at(0).metric, "rate");
}

TEST(Checks, TakeEveryBound) {
  const auto check = good_check(R"([[check.a.expect]]
metric = "busbw"
where = { size = "16777216B", link = "nvlink", nodes = 2 }
reference = { value = 150.0, lower = -0.1, upper = 0.2, unit = "GB/s", source = "measured" }
limit = { at_least = 0.25, at_most = 1.05 }
peers = { max_z = 3.5, floor = 0.05, min_items = 8 }
[[check.a.expect]]
metric = "latency"
reference = "profile"
)");
  ASSERT_EQ(check.expects.size(), 2u);
  const auto& first = check.expects[0];
  EXPECT_EQ(first.where, (Labels{{"link", "nvlink"}, {"nodes", "2"}, {"size", "16MiB"}}))
      << "sorted, as readings say it";
  EXPECT_EQ(first.reference, (Reference{150, -0.1, 0.2, "GB/s", "measured", "dir/f.toml:6:1"}));
  EXPECT_EQ(first.limit, (Limit{0.25, 1.05}));
  EXPECT_EQ(first.peers, (Peers{3.5, 0.05, 8}));
  EXPECT_FALSE(first.profile_reference);
  EXPECT_EQ(first.place, "dir/f.toml:3:1");
  EXPECT_TRUE(check.expects[1].profile_reference);
  EXPECT_FALSE(check.expects[1].reference || check.expects[1].limit || check.expects[1].peers);
}

TEST(Checks, PeersHaveDefaults) {
  const auto check = good_check("[[check.a.expect]]\nmetric = \"busbw\"\npeers = {}\n");
  ASSERT_EQ(check.expects.size(), 1u);
  EXPECT_EQ(check.expects[0].peers, Peers{});
}

TEST(Checks, LeaveReferencesInTheirUnit) {
  const auto check = good_check(R"([[check.a.expect]]
metric = "busbw"
reference = { value = 400, lower = -0.1, unit = "Gbit/s" }
[[check.a.expect]]
metric = "latency"
reference = { value = 2, upper = 0.0, unit = "ms" }
)");
  ASSERT_EQ(check.expects.size(), 2u);
  EXPECT_DOUBLE_EQ(check.expects[0].reference->value, 400) << "as it is printed";
  EXPECT_EQ(check.expects[0].reference->unit, "Gbit/s");
  EXPECT_EQ(check.expects[1].reference->unit, "ms");
  EXPECT_EQ(check.expects[1].reference->lower, std::nullopt) << "a missing side is open";
}

TEST(Checks, WhereMeansValuesNotTheirSpelling) {
  const auto where = [](const std::string& written, const std::string& more) {
    const auto check =
        good_check("[[check.a.expect]]\nmetric = \"busbw\"\npeers = {}\nwhere = " + written + "\n" + more);
    return check.expects.empty() ? Labels{} : check.expects[0].where;
  };
  EXPECT_EQ(where("{ size = 8 }", ""), (Labels{{"size", "8B"}})) << "the default";
  EXPECT_EQ(where("{ size = \"2048KiB\" }", "[check.a.params]\nsizes = [\"2MiB\"]\n"), (Labels{{"size", "2MiB"}}));
  EXPECT_EQ(where("{ size = \"4KiB\" }", "[check.a.sweep]\nsizes = [\"8B,4096B\", \"1KiB\"]\n"),
            (Labels{{"size", "4KiB"}}));
  EXPECT_EQ(where("{ cap = \"10000ms\", verify = true }", ""), (Labels{{"cap", "10s"}, {"verify", "true"}}));
  EXPECT_EQ(where("{ sizes = \"8,16MiB\" }", ""), (Labels{{"sizes", "8B,16MiB"}})) << "the whole list";
  EXPECT_EQ(where("{ type = \"half\" }", "[check.a.sweep]\ntype = [\"float\", \"half\"]\n"),
            (Labels{{"type", "half"}}));
}

TEST(Checks, NameIsAsLongAsAllowed) {
  const std::string longest(64, 'a');
  EXPECT_EQ(good_checks("[check." + longest + "]\nprobe = \"bandwidth\"\n").at(0).name, longest);
  EXPECT_EQ(errors_of_checks("[check." + longest + "a]\nprobe = \"bandwidth\"\n").size(), 1u);
}

TEST(Checks, WordsInBracesThatAreNoPlaceholdersAreArguments) {
  const auto checks = good_checks(
      "[check.a]\nprobe = \"program\"\nparams.argv = [\"{python}\", \"{check}/x\", \"--in={check}/y\", \"{print}\", "
      "\"{}\", "
      "\"${chek}\", \"{ chek }\", \"{a,b}\", \"{chek\", \"{0}/x{{\"]\n");
  EXPECT_EQ(checks.at(0).params.at("argv").items.size(), 10u);
}

TEST(Checks, PatternsDeclareMetricsAndTheirLabels) {
  const auto checks = good_checks(R"x([check.stream]
probe  = "program"
params.argv = ["stream"]
expect = [{ metric = "triad", where = { size = "8" }, limit = { at_least = 0.7 } }]
[[check.stream.params.metric]]
name    = "triad"
pattern = '(?P<size>\d+) Triad: *(?P<value>[0-9.]+)'
unit    = "MB/s"
better  = "higher"
maximum = 307_200
)x");
  ASSERT_EQ(checks.size(), 1u);
  const std::vector<DeclaredMetric> metrics{{"triad", "MB/s", Better::higher, {"size"}, 307'200}};
  EXPECT_EQ(checks[0].metrics, metrics);
  EXPECT_EQ(to_string(checks[0].params.at("metric").items.at(0)),
            R"x({"name":"triad","pattern":"(?P<size>\\d+) Triad: *(?P<value>[0-9.]+)","unit":"MB/s"})x");
}

}  // namespace muster::fake
