#include "base/place.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace muster {

namespace {

/// Follows a path by descriptors, one name at a time, so that what was checked is what is used.
class PlaceWalk {
 public:
  explicit PlaceWalk(const fs::path& given) : given_(given) {}

  /// 0, or the errno that ended the walk; EPERM with a refusal is a link of another user.
  int run() {
    int error = push(given_);
    while (error == 0 && !is_at_end_) error = step();
    return error;
  }

  FilePlace place;
  std::string refusal;

 private:
  /// What remains begins with `path`: the given one, or the target of a link.
  int push(const fs::path& path) {
    if (path.is_absolute() || place.folder.number() < 0) {
      shown_ = path.is_absolute() ? "/" : "";
      place.folder = OwnedDescriptor(::open(path.is_absolute() ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (place.folder.number() < 0) return errno;
    }
    std::vector<std::string> names;
    for (const auto& name : path.relative_path()) names.push_back(name.string());
    names_.insert(names_.end(), names.rbegin(), names.rend());
    if (names_.empty() && path.is_absolute()) names_.emplace_back(".");
    return names_.empty() ? ENOENT : 0;
  }

  int step() {
    const auto name = names_.back();
    names_.pop_back();
    const bool is_last = names_.empty();
    if (!is_last && name.empty()) return 0;
    if (!is_last) {
      OwnedDescriptor next(
          ::openat(place.folder.number(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (next.number() >= 0) {
        shown_ /= name;
        place.folder = std::move(next);
        return 0;
      }
      if (errno != ENOTDIR && errno != ELOOP) return errno;
    }
    const OwnedDescriptor link(::openat(place.folder.number(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat about {};
    const bool is_link = link.number() >= 0 && see_file(link.number(), about) && S_ISLNK(about.st_mode);
    if (is_link && !is_kernel_link(name, is_last)) return follow(link.number(), name, about.st_uid);
    if (!is_last) return link.number() < 0 ? errno : ENOTDIR;
    place.name = name.empty() ? "." : name;
    place.path = shown_ / place.name;
    is_at_end_ = true;
    return 0;
  }

  /// Pipes and sockets have no path: the text of their links in /proc names nothing.
  bool is_kernel_link(const std::string& name, bool is_last) {
    struct statfs system {};
    struct stat about {};
    place.is_kernel_link = is_last && ::fstatfs(place.folder.number(), &system) == 0 &&
                           system.f_type == PROC_SUPER_MAGIC &&
                           ::fstatat(place.folder.number(), name.c_str(), &about, 0) == 0 && !S_ISREG(about.st_mode);
    return place.is_kernel_link;
  }

  int follow(int link, const std::string& name, uid_t owner) {
    const auto shown = shown_ / name;
    if (is_other_user(owner)) {
      refusal = fmt::format(
          "{} is a link of user {}, who could lead it elsewhere; remove it, or name a file in a "
          "folder of your own",
          shown == given_ ? "it" : shown.string(), owner);
      return EPERM;
    }
    if (++hops_ > 40) return ELOOP;
    char target[4096];
    const auto size = ::readlinkat(link, "", target, sizeof target);
    if (size < 0) return errno;
    return push(fs::path(std::string(target, static_cast<std::size_t>(size))));
  }

  const fs::path& given_;
  fs::path shown_;
  std::vector<std::string> names_;  ///< those to come, the next one last
  int hops_ = 0;
  bool is_at_end_ = false;
};

}  // namespace

Result<FilePlace> open_place(const fs::path& path) {
  PlaceWalk walk(path);
  const int error = walk.run();
  if (error == 0) return std::move(walk.place);
  return fail(ErrorKind::system, path.string(),
              fmt::format("can't be written: {}", walk.refusal.empty() ? std::strerror(error) : walk.refusal));
}

Result<void> check_links(const fs::path& path) {
  PlaceWalk walk(path);
  (void)walk.run();
  if (walk.refusal.empty()) return {};
  return fail(ErrorKind::system, path.string(), fmt::format("can't be written: {}", walk.refusal));
}

}  // namespace muster
