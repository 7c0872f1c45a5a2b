#include "base/tree_writer.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.hpp"

namespace muster {

void TreeWriter::fail_at(const fs::path& path, const std::string& what) {
  if (result_) result_ = fail(ErrorKind::system, printable_line(path.string()), "can't be written: " + what);
}

void TreeWriter::folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(root_ / path, error);
  if (error) fail_at(root_ / path, error.message());
}

void TreeWriter::write(const std::string& path, std::string_view text, unsigned mode) {
  if (!result_) return;
  const fs::path file = root_ / path;
  // Thousands of files, of which none is worth anything alone: written in place, and not synced.
  int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (descriptor < 0 && errno == ENOENT) {
    folder(fs::path(path).parent_path().string());
    descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  }
  if (descriptor < 0) return fail_at(file, std::strerror(errno));
  const auto count = ::write(descriptor, text.data(), text.size());
  if (count != static_cast<ssize_t>(text.size())) fail_at(file, count < 0 ? std::strerror(errno) : "cut short");
  // The mode of a device file is a fact of the machine, whatever the umask here is.
  if (mode != 0644 && ::fchmod(descriptor, mode) != 0) fail_at(file, std::strerror(errno));
  ::close(descriptor);
}

void TreeWriter::link(const std::string& path, const std::string& target) {
  if (!result_) return;
  folder(fs::path(path).parent_path().string());
  const fs::path to = fs::path(target).lexically_relative(fs::path(path).parent_path());
  std::error_code error;
  fs::create_symlink(to, root_ / path, error);
  if (error) fail_at(root_ / path, error.message());
}

}  // namespace muster
