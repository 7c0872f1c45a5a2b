#include "base/file_owner.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <string>
#include <sys/sysmacros.h>

#include "base/files.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

std::optional<uid_t> user_in(const std::string& options) {
  constexpr std::string_view mark = "user_id=";
  for (const std::string& option : split(options, ',')) {
    uid_t user = 0;
    if (!option.starts_with(mark)) continue;
    if (std::from_chars(option.data() + mark.size(), option.data() + option.size(), user).ec == std::errc{})
      return user;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uid_t> fuse_owner(std::string_view mountinfo, dev_t device) {
  // `36 35 0:43 / /home/a/m rw,nosuid shared:1 - fuse.sshfs a:/ rw,user_id=1000,group_id=1000`
  const std::string number = fmt::format("{}:{}", major(device), minor(device));
  for (const std::string_view line : lines(mountinfo)) {
    const auto words = split(line, ' ');
    const auto mark = std::find(words.begin(), words.end(), "-");
    if (words.size() < 3 || words[2] != number || words.end() - mark < 4 || !mark[1].starts_with("fuse")) continue;
    return user_in(words.back());
  }
  return std::nullopt;
}

uid_t owner_of(const struct stat& about) {
  // Such mounts have numbers without a device.
  if (major(about.st_dev) != 0) return about.st_uid;
  constexpr std::size_t most_bytes = 16u << 20;
  const auto mounts = read_file("/proc/self/mountinfo", most_bytes);
  const auto owner = mounts ? fuse_owner(*mounts, about.st_dev) : std::nullopt;
  return owner.value_or(0) == 0 ? about.st_uid : *owner;
}

}  // namespace muster
