/// `where`: which readings an expectation or a reference is about.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/document.hpp"
#include "model/check.hpp"

namespace muster {

/// What is wrong with one key of a `where`.
struct WhereFault {
  bool is_key = false;  ///< the key is wrong, not its value
  std::string what;
};

/// Holds `key = text` against the labels and parameters of the check's probe; `text` becomes the form that readings
/// carry (`16777216B` -> `16MiB`). A value that the parameter takes in no case is a fault: nothing could match.
[[nodiscard]] std::optional<WhereFault> settle_where(const Check& check, const ProbeSpec& probe, const std::string& key,
                                                     std::string& text);

/// The pairs of a `where` table, sorted by key, as they are written.
[[nodiscard]] Labels read_where(const Entry& where, DocumentErrors& errors);

}  // namespace muster
