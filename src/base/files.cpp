#include "base/files.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/clock.hpp"
#include "base/file_owner.hpp"
#include "base/place.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

tl::unexpected<Error> cant(const char* what, const fs::path& path, int error) {
  return fail(ErrorKind::system, path.string(), fmt::format("{}: {}", what, std::strerror(error)));
}

/// 0, or the errno of the write that failed. Interrupted and partial writes are carried on.
int write_all(int descriptor, const char* data, std::size_t size) {
  while (size > 0) {
    const auto written = ::write(descriptor, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return 0;
}

/// A pipe or a device, to write to: a pipe without a reader fails with ENXIO instead of waiting for one.
int open_in_place(const FilePlace& place) {
  const int follow = place.is_kernel_link ? 0 : O_NOFOLLOW;
  const int descriptor =
      ::openat(place.folder.number(), place.name.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | follow);
  if (descriptor >= 0) ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  return descriptor;
}

/// Opened again, as its owner could have put a link in the place of the folder since.
void remove_in_place(const fs::path& path) {
  if (const auto place = open_place(path)) ::unlinkat(place->folder.number(), place->name.c_str(), 0);
}

/// Both are in one folder. 0, or the errno.
int rename_in_place(const fs::path& from, const fs::path& to) {
  const auto place = open_place(from);
  if (!place) return ENOENT;
  const int folder = place->folder.number();
  return ::renameat(folder, place->name.c_str(), folder, to.filename().c_str()) == 0 ? 0 : errno;
}

}  // namespace

Result<std::string> read_file(const fs::path& path, std::size_t most) {
  // Without O_NONBLOCK a pipe without a writer would block forever.
  const OwnedDescriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened.is_open()) return cant("can't be read", path, errno);
  struct stat status {};
  if (::fstat(opened.number(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
    return fail(ErrorKind::system, path.string(), "can't be read: it is a pipe or a device; give a regular file");
  std::string text;
  char buffer[1 << 16];
  int error = 0;
  for (;;) {
    const auto count = ::read(opened.number(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) error = errno;
    if (count <= 0 || text.size() + static_cast<std::size_t>(count) > most) {
      if (count > 0) error = EFBIG;
      break;
    }
    text.append(buffer, static_cast<std::size_t>(count));
  }
  if (error != 0) return cant("can't be read", path, error);
  return text;
}

Result<AtomicFile> AtomicFile::open(const fs::path& path, unsigned mode) {
  AtomicFile file;
  file.path_ = path;
  auto place = open_place(path);
  if (!place) return tl::unexpected(place.error());
  struct stat about {};
  const bool is_there = place->is_kernel_link ? ::fstatat(place->folder.number(), place->name.c_str(), &about, 0) == 0
                                              : see_link_at(place->folder.number(), place->name, about);
  if (!is_there && errno != ENOENT) return cant("can't be written", path, errno);
  if (is_there && S_ISDIR(about.st_mode)) return cant("can't be written", path, EISDIR);
  if (is_there && !S_ISREG(about.st_mode)) {
    // Its reader may stop: then the writer would wait without end. The pipe that is our standard output has no name.
    if (S_ISFIFO(about.st_mode) && !place->is_kernel_link && is_other_user(about.st_uid))
      return fail(ErrorKind::system, path.string(),
                  "can't be written: it is a pipe of another user; remove it, or name a file in a folder of your own");
    file.descriptor_ = open_in_place(*place);
  } else {
    const auto name = fmt::format(".{}.{}.tmp", place->name.substr(0, 200), random_hex(4));
    file.target_ = place->path;
    file.temporary_ = place->path.parent_path() / name;
    file.descriptor_ = ::openat(place->folder.number(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                static_cast<mode_t>(mode));
  }
  if (file.descriptor_ < 0) {
    const int cause = errno;
    file.temporary_.clear();
    if (cause == ENXIO) return fail(ErrorKind::system, path.string(), "can't be written: nothing reads this pipe");
    return cant("can't be written", path, cause);
  }
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept {
  *this = std::move(other);
}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  path_ = std::move(other.path_);
  target_ = std::move(other.target_);
  error_ = other.error_;
  temporary_ = std::exchange(other.temporary_, fs::path());
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::discard() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) remove_in_place(temporary_);
  temporary_.clear();
}

Result<void> AtomicFile::write(std::string_view text) {
  if (error_ == 0) error_ = write_all(descriptor_, text.data(), text.size());
  if (error_ != 0) return cant("can't be written", path_, error_);
  return {};
}

Result<void> AtomicFile::commit() {
  int error = error_;
  // A pipe or a terminal can't be synchronised, which is not a loss.
  if (error == 0 && ::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) error = errno;
  if (descriptor_ >= 0 && ::close(std::exchange(descriptor_, -1)) != 0 && error == 0) error = errno;
  if (error == 0 && !temporary_.empty()) error = rename_in_place(temporary_, target_);
  if (error != 0) {
    discard();
    return cant("can't be written", path_, error);
  }
  temporary_.clear();
  return {};
}

std::string read_line(const fs::path& path) {
  const auto text = read_file(path, 1u << 16);
  return text ? std::string(trim(*text)) : std::string();
}

Result<void> write_file(const fs::path& path, std::string_view text, unsigned mode) {
  auto file = AtomicFile::open(path, mode);
  if (!file) return tl::unexpected(file.error());
  if (auto written = file->write(text); !written) return written;
  return file->commit();
}

Result<void> make_folder(const fs::path& given, unsigned mode) {
  // `runs/today/` names the folder `today`.
  const auto path = given.has_filename() ? given : given.parent_path();
  if (auto links = check_links(path); !links) return links;
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error) return cant("can't be made", path.parent_path(), error.value());
  if (::mkdir(path.c_str(), static_cast<mode_t>(mode)) == 0) return {};
  const int made = errno;
  if (made == EEXIST && fs::is_directory(path, error)) return {};
  return cant("can't be made", path, made);
}

Result<void> replace_symlink(int folder, const std::string& name, const fs::path& target) {
  const auto beside = fmt::format(".{}.{}", name, random_hex(4));
  if (::symlinkat(target.c_str(), folder, beside.c_str()) != 0) return cant("can't be made", name, errno);
  if (::renameat(folder, beside.c_str(), folder, name.c_str()) == 0) return {};
  const int error = errno;
  ::unlinkat(folder, beside.c_str(), 0);
  return cant("can't be made", name, error);
}

fs::path find_program(std::string_view program) {
  const auto may_run = [](const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
  };
  if (program.empty()) return {};
  if (program.find('/') != std::string_view::npos) return may_run(program) ? fs::path(program) : fs::path();
  const char* path = std::getenv("PATH");
  for (const auto& folder : split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
    const auto candidate = fs::path(folder.empty() ? "." : folder) / program;
    if (may_run(candidate)) return candidate;
  }
  return {};
}

fs::path own_executable() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

fs::path install_prefix() {
  const auto program = own_executable();
  return program.is_absolute() ? program.parent_path().parent_path() : fs::path();
}

}  // namespace muster
