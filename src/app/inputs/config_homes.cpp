#include "app/inputs/config_homes.hpp"

#include <cstdlib>

#include "base/lists.hpp"
#include "base/trusted_path.hpp"
#include "config/config.hpp"

namespace muster {

namespace {

constexpr std::size_t most_bytes = 16u << 20;

/// The folder itself, too: who may write it could take files away.
ConfigHome read_home(const fs::path& folder) {
  ConfigHome home{folder, {}, {}};
  const auto trust = with_installer();
  if (const auto opened = open_trusted(folder, trust); !opened) {
    home.errors.push_back(opened.error());
    return home;
  }
  const auto found = find_config_files(folder);
  if (!found) {
    home.errors.push_back(found.error());
    return home;
  }
  for (const auto& path : *found) {
    auto text = read_trusted(path, most_bytes, trust);
    if (text)
      home.files.push_back({path, std::move(*text)});
    else
      home.errors.push_back(text.error());
  }
  return home;
}

const char* absolute_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value == '/' ? value : nullptr;
}

}  // namespace

std::vector<fs::path> usual_config_homes() {
  std::vector<fs::path> homes{"/etc/muster"};
  if (const char* config = absolute_variable("XDG_CONFIG_HOME"))
    homes.push_back(fs::path(config) / "muster");
  else if (const char* home = absolute_variable("HOME"))
    homes.push_back(fs::path(home) / ".config/muster");
  return homes;
}

std::vector<ConfigHome> read_config_homes(const std::vector<std::string>& chosen) {
  std::vector<ConfigHome> homes;
  if (!is_in(no_usual_homes, chosen))
    for (const auto& folder : usual_config_homes()) {
      std::error_code error;
      const auto status = fs::status(folder, error);
      // One that can't be looked at may hold bounds that a run needs.
      if (fs::exists(status) || !fs::status_known(status)) homes.push_back(read_home(folder));
    }
  for (const auto& folder : chosen)
    if (folder != no_usual_homes) homes.push_back(read_home(folder));
  return homes;
}

}  // namespace muster
