#include "large_run.hpp"

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>

#include "evaluate/evaluate.hpp"

namespace muster::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int ranks_per_node = 8;

constexpr MetricSpec metrics[] = {
    {"busbw", "GB/s", Better::higher, "", true},
    {"busbw.capable", "GB/s", Better::higher, "", true},
    {"latency", "us", Better::lower, "", true},
};

ProbeSpec bench_probe() {
  ProbeSpec probe;
  probe.name = "bench";
  probe.metrics = metrics;
  return probe;
}

World bench_world(int ranks) {
  World world;
  const int nodes = (ranks + ranks_per_node - 1) / ranks_per_node;
  for (int rank = 0; rank < ranks; ++rank) {
    const int node = rank / ranks_per_node;
    world.ranks.push_back(
        {rank, ranks, rank % ranks_per_node, ranks_per_node, node, nodes, fmt::format("nid{:06}", node)});
  }
  return world;
}

Case bench_case(int index) {
  Case item;
  item.id = fmt::format("bench%{:08x}", index);
  item.check = item.probe = "bench";
  item.place = "checks/bench.toml:1";
  Expectation bandwidth;
  bandwidth.metric = "busbw";
  bandwidth.reference = Reference{150, -0.1, {}, "GB/s", "", "checks/bench.toml:14"};
  bandwidth.limit = Limit{0.25, 1.05};
  bandwidth.peers = Peers{};
  Expectation latency;
  latency.metric = "latency";
  latency.peers = Peers{};
  item.expects = {bandwidth, latency};
  return item;
}

Reading reading(const char* metric, const char* size, double value) {
  return {
      metric, {{"size", size}, {"type", "float"}}, {100, value * 0.98, value, value * 1.02, value * 1.05, 0.5}, -1, ""};
}

/// What arrived from the ranks in one case, as the spool holds it.
std::vector<std::vector<std::byte>> recorded(int ranks, int seed) {
  std::vector<std::vector<std::byte>> all;
  for (int rank = 0; rank < ranks; ++rank) {
    const bool is_bad = (rank + seed * 37) % 1000 == 999;
    Observation one;
    one.rank = rank;
    one.seconds = 1.25;
    one.readings = {reading("busbw", "16MiB", (is_bad ? 70 : 148) + rank % 5), reading("busbw.capable", "16MiB", 200),
                    reading("latency", "8B", (is_bad ? 9.0 : 2.0) + 0.01 * (rank % 7))};
    all.push_back(encode(one));
  }
  return all;
}

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Adds the seconds of its life to a stage.
class Timed {
 public:
  Timed(double& stage, double& cpu) : stage_(stage), cpu_(cpu) {}
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed() {
    stage_ += std::chrono::duration<double>(Clock::now() - began_).count();
    cpu_ += cpu_seconds() - cpu_began_;
  }

 private:
  double& stage_;
  double& cpu_;
  Clock::time_point began_ = Clock::now();
  double cpu_began_ = cpu_seconds();
};

CaseRecord decode_all(const std::vector<std::vector<std::byte>>& bytes) {
  CaseRecord record;
  record.launch = 0;
  record.finished = true;
  record.observations.reserve(bytes.size());
  for (const auto& one : bytes) {
    auto observation = decode_observation(one);
    if (!observation) {
      fmt::print(stderr, "bench: {}\n", to_string(observation.error()));
      std::exit(1);
    }
    record.observations.push_back(std::move(*observation));
  }
  return record;
}

/// Beside the cases: where and with what the nodes took part.
RunReport header_of(const World& world) {
  RunReport report;
  report.run_id = "a1b2c3d4";
  report.muster_version = "bench";
  report.started = "2026-11-21T08:00:00.000Z";
  report.system = "bench";
  report.command_line = {"muster", "run"};
  report.verdict = Verdict::fail;
  report.exit_status = 1;
  for (const RankPlace& rank : world.ranks)
    if (rank.local_rank == 0)
      report.nodes.push_back({rank.host,
                              {{"cores", "64"},
                               {"cpu", "AMD EPYC 7A53 64-Core Processor"},
                               {"driver.amdgpu", "6.3.6"},
                               {"kernel", "5.14.21-150500.55.49_13.0.56-cray_shasta_c"},
                               {"memory", "512 GiB"},
                               {"mpi", "MPI VERSION : CRAY MPICH version 8.1.29.8"}}});
  report.launches.push_back(
      {"srun", {"srun", "muster-rank"}, {}, static_cast<int>(world.ranks.size()), 60, "finished", {}});
  for (const auto& node : report.nodes) report.launches.back().nodes.push_back(node.node);
  return report;
}

}  // namespace

RunReport judged_run(const Sizes& sizes, Stages& stages) {
  const auto world = bench_world(sizes.ranks);
  const auto probe = bench_probe();
  RunReport report = header_of(world);
  for (int index = 0; index < sizes.cases; ++index) {
    const auto bytes = recorded(sizes.ranks, index);
    const Case item = bench_case(index);
    CaseRecord record;
    {
      const Timed timed(stages.decode, stages.cpu);
      record = decode_all(bytes);
    }
    const Timed timed(stages.evaluate, stages.cpu);
    report.cases.push_back(evaluate(item, probe, record, world));
    record = {};
  }
  return report;
}

}  // namespace muster::bench
