#include "measure/gpu_link_errors.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>

#include "base/number.hpp"
#include "measure/gpu_facts.hpp"
#include "measure/node_gpus.hpp"
#include "model/fact_fields.hpp"
#include "stats/stats.hpp"

namespace muster::gpu_copy {

namespace {

struct LinkLimit {
  std::string_view key;
  double most_per_second;   ///< 0: it is held against other links alone
  double most_of_like;      ///< times the median
  double least_per_second;  ///< fewer are not compared
  bool is_fault;            ///< else a note
};
/// CRC errors as in DCGM, symbol errors as those of ports; what was corrected is the rule on fast links.
constexpr std::array link_limits = {
    LinkLimit{"nvlink_crc_flit", 100, 10, 1, true},          LinkLimit{"nvlink_crc_data", 100, 10, 1, true},
    LinkLimit{"nvlink_symbol_errors", 1, 10, 0.1, true},     LinkLimit{"nvlink_effective_errors", 1, 10, 0.1, true},
    LinkLimit{"nvlink_fec_corrected", 0, 1000, 1000, false},
};
constexpr double least_link_errors = 10;
constexpr std::size_t least_links = 5;

std::string counter_of_link(const std::string& key) {
  return key.substr(0, key.find('.'));
}

/// Empty: there are not too many.
std::string why_too_many(const LinkLimit& limit, double per_second, const LinkRates& rates) {
  if (limit.most_per_second > 0 && per_second >= limit.most_per_second)
    return fmt::format("{:.3g} per second, limit {:g}", per_second, limit.most_per_second);
  const auto likes = rates.by_counter.find(std::string(limit.key));
  if (per_second < limit.least_per_second || likes == rates.by_counter.end() || likes->second.size() < least_links)
    return {};
  const double typical = summarize(likes->second).median;
  if (per_second <= limit.most_of_like * typical) return {};
  return fmt::format("{:.3g} per second, the median of {} links is {:.3g}", per_second, likes->second.size(), typical);
}

}  // namespace

double seconds_watched(const Observation& seen, const std::string& address) {
  for (const WatchedTime& one : facts_of<WatchedTime>(seen, "watched"))
    if (one.address == address) return one.seconds;
  return 0;
}

double rate_over(double seconds, double count) {
  return count / std::max(seconds, 1.0);
}

LinkRates link_rates(const CaseView& view) {
  LinkRates rates;
  for (const Observation* seen : view.observed) {
    if (seen == nullptr) continue;
    for (const AboutGpu& fact : facts_of<AboutGpu>(*seen, "links_watched"))
      rates.links += leading_number<std::size_t>(fact.words).value_or(0);
    for (const CounterGrowth& one : facts_of<CounterGrowth>(*seen, "grew"))
      if (const double seconds = seconds_watched(*seen, one.address); one.counter.starts_with("nvlink_") && seconds > 0)
        rates.by_counter[counter_of_link(one.counter)].push_back(rate_over(seconds, grown(one)));
  }
  rates.links = std::min<std::size_t>(rates.links, 1'000'000);
  for (auto& [key, of_links] : rates.by_counter) of_links.resize(std::max(rates.links, of_links.size()), 0);
  return rates;
}

LinkExcess excess_of_link(const std::string& key, double grown, double per_second, const LinkRates& rates) {
  const auto limit = std::find_if(link_limits.begin(), link_limits.end(),
                                  [&](const LinkLimit& one) { return one.key == counter_of_link(key); });
  if (limit == link_limits.end()) return {};
  LinkExcess excess;
  if (grown >= least_link_errors) excess.why = why_too_many(*limit, per_second, rates);
  excess.is_fault = limit->is_fault && !excess.why.empty();
  excess.is_silent = !limit->is_fault && excess.why.empty();
  return excess;
}

std::string symbol_ber(const Observation& seen, const std::string& address, const std::string& key) {
  const auto dot = key.find('.');
  if (dot == key.npos) return {};
  for (const SymbolErrorRate& one : facts_of<SymbolErrorRate>(seen, "symbol_ber"))
    if (one.address == address && one.link == key.substr(dot + 1)) return fmt::format(", symbol BER {}", one.rate);
  return {};
}

}  // namespace muster::gpu_copy
