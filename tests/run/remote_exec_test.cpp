// Commands on nodes: answers behind greetings, silence, and what can't be started.
#include "run/remote_exec.hpp"

#include <chrono>
#include <gtest/gtest.h>

namespace muster {
namespace {

/// Runs a shell text in place of `muster node ...`: the node's name picks the text.
Argv by_shell(const LauncherIdentity&, std::string_view node, const Argv&, const Argv&) {
  if (node == "silent") return {"sleep", "60"};
  if (node == "missing") return {"/nonexistent/program"};
  if (node == "refuses") return {"sh", "-c", "echo no route to host >&2; exit 255"};
  return {"sh", "-c", "echo Welcome to the cluster; echo '{\"cores\": 4}'"};
}

std::vector<NodeAnswer> ask(const std::vector<std::string>& nodes, double deadline_s) {
  static const LauncherSpec launcher{.name = "shell", .summary = "", .program = "", .reach = by_shell};
  Loop loop;
  const RemoteExec reach{&launcher, {}, {}, "/bin/true"};
  return ask_nodes(loop, reach, nodes, {"inventory"}, deadline_s);
}

TEST(RemoteExec, AnswersComeInTheOrderOfTheNodesWithTheReasonForSilence) {
  const auto answers = ask({"refuses", "good", "silent", "missing"}, 0.5);
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_FALSE(answers[0].answered);
  EXPECT_EQ(answers[0].error, "no route to host");
  EXPECT_TRUE(answers[1].answered);
  EXPECT_EQ(last_object(answers[1].out), "{\"cores\": 4}");
  EXPECT_FALSE(answers[2].answered);
  EXPECT_NE(answers[2].error.find("no answer"), std::string::npos) << answers[2].error;
  EXPECT_FALSE(answers[3].answered);
  EXPECT_NE(answers[3].error.find("/nonexistent/program"), std::string::npos) << answers[3].error;
}

TEST(RemoteExec, ANodeWhoseNameReadsLikeAnOptionIsNotReached) {
  const auto answers = ask({"-oProxyCommand=id", "good"}, 100);
  EXPECT_FALSE(answers[0].answered);
  EXPECT_EQ(answers[0].error,
            "\"-oProxyCommand=id\" is not a host name: it begins with \"-\", not with a letter or digit");
  EXPECT_TRUE(answers[1].answered);
}

TEST(RemoteExec, ManyNodesAreAskedInTurns) {
  const std::vector<std::string> nodes(300, "good");
  for (const auto& answer : ask(nodes, 100)) EXPECT_TRUE(answer.answered) << answer.error;
}

/// As Slurm's step over all nodes: what each says is picked by name; whoever does not answer that way is asked alone.
Argv together(const LauncherIdentity&, std::span<const std::string> nodes, const Argv&, const Argv&) {
  std::string script = "echo asked >&2;";
  for (const auto& node : nodes) {
    if (node == "good") script += "echo ' 0: @good ={\"cores\": 8}'; echo ' 0: @good .';";
    if (node == "half") script += "echo ' 1: @half +{\"cores\"';";
    if (node == "last") script += "echo '12: @last ={\"cores\": 2}'; echo '12: @last .'; sleep 60;";
    if (node == "liar") script += "echo '13: @good .'; echo '13: @half .';";
    if (node == "other") script += "echo '14: @good .';";
    if (node == "refused") return {"sh", "-c", "exit 1"};
  }
  return {"sh", "-c", script};
}

const LauncherSpec joint_launcher{
    .name = "joint", .summary = "", .program = "", .reach = by_shell, .reach_all = together, .node_variable = "NODE"};

std::vector<NodeAnswer> ask_jointly(const std::vector<std::string>& nodes, double deadline_s) {
  Loop loop;
  const RemoteExec reach{&joint_launcher, {}, {}, "/bin/true"};
  return ask_nodes(loop, reach, nodes, {"inventory"}, deadline_s, 0.3);
}

TEST(RemoteExec, OneCommandForAllNodesIsEnoughWhereAllAnswer) {
  const auto answers = ask_jointly({"good", "last"}, 20);
  EXPECT_EQ(last_object(answers[0].out), "{\"cores\": 8}");
  EXPECT_EQ(last_object(answers[1].out), "{\"cores\": 2}");
}

TEST(RemoteExec, WhoDoesNotAnswerWithTheOthersIsAskedAlone) {
  const auto answers = ask_jointly({"half", "good", "silent"}, 0.5);
  EXPECT_EQ(last_object(answers[0].out), "{\"cores\": 4}");
  EXPECT_EQ(last_object(answers[1].out), "{\"cores\": 8}");
  EXPECT_FALSE(answers[2].answered);
  EXPECT_NE(answers[2].error.find("no answer within"), std::string::npos) << answers[2].error;
}

TEST(RemoteExec, WhereTheOneCommandFailsEveryNodeIsAskedAlone) {
  const auto answers = ask_jointly({"good", "refused", "missing"}, 5);
  EXPECT_EQ(last_object(answers[0].out), "{\"cores\": 4}");
  EXPECT_TRUE(answers[1].answered);
  EXPECT_FALSE(answers[2].answered);
}

TEST(RemoteExec, ACommandThatHangsBehindTheAnswersIsNotWaitedFor) {
  const auto began = std::chrono::steady_clock::now();
  const auto answers = ask_jointly({"good", "last", "other"}, 60);
  EXPECT_TRUE(answers[2].answered) << "alone";
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST(RemoteExec, WhoAnswersForTwoNodesChangesNoAnswer) {
  testing::internal::CaptureStderr();
  const auto answers = ask_jointly({"liar", "good", "half"}, 20);
  const auto printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(last_object(answers[0].out), "{\"cores\": 4}") << "alone";
  EXPECT_EQ(last_object(answers[1].out), "{\"cores\": 8}") << "together";
  EXPECT_EQ(last_object(answers[2].out), "{\"cores\": 4}") << "alone";
  EXPECT_EQ(printed,
            "muster: one node answered in the name of good and half: none of its answers counts; no other answer came "
            "from liar\n");
}

TEST(RemoteExec, WhereTwoAnswerForOneNodeItIsAskedAlone) {
  testing::internal::CaptureStderr();
  const auto answers = ask_jointly({"other", "good", "half"}, 20);
  const auto printed = testing::internal::GetCapturedStderr();
  for (const auto& answer : answers) EXPECT_EQ(last_object(answer.out), "{\"cores\": 4}") << answer.node;
  EXPECT_EQ(printed, "muster: 2 nodes answered in the name of good, which is asked again alone\n");
}

TEST(RemoteExec, LastObjectIsTheLastLineThatBeginsWithABrace) {
  EXPECT_EQ(last_object("hi\n{\"a\":1}\nmotd\n"), "{\"a\":1}");
  EXPECT_EQ(last_object("{1}\n{2}"), "{2}");
  EXPECT_EQ(last_object("nothing here"), "");
  EXPECT_EQ(last_object(""), "");
}

TEST(RemoteExec, ThisNodeHasManyNames) {
  EXPECT_TRUE(is_this_node(""));
  EXPECT_TRUE(is_this_node("localhost"));
  EXPECT_FALSE(is_this_node("nid001-that-is-elsewhere"));
}

}  // namespace
}  // namespace muster
