/// Manual pages, section 1, from the description of the command line.
#pragma once

#include <string>

#include "app/cli/words.hpp"

namespace muster {

/// `muster-run` for `muster run`; the name of its file is this and `.1`.
[[nodiscard]] std::string page_name(const CommandWords& command);
/// The page of `command`, one of those of `root` or `root` itself. `date` is YYYY-MM-DD.
[[nodiscard]] std::string manual_page(const CommandWords& command, const CommandWords& root, const std::string& date);
/// The page of the agent, from what its --help prints.
[[nodiscard]] std::string agent_page(const CommandWords& root, const std::string& date);

}  // namespace muster
