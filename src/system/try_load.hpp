/// Whether a library can be loaded, asked where it can do no harm: in a process of its own, which ends with its
/// deadline. A library's constructors may hang, crash or start threads.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace muster {

struct TriedLibrary {
  std::string name;                  ///< as asked
  std::string path;                  ///< where it was found; empty: it was not loaded
  std::string error;                 ///< the loader's words, or `crashed (signal 11)`, `not loaded within 5 s`
  std::vector<std::string> symbols;  ///< those of `wanted` that it has
  bool has_companion = false;        ///< `companion` came with it
};

struct LoadQuestion {
  std::vector<std::string> names;   ///< tried in this order, up to the first that can be loaded
  std::vector<std::string> wanted;  ///< symbols
  std::string companion;            ///< another library
  double deadline_s = 5;            ///< of all of them
  int kept = -1;                    ///< descriptor that stays open, for names below /proc/self/fd
  std::function<void(int process_group)> on_start = {};
};

/// One for each name that was tried. On a simulated machine libraries are files of its description below usr/lib64, and
/// those of this one are not asked.
[[nodiscard]] std::vector<TriedLibrary> try_load(const LoadQuestion& question);

}  // namespace muster
