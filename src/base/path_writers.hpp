/// Users other than root and the caller who could change what a path leads to.
#pragma once

#include <string>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/files.hpp"

namespace muster {

/// Each names the first part of the path that it concerns; empty: there is none.
struct PathWriters {
  /// `every user may write /a`; a link of another user in a folder that is not theirs; or the path can't be followed.
  std::string anyone;
  std::string owner;  ///< `/home/a belongs to user 1000`
  std::string group;  ///< `group 100 may write /a`, or a user or group that the ACL of a part lets write it

  /// The first that is not empty.
  [[nodiscard]] const std::string& any() const;
};

struct PathRules {
  uid_t trusted = static_cast<uid_t>(-1);  ///< a further trusted owner; -1: none
  bool is_shared_end = false;              ///< the folder at the end may be one like /tmp: the sticky bit suffices
};

/// Looks at each folder on the way to `path`, links followed, and at its end. A folder with the sticky bit may be
/// writable for others, except where it is the end, or where the next part is missing: they could create that. Root's
/// group counts as root where no ACL adds others. A relative path, one whose links lead in a circle or through /proc,
/// and one with `..` behind a part that is missing concern `anyone`. Opens nothing. The end may be missing.
[[nodiscard]] PathWriters find_path_writers(const fs::path& path, const PathRules& rules = {});

/// The group, or a user or group of the ACL, that may write what is open there; empty: none but root's group and
/// `trusted`, a further user (-1: none).
[[nodiscard]] std::string find_group_writer(int opened, const struct stat& about, uid_t trusted);

}  // namespace muster
