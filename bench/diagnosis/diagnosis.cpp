/// How often rules that name slow parts are right, on matrices of a network with known faults:
///   diagnosis [--seeds N] [--first-seed N] [--units N] [--rounds N] [--only TEXT] [--shape TEXT] [--fault TEXT]
///             [--muster] [--tuning] [--details] [--names] [--limits]
/// --only: shapes or faults whose name holds the text; --shape, --fault: one of each, by its whole name; --muster:
/// muster's decoder without the rules of other tools; --tuning: the part that rules may be tuned on, instead of the
/// part that is held out; --details: each shape for itself; --names: what muster names in each run; --limits: the
/// detection limits that muster states for healthy nodes, and how often a node slower by a tenth more, or less, than
/// the limit of that very matrix is named. Tables of Markdown;
/// docs/measurements/diagnosis.md holds what it printed.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "diagnosis/score.hpp"

namespace {

using namespace muster::diagnosis;

struct Size {
  int units = 0;
  int rounds = 0;
  int share_of_seeds = 1;  ///< large matrices: one seed in so many
};

struct Options {
  int seeds = 20;
  int first_seed = 1;
  std::string only;
  std::string shape;
  std::string fault;
  std::size_t rules = muster::diagnosis::rules.size();
  bool is_tuning = false;
  bool has_details = false;
  bool has_names = false;
  bool are_limits = false;
  double noise = 0.03;
  double slowdown = 0.15;
  std::vector<Size> sizes{{16, 0, 1}, {16, 5, 1}, {64, 0, 2}, {64, 12, 1}, {256, 12, 4}, {1000, 5, 10}};
};

using Scores = std::array<Score, rules.size()>;

bool is_wanted(const Options& options, Shape shape, FaultKind fault) {
  if (!options.shape.empty() && options.shape != name_of(shape)) return false;
  if (!options.fault.empty() && options.fault != name_of(fault)) return false;
  return options.only.empty() || name_of(shape).find(options.only) != std::string_view::npos ||
         name_of(fault) == options.only;
}

/// Racks and the path between them need racks; five nodes others that are well.
bool is_possible(FaultKind fault, int units) {
  return units >= 16 || (fault < FaultKind::rack || fault == FaultKind::receiver || fault == FaultKind::half_of_rounds);
}

/// At fault and named, as lists of nodes.
void print_names(const World& world, const Answer& answer, int seed) {
  constexpr std::array<std::string_view, 6> kinds{"node", "sender", "receiver", "link", "either", "group"};
  const auto list = [](const std::vector<int>& near, const std::vector<int>& far) {
    std::string text;
    for (const int end : near) text += fmt::format(" {}", end);
    if (!far.empty()) text += " -";
    for (const int end : far) text += fmt::format(" {}", end);
    return text;
  };
  fmt::print("seed {}: {} at{}; named", seed, name_of(world.scenario().fault), list(world.ends(), world.far_ends()));
  for (const Named& one : answer.names)
    fmt::print(" [{}{}]", kinds[static_cast<std::size_t>(one.kind)], list(one.ends, one.far_ends));
  fmt::print("{}\n", answer.is_unmeasured ? " unmeasured" : "");
}

Scenario scenario_of(const Options& options, Shape shape, FaultKind fault, const Size& size) {
  Scenario scenario;
  scenario.shape = shape;
  scenario.fault = fault;
  scenario.units = size.units;
  scenario.rounds = size.rounds;
  scenario.noise = options.noise;
  scenario.slowdown = options.slowdown;
  return scenario;
}

Scores measure(const Options& options, Shape shape, FaultKind fault, const Size& size) {
  Scores scores;
  if (!is_possible(fault, size.units)) return scores;
  const Scenario scenario = scenario_of(options, shape, fault, size);
  const int seeds = std::max(1, options.seeds / size.share_of_seeds);
  for (int seed = options.first_seed; seed < options.first_seed + seeds; ++seed)
    for (std::size_t i = 0; i < options.rules; ++i) {
      World world(scenario, static_cast<std::uint64_t>(seed));
      const Answer answer = rules[i].ask(world);
      scores[i].add(world, answer);
      if (options.has_names && i == 0) print_names(world, answer, seed);
    }
  return scores;
}

void add(Scores& to, const Scores& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i].add(from[i]);
}

