// Which profile a place is of.
#include "run/detect.hpp"

#include <gtest/gtest.h>
#include <map>

namespace muster {
namespace {

using Given = std::map<std::string, std::string>;

Surroundings place(const Given& variables, const std::string& host, const fs::path& root = "/nonexistent") {
  return {[variables](const std::string& name) -> std::optional<std::string> {
            const auto found = variables.find(name);
            return found == variables.end() ? std::nullopt : std::optional(found->second);
          },
          root, host};
}

SystemProfile system(const std::string& name, std::vector<DetectClue> clues, bool is_shipped = true) {
  SystemProfile profile;
  profile.name = name;
  profile.detect = std::move(clues);
  profile.is_shipped = is_shipped;
  profile.partitions.emplace_back().name = "p";
  return profile;
}

const std::vector<SystemProfile> systems = {
    system("generic", {}),
    system("lumi", {{"LUMI_STACK_NAME", "", "", ""}, {"", "", "/appl/lumi", "^nid"}}),
    system("perlmutter", {{"NERSC_HOST", "^perlmutter$", "", ""}, {"CLUSTER", "^pm$", "", "^(nid|login)"}}),
};

std::string chosen(const Surroundings& here, const std::string& name = "") {
  const auto match = choose_system(systems, name, here);
  return match ? match->system->name + ": " + match->because : to_string(match.error());
}

}  // namespace

TEST(Detect, AVariableOrItsValue) {
  EXPECT_EQ(chosen(place({{"LUMI_STACK_NAME", "LUMI"}}, "x")), "lumi: LUMI_STACK_NAME is \"LUMI\"");
  EXPECT_EQ(chosen(place({{"NERSC_HOST", "perlmutter"}}, "x")), "perlmutter: NERSC_HOST is \"perlmutter\"");
  EXPECT_EQ(chosen(place({{"NERSC_HOST", "cori"}}, "nid001234")), "generic: no other profile matches");
}

TEST(Detect, AHostNameNarrowsAndNeverDecides) {
  EXPECT_EQ(chosen(place({}, "nid001234")), "generic: no other profile matches");
  EXPECT_EQ(chosen(place({{"CLUSTER", "pm"}}, "nid001234")),
            "perlmutter: CLUSTER is \"pm\" and the host is called nid001234");
  EXPECT_EQ(chosen(place({{"CLUSTER", "pm"}}, "frontier001")), "generic: no other profile matches");
}

TEST(Detect, AFileBelowTheRoot) {
  const fs::path root = fs::path(testing::TempDir()) / "detect_root";
  fs::create_directories(root / "appl/lumi");
  EXPECT_EQ(chosen(place({}, "nid001234", root)), "lumi: /appl/lumi is there and the host is called nid001234");
  EXPECT_EQ(chosen(place({}, "uan01", root)), "generic: no other profile matches");
  fs::remove_all(root);
}

TEST(Detect, TwoThatMatchAreSaid) {
  EXPECT_EQ(
      chosen(place({{"LUMI_STACK_NAME", "LUMI"}, {"NERSC_HOST", "perlmutter"}}, "x")),
      "--system: the profiles lumi (LUMI_STACK_NAME is \"LUMI\") and perlmutter (NERSC_HOST is \"perlmutter\") all "
      "match here; choose one with --system lumi");
  EXPECT_EQ(chosen(place({{"LUMI_STACK_NAME", "LUMI"}, {"NERSC_HOST", "perlmutter"}}, "x"), "perlmutter:gpu"),
            "perlmutter: it was requested");
}

TEST(Detect, AProfileThatWasGivenGoesBeforeShippedOnes) {
  auto all = systems;
  all.push_back(system("mine", {{"LUMI_STACK_NAME", "", "", ""}}, false));
  const auto match = choose_system(all, "", place({{"LUMI_STACK_NAME", "LUMI"}}, "x"));
  ASSERT_TRUE(match);
  EXPECT_EQ(match->system->name, "mine");
}

TEST(Detect, ByName) {
  EXPECT_EQ(chosen(place({}, "x"), "lumi"), "lumi: it was requested");
  EXPECT_EQ(chosen(place({}, "x"), "lumy:dev-g"), "--system: unknown system \"lumy\"; did you mean \"lumi\"?");
  const auto none = choose_system({}, "", place({}, "x"));
  ASSERT_TRUE(none);
  EXPECT_EQ(none->system->partitions.at(0).name, "default");
}

TEST(Detect, WhichPartition) {
  SystemProfile two = system("two", {});
  two.partitions.emplace_back().name = "q";
  const auto kept = [&](const std::string& asked, const Given& variables, bool has_default = false) {
    SystemProfile copy = two;
    copy.partitions[1].is_default = has_default;
    const auto done = keep_one_partition(copy, asked, place(variables, "x"));
    if (!done) return to_string(done.error());
    EXPECT_EQ(copy.partitions.size(), 1u);
    return copy.partitions.at(0).name;
  };
  EXPECT_EQ(kept("two:q", {}), "q");
  EXPECT_EQ(kept("two:r", {}).substr(0, 42), "--system: system two has no partition \"r\";");
  EXPECT_EQ(kept("two", {}), "--system: system two has 2 partitions; choose one: --system two:p");
  EXPECT_EQ(kept("", {{"SLURM_JOB_PARTITION", "q"}}), "q");
  EXPECT_EQ(kept("two:p", {{"SLURM_JOB_PARTITION", "q"}}), "p") << "what is requested goes first";
  EXPECT_EQ(kept("two", {}, true), "q");
  EXPECT_EQ(kept("two", {{"SLURM_JOB_PARTITION", "p"}}, true), "p") << "the job knows better than a default";
  EXPECT_EQ(kept("two", {{"SLURM_JOB_PARTITION", "z"}}, true), "q");
  EXPECT_EQ(
      kept("two", {{"SLURM_JOB_PARTITION", "z"}}),
      "--system: system two has 2 partitions, none of them \"z\", which is that of the job (SLURM_JOB_PARTITION); "
      "choose one: --system two:p");
}

TEST(Detect, TheDefaultInPlaceOfTheJobsPartitionIsNoted) {
  SystemProfile two = system("two", {});
  two.partitions.emplace_back().name = "q";
  two.partitions[1].is_default = true;
  const auto note = [&](const std::string& asked, const Given& variables) {
    SystemProfile copy = two;
    EXPECT_TRUE(keep_one_partition(copy, asked, place(variables, "x")));
    return note_on_partition(copy, asked, place(variables, "x"));
  };
  EXPECT_EQ(note("", {{"SLURM_JOB_PARTITION", "z"}}),
            "the profile two does not have the job's partition \"z\"; the default \"q\" is used: --system two:NAME "
            "chooses another");
  EXPECT_EQ(note("", {{"SLURM_JOB_PARTITION", "q"}}), "");
  EXPECT_EQ(note("", {{"SLURM_JOB_PARTITION", "p"}}), "");
  EXPECT_EQ(note("two:q", {{"SLURM_JOB_PARTITION", "z"}}), "") << "it was requested";
  EXPECT_EQ(note("", {}), "");
}

}  // namespace muster
