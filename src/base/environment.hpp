/// Variables of this process's environment.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster {

/// nullopt where it is not set.
[[nodiscard]] inline std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// Empty where it is not set, too.
[[nodiscard]] inline std::string environment_text(const char* name) {
  return environment_variable(name).value_or(std::string());
}

/// `NAME=value` of this environment without `unset`, and with `added`; of a name that is added twice, the last counts.
[[nodiscard]] std::vector<std::string> child_environment(const std::vector<std::pair<std::string, std::string>>& added,
                                                         const std::vector<std::string>& unset = {});
/// Pointers into `texts` with a null pointer at the end, for exec.
[[nodiscard]] std::vector<char*> exec_list(std::vector<std::string>& texts);

}  // namespace muster
