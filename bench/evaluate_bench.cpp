/// How long it takes, and how much memory, to judge recorded results of a large run and to write the report:
///   evaluate_bench [--ranks N] [--cases N]
/// 8 ranks per node, 3 metrics per rank, one rank in a thousand too slow. The observations of one case are in memory
/// at a time, as they are when a run folder is read. Exit status 1 when a budget is exceeded.
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <sys/resource.h>

#include "evaluate/evaluate.hpp"
#include "model/json.hpp"

namespace {

using namespace muster;
using Clock = std::chrono::steady_clock;

constexpr int ranks_per_node = 8;

struct Sizes {
  int ranks = 10000;
  int cases = 20;
  /// Budgets for 10,000 and 100,000 ranks x 20 cases.
  [[nodiscard]] double most_seconds() const { return ranks <= 10000 ? 2 : 10; }
  [[nodiscard]] double most_mebibytes() const { return ranks <= 10000 ? 512 : 2048; }
};

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

/// Adds the seconds of its life to a stage.
class Timed {
 public:
  explicit Timed(double& stage) : stage_(stage) {}
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
  ~Timed() { stage_ += std::chrono::duration<double>(Clock::now() - began_).count(); }

 private:
  double& stage_;
  Clock::time_point began_ = Clock::now();
};

struct Stages {
  double decode = 0;
  double evaluate = 0;
  double json = 0;
  double write = 0;
  [[nodiscard]] double total() const { return decode + evaluate + json + write; }
};

double peak_mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

CaseRecord decode_all(const std::vector<std::vector<std::byte>>& bytes) {
  CaseRecord record;
  record.launch = 0;
  record.finished = true;
  record.observations.reserve(bytes.size());
  for (const auto& one : bytes) {
    auto observation = decode_observation(one);
    if (!observation) {
      fmt::print(stderr, "evaluate_bench: {}\n", to_string(observation.error()));
      std::exit(1);
    }
    record.observations.push_back(std::move(*observation));
  }
  return record;
}

RunReport judge(const Sizes& sizes, Stages& stages) {
  const auto world = bench_world(sizes.ranks);
  const auto probe = bench_probe();
  RunReport report;
  for (int index = 0; index < sizes.cases; ++index) {
    const auto bytes = recorded(sizes.ranks, index);
    const Case item = bench_case(index);
    CaseRecord record;
    {
      const Timed timed(stages.decode);
      record = decode_all(bytes);
    }
    const Timed timed(stages.evaluate);
    report.cases.push_back(evaluate(item, probe, record, world));
    record = {};
  }
  return report;
}

std::size_t write(const RunReport& report, Stages& stages) {
  std::string text;
  {
    const Timed timed(stages.json);
    text = dump(to_json(report));
  }
  const Timed timed(stages.write);
  std::ofstream("/dev/null", std::ios::binary) << text;
  return text.size();
}

int run(const Sizes& sizes) {
  Stages stages;
  const auto report = judge(sizes, stages);
  const double before_report = peak_mebibytes();
  const auto written = write(report, stages);
  std::size_t items = 0;
  for (const CaseResult& one : report.cases) items += one.items.size();

  fmt::print("{} ranks on {} nodes x {} cases, {} readings, {} items that are not a pass\n", sizes.ranks,
             report.cases.empty() ? 0 : report.cases[0].node_rows.size(), sizes.cases, 3LL * sizes.ranks * sizes.cases,
             items);
  fmt::print("{:24}{:>8.3f} s\n", "decode observations", stages.decode);
  fmt::print("{:24}{:>8.3f} s\n", "evaluate", stages.evaluate);
  fmt::print("{:24}{:>8.3f} s   {:.1f} MB\n", "report as JSON text", stages.json, static_cast<double>(written) / 1e6);
  fmt::print("{:24}{:>8.3f} s\n", "write", stages.write);
  fmt::print("{:24}{:>8.3f} s   budget {:g} s\n", "all", stages.total(), sizes.most_seconds());
  fmt::print("{:24}{:>8.0f} MiB budget {:g} MiB; {:.0f} MiB before the report\n", "peak memory", peak_mebibytes(),
             sizes.most_mebibytes(), before_report);
  return stages.total() <= sizes.most_seconds() && peak_mebibytes() <= sizes.most_mebibytes() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Sizes sizes;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    const int value = std::atoi(argv[i + 1]);
    if (option == "--ranks" && value > 0) sizes.ranks = value;
    if (option == "--cases" && value > 0) sizes.cases = value;
  }
  return run(sizes);
}
