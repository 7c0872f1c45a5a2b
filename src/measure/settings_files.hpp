/// Settings of the MPI library and of UCX that a node has in files. docs/methods/environment.md
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "measure/variables.hpp"

namespace muster::environment {

/// The agent's, for this: files that its MPI library reads, `/home/a/.openmpi/mca-params.conf,/etc/...`.
inline constexpr const char* env_mpi_files = "MUSTER_MPI_FILES";

struct FileSetting {
  std::string name;   ///< of the variable that sets the same: `OMPI_MCA_btl`, `UCX_TLS`
  std::string value;  ///< `^openib`
  std::string place;  ///< `/etc/ucx/ucx.conf:3`
  friend bool operator==(const FileSetting&, const FileSetting&) = default;
};

/// Lines `name = value`, with `prefix` before each name; comments begin with `#` or `;`. Sections (`[name]`), which UCX
/// applies to some processors alone, are left out. Pure.
[[nodiscard]] std::vector<FileSetting> parse_settings(std::string_view text, const std::string& file,
                                                      std::string_view prefix);
/// Files that UCX reads, in its order: a later one replaces what an earlier one sets. `maps`: of this process, as in
/// /proc/self/maps; without UCX's library there are none. Pure.
[[nodiscard]] std::vector<fs::path> ucx_files(std::string_view maps, const Variables& all);
/// Those in force on this node, by name; variables of the environment replace them. Secrets are left out.
[[nodiscard]] std::vector<FileSetting> settings_in_files(const fs::path& root, const Variables& all);

/// `setting.NAME`, `setting_place.NAME` of each, and `settings`, their number.
[[nodiscard]] std::vector<Fact> to_facts(const std::vector<FileSetting>& settings);

}  // namespace muster::environment
