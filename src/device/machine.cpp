#include "device/machine.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.hpp"

namespace muster {

namespace {

/// Whether its mode lets anybody but root read and write it.
bool is_for_users(const struct stat& file) {
  const auto allows = [&](mode_t bits) { return (file.st_mode & bits) == bits; };
  return allows(0006) || (file.st_gid != 0 && allows(0060)) || (file.st_uid != 0 && allows(0600));
}

}  // namespace

fs::path Machine::at(std::string_view path) const {
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  return root_ / path;
}

bool Machine::has(std::string_view path) const {
  std::error_code ignored;
  return fs::exists(at(path), ignored);
}

std::string Machine::text(std::string_view path) const {
  // Files of /sys are a page at most; what is longer is none of ours.
  return read_line(at(path));
}

std::string Machine::head(std::string_view path, std::size_t bytes) const {
  // A pipe would be waited for: of a made-up tree, no device file that is asked for its contents.
  const int descriptor = ::open(at(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return {};
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return {};
  }
  std::string text(bytes, '\0');
  const auto count = ::read(descriptor, text.data(), bytes);
  ::close(descriptor);
  text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return text;
}

std::vector<std::string> Machine::names(std::string_view folder) const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(at(folder), error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string Machine::link_name(std::string_view path) const {
  std::error_code error;
  const fs::path target = fs::read_symlink(at(path), error);
  return error ? std::string() : target.filename().string();
}

std::vector<PciAddress> Machine::pci_path(std::string_view path) const {
  std::vector<PciAddress> found;
  std::error_code error;
  const fs::path whole = fs::canonical(at(path), error);
  if (error) return found;
  for (const fs::path& part : whole)
    if (const auto address = parse_pci_address(part.string())) found.push_back(*address);
  std::reverse(found.begin(), found.end());
  return found;
}

FileAccess Machine::access(std::string_view path) const {
  const fs::path file = at(path);
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return errno == EACCES ? FileAccess::denied : FileAccess::missing;
  if (::access(file.c_str(), R_OK | W_OK) == 0)
    return ::geteuid() == 0 && !is_for_users(status) ? FileAccess::root_only : FileAccess::open;
  // The device controller of a control group answers EPERM, a mode that refuses EACCES.
  return errno == EPERM ? FileAccess::withheld : FileAccess::denied;
}

bool Machine::is_setuid(std::string_view path) const {
  struct stat status {};
  return ::stat(at(path).c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & S_ISUID) != 0;
}

}  // namespace muster
