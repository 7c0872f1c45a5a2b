#include "system/control_groups.hpp"

#include "base/lists.hpp"
#include "base/text.hpp"

namespace muster {

std::vector<ControlGroup> control_groups(std::string_view controller, const fs::path& root) {
  std::vector<ControlGroup> groups;
  const auto text = read_file(root / "proc/self/cgroup", 1u << 16);
  for (const std::string_view line : text ? lines(*text) : std::vector<std::string_view>()) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers(line.substr(first + 1, second - first - 1));
    if (!controllers.empty() && !is_in(controller, split(controllers, ','))) continue;
    // Version 1 mounts a hierarchy by its controllers' names or has a link of the controller's.
    fs::path top = root / "sys/fs/cgroup" / controllers;
    if (std::error_code error; !controllers.empty() && !fs::exists(top, error))
      top = root / "sys/fs/cgroup" / controller;
    for (fs::path own = fs::path(line.substr(second + 1)).relative_path(); !own.empty(); own = own.parent_path())
      groups.push_back({top / own, "/" + own.string()});
    groups.push_back({top, "/"});
  }
  return groups;
}

}  // namespace muster
