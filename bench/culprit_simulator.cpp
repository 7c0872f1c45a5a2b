/// How often faults in a simulated machine are found by decode_culprits, and how many false names a run has:
///   culprit_simulator [--units N] [--seeds N] [--noise PERCENT] [--only TEXT]
/// --only: rows whose name holds the text.
/// Printed as a table of Markdown. docs/methods/culprits.md holds what it printed.
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <string_view>

#include "stats/link_simulator.hpp"

namespace {

using namespace muster;
using namespace muster::simulated;

struct Options {
  int units = 1000;
  int seeds = 1000;
  double noise = 0.03;
  std::string_view only;
};

struct Score {
  int found = 0;
  int false_names = 0;
  double seconds = 0;
};

void run_once(const Options& options, Fault fault, int rounds, std::uint64_t seed, Score& score) {
  Random random(seed);
  Machine machine;
  machine.units = options.units;
  machine.noise = options.noise;
  fault.unit = random.below(options.units);
  std::vector<Matching> plan;
  for (int round = 0; round < rounds; ++round) plan.push_back(random_matching(options.units, random));
  // A link that no round measures can't be found: one of the first round.
  if (fault.kind == PartKind::link) std::tie(fault.unit, fault.partner) = plan[0][0];
  if (fault.slowdown > 0) machine.faults = {fault};
  std::vector<LinkSample> samples;
  for (int round = 0; round < rounds; ++round) {
    measure_round(machine, plan[static_cast<std::size_t>(round)], round, random, samples);
  }
  const auto began = std::chrono::steady_clock::now();
  const Culprits found = decode_with_repeats(machine, std::move(samples), random);
  score.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  bool is_found = false;
  for (const SuspectPart& part : found.parts) {
    const bool is_right = fault.slowdown > 0 && is_the_fault(part, fault);
    is_found |= is_right;
    score.false_names += !is_right;
  }
  score.found += is_found;
}

std::string_view name_of(PartKind kind) {
  if (kind == PartKind::node) return "node";
  if (kind == PartKind::sender) return "sender";
  return kind == PartKind::receiver ? "receiver" : "link";
}

void row(const Options& options, const Fault& fault, std::string_view name) {
  if (name.find(options.only) == name.npos) return;
  fmt::print("| {} |", name);
  for (const int rounds : {3, 5, 7, 12}) {
    Score score;
    for (int seed = 0; seed < options.seeds; ++seed) {
      run_once(options, fault, rounds, static_cast<std::uint64_t>(seed) + 1, score);
    }
    const double runs = options.seeds;
    if (fault.slowdown > 0) {
      fmt::print(" {:.1f} % / {:.3f} |", 100 * score.found / runs, score.false_names / runs);
    } else {
      fmt::print(" - / {:.3f} |", score.false_names / runs);
    }
    std::fflush(stdout);
  }
  fmt::print("\n");
}

void table(const Options& options) {
  fmt::print("{} units, noise {:g} %, {} seeds; found / false names per run\n\n", options.units, 100 * options.noise,
             options.seeds);
  fmt::print("| fault | 3 rounds | 5 | 7 | 12 |\n|---|---|---|---|---|\n");
  row(options, {}, "none");
  for (const bool is_intermittent : {false, true}) {
    for (const PartKind kind : {PartKind::node, PartKind::sender, PartKind::receiver, PartKind::link}) {
      if (kind == PartKind::link && is_intermittent) continue;
      for (const double slowdown : {0.1, 0.2, 0.3, 0.5}) {
        Fault fault;
        fault.kind = kind;
        fault.slowdown = slowdown;
        fault.is_intermittent = is_intermittent;
        row(options, fault,
            fmt::format("{} {:.0f} %{}", name_of(kind), 100 * slowdown, is_intermittent ? ", half of the rounds" : ""));
      }
    }
  }
}

void timing() {
  Random random(1);
  Machine machine;
  machine.units = 1000;
  machine.faults = {{PartKind::node, 5, -1, 0.2, false, false}};
  for (const bool is_full : {false, true}) {
    const auto samples = is_full ? all_rounds(machine, random) : random_rounds(machine, 5, random);
    const auto began = std::chrono::steady_clock::now();
    const auto found = decode_culprits(samples);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    fmt::print("\n1000 units, {} readings: {:.4f} s, {} named", samples.size(), took, found.parts.size());
  }
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--only") options.only = argv[i + 1];
    const double value = std::atof(argv[i + 1]);
    if (option == "--units" && value >= 2) options.units = static_cast<int>(value);
    if (option == "--seeds" && value >= 1) options.seeds = static_cast<int>(value);
    if (option == "--noise" && value >= 0) options.noise = value / 100;
  }
  table(options);
  timing();
  return 0;
}
