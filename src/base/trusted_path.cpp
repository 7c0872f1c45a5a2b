#include "base/trusted_path.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace muster {

namespace {

tl::unexpected<Error> refuse(const fs::path& path, std::string what) {
  return fail(ErrorKind::file, path.string(), std::move(what));
}

/// In a user namespace the owners of what lies outside, root among them, all look like this one.
bool is_outside(uid_t owner) {
  constexpr uid_t overflow = 65534;
  if (owner != overflow) return false;
  const auto map = read_file("/proc/self/uid_map", 4096);
  unsigned long inside = 0, outside = 0, count = 0;
  const bool is_read = map && std::sscanf(map->c_str(), "%lu %lu %lu", &inside, &outside, &count) == 3;
  return is_read && count < 4294967295UL;
}

/// `part` is `path` or a folder above it.
Result<void> hold_part(const struct stat& about, const fs::path& part, const fs::path& path, const Trust& trust) {
  const auto name = part == path ? std::string("it") : part.string();
  if (about.st_uid != 0 && about.st_uid != ::geteuid() && about.st_uid != trust.also && !is_outside(about.st_uid))
    return refuse(path, fmt::format("is not used: {} belongs to user {}, who could change it; use a folder of your own",
                                    name, about.st_uid));
  const bool is_sticky = S_ISDIR(about.st_mode) && (about.st_mode & S_ISVTX) != 0;
  if (is_sticky) return {};
  if ((about.st_mode & S_IWOTH) != 0)
    return refuse(path, fmt::format("is not used: every user may write {}; chmod o-w {}", name, part.string()));
  if ((about.st_mode & S_IWGRP) != 0 && !trust.has_groups)
    return refuse(path,
                  fmt::format("is not used: group {} may write {}; chmod g-w {}", about.st_gid, name, part.string()));
  return {};
}

}  // namespace

OwnedDescriptor::OwnedDescriptor(OwnedDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

OwnedDescriptor& OwnedDescriptor::operator=(OwnedDescriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

OwnedDescriptor::~OwnedDescriptor() {
  if (number_ >= 0) ::close(number_);
}

int OwnedDescriptor::release() {
  return std::exchange(number_, -1);
}

Result<OwnedDescriptor> open_trusted(const fs::path& path, const Trust& trust) {
  std::error_code error;
  const auto real = fs::canonical(path, error);
  if (error) return refuse(path, fmt::format("can't be read: {}", error.message()));
  fs::path part;
  OwnedDescriptor at;
  for (const auto& name : real) {
    part /= name;
    // No link is followed any more: what is opened is what was resolved, or the attempt fails.
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    OwnedDescriptor next(at.number() < 0 ? ::open("/", flags) : ::openat(at.number(), name.c_str(), flags));
    // A folder that may be passed, but not listed.
    if (next.number() < 0 && errno == EACCES && part != real)
      next = OwnedDescriptor(::openat(at.number(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (next.number() < 0)
      return refuse(path, fmt::format("can't be read: {}: {}", part.string(), std::strerror(errno)));
    struct stat about {};
    if (::fstat(next.number(), &about) != 0)
      return refuse(path, fmt::format("can't be read: {}: {}", part.string(), std::strerror(errno)));
    if (auto held = hold_part(about, part, real, trust); !held) {
      held.error().where = path.string();
      return tl::unexpected(held.error());
    }
    at = std::move(next);
  }
  return at;
}

Result<std::string> read_trusted(const fs::path& path, std::size_t most, const Trust& trust) {
  const auto opened = open_trusted(path, trust);
  if (!opened) return tl::unexpected(opened.error());
  struct stat about {};
  if (::fstat(opened->number(), &about) != 0 || !S_ISREG(about.st_mode)) return refuse(path, "is not a regular file");
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

Trust with_installer() {
  struct stat self {};
  return ::stat(own_executable().c_str(), &self) == 0 ? Trust{self.st_uid} : Trust{};
}

}  // namespace muster
