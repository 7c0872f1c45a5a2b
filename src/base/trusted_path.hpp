/// Files and folders that no other user can change: what is run with our rights, and where root writes.
#pragma once

#include <sys/types.h>

#include "base/file_owner.hpp"
#include "base/files.hpp"
#include "base/owned_descriptor.hpp"
#include "muster/result.hpp"

namespace muster {

/// Who may write a path beside root and the caller.
struct Trust {
  uid_t also = static_cast<uid_t>(-1);  ///< a third owner; -1: none
  bool has_groups = false;              ///< groups of the parts may write them
  bool has_root_group = false;          ///< root's group may, where no access list adds others
};

/// Opens what `path` leads to, links followed, for reading (a folder: for openat and the like), where it, each link and
/// each folder on the way belong to root, the caller or a third owner, and none else may write them. A folder with the
/// sticky bit may be writable for others, as nothing in it can be replaced that is not theirs. What is returned is what
/// was checked. Fails with kind `file`: what is wrong, at which part, and what to do.
[[nodiscard]] Result<OwnedDescriptor> open_trusted(const fs::path& path, const Trust& trust = {});

/// What the file holds that open_trusted() opens. Fails with kind `file` as that does, for what is not a regular file,
/// and for more than `most` bytes.
[[nodiscard]] Result<std::string> read_trusted(const fs::path& path, std::size_t most, const Trust& trust = {});

/// Neither root nor the caller, nor, in a user namespace, a user outside of it.
[[nodiscard]] bool is_other_user(uid_t owner);

/// Opens, or with O_CREAT makes, a file that no other user could have put there: it belongs to root or the caller, and
/// so does each folder above it, which others may write with the sticky bit alone, and as root, no group. Or, for
/// ordinary users, a group of theirs and of its owner's shares it: it may write the file. `flags` as for open; a link
/// is not followed, and nothing waits. What is returned is what was checked. Fails with kind `file`.
[[nodiscard]] Result<OwnedDescriptor> open_own_file(const fs::path& path, int flags, unsigned mode = 0600);

/// The same of an SQLite database, which is opened by its name, with links followed: other users may not even put a
/// file beside it, as one with the name of its journal would be written into it, and not every user may write it.
/// Groups of its folder are trusted by ordinary users, and not by root. Its folder is there, the file need not be.
/// Returns the name to open: without links, and below folders in which no other user can exchange any part of it.
[[nodiscard]] Result<fs::path> own_database(const fs::path& path);

/// What is there of `folder` and the folders above it belongs to root or the caller, and no other user may write it but
/// with the sticky bit: it may be made. Fails with kind `file`; nothing is made.
[[nodiscard]] Result<void> check_own_folder(const fs::path& folder);

/// The owner of the running program is trusted, as the program is.
[[nodiscard]] Trust with_installer();

}  // namespace muster
