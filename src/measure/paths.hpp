/// Where the folders lie that many ranks use at once, and whether libraries of the fabric can be loaded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/variables.hpp"

namespace muster::environment {

/// `nfs`, `lustre`, `gpfs`, ... of a file system that several nodes share; empty when it is local or not known. A path
/// that is not there yet counts as the nearest folder above it that is.
[[nodiscard]] std::string shared_file_system(const std::string& path);
/// By the magic number that statfs(2) gives.
[[nodiscard]] std::string_view shared_file_system(std::uint64_t magic);

/// Variables that name such folders: `path.NAME` is the kind of file system, for those on a shared one.
inline constexpr std::array<std::string_view, 4> path_variables = {"MIOPEN_USER_DB_PATH", "MIOPEN_CUSTOM_CACHE_DIR",
                                                                   "VIRTUAL_ENV", "CONDA_PREFIX"};
[[nodiscard]] std::vector<Fact> shared_paths(const Variables& all);
/// Of those, the ones that a program writes its caches to: `absent.NAME` marks one that is not a folder here, or that
/// may not be written, which: `/tmp/x, which is not a folder there`.
inline constexpr std::array<std::string_view, 2> cache_variables = {"MIOPEN_USER_DB_PATH", "MIOPEN_CUSTOM_CACHE_DIR"};
[[nodiscard]] std::vector<Fact> absent_caches(const Variables& all);

/// Apptainer, Singularity, Shifter or Podman (which sets `container`): the name as facts and sentences have it; empty
/// outside of a container.
[[nodiscard]] std::string container_of(const Variables& all);
/// Those of `names` that the loader does not find from here, each with its own words: `libcxi.so.1: cannot open ...`.
[[nodiscard]] std::vector<std::string> unloadable(const std::vector<std::string>& names);

}  // namespace muster::environment
