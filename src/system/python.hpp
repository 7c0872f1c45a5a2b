/// Python interpreters of this machine, and the modules that they have.
#pragma once

#include <string>
#include <vector>

namespace muster {

/// Either a path and its version, or what is lacking.
struct Interpreter {
  std::string path;
  std::string version;  ///< `3.11.2`
  std::string lack;     ///< why there is none, in words: `no python3 on PATH has torch: /usr/bin/python3`
};

/// `named`, or where that is empty the first python3 on PATH that has all of `modules`. Starts each in turn; importing
/// a large package takes long, so that it is only asked whether it could.
[[nodiscard]] Interpreter find_interpreter(const std::string& named, const std::vector<std::string>& modules);

}  // namespace muster
