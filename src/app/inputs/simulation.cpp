#include "app/inputs/simulation.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <string_view>

#include "app/inputs/load.hpp"
#include "app/inputs/root_places.hpp"
#include "base/fault_injection.hpp"
#include "base/text.hpp"
#include "run/messages.hpp"
#include "system/simulated_affinity.hpp"
#include "system/this_machine.hpp"

extern char** environ;

namespace muster {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

namespace {

bool is_secret(std::string_view name) {
  return name == env_key || name == env_tag_secret;
}

}  // namespace

Result<void> check_simulation(bool is_simulated) {
  if (is_simulated && !is_set(env_machine))
    return fail(ErrorKind::usage, "--simulated",
                fmt::format("needs a machine: write one with muster machine NAME --write FOLDER, and set {}=FOLDER",
                            env_machine));
  if (is_simulated) return {};
  for (const char* name : {env_machine, env_drivers, env_affinity_cpus, env_faults})
    if (is_set(name))
      return fail(ErrorKind::usage, name,
                  fmt::format("is set to {}, which is for simulated machines; unset it to test this machine, or add "
                              "--simulated to the command line",
                              printable_line(std::getenv(name), 200)));
  return {};
}

int refuse_simulation(bool is_simulated) {
  const auto checked = check_simulation(is_simulated);
  if (checked) return 0;
  const int status = usage_error(checked.error());
  return is_simulated ? status : exit_not_simulated;
}

std::vector<Fact> variables_in_force() {
  std::vector<Fact> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    const auto equals = variable.find('=');
    if (!variable.starts_with("MUSTER_") || equals == variable.npos || equals + 1 == variable.size()) continue;
    const auto name = variable.substr(0, equals);
    variables.push_back({printable_line(name, 100),
                         is_secret(name) ? "(not shown)" : printable_line(variable.substr(equals + 1), 1000)});
  }
  const auto& places = places_of_others();
  variables.insert(variables.end(), places.begin(), places.end());
  std::sort(variables.begin(), variables.end(), [](const Fact& one, const Fact& other) { return one.key < other.key; });
  return variables;
}

}  // namespace muster
