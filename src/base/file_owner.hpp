/// Whose a file is, also on a FUSE mount, whose server can show any owner.
#pragma once

#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <sys/types.h>

namespace muster {

/// Of what stat, lstat or fstat filled in: on a FUSE mount of another user than root, that user; else st_uid.
[[nodiscard]] uid_t owner_of(const struct stat& about);

/// Who mounted the FUSE file system with this number, as /proc/PID/mountinfo lists it; nothing where it is none. Pure.
[[nodiscard]] std::optional<uid_t> fuse_owner(std::string_view mountinfo, dev_t device);

}  // namespace muster
