/// Files beside a check file that other users could change.
#pragma once

#include <optional>
#include <string>

#include "probes/command/missing_program.hpp"

namespace muster::program {

/// As root: a file below `folder`, where the check file lies, that the word `given` of its command line names and that
/// others could change. Those who wrote the check answer for other paths. A word may be a path, have one behind an
/// option, or be a line for a shell. What exists is looked at of
/// - all that begins with the folder and ends with the word, or before a blank, a quote or an operator in it;
/// - what lies directly in a folder that is named so: its files may be given without it (`cd {check} && ./x.sh`);
/// - where nothing is named so and a shell may make a name of it (`{check}/*.sh`), what lies directly in its folder.
[[nodiscard]] std::optional<Lack> find_foreign(const std::string& given, const std::string& folder);

}  // namespace muster::program
