#include "base/path_writers.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <endian.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <vector>

#include "base/file_owner.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"

namespace muster {

namespace {

std::string shown_part(const fs::path& path) {
  return printable_line(path.string(), 200);
}

/// As the kernel's struct posix_acl_xattr_entry, which is little-endian.
struct AclEntry {
  std::uint16_t tag = 0;
  std::uint16_t rights = 0;
  std::uint32_t id = 0;
};

std::string writer_of(const AclEntry& entry, const struct stat& about, uid_t trusted) {
  constexpr std::uint16_t user = 2, owning_group = 4, group = 8, may_write = 2;
  if ((entry.rights & may_write) == 0) return {};
  if (entry.tag == user && entry.id != trusted && is_other_user(entry.id)) return fmt::format("user {}", entry.id);
  if (entry.tag == owning_group && about.st_gid != 0) return fmt::format("group {}", about.st_gid);
  if (entry.tag == group && entry.id != 0) return fmt::format("group {}", entry.id);
  return {};
}

/// With an ACL the group bits are its mask, and not the rights of the group. `size`: of the ACL, or -1 with errno.
std::string group_writer(const std::vector<char>& acl, ssize_t size, const struct stat& about, uid_t trusted) {
  if (size < 0 && errno != ENODATA && errno != ENOTSUP) return "another user";
  if (size < 0) return about.st_gid == 0 ? std::string() : fmt::format("group {}", about.st_gid);
  constexpr std::size_t head = 4;
  for (std::size_t at = head; at + sizeof(AclEntry) <= static_cast<std::size_t>(size); at += sizeof(AclEntry)) {
    AclEntry entry;
    std::memcpy(&entry, acl.data() + at, sizeof entry);
    entry = {le16toh(entry.tag), le16toh(entry.rights), le32toh(entry.id)};
    if (auto writer = writer_of(entry, about, trusted); !writer.empty()) return writer;
  }
  return {};
}

constexpr const char* acl_name = "system.posix_acl_access";
constexpr std::size_t most_acl_bytes = 1u << 16;

std::string group_writer_at(const fs::path& path, const struct stat& about, uid_t trusted) {
  std::vector<char> acl(most_acl_bytes);
  const auto size = ::lgetxattr(path.c_str(), acl_name, acl.data(), acl.size());
  return group_writer(acl, size, about, trusted);
}

/// Looks at a path part by part. What was passed has no links, so that no name leads elsewhere later if nothing was
/// found.
class WriterWalk {
 public:
  explicit WriterWalk(const PathRules& rules) : rules_(rules) {}

  PathWriters run(const fs::path& path) {
    push(path);
    bool is_missing = false;
    while (!names_.empty() && !is_missing && found_.anyone.empty()) is_missing = !step();
    if (!is_missing && found_.anyone.empty()) look("write", at_, rules_.is_shared_end);
    return std::move(found_);
  }

 private:
  /// What remains begins with `way`: the given one, or the target of a link.
  void push(const fs::path& way) {
    std::vector<std::string> names;
    for (const auto& name : way.relative_path())
      if (!name.empty() && name != ".") names.push_back(name.string());
    names_.insert(names_.end(), names.rbegin(), names.rend());
    if (way.is_absolute()) enter("/");
  }

  /// False: the part does not exist.
  bool step() {
    const auto name = names_.back();
    names_.pop_back();
    const auto next = name == ".." ? at_.parent_path() : at_ / name;
    struct stat about {};
    if (!see_link(next.string(), about)) return miss(next, errno);
    look("write", at_, true);
    S_ISLNK(about.st_mode) ? follow(next, about.st_uid) : enter(next);
    return true;
  }

  /// A name as an entry of the folder: what is mounted there by then is what counts.
  void enter(const fs::path& next) {
    at_ = next;
    const bool is_seen =
        see_file((next / ".").string(), about_) || (errno == ENOTDIR && see_link(next.string(), about_));
    if (!is_seen) note(found_.anyone, fmt::format("{} can't be read: {}", shown_part(next), std::strerror(errno)));
  }

  void follow(const fs::path& link, uid_t owner) {
    struct statfs system {};
    std::error_code error;
    const auto target = fs::read_symlink(link, error);
    // The owner of a folder decides what is in it anyway, and was noted.
    if (owner != rules_.trusted && is_other_user(owner) && owner != about_.st_uid)
      note(found_.anyone, fmt::format("{} is a link of user {}", shown_part(link), owner));
    else if (error)
      note(found_.anyone, fmt::format("{} can't be read: {}", shown_part(link), error.message()));
    else if (++hops_ > 40)
      note(found_.anyone, "its links lead in a circle");
    else if (::statfs(at_.c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC)
      note(found_.anyone, fmt::format("{} depends on the process", shown_part(link)));
    else
      push(target);
  }

  bool miss(const fs::path& next, int error) {
    if (error != ENOENT && error != ENOTDIR)
      note(found_.anyone, fmt::format("{} can't be read: {}", shown_part(next), std::strerror(error)));
    else if (is_in("..", names_))
      note(found_.anyone, fmt::format("it has \"..\" behind {}, which is missing", shown_part(next)));
    else
      look(S_ISDIR(about_.st_mode) ? "create" : "write", S_ISDIR(about_.st_mode) ? next : at_, false);
    return false;
  }

  /// At the folder that the walk is in: who may `act` on `object`.
  void look(std::string_view act, const fs::path& object, bool is_sticky_enough) {
    if (about_.st_uid != rules_.trusted && is_other_user(about_.st_uid))
      note(found_.owner, fmt::format("{} belongs to user {}", shown_part(at_), about_.st_uid));
    const bool is_sticky = S_ISDIR(about_.st_mode) && (about_.st_mode & S_ISVTX) != 0;
    if (is_sticky && is_sticky_enough) return;
    if ((about_.st_mode & S_IWOTH) != 0)
      return note(found_.anyone, fmt::format("every user may {} {}", act, shown_part(object)));
    if ((about_.st_mode & S_IWGRP) == 0) return;
    const auto writer = group_writer_at(at_, about_, rules_.trusted);
    if (!writer.empty()) note(found_.group, fmt::format("{} may {} {}", writer, act, shown_part(object)));
  }

  static void note(std::string& finding, std::string text) {
    if (finding.empty()) finding = std::move(text);
  }

  const PathRules& rules_;
  PathWriters found_;
  fs::path at_;
  struct stat about_ {};            ///< of `at_`
  std::vector<std::string> names_;  ///< those to come, the next one last
  int hops_ = 0;
};

}  // namespace

std::string find_group_writer(int opened, const struct stat& about, uid_t trusted) {
  if ((about.st_mode & S_IWGRP) == 0) return {};
  std::vector<char> acl(most_acl_bytes);
  const auto size = ::fgetxattr(opened, acl_name, acl.data(), acl.size());
  return group_writer(acl, size, about, trusted);
}

const std::string& PathWriters::any() const {
  if (!anyone.empty()) return anyone;
  return owner.empty() ? group : owner;
}

PathWriters find_path_writers(const fs::path& path, const PathRules& rules) {
  if (!path.is_absolute()) return {"it is relative", "", ""};
  return WriterWalk(rules).run(path);
}

}  // namespace muster
