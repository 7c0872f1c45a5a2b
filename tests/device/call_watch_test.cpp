// Who is told of a vendor's calls, and when.
#include "device/call_watch.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace muster {
namespace {

using Names = std::vector<std::string>;

int add(int a, int b) {
  return a + b;
}

TEST(CallWatch, IsToldBeforeACallAndThatItHasComeBack) {
  Names reported;
  const CallWatch watch([&](std::string_view call) { reported.emplace_back(call); });
  EXPECT_EQ(watch("cuInit", [&] { return reported.size(); }), 1u);
  EXPECT_EQ(reported, (Names{"cuInit", ""}));
  EXPECT_EQ(watch("add", add, 1, 2), 3);
  watch.device("nobody listens");
}

TEST(CallWatch, NobodyMayListen) {
  const CallWatch watch;
  EXPECT_EQ(watch("add", add, 1, 2), 3);
  watch.device("GPU");
}

TEST(CallWatch, ARecorderTakesCallsAsSuchAndNotAsSteps) {
  struct Seen final : Recorder, CallRecorder {
    Names reported;
    void step(std::string_view) override { reported.emplace_back("a step"); }
    void iteration(std::uint64_t) override { reported.emplace_back("an iteration"); }
    void peer(int) override {}
    void child_group(int) override {}
    void call(std::string_view name) override { reported.push_back("call " + std::string(name)); }
    void device(std::string_view label) override { reported.push_back("device " + std::string(label)); }
  } seen;
  const CallWatch watch(seen);
  watch.device("GPU 0000:c1:00.0");
  EXPECT_EQ(watch("add", add, 1, 2), 3);
  EXPECT_EQ(seen.reported, (Names{"device GPU 0000:c1:00.0", "call add", "call "}));
}

}  // namespace
}  // namespace muster
