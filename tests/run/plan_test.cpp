// Cases, their ids, shapes and launches.
#include <set>

#include "run/case_id.hpp"
#include "run/choosing.hpp"

#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace muster::fake {

namespace {

using Texts = std::vector<std::string>;
using Kind = RanksSpec::Kind;

Choosing one(RanksSpec ranks = {Kind::per_node, 2}) {
  Choosing choosing{{make_check("a")}};
  choosing.checks[0].ranks = ranks;
  return choosing;
}

int ranks_per_node(Kind kind, const Site& site, int count = 3) {
  auto choosing = one({kind, count});
  choosing.site = site;
  return choosing.only_case().shape.ranks_per_node;
}

/// `case/repetition` of every item of a launch.
Texts items(const Plan& plan, std::size_t launch) {
  Texts all;
  for (const auto& item : plan.launches.at(launch).items)
    all.push_back(plan.cases.at(static_cast<std::size_t>(item.case_index)).check + "/" +
                  std::to_string(item.repetition));
  return all;
}

}  // namespace

TEST(Plan, CaseHasAllThatAVerdictNeeds) {
  auto choosing = one();
  auto& check = choosing.checks[0];
  check.summary = "x";
  check.file = "f.toml";
  check.timeout = Seconds{5};
  check.min_nodes = 1;
  check.metrics = {{"m", "s", Better::lower}};
  check.expects.emplace_back().metric = "m";
  choosing.system.partitions[0].references = {{"a", {}, "m", {}}, {"other", {}, "m", {}}};
  const auto plan = choosing.plan();
  EXPECT_EQ(plan.system, "s");
  EXPECT_EQ(plan.system_file, "s.toml");
  EXPECT_EQ(plan.launcher, "mpirun");
  EXPECT_EQ(plan.repeat, 1);
  const auto item = choosing.only_case();
  EXPECT_EQ(item.check, "a");
  EXPECT_EQ(item.probe, "counting");
  EXPECT_EQ(item.summary, "x");
  EXPECT_EQ(item.tags, Texts{"default"});
  EXPECT_EQ(item.file, "f.toml");
  EXPECT_EQ(item.place, "f.toml:1");
  EXPECT_EQ(item.params.integer("count"), 1) << "the default";
  EXPECT_EQ(item.timeout, Seconds{5});
  EXPECT_EQ(item.metrics, check.metrics);
  EXPECT_EQ(item.expects, check.expects);
  ASSERT_EQ(item.references.size(), 1u);
  EXPECT_EQ(item.references[0].check, "a");
  EXPECT_EQ(item.system + "/" + item.partition + "/" + item.environment, "s/p/");
  EXPECT_EQ(item.ranks, check.ranks);
  EXPECT_TRUE(item.unable.empty());
}

TEST(Plan, SweepsMakeEveryCombinationOnce) {
  Choosing choosing{{make_check("a", "sending")}};
  sweep(choosing.checks[0], sending, "sizes", {"8B", "1KiB,2KiB"});
  sweep(choosing.checks[0], sending, "mode", {"fresh", "reused"});
  EXPECT_EQ(choosing.cases(), (Texts{"a mode=fresh sizes=8B", "a mode=reused sizes=8B", "a mode=fresh sizes=1KiB,2KiB",
                                     "a mode=reused sizes=1KiB,2KiB"}));
  EXPECT_EQ(choosing.plan().cases[0].swept, (Texts{"mode", "sizes"}));
}

TEST(Plan, TimeoutOptionReplacesEveryTimeout) {
  auto choosing = one();
  choosing.options.timeout = Seconds{3};
  EXPECT_EQ(choosing.only_case().timeout, Seconds{3});
}

TEST(CaseId, IsTheDocumentedHash) {
  // FNV-1a with 64 bits over "a" FE "s" FE "p" FE "" FE "count" FE "4" FF, both halves combined; computed elsewhere.
  auto choosing = one();
  choosing.options.settings = {"a.count=4"};
  EXPECT_EQ(choosing.only_case().id, "a%64936273");
}

