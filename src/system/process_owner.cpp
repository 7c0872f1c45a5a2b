#include "system/process_owner.hpp"

#include <fmt/format.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::size_t longest_environment = 4u << 20;

/// `NAME=value` of a process's first environment; empty: none.
std::string first_value(const std::string& pid, std::string_view name) {
  const auto text = read_file("/proc/" + pid + "/environ", longest_environment);
  if (!text) return {};
  for (std::string& entry : split(*text, '\0'))
    if (entry.starts_with(fmt::format("{}=", name))) return std::move(entry);
  return {};
}

}  // namespace

bool is_status_of_this_user(std::string_view status) {
  for (const std::string_view line : lines(status)) {
    if (!line.starts_with("Uid:")) continue;
    // Real, effective, saved, for files: those of a program that is set-uid differ.
    const std::vector<std::string> users = split(trim(line.substr(4)), '\t');
    return users.size() == 4 && users[0] == std::to_string(::getuid()) && users[1] == std::to_string(::geteuid());
  }
  return false;
}

bool is_own_process(int pid) {
  const auto text = read_file(fmt::format("/proc/{}/status", pid));
  return text && is_status_of_this_user(*text);
}

bool is_agent_of_this_launch(int pid, std::string_view secret) {
  const std::string its = std::to_string(pid);
  std::error_code none, other;
  const fs::path own = fs::read_symlink("/proc/self/exe", none);
  if (none || fs::read_symlink("/proc/" + its + "/exe", other) != own || other || !is_own_process(pid)) return false;
  return first_value(its, secret) == first_value("self", secret);
}

}  // namespace muster
