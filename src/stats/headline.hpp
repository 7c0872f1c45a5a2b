/// The figure of a case that a reader wants first, in a few words. Pure; for judges.
#pragma once

#include <string>
#include <string_view>

#include "muster/probe.hpp"

namespace muster {

struct HeadlineSpec {
  std::string_view metric;
  std::string_view unit;  ///< of the metric
  std::string_view
      by;  ///< the label that is taken at one end, such as `size`; values that are not sizes compare as text
  bool at_largest = true;
  std::string_view apart = {};  ///< a label whose values are listed one by one, such as `link`; empty: none
};

/// `bandwidth 11.3 GB/s at 16MiB`, `triad 12 GB/s (domain node)`, or with `apart` and several values `bandwidth at
/// 16MiB: network 24.1 GB/s, node 11.3 GB/s`: the median over all ranks of the median of each. Empty when no rank has
/// such a reading with a value.
[[nodiscard]] std::string headline(const CaseView& view, const HeadlineSpec& spec);

}  // namespace muster