TEST(CaseId, StaysWhenOnlyTheShapeDiffers) {
  auto choosing = one();
  const auto id = choosing.only_case().id;
  choosing.site.nodes = {"n1", "n2"};
  choosing.site.cores = 64;
  choosing.options.ranks_per_node = 7;
  choosing.options.timeout = Seconds{1};
  choosing.checks[0].file = "elsewhere.toml";
  choosing.checks[0].tags = {"x"};
  EXPECT_EQ(choosing.only_case().id, id);
}

TEST(CaseId, DiffersWithWhatIsMeasuredAndWhere) {
  std::set<std::string> ids;
  const auto add = [&](const Choosing& choosing) { EXPECT_TRUE(ids.insert(choosing.only_case().id.substr(2)).second); };
  auto choosing = one();
  choosing.system.environments.push_back({"e", {}, {}, {}});
  add(choosing);
  choosing.options.environment = "e";
  add(choosing);
  choosing.options.environment = "";
  choosing.options.settings = {"a.count=2"};
  add(choosing);
  choosing.options.settings = {};
  choosing.system.partitions[0].name = "q";
  add(choosing);
  choosing.system.name = "t";
  add(choosing);
  choosing.checks[0].name = "b";
  add(choosing);
}

TEST(CaseId, ItemsOfListsAreKeptApart) {
  Case item;
  item.params.set("argv", {ParamType::text_list, {std::string("a,b")}});
  const auto joined = case_id(item);
  item.params.set("argv", {ParamType::text_list, {std::string("a"), std::string("b")}});
  EXPECT_NE(case_id(item), joined);
}

TEST(CaseId, SiblingsNeverShareOne) {
  // These two values were searched for: their hashes are the same.
  auto choosing = one();
  choosing.options.settings = {"a.count=4301"};
  EXPECT_EQ(choosing.only_case().id, "a%4bab53e1");
  choosing.options.settings = {"a.count=85067"};
  EXPECT_EQ(choosing.only_case().id, "a%4bab53e1");
  choosing.options.settings = {};
  sweep(choosing.checks[0], counting, "count", {"4301", "85067"});
  const auto plan = choosing.plan();
  ASSERT_EQ(plan.cases.size(), 2u);
  EXPECT_EQ(plan.cases[0].id, "a%4bab53e1");
  EXPECT_NE(plan.cases[1].id, "a%4bab53e1");
  EXPECT_EQ(plan.cases[1].id, choosing.plan().cases[1].id) << "and it stays the same";
}

TEST(Shape, RanksFollowTheSite) {
  Site site = make_site();
  site.cores = 8;
  site.numa_domains = 2;
  site.gpus = 4;
  EXPECT_EQ(ranks_per_node(Kind::per_node, site), 3);
  EXPECT_EQ(ranks_per_node(Kind::one_per_node, site), 1);
  EXPECT_EQ(ranks_per_node(Kind::one_per_core, site), 8);
  EXPECT_EQ(ranks_per_node(Kind::one_per_numa, site), 2);
  EXPECT_EQ(ranks_per_node(Kind::one_per_gpu, site), 4);
  site.gpus = 0;
  EXPECT_EQ(ranks_per_node(Kind::one_per_gpu, site, 1), 1) << "one can still say that there is no device";
  EXPECT_EQ(ranks_per_node(Kind::one_per_gpu, site, 2), 2) << "or the check says how many do without";
}

TEST(Shape, AnAllocationsTasksAreThoseThatACoreWouldHave) {
  Site site = make_site();
  site.cores = 64;
  site.numa_domains = 4;
  site.tasks_per_node = 2;
  EXPECT_EQ(ranks_per_node(Kind::one_per_core, site), 2) << "the job has no more CPUs there";
  EXPECT_EQ(ranks_per_node(Kind::per_node, site), 3);
  EXPECT_EQ(ranks_per_node(Kind::one_per_numa, site), 4);
  EXPECT_EQ(ranks_per_node(Kind::one_per_node, site), 1);
}

