#include "base/tree_writer.hpp"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.hpp"

namespace muster {

namespace {

constexpr int as_folder = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// It is made where it is not there. -1, with errno.
int open_or_make(int folder, const std::string& name) {
  const int there = ::openat(folder, name.c_str(), O_PATH | as_folder);
  if (there >= 0 || errno != ENOENT) return there;
  // Not for groups, whatever the umask is.
  if (::mkdirat(folder, name.c_str(), 0755) != 0 && errno != EEXIST) return -1;
  return ::openat(folder, name.c_str(), O_PATH | as_folder);
}

/// A new one: neither through a link nor through a name of another file is anything written. -1, with errno.
int make_file(int folder, const std::string& name, unsigned mode) {
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const int made = ::openat(folder, name.c_str(), flags, mode);
  if (made >= 0 || errno != EEXIST || ::unlinkat(folder, name.c_str(), 0) != 0) return made;
  return ::openat(folder, name.c_str(), flags, mode);
}

/// Empty also where it can't be listed.
std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int listed = ::openat(folder, ".", O_RDONLY | as_folder);
  const std::unique_ptr<DIR, int (*)(DIR*)> open(listed < 0 ? nullptr : ::fdopendir(listed), ::closedir);
  if (!open) return names;
  while (const dirent* entry = ::readdir(open.get()))
    if (const std::string name = entry->d_name; name != "." && name != "..") names.push_back(name);
  return names;
}

/// 0, or the errno.
int remove_entry(int folder, const std::string& name) {
  if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return 0;
  if (errno != EISDIR && errno != EPERM) return errno;
  const OwnedDescriptor inner(::openat(folder, name.c_str(), O_PATH | as_folder));
  if (inner.number() < 0) return errno;
  for (const std::string& one : names_in(inner.number()))
    if (const int error = remove_entry(inner.number(), one); error != 0) return error;
  return ::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : errno;
}

}  // namespace

void TreeWriter::fail_at(const fs::path& path, const std::string& what) {
  if (result_) result_ = fail(ErrorKind::system, printable_line((shown_ / path).string()), "can't be written: " + what);
}

OwnedDescriptor TreeWriter::open_folder(const fs::path& path) {
  OwnedDescriptor at(::fcntl(folder_.number(), F_DUPFD_CLOEXEC, 0));
  if (at.number() < 0) fail_at(path, std::strerror(errno));
  for (const fs::path& part : path) {
    if (!result_) return {};
    const std::string& name = part.native();
    if (name.empty() || name == ".") continue;
    OwnedDescriptor next(name == ".." ? -1 : open_or_make(at.number(), name));
    if (next.number() < 0) fail_at(path, name == ".." ? "it leads out of the folder" : std::strerror(errno));
    at = std::move(next);
  }
  return at;
}

TreeWriter TreeWriter::below(const std::string& path) {
  TreeWriter inner(open_folder(path), shown_ / path);
  inner.result_ = result_;
  return inner;
}

void TreeWriter::write(const std::string& path, std::string_view text, unsigned mode) {
  if (!result_) return;
  const fs::path file(path);
  const OwnedDescriptor folder = open_folder(file.parent_path());
  if (!result_) return;
  // Thousands of files, of which none is worth anything alone: written in place, and not synced.
  const OwnedDescriptor made(make_file(folder.number(), file.filename().string(), mode));
  if (made.number() < 0) return fail_at(path, std::strerror(errno));
  const auto count = ::write(made.number(), text.data(), text.size());
  if (count != static_cast<ssize_t>(text.size())) fail_at(path, count < 0 ? std::strerror(errno) : "cut short");
  // The mode of a device file is a fact of the machine, whatever the umask here is.
  if (mode != 0644 && ::fchmod(made.number(), mode) != 0) fail_at(path, std::strerror(errno));
}

void TreeWriter::replace(const std::string& name, std::string_view text) {
  const std::string beside = "." + name + ".new";
  write(beside, text);
  if (result_ && ::renameat(folder_.number(), beside.c_str(), folder_.number(), name.c_str()) != 0)
    fail_at(name, std::strerror(errno));
}

void TreeWriter::link(const std::string& path, const std::string& target) {
  if (!result_) return;
  const fs::path place(path);
  const OwnedDescriptor folder = open_folder(place.parent_path());
  if (!result_) return;
  const fs::path to = fs::path(target).lexically_relative(place.parent_path());
  if (::symlinkat(to.c_str(), folder.number(), place.filename().c_str()) != 0) fail_at(path, std::strerror(errno));
}

void TreeWriter::remove(const std::string& name) {
  if (!result_) return;
  if (const int error = remove_entry(folder_.number(), name); error != 0) fail_at(name, std::strerror(error));
}

std::vector<std::string> TreeWriter::names() const {
  return names_in(folder_.number());
}

}  // namespace muster
