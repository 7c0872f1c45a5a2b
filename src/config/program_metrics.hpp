/// A check's description of its program: metrics that it prints, patterns that find numbers in its output, and shells
/// whose exit status would be lost.
#pragma once

#include "config/fields.hpp"
#include "model/check.hpp"

namespace muster {

/// [check.NAME.metrics] and [[check.NAME.params.metric]] -> check.metrics, the latter also check.params["metric"]; and
/// whether `must_print` and `argv` are consistent. After read_params.
void read_program_metrics(Fields& check_fields, const ProbeSpec& probe, Check& check);

/// True of an array of tables under `metric` of a probe that takes declared metrics: read by the function above.
[[nodiscard]] bool is_metric_tables(const ProbeSpec& probe, const Entry& entry);

}  // namespace muster
