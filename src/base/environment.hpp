/// Variables of this process's environment.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

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

}  // namespace muster
