#include "base/trusted_path.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/lists.hpp"
#include "base/path_writers.hpp"
#include "base/place.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

tl::unexpected<Error> refuse(const fs::path& path, std::string what) {
  return fail(ErrorKind::file, path.string(), std::move(what));
}

/// In a user namespace the owners of what lies outside, root among them, all look like this one, unless a user there
/// has that number.
bool is_outside(uid_t owner) {
  constexpr unsigned long overflow = 65534;
  if (owner != overflow) return false;
  const auto map = read_file("/proc/self/uid_map", 1 << 16);
  if (!map) return false;
  for (const auto& line : split(*map, '\n')) {
    unsigned long inside = 0, outside = 0, count = 0;
    const bool is_read = std::sscanf(line.c_str(), "%lu %lu %lu", &inside, &outside, &count) == 3;
    if (is_read && inside <= overflow && overflow - inside < count) return false;
  }
  return true;
}

/// Opens a path part by part, so that what was checked is what is opened. Each folder that is passed is checked, those
/// in which links lie too, as who may write one of those may lead the link elsewhere.
class TrustedWalk {
 public:
  /// Messages are about `path`. `is_whole`: the walk leads to `path` itself and not to a folder above it.
  TrustedWalk(const fs::path& path, bool is_whole, const Trust& trust)
      : path_(path), is_whole_(is_whole), trust_(trust) {}

  /// `way` is absolute.
  Result<OwnedDescriptor> run(const fs::path& way) {
    if (!way.is_absolute()) return refuse(path_, "can't be read: its folder is not known");
    if (auto begun = push(way); !begun) return tl::unexpected(begun.error());
    while (!names_.empty())
      if (auto stepped = step(); !stepped) return tl::unexpected(stepped.error());
    return std::move(at_);
  }

 private:
  /// What remains begins with `way`: the given one, or the target of a link.
  Result<void> push(const fs::path& way) {
    std::vector<std::string> names;
    for (const auto& name : way.relative_path())
      if (!name.empty() && name != ".") names.push_back(name.string());
    names_.insert(names_.end(), names.rbegin(), names.rend());
    if (!way.is_absolute()) return {};
    part_ = "/";
    return enter(OwnedDescriptor(::open("/", flags)));
  }

