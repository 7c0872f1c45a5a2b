/// Host names that nothing resolves: an error of the name or of DNS, not of a node.
#pragma once

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "muster/verdict.hpp"

namespace muster {

/// Whether the output of ssh, srun or a launcher reports that the name was not found.
[[nodiscard]] inline bool is_unresolved(std::string_view error) {
  static constexpr std::array<std::string_view, 6> words{
      "Could not resolve hostname", "Name or service not known", "Temporary failure in name resolution",
      "No address associated",      "Unable to resolve",         "Unknown host"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view one) { return error.find(one) != error.npos; });
}

[[nodiscard]] inline Finding unresolved(const std::vector<std::string>& names) {
  return {Verdict::error,
          fmt::format("{} {} not resolve", human_list(names), names.size() == 1 ? "does" : "do"),
          {{CulpritKind::setting, "--nodes", "", -1}},
          "correct the name, or add it to DNS or /etc/hosts of this node"};
}

}  // namespace muster
