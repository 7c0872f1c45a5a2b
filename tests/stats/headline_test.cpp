#include "stats/headline.hpp"

#include <gtest/gtest.h>

#include "stats/stats.hpp"

namespace muster {
namespace {

struct Observed {
  std::vector<Observation> seen = std::vector<Observation>(2);

  Observed& add(std::size_t rank, const char* metric, double value, Labels where) {
    Reading reading;
    reading.metric = metric;
    reading.where = std::move(where);
    const double samples[] = {value};
    reading.summary = summarize(samples);
    seen[rank].readings.push_back(std::move(reading));
    return *this;
  }
  [[nodiscard]] std::string of(const HeadlineSpec& spec) const {
    const Params params;
    const ExpectedNode node;
    const std::vector<RankPlace> places(seen.size());
    std::vector<const Observation*> all;
    for (const Observation& one : seen) all.push_back(&one);
    all.push_back(nullptr);
    return headline({params, places, all, node}, spec);
  }
};

TEST(Headline, IsTheMedianAtTheLargestOrSmallestSize) {
  Observed observed;
  observed.add(0, "bandwidth", 1, {{"size", "8B"}}).add(0, "bandwidth", 10, {{"size", "16MiB"}});
  observed.add(1, "bandwidth", 12, {{"size", "16MiB"}}).add(1, "bandwidth", 5, {{"size", "64KiB"}});
  EXPECT_EQ(observed.of({"bandwidth", "GB/s", "size"}), "bandwidth 11 GB/s at 16MiB");
  EXPECT_EQ(observed.of({"bandwidth", "GB/s", "size", false}), "bandwidth 1 GB/s at 8B");
}

TEST(Headline, TellsPartsApart) {
  Observed observed;
  observed.add(0, "bandwidth", 24, {{"size", "1MiB"}, {"link", "network"}});
  EXPECT_EQ(observed.of({"bandwidth", "GB/s", "size", true, "link"}), "bandwidth 24 GB/s at 1MiB") << "the only one";
  observed.add(1, "bandwidth", 11, {{"size", "1MiB"}, {"link", "node"}});
  EXPECT_EQ(observed.of({"bandwidth", "GB/s", "size", true, "link"}),
            "bandwidth at 1MiB: network 24 GB/s, node 11 GB/s");
}

TEST(Headline, ALabelThatIsNoSizeIsNamed) {
  Observed observed;
  observed.add(0, "triad", 20, {{"domain", "0"}}).add(0, "triad", 40, {{"domain", "node"}});
  EXPECT_EQ(observed.of({"triad", "GB/s", "domain", false}), "triad 40 GB/s (domain node)");
}

TEST(Headline, IsEmptyWithoutAValue) {
  Observed observed;
  EXPECT_EQ(observed.of({"bandwidth", "GB/s", "size"}), "");
  observed.add(0, "bandwidth", 1, {{"size", "8B"}});
  observed.seen[0].readings[0].summary = {};
  EXPECT_EQ(observed.of({"bandwidth", "GB/s", "size"}), "");
  observed.add(0, "bandwidth", 1, {{"size", "8B"}});
  observed.seen[0].state = ObservationState::failed;
  EXPECT_EQ(observed.of({"bandwidth", "GB/s", "size"}), "") << "what a rank says that failed is no figure";
}

}  // namespace
}  // namespace muster
