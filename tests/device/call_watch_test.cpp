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
  Names told;
  const CallWatch watch([&](std::string_view call) { told.emplace_back(call); });
  EXPECT_EQ(watch("cuInit", [&] { return told.size(); }), 1u);
  EXPECT_EQ(told, (Names{"cuInit", ""}));
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
    Names told;
    void step(std::string_view) override { told.emplace_back("a step"); }
    void iteration(std::uint64_t) override { told.emplace_back("an iteration"); }
    void peer(int) override {}
    void child_group(int) override {}
    void call(std::string_view name) override { told.push_back("call " + std::string(name)); }
    void device(std::string_view label) override { told.push_back("device " + std::string(label)); }
  } seen;
  const CallWatch watch(seen);
  watch.device("GPU 0000:c1:00.0");
  EXPECT_EQ(watch("add", add, 1, 2), 3);
  EXPECT_EQ(seen.told, (Names{"device GPU 0000:c1:00.0", "call add", "call "}));
}

}  // namespace
}  // namespace muster