/// `none` and `profile` as a check's word have them, everything else on cores.
Result<JobBinding> bind_by_word(const BindRequest& request) {
  if (request.binding == "profile") return fail(ErrorKind::usage, "bind", "no profile");
  return JobBinding{request.binding == "none" ? BindKind::none : BindKind::cores, request.binding, {}, {}, false};
}

TEST(Shape, CasesThatAreBoundDifferentlyShareNoLaunch) {
  Choosing choosing{{make_check("a"), make_check("b"), make_check("c")}};
  for (auto& check : choosing.checks) check.ranks = {Kind::per_node, 2};
  choosing.checks[1].bind = "none";
  choosing.site.bind = bind_by_word;
  const auto plan = choosing.plan();
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(items(plan, 0), (Texts{"a/1", "c/1"}));
  EXPECT_EQ(items(plan, 1), (Texts{"b/1"}));
  EXPECT_EQ(plan.launches[1].shape.binding.kind, BindKind::none);
}

TEST(Shape, ACheckThatAsksForABindingThatTheProfileLacksIsSkipped) {
  auto choosing = one();
  choosing.checks[0].bind = "profile";
  choosing.site.bind = bind_by_word;
  const auto item = choosing.only_case();
  ASSERT_EQ(item.unable.size(), 1u);
  EXPECT_EQ(item.unable[0].verdict, Verdict::skip);
  EXPECT_EQ(item.unable[0].reason, "no profile");
}

TEST(Shape, RanksThatAreBoundToCoresShareThoseOfTheNode) {
  auto choosing = one({Kind::per_node, 8});
  choosing.site.cores = 56;
  choosing.site.cpus_per_core = 2;
  choosing.site.bind = bind_by_word;
  EXPECT_EQ(choosing.only_case().shape.cores_per_rank, 7);
  EXPECT_EQ(choosing.only_case().shape.cpus_per_core, 2);
  choosing.checks[0].bind = "none";
  EXPECT_EQ(choosing.only_case().shape.cores_per_rank, 0) << "no option is added";
  choosing.checks[0].bind = "";
  choosing.site.is_part_of_node = true;
  EXPECT_EQ(choosing.only_case().shape.cores_per_rank, 0) << "how many of them the job has is not known";
  choosing.site.is_part_of_node = false;
  choosing.checks[0].ranks = {Kind::one_per_core, 1};
  EXPECT_EQ(choosing.only_case().shape.cores_per_rank, 0) << "each has one";
}

TEST(Shape, OptionReplacesTheRanksOfTheCheck) {
  auto choosing = one({Kind::one_per_core, 1});
  choosing.options.ranks_per_node = 5;
  choosing.site.nodes = {"n1", "n2"};
  const auto shape = choosing.only_case().shape;
  EXPECT_EQ(shape.ranks_per_node, 5);
  EXPECT_EQ(shape.ranks(), 10);
  EXPECT_EQ(shape.nodes, (Texts{"n1", "n2"}));
}

TEST(Shape, AProfileMaySayHowManyRanksANodeGets) {
  for (const auto kind : {Kind::per_node, Kind::one_per_core, Kind::one_per_gpu}) {
    auto choosing = one({kind, 2});
    choosing.site.cores = 72;
    choosing.system.partitions[0].ranks_per_node = 1;
    EXPECT_EQ(choosing.only_case().shape.ranks_per_node, 1);
    choosing.options.ranks_per_node = 4;
    EXPECT_EQ(choosing.only_case().shape.ranks_per_node, 4) << "what the user chooses counts";
  }
}

TEST(Shape, SaysWhenRanksShareCores) {
  auto choosing = one();
  EXPECT_FALSE(choosing.only_case().shape.oversubscribed) << "2 ranks, 2 cores";
  choosing.options.ranks_per_node = 3;
  EXPECT_TRUE(choosing.only_case().shape.oversubscribed);
}

