/// Whose a file is, also on a FUSE mount, whose server can show any owner.
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>

namespace muster {

/// As fstat, stat and lstat: false with errno. Then, in st_uid, the owner: on a FUSE mount of another user than root,
/// that user; on one that is not listed any more, unknown_owner. Of what is on another user's, st_uid alone is filled
/// in: the server is not asked, as it may never answer.
/// `opened`: best with O_PATH, as an open for reading asks the server.
[[nodiscard]] bool see_file(int opened, struct stat& about);
[[nodiscard]] bool see_file(const std::string& path, struct stat& about);
[[nodiscard]] bool see_link(const std::string& path, struct stat& about);
[[nodiscard]] bool see_link_at(int folder, const std::string& name, struct stat& about);

/// As see_link, of an absolute path in a folder where others may mount: false for what is mounted over the name.
[[nodiscard]] bool see_entry(const std::string& path, struct stat& about);

inline constexpr uid_t unknown_owner = static_cast<uid_t>(-2);  ///< no user has this number

enum class MountKind { missing, fuse, other };
/// The mount of this number, as /proc/PID/mountinfo lists it. `owner`: who made a FUSE mount. Pure.
[[nodiscard]] MountKind find_mount(std::istream& mountinfo, const std::string& number, uid_t& owner);

}  // namespace muster
