/// The Python that a program written in it is run with.
#pragma once

#include <string>
#include <vector>

#include "muster/probe.hpp"

namespace muster::program {

/// Either a path and its version, or what is lacking.
struct Interpreter {
  std::string path;
  std::string version;  ///< `3.11.2`
  std::string lack;     ///< why there is none, in words: `no python3 on PATH has torch: /usr/bin/python3`
};

/// `named`, or where that is empty the first python3 on PATH that has all of `modules`. Starts each in turn; importing
/// a large package takes long, so that it is only asked whether it could.
[[nodiscard]] Interpreter find_interpreter(const std::string& named, const std::vector<std::string>& modules);

/// The interpreter of every rank: one rank of each node looks for it. Collective.
[[nodiscard]] Result<std::vector<Interpreter>> find_interpreters(RunContext& context);

}  // namespace muster::program
