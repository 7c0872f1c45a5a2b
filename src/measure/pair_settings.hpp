/// What the parameters of a case come to. Pure: ranks and the judge compute the same.
#pragma once

#include <vector>

#include "measure/pair_measure.hpp"
#include "measure/schedule.hpp"
#include "muster/observation.hpp"
#include "muster/params.hpp"
#include "stats/culprits.hpp"

namespace muster::p2p {

/// What is measured between the two ranks of a pair, in this order. `is_quick`: timing means nothing, a few messages
/// are enough to see that they arrive.
[[nodiscard]] std::vector<Task> tasks_of(const Params& params, bool is_quick);
/// The size whose bandwidths are compared; 0: none is measured.
[[nodiscard]] std::size_t largest_size(const Params& params);

/// Random rounds that the check asks for; 0: it does not.
[[nodiscard]] int asked_rounds(const Params& params);
[[nodiscard]] Budget budget_of(const Params& params, const std::vector<int>& node_of, bool is_quick);
/// The schedule that all ranks of a case follow, until its budget is up.
[[nodiscard]] Schedule schedule_of(const Params& params, const std::vector<int>& node_of, bool is_quick);

[[nodiscard]] DecodeSettings decode_settings(const Params& params);
/// 1.4826 MAD / median: the share of the standard deviation, when samples are normal.
[[nodiscard]] double spread_of(const Summary& summary);

}  // namespace muster::p2p
