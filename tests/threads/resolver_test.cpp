// A question to the resolver is answered by a thread that may outlive it, for the thread sanitizer.
#include <atomic>
#include <gtest/gtest.h>
#include <string>
#include <thread>

#include "measure/network.hpp"

namespace muster::environment {

namespace {

std::atomic<bool> may_answer{false};
std::atomic<bool> has_answered{false};

Resolved answer_when_allowed(const std::string& /*name*/) {
  while (!may_answer) std::this_thread::yield();
  has_answered = true;
  return {{"10.0.0.1"}, {}};
}

TEST(ResolverThreads, AnAnswerInTimeIsReturned) {
  may_answer = true;
  const Resolved found = resolve("node.invalid", 60, answer_when_allowed);
  EXPECT_EQ(found.error, "");
  EXPECT_EQ(found.addresses, std::vector<std::string>{"10.0.0.1"});
}

TEST(ResolverThreads, AnAnswerAfterTheDeadlineTouchesNothingThatIsGone) {
  may_answer = false;
  has_answered = false;
  EXPECT_NE(resolve("node.invalid", 0.01, answer_when_allowed).error, "");
  may_answer = true;
  while (!has_answered) std::this_thread::yield();
}

}  // namespace

}  // namespace muster::environment
