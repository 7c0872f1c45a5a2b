/// What the table tests of launchers have in common: an agent, job shapes, and a row of the table.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "muster/launcher.hpp"

namespace muster {

inline const AgentCommand agent{{"/opt/muster-rank"}, {{"MUSTER_TAG", "t1"}, {"MUSTER_KEY", "sesame"}}};

inline JobShape shape(std::vector<std::string> nodes, int per_node, int cores = 0, bool oversubscribed = false) {
  JobShape made;
  made.nodes = std::move(nodes);
  made.ranks_per_node = per_node;
  made.cores_per_rank = cores;
  made.oversubscribed = oversubscribed;
  return made;
}

struct CommandCase {
  const char* what;
  LauncherIdentity identity;
  JobShape shape;
  Argv options;
  const char* line;
};
inline std::ostream& operator<<(std::ostream& out, const CommandCase& item) {
  return out << item.what;
}

}  // namespace muster
