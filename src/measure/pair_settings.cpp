#include "measure/pair_settings.hpp"

#include <algorithm>

namespace muster::p2p {

namespace {

/// What looking at received bytes and overwriting them costs, at least, with all cores of a node at it.
constexpr double verified_bytes_per_s = 2e9;

int window_of(const Params& params, Bytes size) {
  // Reused: all messages of a window share one part of memory.
  if (params.text("buffers") == "reused") return static_cast<int>(params.integer("window"));
  const auto fitting =
      std::max<std::uint64_t>(1, params.bytes("memory").count / std::max<std::uint64_t>(1, size.count));
  return static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(params.integer("window")), fitting));
}

/// Rotating: as many slots as fit, but no more than one round through `memory`.
int slots_of(const Params& params, const Task& task) {
  if (params.text("buffers") == "reused") return 1;
  return static_cast<int>(std::clamp<std::uint64_t>(params.bytes("memory").count / task.stride(), 1, 1u << 20));
}

Pairs pairs_of(const Params& params) {
  return params.text("pairs") == "ring" ? Pairs::ring : Pairs::all;
}

}  // namespace

std::vector<Task> tasks_of(const Params& params, bool is_quick) {
  constexpr int round_trips = 50;
  constexpr std::uint64_t long_message = 65536;
  std::vector<Task> tasks;
  for (const Bytes size : params.byte_list("latency_sizes"))
    tasks.push_back({Kind::latency, size.count, 1, size.count > long_message ? 4 : round_trips});
  for (const Bytes size : params.byte_list("sizes"))
    for (const Kind kind : {Kind::bandwidth, Kind::bidirectional}) {
      // Both ways at once, each rank has received.
      if (is_quick && kind == Kind::bandwidth) continue;
      tasks.push_back({kind, size.count, 1, window_of(params, size)});
    }
  for (Task& task : tasks) {
    task.slots = slots_of(params, task);
    if (!is_quick) continue;
    task.slots = std::min(task.slots, 2);
    task.window = std::min(task.window, 2);
  }
  return tasks;
}

std::size_t largest_size(const Params& params) {
  std::size_t most = 0;
  for (const Bytes size : params.byte_list("sizes")) most = std::max<std::size_t>(most, size.count);
  return most;
}

int asked_rounds(const Params& params) {
  return pairs_of(params) == Pairs::all ? static_cast<int>(params.integer("rounds")) : 0;
}

Budget budget_of(const Params& params, const std::vector<int>& node_of, bool is_quick) {
  Costs costs;
  costs.all_rounds = Schedule(node_of, pairs_of(params), 0, 0).rounds();
  const int asked = asked_rounds(params);
  if (is_quick) return quick_budget(asked, costs.all_rounds);
  costs.readings = 0;
  const double verify = params.real("verify");
  for (const Task& task : tasks_of(params, false)) {
    const int readings = task.kind == Kind::bandwidth ? 2 : 1;
    costs.readings += readings;
    costs.verify_s += readings * static_cast<double>(task.stride()) * task.slots / verified_bytes_per_s;
    // A burst that is compared, too.
    if (verify > 0 && task.kind != Kind::latency)
      costs.verify_s += readings * static_cast<double>(task.stride()) * task.window / verified_bytes_per_s;
  }
  costs.verify_share = verify;
  costs.budget_s = params.duration("budget").value;
  costs.most_s = params.duration("cap").value;
  return plan_budget(asked, costs);
}

Schedule schedule_of(const Params& params, const std::vector<int>& node_of, bool is_quick) {
  return {node_of, pairs_of(params), budget_of(params, node_of, is_quick).rounds,
          static_cast<std::uint64_t>(params.integer("seed"))};
}

DecodeSettings decode_settings(const Params& params) {
  DecodeSettings settings;
  settings.least_slowdown = params.real("least_slowdown");
  settings.noise_floor = params.real("noise");
  return settings;
}

double spread_of(const Summary& summary) {
  return summary.n > 0 && summary.median > 0 ? 1.4826 * summary.mad / summary.median : 0;
}

}  // namespace muster::p2p
