#include "run/messages.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

#ifdef MUSTER_HAVE_RAPIDCHECK
#include <rapidcheck.h>
#endif

namespace muster {
namespace {

using Payload = std::vector<std::byte>;

Payload bytes(std::initializer_list<int> values) {
  Payload result;
  for (const int value : values) result.push_back(static_cast<std::byte>(value));
  return result;
}

Payload cbor(const nlohmann::json& json) {
  Payload result;
  for (const std::uint8_t byte : nlohmann::json::to_cbor(json)) result.push_back(static_cast<std::byte>(byte));
  return result;
}

template <class T>
bool is_refused(const Result<T>& result) {
  return !result && result.error().kind == ErrorKind::protocol && !result.error().what.empty();
}

/// Every beginning of a message that is shorter than it is refused.
template <class Decode>
void expect_no_beginning_is_enough(const Payload& whole, Decode decode) {
  ASSERT_TRUE(decode(std::span<const std::byte>(whole)).has_value());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Payload part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_TRUE(is_refused(decode(std::span<const std::byte>(part)))) << size << " bytes";
  }
}

Observation observation(int rank) {
  Observation seen;
  seen.rank = rank;
  seen.facts = {{"mask", "0-3"}};
  seen.readings = {{"latency", {{"size", "8B"}}, {3, 1, 2, 3, 3, 0.5}, 1, ""}};
  seen.output = "text";
  seen.seconds = 0.25;
  return seen;
}

TEST(MessagesTest, JobRoundTrip) {
  JobMessage job;
  job.items = {{0, "hello%1", "hello", "{\"count\":\"3\"}"},
               {2147483647, "x%2", "command", "{}", "/checks", true, {"nid002", "nid003"}}};
  const auto back = decode_job(encode(job));
  ASSERT_TRUE(back.has_value()) << to_string(back.error());
  ASSERT_EQ(back->items.size(), 2u);
  EXPECT_EQ(back->items[0].case_id, "hello%1");
  EXPECT_EQ(back->items[0].probe, "hello");
  EXPECT_FALSE(back->items[0].is_per_node);
  EXPECT_TRUE(back->items[1].is_per_node);
  EXPECT_EQ(back->items[1].not_on, (std::vector<std::string>{"nid002", "nid003"}));
  EXPECT_EQ(back->items[0].params, "{\"count\":\"3\"}");
  EXPECT_EQ(back->items[1].index, 2147483647);
  expect_no_beginning_is_enough(encode(job), decode_job);
  EXPECT_TRUE(decode_job(encode(JobMessage{}))->items.empty());
  EXPECT_FALSE(back->is_simulated);
  job.is_simulated = true;
  EXPECT_TRUE(decode_job(encode(job))->is_simulated);
}

TEST(MessagesTest, HelloRoundTrip) {
  const HelloMessage hello{"0.1.0", 16};
  const auto back = decode_hello(encode(hello));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->muster_version, "0.1.0");
  EXPECT_EQ(back->world_size, 16);
  expect_no_beginning_is_enough(encode(hello), decode_hello);
}

TEST(MessagesTest, WorldRoundTrip) {
  World world;
  world.library = "Open MPI v4.1.4";
  world.ranks = {{0, 2, 0, 1, 0, 2, "nid001"}, {1, 2, 0, 1, 1, 2, "nid002"}};
  world.pids = {100, 200};
  world.nodes = {{"nid001", {{"kernel", "6.1"}}}, {"nid002", {}}};
  world.timing_doubt = "2 ranks share a core";
  const auto back = decode_world(encode(world));
  ASSERT_TRUE(back.has_value()) << to_string(back.error());
  EXPECT_EQ(back->library, world.library);
  ASSERT_EQ(back->ranks.size(), 2u);
  EXPECT_EQ(back->ranks[1].host, "nid002");
  EXPECT_EQ(back->ranks[1].node_index, 1);
  EXPECT_EQ(back->pids, world.pids);
  EXPECT_TRUE(back->nodes == world.nodes);
  EXPECT_EQ(back->timing_doubt, world.timing_doubt);
  expect_no_beginning_is_enough(encode(world), decode_world);
}

TEST(MessagesTest, CaseMessagesRoundTrip) {
  EXPECT_EQ(decode_case_begin(encode_case_begin(7)).value(), 7);
  EXPECT_EQ(encode_case_begin(0x01020304), bytes({4, 3, 2, 1}));
  const auto end = decode_case_end(encode_case_end(9, 1.5));
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->item, 9);
  EXPECT_EQ(end->seconds, 1.5);
  const std::vector<Payload> encoded{encode(observation(0)), encode(observation(5))};
  const auto part = decode_case_part(encode_case_part(3, encoded));
  ASSERT_TRUE(part.has_value()) << to_string(part.error());
  EXPECT_EQ(part->item, 3);
  ASSERT_EQ(part->observations.size(), 2u);
  EXPECT_TRUE(part->observations[1] == observation(5));
  EXPECT_TRUE(decode_case_part(encode_case_part(3, {}))->observations.empty());
  expect_no_beginning_is_enough(encode_case_begin(7), decode_case_begin);
  expect_no_beginning_is_enough(encode_case_end(9, 1.5), decode_case_end);
}

