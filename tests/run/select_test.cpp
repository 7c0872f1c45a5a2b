// Names, tags, settings: which checks and cases are chosen, and what is said when none is.
#include "run/select.hpp"

#include "run/choosing.hpp"

namespace muster::fake {

namespace {

using Texts = std::vector<std::string>;

Choosing three() {
  return {{make_check("hello", "counting", {"basic", "default"}),
           make_check("hello_long", "counting", {"basic", "network"}),
           make_check("cpu_affinity", "sending", {"basic", "default", "network"})}};
}

Texts names(const Result<std::vector<const Check*>>& checks) {
  if (!checks) return {to_string(checks.error())};
  Texts all;
  for (const auto* check : *checks) all.push_back(check->name);
  return all;
}

Texts checks_of(const Choosing& choosing) {
  Texts all;
  for (const auto& item : choosing.plan().cases) all.push_back(item.check);
  EXPECT_EQ(all, names(select_checks(choosing.checks, choosing.options))) << "muster list says the same";
  return all;
}

/// What is said, by make_plan and select_checks alike.
std::string error_of(const Choosing& choosing) {
  const auto message = choosing.error();
  EXPECT_EQ(names(select_checks(choosing.checks, choosing.options)), Texts{message});
  return message;
}

}  // namespace

TEST(Select, EverythingInFileOrderWhenPathsAreGiven) {
  EXPECT_EQ(checks_of(three()), (Texts{"hello", "hello_long", "cpu_affinity"}));
}

TEST(Select, DefaultOnesWithoutPaths) {
  auto choosing = three();
  choosing.options.default_only = true;
  EXPECT_EQ(checks_of(choosing), (Texts{"hello", "cpu_affinity"}));
  choosing.options.names = {"long"};
  EXPECT_EQ(checks_of(choosing), Texts{"hello_long"}) << "-n searches the whole set";
  choosing.options.names = {};
  choosing.options.tags = {"network"};
  EXPECT_EQ(checks_of(choosing), (Texts{"hello_long", "cpu_affinity"})) << "-t too";
}

TEST(Select, NamesAreSearchedAndAnyWillDo) {
  auto choosing = three();
  choosing.options.names = {"hello"};
  EXPECT_EQ(checks_of(choosing), (Texts{"hello", "hello_long"}));
  choosing.options.names = {"^hello$", "aff"};
  EXPECT_EQ(checks_of(choosing), (Texts{"hello", "cpu_affinity"}));
}

TEST(Select, AllTagsAreNeeded) {
  auto choosing = three();
  choosing.options.tags = {"basic", "network"};
  EXPECT_EQ(checks_of(choosing), (Texts{"hello_long", "cpu_affinity"}));
  choosing.options.tags = {"default", "network"};
  EXPECT_EQ(checks_of(choosing), Texts{"cpu_affinity"});
}

TEST(Select, ExcludesWin) {
  auto choosing = three();
  choosing.options.names = {"hello"};
  choosing.options.excludes = {"long$", "matches_nothing"};
  EXPECT_EQ(checks_of(choosing), Texts{"hello"});
}

TEST(Select, AnEmptySelectionSaysWhatWasSearched) {
  auto choosing = three();
  choosing.options.names = {"helo"};
  EXPECT_EQ(error_of(choosing), R"(no check matches -n "helo"; did you mean "hello"?)");
  choosing.options.names = {"^xyz"};
  EXPECT_EQ(error_of(choosing), R"(no check matches -n "^xyz"; known: hello, hello_long, cpu_affinity)");
  choosing.options.names = {"hello$"};
  choosing.options.tags = {"network"};
  choosing.options.excludes = {"x"};
  EXPECT_EQ(error_of(choosing),
            R"(no check is left by -n "hello$" -t "network" -x "x"; known: hello, hello_long, cpu_affinity)");
}

TEST(Select, EveryNameMustMatch) {
  auto choosing = three();
  choosing.options.names = {"hello", "cpu_afinity"};
  EXPECT_EQ(error_of(choosing), R"(no check matches -n "cpu_afinity"; did you mean "cpu_affinity"?)");
}

TEST(Select, UnknownTag) {
  auto choosing = three();
  choosing.options.tags = {"netwrok"};
  EXPECT_EQ(error_of(choosing), R"(no check has tag "netwrok"; did you mean "network"?)");
}

TEST(Select, NothingIsTaggedDefault) {
  Choosing choosing{{make_check("a", "counting", {})}};
  choosing.options.default_only = true;
  EXPECT_EQ(error_of(choosing), "no check is tagged default; choose with -n or -t; known: a");
}

TEST(Select, NoChecksAtAll) {
  EXPECT_EQ(error_of(Choosing{}), "there is no check");
}

TEST(Select, BadRegularExpressions) {
  auto choosing = three();
  choosing.options.names = {"("};
  EXPECT_EQ(error_of(choosing), "-n: \"(\" is not a valid regular expression: missing ): (");
  choosing.options.names = {"a(?=b)"};
  EXPECT_EQ(error_of(choosing), "-n: \"a(?=b)\" is not a valid regular expression: \"(?=\": RE2 has no lookahead");
  choosing.options.names = {""};
  EXPECT_EQ(error_of(choosing), "-n: \"\" is not a valid regular expression: it is empty");
  choosing.options.names = {};
  choosing.options.excludes = {R"((a)\1)"};
  EXPECT_NE(error_of(choosing).find("RE2 has no back-references"), std::string::npos);
  choosing.options.excludes = {std::string(100'000, '(')};
  EXPECT_NE(error_of(choosing).find("is not a valid regular expression: "), std::string::npos);
}

TEST(Select, AnIdChoosesExactlyThatCase) {
  Choosing choosing{{make_check("a"), make_check("ba")}};
  sweep(choosing.checks[0], counting, "count", {"1", "2", "3"});
  const auto plan = choosing.plan();
  ASSERT_EQ(plan.cases.size(), 4u);
  for (const auto& item : plan.cases) {
    choosing.options.names = {item.id};
    auto same = item;
    same.rerun = {"-n", item.id};
    EXPECT_EQ(choosing.only_case(), same);
  }
  choosing.options.names = {plan.cases[0].id, plan.cases[2].id};
  EXPECT_EQ(choosing.cases(), (Texts{"a count=1", "a count=3"}));
  choosing.options.excludes = {plan.cases[2].id};
  EXPECT_EQ(choosing.cases(), Texts{"a count=1"});
}

TEST(Select, PatternsAlsoSearchIds) {
  Choosing choosing{{make_check("a")}};
  sweep(choosing.checks[0], counting, "count", {"1", "2"});
  const auto id = choosing.plan().cases[1].id;
  choosing.options.names = {"^" + id.substr(0, 6)};
  EXPECT_EQ(choosing.cases(), Texts{"a count=2"});
}

TEST(Select, AnIdThatIsGone) {
  auto choosing = three();
  choosing.options.names = {"hello%00000000"};
  EXPECT_EQ(choosing.error(),
            "no case is -n \"hello%00000000\": the file, the profile or a -S differs from when it was; "
            "muster plan lists the cases of hello");
  choosing.options.names = {"helo%00000000"};
  EXPECT_EQ(choosing.error(), R"(no check matches -n "helo%00000000"; did you mean "hello"?)");
}

TEST(Settings, ReplaceParametersAndSweeps) {
  Choosing choosing{{make_check("a"), make_check("b", "sending")}};
  sweep(choosing.checks[0], counting, "count", {"1", "2"});
  choosing.checks[1].params["mode"] = value_of(sending, "mode", "reused");
  choosing.options.settings = {"a.count=7", "b.sizes=1KiB,2KiB", "b.mode=fresh"};
  EXPECT_EQ(choosing.cases(), (Texts{"a count=7", "b mode=fresh sizes=1KiB,2KiB"}));
  EXPECT_EQ(choosing.plan().cases[0].swept, Texts{}) << "one value is no sweep";
}

TEST(Settings, TheLastOneWins) {
  Choosing choosing{{make_check("a")}};
  choosing.options.settings = {"a.count=7", "*.count=8"};
  EXPECT_EQ(choosing.cases(), Texts{"a count=8"});
}

TEST(Settings, StarTouchesChecksThatHaveTheParameter) {
  Choosing choosing{{make_check("a"), make_check("b", "sending"), make_check("c")}};
  choosing.options.settings = {"*.count=9"};
  EXPECT_EQ(choosing.cases(), (Texts{"a count=9", "b mode=fresh sizes=8B", "c count=9"}));
}

TEST(Settings, MayNameAChecksThatIsNotSelected) {
  Choosing choosing{{make_check("a"), make_check("b")}};
  choosing.options.names = {"a"};
  choosing.options.settings = {"b.count=9"};
  EXPECT_EQ(choosing.cases(), Texts{"a count=1"}) << "as the command that reruns one case does";
}

TEST(Settings, KeepEqualSignsOfValues) {
  Choosing choosing{{make_check("a")}};
  choosing.options.settings = {"a.count=1=2"};
  EXPECT_EQ(choosing.error(), "-S: a.count: expected a whole number, not \"1=2\"");
}

TEST(Settings, Mistakes) {
  const std::vector<std::pair<std::string, std::string>> table{
      {"count=4", R"(-S: "count=4" must be check.param=value, such as hello.repetitions=100 or *.repetitions=100)"},
      {"hello.count",
       R"(-S: "hello.count" must be check.param=value, such as hello.repetitions=100 or *.repetitions=100)"},
      {".count=4", R"(-S: ".count=4" must be check.param=value, such as hello.repetitions=100 or *.repetitions=100)"},
      {"hello.=4", R"(-S: "hello.=4" must be check.param=value, such as hello.repetitions=100 or *.repetitions=100)"},
      {"a=b.c", R"(-S: "a=b.c" must be check.param=value, such as hello.repetitions=100 or *.repetitions=100)"},
      {"", R"(-S: "" must be check.param=value, such as hello.repetitions=100 or *.repetitions=100)"},
      {"helo.count=4", R"(-S: unknown check "helo"; did you mean "hello"?)"},
      {"hello.cuont=4", R"(-S: check hello has no parameter "cuont"; did you mean "count"?)"},
      {"*.size=4", R"(-S: no check has a parameter "size"; did you mean "sizes"?)"},
      {"hello.count=many", R"(-S: hello.count: expected a whole number, not "many")"},
      {"hello.count=0", "-S: hello.count: 0 is below the least allowed, 1"},
      {"cpu_affinity.mode=old", R"(-S: cpu_affinity.mode: "old" is not one of fresh, reused)"},
      {"cpu_affinity.sizes=", "-S: cpu_affinity.sizes: an empty list has no effect"},
  };
  for (const auto& [setting, error] : table) {
    auto choosing = three();
    choosing.options.settings = {setting};
    EXPECT_EQ(choosing.error(), error);
  }
}

}  // namespace muster::fake