void print_details(Shape shape, FaultKind fault, const Size& size, const Score& score) {
  const std::string rounds = size.rounds > 0 ? fmt::format("{}", size.rounds) : "all";
  fmt::print("| {} | {} | {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.2f} | {:.3f} | {:.3f} |\n", name_of(shape),
             name_of(fault), size.units, rounds, score.precision(), score.recall(), score.share(score.false_runs),
             score.share(score.names - score.right), score.share(score.unmeasured), score.share(score.ties));
  std::fflush(stdout);
}

/// Everything that the options ask for; [fault][shape].
std::vector<std::vector<Scores>> run(const Options& options) {
  std::vector<std::vector<Scores>> all(fault_kinds, std::vector<Scores>(shapes));
  if (options.has_details)
    fmt::print(
        "muster\n\n| noise | fault | nodes | rounds | precision | recall | runs with a false name | false names a run "
        "| "
        "unmeasured | ties |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (int kind = 0; kind < fault_kinds; ++kind)
    for (int at = 0; at < shapes; ++at) {
      const auto shape = static_cast<Shape>(at);
      const auto fault = static_cast<FaultKind>(kind);
      // Held out is what no rule was tuned on: the shape, or the fault.
      const bool is_new = is_held_out(shape) || is_held_out(fault);
      if (is_new == options.is_tuning || !is_wanted(options, shape, fault)) continue;
      for (const Size& size : options.sizes) {
        const Scores scores = measure(options, shape, fault, size);
        if (options.has_details && scores[0].runs > 0) print_details(shape, fault, size, scores[0]);
        add(all[static_cast<std::size_t>(kind)][static_cast<std::size_t>(at)], scores);
      }
    }
  return all;
}

std::string cell(const Score& score, FaultKind fault) {
  if (score.runs == 0) return "";
  if (fault == FaultKind::none)
    return fmt::format("{:.3f} / {:.1f}", score.share(score.false_runs), score.share(score.names));
  return fmt::format("{:.3f} / {:.3f}", score.precision(), score.recall());
}

void print_row(std::string_view name, const Scores& scores, FaultKind fault) {
  if (scores[0].runs == 0) return;
  fmt::print("| {} | {} | {:.3f} |", name, scores[0].runs, scores[0].share(scores[0].unmeasured));
  for (const Score& score : scores) fmt::print(" {} |", cell(score, fault));
  fmt::print("\n");
}

void print_head(std::string_view first) {
  fmt::print("\n| {} | runs | muster: `unmeasured` |", first);
  for (const Rule& rule : rules) fmt::print(" {} |", rule.name);
  fmt::print("\n|---|---|---|");
  for (std::size_t i = 0; i < rules.size(); ++i) fmt::print("---|");
  fmt::print("\n");
}

void print_tables(const std::vector<std::vector<Scores>>& all) {
  fmt::print("\nHealthy: share of runs with a false name / false names a run\n");
  print_head("noise");
  for (std::size_t at = 0; at < all[0].size(); ++at)
    print_row(name_of(static_cast<Shape>(at)), all[0][at], FaultKind::none);
  fmt::print("\nFaults, over all shapes of noise: precision / recall\n");
  print_head("fault");
  for (std::size_t kind = 1; kind < all.size(); ++kind) {
    Scores sum;
    for (const Scores& scores : all[kind]) add(sum, scores);
    print_row(name_of(static_cast<FaultKind>(kind)), sum, static_cast<FaultKind>(kind));
  }
  fmt::print("\nFaults of all kinds, by noise: precision / recall\n");
  print_head("noise");
  for (std::size_t at = 0; at < all[0].size(); ++at) {
    Scores sum;
    for (std::size_t kind = 1; kind < all.size(); ++kind) add(sum, all[kind][at]);
    print_row(name_of(static_cast<Shape>(at)), sum, FaultKind::node);
  }
}

/// A node slower by `factor` times the limit that muster states for the same noise without it.
bool is_found_at(Scenario scenario, std::uint64_t seed, double slowdown) {
  scenario.fault = FaultKind::node;
  scenario.slowdown = std::min(slowdown, 0.95);
  World world(scenario, seed);
  Score score;
  score.add(world, ask_muster(world));
  return score.found == score.wanted;
}

void print_limits(const Options& options) {
  fmt::print(
      "\nDetection limit of healthy nodes: median / largest; share of nodes named that are slower by 0.9, 1 and 1.1 "
      "times the limit\n\n| noise | nodes | rounds | limit | 0.9 | 1 | 1.1 |\n|---|---|---|---|---|---|---|\n");
  for (int at = 0; at < shapes; ++at) {
    const auto shape = static_cast<Shape>(at);
    if (is_held_out(shape) == options.is_tuning || !is_wanted(options, shape, FaultKind::none)) continue;
    for (const Size& size : options.sizes) {
      const Scenario scenario = scenario_of(options, shape, FaultKind::none, size);
      std::vector<double> limits;
      std::array<int, 3> found{};
      for (int seed = options.first_seed; seed < options.first_seed + options.seeds; ++seed) {
        World world(scenario, static_cast<std::uint64_t>(seed));
        limits.push_back(ask_muster(world).seen_from);
        for (std::size_t i = 0; i < found.size(); ++i)
          found[i] += is_found_at(scenario, static_cast<std::uint64_t>(seed),
                                  limits.back() * (0.9 + 0.1 * static_cast<double>(i)));
      }
      std::sort(limits.begin(), limits.end());
      fmt::print("| {} | {} | {} | {:.3f} / {:.3f} |", name_of(shape), size.units,
                 size.rounds > 0 ? fmt::format("{}", size.rounds) : "all", limits[limits.size() / 2], limits.back());
      for (const int count : found) fmt::print(" {:.3f} |", static_cast<double>(count) / options.seeds);
      fmt::print("\n");
    }
  }
}

Options options_of(int argc, char** argv) {
  Options options;
  int units = 0;
  int rounds = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--tuning") options.is_tuning = true;
    if (option == "--details") options.has_details = true;
    if (option == "--names") options.has_names = true;
    if (option == "--limits") options.are_limits = true;
    if (option == "--muster") options.rules = 1;
    if (i + 1 >= argc) break;
    const double value = std::atof(argv[i + 1]);
    if (option == "--only") options.only = argv[++i];
    if (option == "--shape") options.shape = argv[++i];
    if (option == "--fault") options.fault = argv[++i];
    if (option == "--first-seed" && value >= 1) options.first_seed = static_cast<int>(value);
    if (option == "--seeds" && value >= 1) options.seeds = static_cast<int>(value);
    if (option == "--units" && value >= 2) units = static_cast<int>(value);
    if (option == "--rounds" && value >= 1) rounds = static_cast<int>(value);
    if (option == "--noise" && value >= 0) options.noise = value / 100;
    if (option == "--slowdown" && value > 0) options.slowdown = value / 100;
  }
  if (units > 0) options.sizes = {{units, rounds, 1}};
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  const auto began = std::chrono::steady_clock::now();
  fmt::print("{} part, {} seeds, noise {:g} %, faults of {:g} %\n", options.is_tuning ? "tuning" : "held-out",
             options.seeds, 100 * options.noise, 100 * options.slowdown);
  if (options.are_limits)
    print_limits(options);
  else
    print_tables(run(options));
  fmt::print("\n{:.0f} s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  return 0;
}