TEST(Shape, ASimulatedNodeHasAsManyRanksAsItIsDescribedWith) {
  auto choosing = one({Kind::one_per_core, 1});
  choosing.site.cores = 64;
  choosing.site.simulated_ranks = 8;
  EXPECT_EQ(choosing.only_case().shape.ranks_per_node, 8);
  EXPECT_FALSE(choosing.only_case().shape.oversubscribed) << "its cores are those of the description";
  EXPECT_EQ(ranks_per_node(Kind::one_per_gpu, choosing.site), 8);
  EXPECT_EQ(ranks_per_node(Kind::one_per_node, choosing.site), 1);
}

TEST(Shape, LauncherOfOneRankServesWishesNotNeeds) {
  for (const auto kind : {Kind::one_per_core, Kind::one_per_numa, Kind::one_per_gpu, Kind::one_per_node}) {
    auto choosing = one({kind, 1});
    choosing.site = local_site();
    choosing.site.numa_domains = choosing.site.gpus = 2;
    EXPECT_EQ(choosing.only_case().shape.ranks(), 1);
    EXPECT_TRUE(choosing.only_case().unable.empty());
  }
}

TEST(Shape, LauncherOfOneRankSkipsWhatNeedsMore) {
  auto choosing = one({Kind::per_node, 4});
  choosing.site = local_site();
  const Finding finding{Verdict::skip,
                        "launcher local starts one rank; this case needs 4",
                        {{CulpritKind::launcher, "local", "", -1}},
                        "use one that starts more, such as --launcher mpirun (install Open MPI or load its module)"};
  EXPECT_EQ(choosing.only_case().unable, std::vector<Finding>{finding});
  EXPECT_TRUE(choosing.plan().launches.empty());
  choosing.checks[0].ranks = {Kind::one_per_core, 1};
  choosing.options.ranks_per_node = 2;
  EXPECT_EQ(choosing.only_case().unable.at(0).reason, "launcher local starts one rank; this case needs 2");
  choosing.site.launcher_why = "there is no mpirun on PATH";
  EXPECT_EQ(choosing.only_case().unable.at(0).reason,
            "launcher local, taken because there is no mpirun on PATH, starts one rank; this case needs 2");
  choosing.site.launcher_why = "";
  choosing.options.ranks_per_node = std::nullopt;
  choosing.checks[0].ranks = {Kind::one_per_node, 1};
  choosing.site.nodes = {"n1", "n2", "n3"};
  EXPECT_EQ(choosing.only_case().unable.at(0).reason, "launcher local starts one rank; this case needs 3");
}

TEST(Shape, LauncherOfSomeRanks) {
  auto choosing = one({Kind::per_node, 9});
  choosing.site.launcher = "few";
  choosing.site.launcher_most_ranks = 8;
  EXPECT_EQ(choosing.only_case().unable.at(0).reason, "launcher few starts at most 8 ranks; this case needs 9");
}

TEST(Shape, TooFewNodesIsASkip) {
  auto choosing = one();
  choosing.checks[0].min_nodes = 2;
  auto item = choosing.only_case();
  ASSERT_EQ(item.unable.size(), 1u);
  EXPECT_EQ(item.unable[0].verdict, Verdict::skip);
  EXPECT_EQ(item.unable[0].reason, "needs 2 nodes, 1 is given");
  EXPECT_EQ(item.unable[0].remedy, "name at least 2 with --nodes");
  choosing.site.nodes = {"n1", "n2"};
  EXPECT_TRUE(choosing.only_case().unable.empty());
  choosing.checks[0].min_nodes = 3;
  EXPECT_EQ(choosing.only_case().unable.at(0).reason, "needs 3 nodes, 2 are given");
}

