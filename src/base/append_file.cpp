#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/place.hpp"

namespace muster {

namespace {

/// 0, or the errno of the write that failed. Interrupted and partial writes are carried on.
int write_all_at(int descriptor, std::span<const std::byte> bytes, std::uint64_t at) {
  while (!bytes.empty()) {
    const auto written = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    at += static_cast<std::uint64_t>(written);
  }
  return 0;
}

/// 0, or the errno. The file keeps its logical size; a file system that can't set room aside simply has no reserve.
int set_aside(int descriptor, std::uint64_t from, std::uint64_t bytes) {
  int status = 0;
  do status = ::fallocate(descriptor, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from), static_cast<off_t>(bytes));
  while (status != 0 && errno == EINTR);
  return status == 0 || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL ? 0 : errno;
}

}  // namespace

Result<AppendFile> AppendFile::create(const fs::path& path, std::size_t reserve) {
  AppendFile file;
  file.path_ = path;
  const auto place = open_place(path);
  if (!place) return tl::unexpected(place.error());
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  file.descriptor_.reset(::openat(place->folder.number(), place->name.c_str(), flags, 0600));
  if (!file.descriptor_.is_open())
    return fail(ErrorKind::system, path.string(), fmt::format("can't be written: {}", std::strerror(errno)));
  struct stat about {};
  if (::fstat(file.descriptor_.number(), &about) != 0 || !S_ISREG(about.st_mode))
    return fail(ErrorKind::system, path.string(), "can't be written: it is a pipe or a device; remove it");
  if (auto reserved = file.reserve(reserve); !reserved) {
    file.release_reserve();  // some file systems keep the part that fitted
    return tl::unexpected(reserved.error());
  }
  return file;
}

Result<void> AppendFile::append(std::span<const std::byte> bytes) {
  const int error = write_all_at(descriptor_.number(), bytes, size_);
  if (error == 0) {
    size_ += bytes.size();
    return {};
  }
  // What was written of it goes again, so that readers find whole records only; with it goes all room beyond the
  // end, which is taken back at once. Should either fail, the next record is still written at the right place.
  if (::ftruncate(descriptor_.number(), static_cast<off_t>(size_)) == 0 && reserved_to_ > size_ &&
      set_aside(descriptor_.number(), size_, reserved_to_ - size_) != 0)
    reserved_to_ = size_;
  return fail(ErrorKind::system, path_.string(), fmt::format("can't be written: {}", std::strerror(error)));
}

Result<void> AppendFile::reserve(std::size_t bytes) {
  if (bytes == 0) return {};
  if (const int error = set_aside(descriptor_.number(), size_, bytes); error != 0)
    return fail(ErrorKind::system, path_.string(),
                fmt::format("no room can be set aside for {} bytes: {}", bytes, std::strerror(error)));
  reserved_to_ = std::max<std::uint64_t>(reserved_to_, size_ + bytes);
  return {};
}

void AppendFile::release_reserve() {
  reserved_to_ = size_;
  if (::ftruncate(descriptor_.number(), static_cast<off_t>(size_)) != 0) return;  // nothing depends on it
}

}  // namespace muster
