/// A case, its world and what its ranks reported, to be judged: 4 ranks on 2 nodes unless told otherwise.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "evaluate/evaluate.hpp"
#include "model/plan.hpp"
#include "model/record.hpp"

namespace muster::testing {

inline constexpr MetricSpec scene_metrics[] = {
    {"busbw", "GB/s", Better::higher, "", true},
    {"latency", "us", Better::lower, "", true},
    {"cores", "cores", Better::neither, "", false},
    {"width", "cores", Better::higher, "", false},
};
inline constexpr LabelSpec scene_labels[] = {{"size", "", "sizes"}, {"link", "", ""}};

/// What the probe's judge says; a judge is a plain function, so that this is where tests leave it.
inline ProbeJudgement message;
inline int judge_calls = 0;

inline ProbeJudgement scene_judge(const CaseView&) {
  ++judge_calls;
  return message;
}

inline ProbeSpec scene_probe() {
  ProbeSpec probe;
  probe.name = "scene";
  probe.metrics = scene_metrics;
  probe.labels = scene_labels;
  probe.judge = scene_judge;
  return probe;
}

inline std::string host(int node) {
  return "nid00" + std::to_string(node + 1);
}

struct CaseFixture {
  Case item;
  CaseRecord record;
  World world;
  ProbeSpec probe = scene_probe();

  explicit CaseFixture(int nodes = 2, int per_node = 2) {
    message = {};
    judge_calls = 0;
    item.id = "scene%00000001";
    item.check = "scene";
    item.probe = "scene";
    item.place = "checks/scene.toml:2";
    item.params.set("sizes", {ParamType::bytes_list, {Bytes{8}, Bytes{16u << 20}}});
    for (int node = 0; node < nodes; ++node) item.shape.nodes.push_back(host(node));
    item.shape.ranks_per_node = per_node;
    record.finished = true;
    record.launch = 0;
    record.seconds = 1.5;
    for (int rank = 0; rank < nodes * per_node; ++rank) {
      const int node = rank / per_node;
      world.ranks.push_back({rank, nodes * per_node, rank % per_node, per_node, node, nodes, host(node)});
      Observation one;
      one.rank = rank;
      record.observations.push_back(one);
    }
  }

  [[nodiscard]] Observation& rank(int rank) {
    return *std::find_if(record.observations.begin(), record.observations.end(),
                         [&](const Observation& one) { return one.rank == rank; });
  }

  /// Rank r reports values[r].
  CaseFixture& report(const std::string& metric, const std::vector<double>& values, const Labels& where = {}) {
    for (std::size_t r = 0; r < values.size(); ++r) add(static_cast<int>(r), metric, values[r], where);
    return *this;
  }
  Reading& add(int of, const std::string& metric, double value, const Labels& where = {}, int peer = -1) {
    return rank(of).readings.emplace_back(Reading{metric, where, {3, value, value, value, value, 0}, peer, ""});
  }
  void leave(int gone) {
    std::erase_if(record.observations, [&](const Observation& one) { return one.rank == gone; });
  }

  Expectation& expect(const std::string& metric, const Labels& where = {}) {
    Expectation asked;
    asked.metric = metric;
    asked.where = where;
    asked.place = "checks/scene.toml:9";
    return item.expects.emplace_back(asked);
  }
  Expectation& expect_reference(const std::string& metric, double value, double lower = -0.1) {
    auto& asked = expect(metric);
    asked.reference = reference(value, lower, "checks/scene.toml:14");
    return asked;
  }
  static Reference reference(double value, double lower, const std::string& place) {
    Reference one;
    one.value = value;
    one.lower = lower;
    one.unit = "GB/s";
    one.place = place;
    return one;
  }
  void profile(const Labels& where, double value, const std::string& place, const std::string& metric = "busbw") {
    item.references.push_back({"scene", where, metric, reference(value, -0.1, place)});
  }

  [[nodiscard]] CaseResult result() const { return evaluate(item, probe, record, world); }
};

}  // namespace muster::testing
