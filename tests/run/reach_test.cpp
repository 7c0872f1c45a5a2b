// Commands on nodes: answers behind greetings, silence, and what can't be started.
#include "run/reach.hpp"

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
  const Reach reach{&launcher, {}, {}, "/bin/true"};
  return ask_nodes(loop, reach, nodes, {"inventory"}, deadline_s);
}

TEST(Reach, AnswersComeInTheOrderOfTheNodesWithTheReasonForSilence) {
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

TEST(Reach, ManyNodesAreAskedInTurns) {
  const std::vector<std::string> nodes(300, "good");
  for (const auto& answer : ask(nodes, 30)) EXPECT_TRUE(answer.answered) << answer.error;
}

TEST(Reach, LastObjectIsTheLastLineThatBeginsWithABrace) {
  EXPECT_EQ(last_object("hi\n{\"a\":1}\nmotd\n"), "{\"a\":1}");
  EXPECT_EQ(last_object("{1}\n{2}"), "{2}");
  EXPECT_EQ(last_object("nothing here"), "");
  EXPECT_EQ(last_object(""), "");
}

TEST(Reach, ThisNodeHasManyNames) {
  EXPECT_TRUE(is_this_node(""));
  EXPECT_TRUE(is_this_node("localhost"));
  EXPECT_FALSE(is_this_node("nid001-that-is-elsewhere"));
}

}  // namespace
}  // namespace muster
