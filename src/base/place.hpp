/// Paths that are written: links of other users on them are refused.
#pragma once

#include <string>

#include "base/trusted_path.hpp"

namespace muster {

/// Where a path leads, all links followed: a folder that stays the same, and a name in it.
struct FilePlace {
  OwnedDescriptor folder;  ///< for openat and the like
  std::string name;
  fs::path path;                ///< of the name, without links
  bool is_kernel_link = false;  ///< the name is a link of /proc to a pipe, device or socket, which has no path
};

/// For writing. As the kernel's protected_symlinks, but in every folder: a symbolic link on the path, or in a link on
/// it, that belongs neither to root nor to the caller is refused, as its owner chooses which file of ours is replaced.
/// The name itself needs not exist. Fails with kind `system`.
[[nodiscard]] Result<FilePlace> open_place(const fs::path& path);

/// The links of `path`, as open_place() checks them. What does not exist yet, or can't be entered, is not an error.
[[nodiscard]] Result<void> check_links(const fs::path& path);

}  // namespace muster
