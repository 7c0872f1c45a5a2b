#include "system/try_load.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.hpp"

namespace muster {
namespace {

std::string library(const std::string& name) {
  return std::string(MUSTER_LIBRARIES) + "/lib" + name + ".so";
}

std::vector<TriedLibrary> ask(std::vector<std::string> names, double deadline_s = 20) {
  LoadQuestion question;
  question.names = std::move(names);
  question.wanted = {"ncclNetPlugin_v7", "ncclNetPlugin_v8"};
  question.companion = "libc.so.6";
  question.deadline_s = deadline_s;
  return try_load(question);
}

TEST(TryLoad, TheFirstThatLoads) {
  const auto tried = ask({"libno_such_thing.so", library("a_plugin"), library("a_crash")});
  ASSERT_EQ(tried.size(), 2u);
  EXPECT_EQ(tried[1].path, library("a_plugin"));
  EXPECT_EQ(tried[1].error, "");
  EXPECT_EQ(tried[1].symbols, std::vector<std::string>{"ncclNetPlugin_v8"});
  EXPECT_TRUE(tried[1].has_companion);
}

TEST(TryLoad, WhatIsMissingIsSaidByTheLoader) {
  const auto tried = ask({"libno_such_thing.so"});
  ASSERT_EQ(tried.size(), 1u);
  EXPECT_EQ(tried[0].path, "");
  EXPECT_EQ(tried[0].error.find("libno_such_thing.so: cannot open shared object file"), 0u) << tried[0].error;
  EXPECT_TRUE(ask({}).empty());
}

TEST(TryLoad, ACrashIsNotOurs) {
  const auto tried = ask({library("a_crash")});
  ASSERT_EQ(tried.size(), 1u);
  EXPECT_EQ(tried[0].error, "loading it crashed (signal 11)");
  EXPECT_EQ(tried[0].path, "");
}

TEST(TryLoad, OneThatHangsEndsWithItsDeadline) {
  const double begun = monotonic_seconds();
  const auto tried = ask({library("a_hang")}, 0.3);
  ASSERT_EQ(tried.size(), 1u);
  EXPECT_EQ(tried[0].error, "not loaded within 0.3 s");
  EXPECT_LT(monotonic_seconds() - begun, 10);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

}  // namespace
}  // namespace muster
