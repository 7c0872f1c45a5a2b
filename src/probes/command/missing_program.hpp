/// What keeps a program from being started: it is not there, may not be run, or a file that it is given is missing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/probe.hpp"

namespace muster::program {

struct Lack {
  std::string name;  ///< of the program or file
  std::string what;  ///< `loadavg.sh is not on PATH`
  std::string remedy;
};

/// Of the words of a check whose file lies in `folder`.
[[nodiscard]] std::optional<Lack> find_lack(const Params& params, const std::string& folder);

/// Why a program that is there could not be started, by its first bytes; `error`: the kernel's words.
[[nodiscard]] Lack find_bad_start(const std::string& program, const std::string& error);

/// What a rank observed that could not start its program.
[[nodiscard]] Observation lacking(const Lack& lack);

/// One finding for each thing that is missing: an `error` of the check; where most nodes have it, a `fail` of those
/// that lack it.
[[nodiscard]] std::vector<Finding> find_lacks(const CaseView& view);

}  // namespace muster::program
