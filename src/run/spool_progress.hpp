/// How far a run is whose driver is elsewhere, from its spool.
#pragma once

#include <optional>

#include "base/files.hpp"

namespace muster {

struct SpoolProgress {
  int done = 0;   ///< repetitions of cases with a verdict
  int total = 0;  ///< that were planned
  int failed = 0;
  friend bool operator==(const SpoolProgress&, const SpoolProgress&) = default;
};

/// None: there is nothing yet that can be read, or more than can be read without a delay for the user.
[[nodiscard]] std::optional<SpoolProgress> read_progress(const fs::path& spool_file);

}  // namespace muster
