#include "history/lists.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace muster {

namespace {

/// P(X >= failed) with so many runs and that chance each.
double tail_of(int runs, int failed, double chance) {
  double sum = 0;
  for (int k = failed; k <= runs; ++k)
    sum += std::exp(std::lgamma(runs + 1.0) - std::lgamma(k + 1.0) - std::lgamma(runs - k + 1.0) +
                    k * std::log(chance) + (runs - k) * std::log1p(-chance));
  return std::min(sum, 1.0);
}

struct Record {
  std::map<std::string, bool> runs;  ///< id and start -> failed
  std::set<std::string> checks;
  [[nodiscard]] int failed() const {
    return static_cast<int>(std::count_if(runs.begin(), runs.end(), [](const auto& one) { return one.second; }));
  }
};

using Records = std::map<std::string, Record>;

void judge(const Records& records, bool is_device, std::vector<Lemon>& found) {
  int all_runs = 0;
  int all_failed = 0;
  for (const auto& [item, record] : records) {
    all_runs += static_cast<int>(record.runs.size());
    all_failed += record.failed();
  }
  for (const auto& [item, record] : records) {
    const int runs = static_cast<int>(record.runs.size());
    const int failed = record.failed();
    const int others = all_runs - runs;
    if (failed < 2 || others < runs) continue;
    Lemon lemon{item, is_device, runs, failed, 0, 1, {record.checks.begin(), record.checks.end()}};
    lemon.others = static_cast<double>(all_failed - failed) / others;
    // Where no other ever failed their chance is still not 0: half a failure stands for it.
    const double chance = std::clamp((all_failed - failed + 0.5) / (others + 1.0), 1e-9, 0.999);
    lemon.chance = tail_of(runs, failed, chance);
    if (lemon.chance * static_cast<double>(records.size()) < 0.01) found.push_back(std::move(lemon));
  }
}

}  // namespace

std::vector<Flaky> flaky(const std::vector<ItemVerdict>& verdicts) {
  struct State {
    Flaky sum;
    Verdict last = Verdict::skip;
    std::string configuration;
  };
  std::map<std::pair<std::string, std::string>, State> states;
  for (const ItemVerdict& one : verdicts) {
    if (one.verdict != Verdict::pass && one.verdict != Verdict::fail) continue;
    State& state = states[{one.item, one.case_id}];
    state.sum.item = one.item;
    state.sum.check = one.check;
    ++state.sum.runs;
    state.sum.failed += one.verdict == Verdict::fail ? 1 : 0;
    const bool is_change = state.last != Verdict::skip && state.last != one.verdict;
    if (is_change && state.configuration == one.configuration) {
      ++state.sum.changes;
      state.sum.last = one.started;
    }
    state.last = one.verdict;
    state.configuration = one.configuration;
  }
  std::vector<Flaky> found;
  for (auto& [key, state] : states)
    if (state.sum.changes >= 2) found.push_back(std::move(state.sum));
  std::stable_sort(found.begin(), found.end(), [](const Flaky& a, const Flaky& b) { return a.changes > b.changes; });
  return found;
}

std::vector<Lemon> lemons(const std::vector<ItemVerdict>& verdicts) {
  Records nodes;
  Records devices;
  for (const ItemVerdict& one : verdicts) {
    if (one.verdict != Verdict::pass && one.verdict != Verdict::fail) continue;
    Record& record = (one.is_device ? devices : nodes)[one.item];
    bool& has_failed = record.runs[one.started + " " + one.run_id];
    if (one.verdict != Verdict::fail) continue;
    has_failed = true;
    record.checks.insert(one.check);
  }
  std::vector<Lemon> found;
  judge(nodes, false, found);
  judge(devices, true, found);
  std::stable_sort(found.begin(), found.end(), [](const Lemon& a, const Lemon& b) { return a.chance < b.chance; });
  return found;
}

}  // namespace muster
