/// NCCL's and RCCL's network plugin: the names of its file, and what loading it showed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "system/try_load.hpp"

namespace muster::network_plugin {

/// Files to try, by the value of NCCL_NET_PLUGIN; `none`: there are none.
[[nodiscard]] std::vector<std::string> file_names(std::string_view chosen);
/// Entry points of the plugin's known versions.
[[nodiscard]] std::vector<std::string> entry_points();
/// It was loaded and has one of them.
[[nodiscard]] bool is_plugin(const TriedLibrary& library);
/// For a fact, and back.
[[nodiscard]] std::string to_text(const TriedLibrary& library);
[[nodiscard]] std::optional<TriedLibrary> parse_library(std::string_view text);

}  // namespace muster::network_plugin
