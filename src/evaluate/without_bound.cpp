#include "evaluate/without_bound.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::size_t most_named_metrics = 4;

bool is_expected(const Case& item, const std::string& metric) {
  return std::any_of(item.expects.begin(), item.expects.end(),
                     [&](const Expectation& asked) { return asked.metric == metric; });
}

/// `lower = -0.1`
std::string_view tolerance_of(Better better) {
  if (better == Better::higher) return "lower = -0.1";
  if (better == Better::lower) return "upper = 0.1";
  return "lower = -0.1, upper = 0.1";
}

}  // namespace

std::string note_without_bound(const Case& item) {
  if (!item.params.has("metric")) return {};
  std::vector<std::string> names;
  const DeclaredMetric* last = nullptr;
  for (const DeclaredMetric& metric : item.metrics) {
    if (is_expected(item, metric.name)) continue;
    names.push_back(metric.name);
    last = &metric;
  }
  if (last == nullptr) return {};
  return fmt::format(
      "{} {} no bound; to judge {}, add to the check `expect = [{{ metric = \"{}\", reference = {{ value = ..., {}, "
      "unit = \"{}\" }} }}]`",
      human_list(names, most_named_metrics), names.size() == 1 ? "has" : "have", names.size() == 1 ? "it" : last->name,
      last->name, tolerance_of(last->better), last->unit);
}

}  // namespace muster