TEST(MessagesTest, CasePartEndsOnlyBetweenObservations) {
  const std::vector<Payload> encoded{encode(observation(0)), encode(observation(1))};
  const Payload whole = encode_case_part(3, encoded);
  int good = 0;
  for (std::size_t size = 0; size <= whole.size(); ++size)
    good += decode_case_part(std::span(whole).first(size)).has_value() ? 1 : 0;
  EXPECT_EQ(good, 3);  // none, one or both
}

TEST(MessagesTest, ForeignNumbersAreRefused) {
  EXPECT_TRUE(is_refused(decode_case_begin(bytes({0, 0, 0, 0x80}))));
  EXPECT_TRUE(is_refused(decode_case_begin(bytes({0, 0, 0, 0, 0}))));
  EXPECT_TRUE(is_refused(decode_case_part(bytes({0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1}))));
  EXPECT_TRUE(is_refused(decode_case_part(bytes({0, 0, 0, 0, 1, 0, 0, 0, 0xee}))));
  EXPECT_TRUE(is_refused(decode_case_part(bytes({0, 0, 0, 0, 0, 0, 0, 0}))));
  for (const double seconds : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    EXPECT_TRUE(is_refused(decode_case_end(encode_case_end(1, seconds)))) << seconds;
}

TEST(MessagesTest, ForeignCborIsRefused) {
  EXPECT_TRUE(is_refused(decode_job({})));
  EXPECT_TRUE(is_refused(decode_job(cbor("text"))));
  EXPECT_TRUE(is_refused(decode_job(cbor({{"items", 3}}))));
  EXPECT_TRUE(is_refused(decode_job(cbor({{"items", {{{"index", 1}}}}}))));
  const auto item = [](const nlohmann::json& index) {
    return cbor({{"simulated", false},
                 {"items",
                  {{{"index", index},
                    {"case", "c"},
                    {"probe", "p"},
                    {"params", "{}"},
                    {"folder", "/f"},
                    {"per_node", false},
                    {"not_on", nlohmann::json::array()}}}}});
  };
  EXPECT_TRUE(is_refused(decode_job(cbor({{"items", nlohmann::json::array()}}))));  // simulated or not is missing
  EXPECT_TRUE(decode_job(item(1)).has_value());
  for (const nlohmann::json& index : {nlohmann::json(-1), nlohmann::json(1.5), nlohmann::json("1"),
                                      nlohmann::json(1LL << 40), nlohmann::json(~0ULL), nlohmann::json(nullptr)})
    EXPECT_TRUE(is_refused(decode_job(item(index)))) << index;
  EXPECT_TRUE(is_refused(decode_hello(cbor({{"version", 1}, {"world_size", 1}}))));
  EXPECT_TRUE(is_refused(decode_world(cbor(nlohmann::json::object()))));
  Payload more = encode(HelloMessage{});
  more.push_back(std::byte{0});
  EXPECT_TRUE(is_refused(decode_hello(more)));
}

TEST(MessagesTest, DeepNestingIsRefusedBeforeItUsesUpTheStack) {
  Payload deep(1u << 20, std::byte{0x81});  // an array of one, a million times
  deep.push_back(std::byte{0x00});
  EXPECT_TRUE(is_refused(decode_job(deep)));
}

TEST(MessagesTest, ACountThatTheBytesDontJustifyTakesNoMemory) {
  // An array, and a text, of 2^62 entries.
  EXPECT_TRUE(is_refused(decode_job(bytes({0x9b, 0x40, 0, 0, 0, 0, 0, 0, 0}))));
  EXPECT_TRUE(is_refused(decode_job(bytes({0x7b, 0x40, 0, 0, 0, 0, 0, 0, 0}))));
}

#ifdef MUSTER_HAVE_RAPIDCHECK
TEST(MessagesTest, AnyBytesAreSafe) {
  const bool holds =
      rc::check("decoding any bytes gives a message or an error", [](const std::vector<std::uint8_t>& any) {
        Payload payload;
        for (const std::uint8_t byte : any) payload.push_back(static_cast<std::byte>(byte));
        (void)decode_job(payload);
        (void)decode_hello(payload);
        (void)decode_world(payload);
        (void)decode_case_begin(payload);
        (void)decode_case_end(payload);
        const auto part = decode_case_part(payload);
        RC_ASSERT(part.has_value() || part.error().kind == ErrorKind::protocol);
      });
  EXPECT_TRUE(holds);
}
#endif

}  // namespace
}  // namespace muster