TEST(Launches, CasesOfOneShapeShareOne) {
  Choosing choosing{{make_check("a"), make_check("b"), make_check("c"), make_check("d")}};
  choosing.checks[1].ranks.count = 1;
  choosing.checks[3].min_nodes = 2;
  const auto plan = choosing.plan();
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(items(plan, 0), (Texts{"a/1", "c/1"}));
  EXPECT_EQ(items(plan, 1), Texts{"b/1"});
  EXPECT_EQ(plan.launches[0].shape, plan.cases[0].shape);
  EXPECT_EQ(plan.launches[1].shape.ranks_per_node, 1);
  EXPECT_EQ(plan.cases.size(), 4u) << "d is there, to be reported";
}

TEST(Launches, RepetitionsComeRoundByRound) {
  Choosing choosing{{make_check("a"), make_check("b")}};
  choosing.options.repeat = 3;
  const auto plan = choosing.plan();
  EXPECT_EQ(plan.repeat, 3);
  ASSERT_EQ(plan.launches.size(), 1u);
  EXPECT_EQ(items(plan, 0), (Texts{"a/1", "b/1", "a/2", "b/2", "a/3", "b/3"}));
}

TEST(Launches, PartitionsAreLaunchedApart) {
  auto choosing = one();
  choosing.system = make_system({"p", "q"});
  const auto plan = choosing.plan();
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(plan.cases[0].partition + plan.cases[1].partition, "pq");
  EXPECT_NE(plan.cases[0].id, plan.cases[1].id);
  EXPECT_EQ(plan.launches[1].shape.partition, "q");
  choosing.options.system = "s:q";
  EXPECT_EQ(choosing.only_case().id, plan.cases[1].id);
}

TEST(Launches, EnvironmentIsPartOfTheShape) {
  auto choosing = one();
  choosing.system.environments.push_back({"container", {}, {}, {}});
  choosing.options.environment = "container";
  EXPECT_EQ(choosing.only_case().environment, "container");
  EXPECT_EQ(choosing.plan().launches.at(0).shape.environment, "container");
}

TEST(Rerun, IsTheCommandThatRunsJustThisCase) {
  auto choosing = one();
  choosing.options.rerun_prefix = {"muster", "run", "f.toml"};
  EXPECT_EQ(choosing.only_case().rerun, (Argv{"muster", "run", "f.toml", "-n", choosing.only_case().id}));
  choosing.options.settings = {"a.count=4", "*.count=5"};
  choosing.options.ranks_per_node = 3;
  choosing.options.system = "s:p";
  const auto item = choosing.only_case();
  EXPECT_EQ(item.rerun, (Argv{"muster", "run", "f.toml", "-n", item.id, "-S", "a.count=4", "-S", "*.count=5",
                              "--ranks-per-node", "3", "--system", "s:p"}));
}

TEST(Options, Mistakes) {
  auto choosing = one();
  choosing.system = make_system({"small", "large"});
  choosing.system.environments.push_back({"container", {}, {}, {}});
  const auto error = [&](auto change) {
    auto changed = choosing;
    change(changed);
    return changed.error();
  };
  EXPECT_EQ(error([](auto& c) { c.options.system = "t"; }), R"(--system: unknown system "t"; did you mean "s"?)");
  EXPECT_EQ(error([](auto& c) { c.options.system = "s:smal"; }),
            R"(--system: unknown partition of s "smal"; did you mean "small"?)");
  EXPECT_EQ(error([](auto& c) { c.options.system = "s:"; }),
            R"(--system: unknown partition of s ""; known: small, large)");
  EXPECT_EQ(error([](auto& c) { c.options.environment = "contaner"; }),
            R"(--environment: unknown environment of s "contaner"; did you mean "container"?)");
  EXPECT_EQ(error([](auto& c) {
              c.options.environment = "x";
              c.system.environments.clear();
            }),
            "--environment: profile s describes no environment");
  EXPECT_EQ(error([](auto& c) { c.system.partitions.clear(); }), "--system: profile s has no partition");
  EXPECT_EQ(error([](auto& c) { c.options.repeat = 0; }), "--repeat: must be at least 1");
  EXPECT_EQ(error([](auto& c) { c.options.ranks_per_node = 0; }), "--ranks-per-node: must be at least 1");
  EXPECT_EQ(error([](auto& c) { c.checks[0].probe = "gone"; }), R"(f.toml:1: unknown probe "gone")");
}

