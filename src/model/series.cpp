#include "model/series.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"

namespace muster {

std::string_view base_metric(std::string_view metric) {
  for (const std::string_view suffix : {capable_suffix, possible_suffix})
    if (metric.size() > suffix.size() && metric.ends_with(suffix))
      return metric.substr(0, metric.size() - suffix.size());
  return metric;
}

bool is_of_series(std::string_view metric, const Labels& where) {
  if (base_metric(metric) != metric) return false;
  return std::none_of(where.begin(), where.end(), [](const auto& label) { return label.first == "step"; });
}

std::string job_shape(const ProbeSpec* probe, ItemKind kind, int nodes, int ranks) {
  const auto announces = [&](std::string_view key) { return probe != nullptr && is_in(key, probe->reported_facts); };
  // `data.device` is where a rank keeps its data while all ranks work together.
  const bool is_of_parts = kind == ItemKind::link || (kind == ItemKind::device && !announces("data.device")) ||
                           (probe != nullptr && probe->subject == Subject::memory);
  if (is_of_parts && nodes > 0 && ranks % nodes == 0)
    return counted(static_cast<std::size_t>(ranks / nodes), "rank") + " per node";
  return fmt::format("{} on {}", counted(static_cast<std::size_t>(ranks), "rank"),
                     counted(static_cast<std::size_t>(nodes), "node"));
}

}  // namespace muster
