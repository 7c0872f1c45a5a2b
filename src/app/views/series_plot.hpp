/// Values over time, drawn with letters.
#pragma once

#include <string>

#include "history/store.hpp"

namespace muster {

struct PlotForm {
  int width = 80;           ///< columns
  int height = 8;           ///< rows of values
  bool has_unicode = true;  ///< else ASCII alone
};

/// A title line, rows of points with their values at the left, and first and last day below. One column
/// for each of the latest runs that fit: o passed, x did not, . was not timed. Pure.
[[nodiscard]] std::string plot(const Series& series, const PlotForm& form);

/// `bandwidth of nid001 -> nid003 where size=16MiB (p2p, 1 rank per node)`.
[[nodiscard]] std::string title_of(const SeriesKey& key);

}  // namespace muster
