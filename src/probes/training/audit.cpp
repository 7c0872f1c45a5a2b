#include "probes/training/audit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/names.hpp"

namespace muster::training {

namespace {

bool are_alike(std::span<const std::uint64_t> values) {
  return std::all_of(values.begin(), values.end(), [&](std::uint64_t value) { return value == values[0]; });
}

/// Those that are not with the majority; all when no value is held by more than half.
std::vector<int> dissenters(std::span<const std::uint64_t> values) {
  std::map<std::uint64_t, std::size_t> votes;
  for (const std::uint64_t value : values) ++votes[value];
  const auto most =
      std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool is_decided = 2 * most->second > values.size();
  std::vector<int> found;
  for (std::size_t rank = 0; rank < values.size(); ++rank)
    if (!is_decided || values[rank] != most->first) found.push_back(static_cast<int>(rank));
  return found;
}

}  // namespace

constexpr std::string_view cause_names[] = {"data", "start", "memory", "sum", "update"};

std::string_view to_string(Cause cause) {
  return enum_name(cause_names, cause);
}

std::optional<Cause> parse_cause(std::string_view name) {
  return enum_named<Cause>(cause_names, name);
}

std::optional<Divergence> find_dissent(std::span<const std::uint64_t> values, int step, Cause cause) {
  if (are_alike(values)) return std::nullopt;
  std::vector<int> suspects = dissenters(values);
  const bool is_certain = 2 * suspects.size() < values.size();
  return Divergence{step, cause, std::move(suspects), is_certain};
}

std::optional<Divergence> find_divergence(std::span<const std::vector<StepRecord>> records,
                                          std::span<const std::uint64_t> former, int first_step) {
  const std::size_t ranks = records.size();
  std::vector<std::uint64_t> last(former.begin(), former.end());
  if (auto start = find_dissent(last, first_step, Cause::start)) return start;
  std::size_t steps = records.empty() ? 0 : records[0].size();
  for (const auto& of_rank : records) steps = std::min(steps, of_rank.size());
  for (std::size_t at = 0; at < steps; ++at) {
    std::vector<std::uint64_t> sums;
    std::vector<std::uint64_t> after;
    Divergence changed{first_step + static_cast<int>(at), Cause::memory, {}, true};
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const StepRecord& record = records[rank][at];
      if (record.before != last[rank]) changed.suspects.push_back(static_cast<int>(rank));
      sums.push_back(record.sum);
      after.push_back(record.after);
    }
    if (!changed.suspects.empty()) return changed;
    if (auto dissent = find_dissent(sums, changed.step, Cause::sum)) return dissent;
    if (auto dissent = find_dissent(after, changed.step, Cause::update)) return dissent;
    last = after;
  }
  return std::nullopt;
}

std::vector<Miscounted> find_miscounted(std::span<const std::vector<std::uint32_t>> taken, int samples,
                                        std::size_t most) {
  std::map<std::uint32_t, std::vector<int>> others;
  std::vector<int> owner(static_cast<std::size_t>(samples), -1);
  for (std::size_t rank = 0; rank < taken.size(); ++rank)
    for (const std::uint32_t sample : taken[rank]) {
      const int mine = static_cast<int>(rank);
      if (sample < owner.size() && owner[sample] < 0)
        owner[sample] = mine;
      else
        others[sample].push_back(mine);
    }
  std::vector<Miscounted> found;
  for (auto& [sample, ranks] : others) {
    if (found.size() >= most) break;
    if (sample < owner.size()) ranks.insert(ranks.begin(), owner[sample]);
    found.push_back({sample, std::move(ranks)});
  }
  for (std::size_t sample = 0; sample < owner.size() && found.size() < most; ++sample)
    if (owner[sample] < 0) found.push_back({static_cast<std::uint32_t>(sample), {}});
  return found;
}

CurveDifference compare_curves(std::span<const double> losses, std::span<const double> reference, double tolerance) {
  CurveDifference difference;
  difference.steps = static_cast<int>(std::min(losses.size(), reference.size()));
  for (int step = 0; step < difference.steps; ++step) {
    const auto at = static_cast<std::size_t>(step);
    const double off = std::abs(losses[at] - reference[at]) / std::max(reference[at], 0.1);
    // Written so that what is not a number is above every bound.
    const bool is_within = off <= tolerance;
    if (!is_within && difference.first < 0) difference.first = step;
    if (difference.worst >= 0 && off <= difference.most) continue;
    if (difference.worst >= 0 && std::isnan(difference.most)) continue;
    difference.worst = step;
    difference.most = off;
  }
  return difference;
}

bool are_close(std::span<const float> values, std::span<const float> due) {
  float largest = 0;
  for (const float value : due) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < due.size(); ++i)
    if (!(std::abs(values[i] - due[i]) <= 1e-3f * largest)) return false;
  return true;
}

}  // namespace muster::training
