/// Errors that the NVLinks of GPUs counted under load: which are too many, by their rate and against other links. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "muster/probe.hpp"

namespace muster::gpu_copy {

/// Seconds that a GPU was watched for; 0: unknown.
[[nodiscard]] double seconds_watched(const Observation& seen, const std::string& address);
/// So many in that time, per second; a time below one second counts as one, as a few errors within milliseconds would
/// give too high a rate.
[[nodiscard]] double rate_over(double seconds, double count);

/// Rates of all NVLinks that were watched, by counter (`nvlink_symbol_errors`): those without an error have 0.
struct LinkRates {
  std::map<std::string, std::vector<double>> by_counter;
  std::size_t links = 0;
};
/// From facts `watched`, `links_watched` and `grew`.
[[nodiscard]] LinkRates link_rates(const CaseView& view);

struct LinkExcess {
  std::string why = {};  ///< empty: there are not too many
  bool is_fault = false;
  bool is_silent = false;  ///< not worth a note
};
/// Of a counter of one link, `nvlink_symbol_errors.3`; limits: docs/methods/gpu_copy.md.
[[nodiscard]] LinkExcess excess_of_link(const std::string& key, double grown, double per_second,
                                        const LinkRates& rates);

/// `, symbol BER 2e-9`; empty: the driver gives none of the counter's link.
[[nodiscard]] std::string symbol_ber(const Observation& seen, const std::string& address, const std::string& key);

}  // namespace muster::gpu_copy
