/// Probes in a shared object of their own: what it exports to the program that opens it. The CMake function
/// muster_add_probe writes this part; docs/tutorial-plugin-probe.md walks through it.
#pragma once

#include <cstddef>
#include <iterator>

#include "muster/probe.hpp"
#include "muster/stamp.hpp"  // written by the build: MUSTER_STAMP names the version and these headers

namespace muster {

/// The probes of a plug-in; they live as long as the process.
struct Plugin {
  const ProbeSpec* const* probes = nullptr;
  std::size_t count = 0;
};

}  // namespace muster

// The layout of std::string and std::vector depends on the library and its configuration.
#if defined(_LIBCPP_VERSION)
#define MUSTER_LIBRARY "libc++"
#elif defined(_GLIBCXX_DEBUG)
#define MUSTER_LIBRARY "libstdc++ for debugging"
#elif defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#define MUSTER_LIBRARY "libstdc++ of before C++11"
#else
#define MUSTER_LIBRARY "libstdc++"
#endif

/// Stands in the file before the stamp, so that it is found without running anything of the file.
#define MUSTER_PLUGIN_MARK "\177muster plug-in\177"
/// Equal in plug-in and program, or the plug-in is not opened: version, headers, library.
#define MUSTER_PLUGIN_STAMP MUSTER_STAMP "," MUSTER_LIBRARY

/// Once in a plug-in, outside of all namespaces: MUSTER_PLUGIN(&muster::probe_one, &muster::probe_two)
#define MUSTER_PLUGIN(...)                                                           \
  extern "C" {                                                                       \
  [[gnu::visibility("default"), gnu::used]] extern const char muster_plugin_stamp[]; \
  const char muster_plugin_stamp[] = MUSTER_PLUGIN_MARK MUSTER_PLUGIN_STAMP;         \
  [[gnu::visibility("default")]] void muster_plugin(muster::Plugin* plugin);         \
  void muster_plugin(muster::Plugin* plugin) {                                       \
    static const muster::ProbeSpec* const probes[] = {__VA_ARGS__};                  \
    *plugin = {probes, std::size(probes)};                                           \
  }                                                                                  \
  }                                                                                  \
  static_assert(true)