  Result<void> step() {
    const auto name = names_.back();
    names_.pop_back();
    const auto folder = part_;
    part_ = name == ".." ? part_.parent_path() : part_ / name;
    // What was looked at is what is read, whatever the name leads to by then.
    const OwnedDescriptor link(::openat(at_.number(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat about {};
    if (link.number() >= 0 && see_file(link.number(), about) && S_ISLNK(about.st_mode))
      return follow(link.number(), about.st_uid, folder);
    // Before it is opened for reading: a server of that user may never answer.
    if (link.number() >= 0)
      if (auto held = hold_owner(about.st_uid); !held) return held;
    OwnedDescriptor next(::openat(at_.number(), name.c_str(), flags));
    // A folder that may be passed, but not listed.
    if (next.number() < 0 && errno == EACCES && !is_it())
      next = OwnedDescriptor(::openat(at_.number(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    return enter(std::move(next));
  }

  Result<void> follow(int link, uid_t owner, const fs::path& folder) {
    if (owner != trust_.also && is_other_user(owner))
      return refuse(path_, fmt::format("is not used: {} is a link of user {}, who could lead it elsewhere; use a "
                                       "folder of your own{}",
                                       named(), owner, for_root(part_, "-h ")));
    if (++hops_ > 40) return unreadable(ELOOP);
    char target[4096];
    const auto size = ::readlinkat(link, "", target, sizeof target);
    if (size < 0) return unreadable(errno);
    part_ = folder;
    return push(fs::path(std::string(target, static_cast<std::size_t>(size))));
  }

  Result<void> enter(OwnedDescriptor next) {
    struct stat about {};
    if (next.number() < 0 || !see_file(next.number(), about)) return unreadable(errno);
    if (auto held = hold(about, next.number()); !held) return held;
    at_ = std::move(next);
    return {};
  }

  Result<void> hold_owner(uid_t owner) const {
    if (owner == trust_.also || !is_other_user(owner)) return {};
    return refuse(path_,
                  fmt::format("is not used: {} belongs to user {}, who could change it; use a folder of your own{}",
                              named(), owner, for_root(part_, "")));
  }

  Result<void> hold(const struct stat& about, int opened) const {
    if (auto held = hold_owner(about.st_uid); !held) return held;
    const bool is_sticky = S_ISDIR(about.st_mode) && (about.st_mode & S_ISVTX) != 0;
    if (is_sticky) return {};
    if ((about.st_mode & S_IWOTH) != 0)
      return refuse(path_, fmt::format("is not used: every user may write {}; chmod o-w {}", named(), part_.string()));
    if ((about.st_mode & S_IWGRP) == 0 || trust_.has_groups) return {};
    std::string writer = find_group_writer(opened, about, trust_.also);
    if (writer.empty() && trust_.has_root_group) return {};
    if (writer.empty()) writer = fmt::format("group {}", about.st_gid);
    return refuse(path_, fmt::format("is not used: {} may write {}; chmod g-w {}", writer, named(), part_.string()));
  }

  tl::unexpected<Error> unreadable(int error) const {
    if (is_it()) return refuse(path_, fmt::format("can't be read: {}", std::strerror(error)));
    return refuse(path_, fmt::format("can't be read: {}: {}", part_.string(), std::strerror(error)));
  }

  static std::string for_root(const fs::path& part, const char* option) {
    if (::geteuid() != 0) return "";
    return fmt::format(", run muster as that user, or chown {}root {}", option, part.string());
  }

  bool is_it() const { return is_whole_ && names_.empty(); }
  std::string named() const { return is_it() ? "it" : part_.string(); }

  static constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const fs::path& path_;
  bool is_whole_;
  const Trust& trust_;
  OwnedDescriptor at_;
  fs::path part_;                   ///< that `at_` is, or that is looked at
  std::vector<std::string> names_;  ///< those to come, the next one last
  int hops_ = 0;
};

}  // namespace

Result<OwnedDescriptor> open_trusted(const fs::path& path, const Trust& trust) {
  std::error_code error;
  const auto way = fs::absolute(path, error);
  if (error) return refuse(path, fmt::format("can't be read: {}", error.message()));
  return TrustedWalk(path, true, trust).run(way);
}

Result<std::string> read_trusted(const fs::path& path, std::size_t most, const Trust& trust) {
  const auto opened = open_trusted(path, trust);
  if (!opened) return tl::unexpected(opened.error());
  struct stat about {};
  if (::fstat(opened->number(), &about) != 0 || !S_ISREG(about.st_mode))
    return refuse(path, "can't be read: it is a pipe or a device; give a regular file");
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const auto count = ::read(opened->number(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refuse(path, fmt::format("can't be read: {}", std::strerror(errno)));
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > most) return refuse(path, fmt::format("is larger than {} bytes", most));
  }
}

namespace {

bool is_in_group(gid_t group) {
  if (group == ::getegid()) return true;
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(0, count)));
  return is_in(group, groups);
}

/// In a folder with the setgid bit, files of all users have its group.
bool is_member(uid_t user, gid_t group) {
  const passwd* entry = ::getpwuid(user);
  if (entry == nullptr) return false;
  const std::string name = entry->pw_name;
  const gid_t own = entry->pw_gid;
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  if (::getgrouplist(name.c_str(), own, groups.data(), &count) < 0) {
    groups.resize(static_cast<std::size_t>(count));
    if (::getgrouplist(name.c_str(), own, groups.data(), &count) < 0) return false;
  }
  groups.resize(static_cast<std::size_t>(count));
  return is_in(group, groups);
}

/// Root shares nothing with a group.
bool is_shared_with_us(const struct stat& about) {
  return ::geteuid() != 0 && S_ISREG(about.st_mode) && (about.st_mode & S_IWGRP) != 0 && is_in_group(about.st_gid) &&
         is_member(about.st_uid, about.st_gid);
}

tl::unexpected<Error> refuse_owner(const fs::path& path, uid_t owner) {
  return refuse(path, fmt::format("is not used: it belongs to user {}, who could change it; remove it, or name a file "
                                  "in a folder of your own",
                                  owner));
}

/// Ordinary users trust the groups of their folders, root trusts none. An access list counts as a group: its mask
/// stands in the bits of the group.
Trust with_own_groups() {
  Trust trust;
  trust.has_groups = ::geteuid() != 0;
  trust.has_root_group = true;
  return trust;
}

/// The folder in which `real` is or will be.
Result<OwnedDescriptor> open_folder_of(const fs::path& real, const fs::path& path) {
  const Trust trust = with_own_groups();
  return TrustedWalk(path, false, trust).run(real.parent_path());
}

}  // namespace

bool is_other_user(uid_t owner) {
  return owner != 0 && owner != ::geteuid() && !is_outside(owner);
}

namespace {

Result<void> check_for_journals(const struct stat& folder, const fs::path& real, const fs::path& path) {
  if ((folder.st_mode & S_IWOTH) == 0) return {};
  return refuse(path, fmt::format("is not used: every user may put files into {}, which would be taken for its "
                                  "journal; use a folder of your own",
                                  real.parent_path().string()));
}

Result<void> check_not_for_all(const struct stat& about, const fs::path& path) {
  if (!S_ISREG(about.st_mode) || (about.st_mode & S_IWOTH) == 0) return {};
  return refuse(
      path, fmt::format("is not used: every user may write it; see what it holds, then chmod o-w {}", path.string()));
}

}  // namespace

Result<fs::path> own_database(const fs::path& path) {
  std::error_code error;
  // A relative name of which nothing is there has no folder to look at otherwise.
  const auto place = open_place(fs::absolute(path, error));
  if (!place) return tl::unexpected(Error{ErrorKind::file, path.string(), place.error().what});
  const fs::path& real = place->path;
  struct stat about {};
  const bool is_there = see_link_at(place->folder.number(), place->name, about);
  if (is_there && !S_ISREG(about.st_mode)) return refuse(path, "is not used: it is not a regular file");
  if (const auto narrow = check_not_for_all(about, real); is_there && !narrow) return refuse(path, narrow.error().what);
  struct stat folder {};
  if (is_there && is_shared_with_us(about)) {
    const bool is_seen = ::fstat(place->folder.number(), &folder) == 0;
    if (const auto kept = check_for_journals(folder, real, path); is_seen && !kept) return tl::unexpected(kept.error());
    return real;
  }
  if (is_there && is_other_user(about.st_uid)) return refuse_owner(path, about.st_uid);
  const auto held = open_folder_of(real, path);
  if (!held) return tl::unexpected(held.error());
  const bool is_seen = ::fstat(held->number(), &folder) == 0;
  if (const auto kept = check_for_journals(folder, real, path); is_seen && !kept) return tl::unexpected(kept.error());
  return real;
}

Result<OwnedDescriptor> open_own_file(const fs::path& path, int flags, unsigned mode) {
  if (auto links = check_links(path.parent_path()); !links) return tl::unexpected(links.error());
  std::error_code error;
  const auto folder_name = fs::canonical(path.has_parent_path() ? path.parent_path() : fs::path("."), error);
  if (error) return refuse(path, fmt::format("can't be opened: {}", error.message()));
  const int all_flags = flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const auto folder = open_folder_of(folder_name / path.filename(), path);
  OwnedDescriptor file(folder
                           ? ::openat(folder->number(), path.filename().c_str(), all_flags, static_cast<mode_t>(mode))
                           : ::open(path.c_str(), all_flags & ~O_CREAT));
  const int cause = errno;
  struct stat about {};
  const bool is_open = file.number() >= 0 && see_file(file.number(), about);
  if (is_open && is_shared_with_us(about)) return file;
  if (!folder) return tl::unexpected(folder.error());
  if (!is_open) return refuse(path, fmt::format("can't be opened: {}", std::strerror(cause)));
  if (is_other_user(about.st_uid)) return refuse_owner(path, about.st_uid);
  return file;
}

Result<void> check_own_folder(const fs::path& folder) {
  std::error_code error;
  auto there = fs::absolute(folder, error);
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (auto links = check_links(there); !links) return links;
  const auto real = fs::canonical(there, error);
  if (error) return refuse(folder, fmt::format("can't be used: {}", error.message()));
  const Trust trust = with_own_groups();
  const auto opened = TrustedWalk(folder, there == fs::absolute(folder, error), trust).run(real);
  return opened ? Result<void>() : tl::unexpected(opened.error());
}

Trust with_installer() {
  struct stat self {};
  return see_file(own_executable().string(), self) ? Trust{self.st_uid} : Trust{};
}

}  // namespace muster
