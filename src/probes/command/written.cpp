#include "probes/command/written.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace muster::program {

namespace {

/// Enough to distinguish a log with a long header from one that was begun anew.
constexpr std::uint64_t most_compared = 64u << 10;
constexpr std::uint64_t most_file_bytes = 64u << 20;

struct FileState {
  std::string text;  ///< empty: the file does not exist
  std::uint64_t size = 0;
};

FileState state_of_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {fmt::format("{} {} {} {}", status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec),
          S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0};
}

/// Up to `most` bytes from `offset` on; fewer where the file ends.
Result<std::string> read_part(const std::string& path, std::uint64_t offset, std::uint64_t most) {
  // Without O_NONBLOCK a pipe without a writer would block forever.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return fail(ErrorKind::system, path, fmt::format("can't be read: {}", std::strerror(errno)));
  std::string text;
  char buffer[1 << 16];
  int error = 0;
  while (text.size() < most) {
    const auto count = ::pread(descriptor, buffer, std::min<std::uint64_t>(sizeof buffer, most - text.size()),
                               static_cast<off_t>(offset + text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) error = errno;
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(descriptor);
  if (error != 0) return fail(ErrorKind::system, path, fmt::format("can't be read: {}", std::strerror(error)));
  return text;
}

/// nullopt: it can't be read.
std::optional<std::string> beginning_of(const std::string& path, std::uint64_t size) {
  auto text = read_part(path, 0, std::min(size, most_compared));
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

std::optional<std::string> end_of(const std::string& path, std::uint64_t size) {
  const std::uint64_t length = std::min(size, most_compared);
  auto text = read_part(path, size - length, length);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

}  // namespace

FileBefore::FileBefore(std::string path) : path_(std::move(path)) {
  FileState state = state_of_file(path_);
  state_ = std::move(state.text);
  size_ = state.size;
  if (size_ == 0) return;
  beginning_ = beginning_of(path_, size_);
  end_ = end_of(path_, size_);
}

/// What could not be read before counts as unchanged: it must not be taken for text of this run.
bool FileBefore::holds_the_old() const {
  return (!beginning_ || beginning_ == beginning_of(path_, size_)) && (!end_ || end_ == end_of(path_, size_));
}

Result<std::string> FileBefore::written() const {
  const FileState now = state_of_file(path_);
  if (now.text.empty()) return fail(ErrorKind::system, path_, "does not exist");
  if (now.text == state_) return fail(ErrorKind::system, path_, "was not written by this run");
  const std::uint64_t offset = now.size > size_ && holds_the_old() ? size_ : 0;
  auto text = read_part(path_, offset, most_file_bytes + 1);
  if (text && text->size() > most_file_bytes)
    return fail(ErrorKind::system, path_, "has more than 64 MiB of this run, which are not read");
  return text;
}

}  // namespace muster::program
