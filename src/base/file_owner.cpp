#include "base/file_owner.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <linux/magic.h>
#include <string_view>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/number.hpp"
#include "base/owned_descriptor.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"

namespace muster {

namespace {

uid_t user_in(const std::string& options) {
  constexpr std::string_view mark = "user_id=";
  for (const std::string& option : split(options, ',')) {
    if (!option.starts_with(mark)) continue;
    return parse_number<uid_t>(std::string_view(option).substr(mark.size())).value_or(unknown_owner);
  }
  return unknown_owner;
}

/// The number of the mount in which a file is open; empty: /proc does not list it.
std::string mount_of(int opened) {
  std::ifstream in(fmt::format("/proc/self/fdinfo/{}", opened));
  constexpr std::string_view mark = "mnt_id:\t";
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(mark)) return line.substr(mark.size());
  return {};
}

/// In a user namespace, users have other numbers than those that mounts list.
bool has_numbers_of_the_host() {
  std::ifstream map("/proc/self/uid_map");
  unsigned long inside = 0, outside = 0;
  return !(map >> inside >> outside) || inside == outside;
}

/// Who made the mount of this number, in which a file is open; nothing: the owner that it shows is right.
std::optional<uid_t> owner_of_mount(int opened, const std::string& number) {
  std::ifstream mounts("/proc/self/mountinfo");
  uid_t owner = 0;
  const MountKind kind = number.empty() ? MountKind::missing : find_mount(mounts, number, owner);
  if (kind == MountKind::fuse) return owner == 0 || !has_numbers_of_the_host() ? std::nullopt : std::optional(owner);
  if (kind == MountKind::other) return std::nullopt;
  // Without /proc, behind a chroot, or in what was unmounted while it was in use.
  struct statfs system {};
  const bool is_known = ::fstatfs(opened, &system) == 0 && system.f_type != FUSE_SUPER_MAGIC;
  return is_known ? std::nullopt : std::optional(unknown_owner);
}

struct RootMount {
  std::string number;
  std::optional<uid_t> owner;
};

/// Most files are there. It is not unmounted while this process runs, so that its number stays its own.
const RootMount& root_mount() {
  static const RootMount root = [] {
    const OwnedDescriptor opened(::open("/", O_PATH | O_CLOEXEC));
    RootMount found{mount_of(opened.number()), {}};
    found.owner = owner_of_mount(opened.number(), found.number);
    return found;
  }();
  return root;
}

std::optional<uid_t> owner_of_mount(int opened) {
  const std::string number = mount_of(opened);
  if (!number.empty() && number == root_mount().number) return root_mount().owner;
  return owner_of_mount(opened, number);
}

bool see(int folder, const std::string& name, int flags, struct stat& about) {
  const OwnedDescriptor opened(::openat(folder, name.c_str(), O_PATH | O_CLOEXEC | flags));
  return opened.is_open() && see_file(opened.number(), about);
}

}  // namespace

MountKind find_mount(std::istream& mountinfo, const std::string& number, uid_t& owner) {
  // `36 35 0:43 / /home/a/m rw,nosuid shared:1 - fuse.sshfs a:/ rw,user_id=1000,group_id=1000`
  for (std::string line; std::getline(mountinfo, line);) {
    if (!line.starts_with(number + " ")) continue;
    const auto words = split(line, ' ');
    const auto mark = std::find(words.begin(), words.end(), "-");
    if (words.end() - mark < 4 || !mark[1].starts_with("fuse")) return MountKind::other;
    owner = user_in(words.back());
    return MountKind::fuse;
  }
  return MountKind::missing;
}

bool see_file(int opened, struct stat& about) {
  if (::fcntl(opened, F_GETFD) < 0) return false;
  const auto owner = owner_of_mount(opened);
  if (owner && is_other_user(*owner)) {
    about = {};
    about.st_uid = *owner;
    return true;
  }
  if (::fstat(opened, &about) != 0) return false;
  about.st_uid = owner.value_or(about.st_uid);
  return true;
}

bool see_file(const std::string& path, struct stat& about) {
  return see(AT_FDCWD, path, 0, about);
}

bool see_link(const std::string& path, struct stat& about) {
  return see(AT_FDCWD, path, O_NOFOLLOW, about);
}

bool see_link_at(int folder, const std::string& name, struct stat& about) {
  return see(folder, name, O_NOFOLLOW, about);
}

bool see_entry(const std::string& path, struct stat& about) {
  const OwnedDescriptor entry(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  const OwnedDescriptor folder(::open(path.substr(0, path.rfind('/') + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return entry.is_open() && folder.is_open() && mount_of(entry.number()) == mount_of(folder.number()) &&
         see_file(entry.number(), about);
}

}  // namespace muster
