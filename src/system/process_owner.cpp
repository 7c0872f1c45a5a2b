#include "system/process_owner.hpp"

#include <cstdlib>
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

/// Real, effective, saved, for files: those of a program that is set-uid differ.
std::vector<std::string> users_in(std::string_view status) {
  for (const std::string_view line : lines(status))
    if (line.starts_with("Uid:")) return split(trim(line.substr(4)), '\t');
  return {};
}

}  // namespace

bool is_status_of_this_user(std::string_view status) {
  const auto users = users_in(status);
  return users.size() == 4 && users[0] == std::to_string(::getuid()) && users[1] == std::to_string(::geteuid());
}

std::string of_ordinary_user_in(std::string_view status) {
  constexpr unsigned long first_ordinary = 1000;
  const auto users = users_in(status);
  if (users.size() != 4) return {};
  const unsigned long user = std::strtoul(users[0].c_str(), nullptr, 10);
  return user < first_ordinary || user == ::getuid() ? std::string() : fmt::format(" of user {}", user);
}

std::string of_ordinary_user(int pid) {
  const auto text = read_file(fmt::format("/proc/{}/status", pid));
  return text ? of_ordinary_user_in(*text) : std::string();
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