#ifdef MUSTER_HAVE_RAPIDCHECK

TEST(Property, EveryRepetitionOfEveryAbleCaseIsLaunchedOnce) {
  EXPECT_TRUE(rc::check("launches hold each repetition once, in a launch of the case's shape", [] {
    Choosing choosing;
    const int count = *rc::gen::inRange(1, 8);
    for (int i = 0; i < count; ++i) {
      choosing.checks.push_back(make_check("c" + std::to_string(i)));
      choosing.checks.back().ranks.count = *rc::gen::inRange(1, 4);
      choosing.checks.back().min_nodes = *rc::gen::inRange(1, 3);
    }
    choosing.options.repeat = *rc::gen::inRange(1, 4);
    const auto plan = choosing.plan();
    std::multiset<std::pair<int, int>> launched;
    for (const auto& launch : plan.launches) {
      RC_ASSERT(!launch.items.empty());
      for (const auto& item : launch.items) {
        RC_ASSERT(plan.cases.at(static_cast<std::size_t>(item.case_index)).shape == launch.shape);
        launched.insert({item.case_index, item.repetition});
      }
    }
    std::multiset<std::pair<int, int>> wanted;
    for (int i = 0; i < count; ++i)
      for (int repetition = 1; repetition <= choosing.options.repeat; ++repetition)
        if (plan.cases.at(static_cast<std::size_t>(i)).unable.empty()) wanted.insert({i, repetition});
    RC_ASSERT(launched == wanted);
  }));
}

#endif

TEST(Plan, ChecksWithALineOfTheirOwnShareTheLaunchOfThatLine) {
  Choosing choosing{{make_check("a"), make_check("b"), make_check("c"), make_check("d")}};
  choosing.checks[1].launch = choosing.checks[3].launch = "srun -N 2";
  choosing.site.lines["srun -N 2"] = {{"nid001", "nid002"}, 4, {}};
  choosing.options.ranks_per_node = 1;
  const Plan plan = choosing.plan();
  ASSERT_EQ(plan.launches.size(), 2u);
  const JobShape& shape = plan.launches[1].shape;
  EXPECT_EQ(plan.launches[1].items.size(), 2u);
  EXPECT_EQ(shape.line, "srun -N 2");
  EXPECT_EQ(shape.nodes, (std::vector<std::string>{"nid001", "nid002"}));
  EXPECT_EQ(shape.ranks(), 8);
  EXPECT_EQ(shape.binding.kind, BindKind::none) << "the line binds as it does";
  EXPECT_FALSE(shape.oversubscribed);
  EXPECT_EQ(plan.launches[0].shape.line, "");
}

TEST(Plan, TheLineOfTheCommandLineReplacesThoseOfChecks) {
  Choosing choosing{{make_check("a"), make_check("b")}};
  choosing.checks[1].launch = "srun -N 2";
  choosing.options.launch = "mpirun -n 3";
  choosing.site.lines["mpirun -n 3"] = {{}, 3, {}};
  const Plan plan = choosing.plan();
  ASSERT_EQ(plan.launches.size(), 1u);
  EXPECT_EQ(plan.launches[0].shape.ranks(), 3);
}

TEST(Plan, ALineThatStartsNothingIsTheErrorOfItsChecksAlone) {
  Choosing choosing{{make_check("a"), make_check("b")}};
  choosing.checks[1].launch = "srun -N 2";
  choosing.site.lines["srun -N 2"] = {{}, 1, Finding{Verdict::error, "starts nothing", {}, "look"}};
  const Plan plan = choosing.plan();
  EXPECT_TRUE(plan.cases[0].unable.empty());
  ASSERT_EQ(plan.cases[1].unable.size(), 1u);
  EXPECT_EQ(plan.cases[1].unable[0].reason, "starts nothing");
  EXPECT_EQ(plan.launches.size(), 1u);
}

}  // namespace muster::fake
