#include "evaluate/matrices.hpp"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "evaluate/case_fixture.hpp"

namespace muster::testing {
namespace {

constexpr LabelSpec pair_labels[] = {{"size", "", "sizes"}, {"link", "", {}, true}};

Reading to_peer(int peer, double value, const char* size, const char* link) {
  return {"busbw", {{"link", link}, {"size", size}}, {1, value, value, value, value, 0}, peer};
}

World world_of(int nodes, int per_node) {
  World world;
  for (int rank = 0; rank < nodes * per_node; ++rank) {
    RankPlace place;
    place.rank = rank;
    place.node_index = rank / per_node;
    place.host = host(rank / per_node);
    world.ranks.push_back(place);
  }
  return world;
}

CaseRecord record_of(std::vector<std::vector<Reading>> of_ranks) {
  CaseRecord record;
  for (auto& readings : of_ranks) {
    Observation seen;
    seen.rank = static_cast<int>(record.observations.size());
    seen.readings = std::move(readings);
    record.observations.push_back(std::move(seen));
  }
  return record;
}

ProbeSpec probe_of_pairs() {
  ProbeSpec probe = scene_probe();
  probe.labels = pair_labels;
  return probe;
}

TEST(Matrices, HoldAllLinkClassesOfOneMetricAndSize) {
  const auto record =
      record_of({{to_peer(1, 8, "1MiB", "numa"), to_peer(2, 2, "1MiB", "network"), to_peer(1, 9, "8B", "numa")},
                 {to_peer(0, 7, "1MiB", "numa")},
                 {}});
  const auto matrices = matrices_of(record, probe_of_pairs(), world_of(3, 1));
  ASSERT_EQ(matrices.size(), 2u);
  EXPECT_EQ(matrices[0].where, (Labels{{"size", "1MiB"}}));
  EXPECT_EQ(matrices[0].unit, "GB/s");
  EXPECT_EQ(matrices[0].names, (std::vector<std::string>{host(0), host(1), host(2)}));
  const auto& values = matrices[0].values;
  ASSERT_EQ(values.size(), 9u);
  EXPECT_EQ(values[1], 8);
  EXPECT_EQ(values[2], 2);
  EXPECT_EQ(values[3], 7);
  for (const std::size_t absent : {0u, 4u, 5u, 6u, 7u, 8u}) EXPECT_TRUE(std::isnan(values[absent])) << absent;
  EXPECT_EQ(matrices[1].where, (Labels{{"size", "8B"}}));
}

TEST(Matrices, OfManyRanksAreOfNodesWithMedians) {
  const auto record = record_of({{to_peer(2, 1, "8B", "network"), to_peer(3, 2, "8B", "network")},
                                 {to_peer(2, 9, "8B", "network")},
                                 {to_peer(0, 5, "8B", "network")},
                                 {}});
  const auto matrices = matrices_of(record, probe_of_pairs(), world_of(2, 2), 3);
  ASSERT_EQ(matrices.size(), 1u);
  EXPECT_TRUE(matrices[0].is_of_nodes);
  EXPECT_EQ(matrices[0].names.size(), 2u);
  EXPECT_EQ(matrices[0].values[1], 2) << "the median of 1, 2 and 9";
  EXPECT_EQ(matrices[0].values[2], 5);
}

TEST(Matrices, LeaveOutWhatIsNoReadingBetweenTwoKnownRanks) {
  auto record = record_of({{to_peer(-1, 8, "8B", "numa"), to_peer(7, 8, "8B", "numa")}, {}});
  record.observations[0].readings.push_back({"busbw", {}, {}, 1});
  EXPECT_TRUE(matrices_of(record, probe_of_pairs(), world_of(2, 1)).empty());
}

TEST(Matrices, AFileIsALineOfJsonAndTheValues) {
  const auto matrices = matrices_of(record_of({{to_peer(1, 1.5, "8B", "numa")}, {}}), probe_of_pairs(), world_of(2, 1));
  const std::string file = to_file(matrices.at(0));
  const auto line_end = file.find('\n');
  const auto head = nlohmann::json::parse(file.substr(0, line_end));
  EXPECT_EQ(head["muster_matrix"], 1);
  EXPECT_EQ(head["rows"], "rank");
  EXPECT_EQ(head["size"], 2);
  ASSERT_EQ(file.size(), line_end + 1 + 16);
  EXPECT_EQ(file.substr(line_end + 1 + 4, 4), std::string("\x00\x00\xc0\x3f", 4)) << "1.5, lowest byte first";
}

TEST(Matrices, AFileIsReadBack) {
  const auto matrices = matrices_of(record_of({{to_peer(1, 1.5, "8B", "numa")}, {to_peer(0, 2.5, "8B", "numa")}}),
                                    probe_of_pairs(), world_of(2, 1));
  const std::string file = to_file(matrices.at(0));
  const auto back = matrix_from_file(file);
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(to_file(*back), file);
  EXPECT_EQ(back->names, matrices[0].names);
  EXPECT_EQ(back->values[1], 1.5F);
  EXPECT_EQ(back->values[2], 2.5F);
  for (const std::string& broken : {std::string(), std::string("{}\n"), file.substr(0, file.size() - 1), file + "x",
                                    file.substr(1), std::string("{\"muster_matrix\": 2}\n")})
    EXPECT_FALSE(matrix_from_file(broken)) << broken;
}

}  // namespace
}  // namespace muster::testing
