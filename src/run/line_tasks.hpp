/// The tasks of a user's launch line, and the agents that they started: each agent reports itself on standard error
/// before MPI starts, where nothing is known yet of the nodes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/agent.hpp"
#include "run/autopsy.hpp"

namespace muster {

struct LineTasks {
  int expected = 0;           ///< tasks, from the launcher's variables; 0: it sets none
  int unnumbered = 0;         ///< agents without a number of their task
  std::map<int, int> agents;  ///< by task: agents that it started

  [[nodiscard]] bool has_agents() const { return unnumbered > 0 || !agents.empty(); }
  [[nodiscard]] std::vector<int> without_agent() const;  ///< empty where `expected` is 0
  [[nodiscard]] std::vector<int> with_several_agents() const;
};

/// For the agent's standard error: `muster-rank: started by task 1 of 3 on nid001`.
[[nodiscard]] std::string task_line(const std::string& host, const LaunchedBy& by);

/// What `standard_error` and the records of agents on nodes that were looked at report. Pure.
[[nodiscard]] LineTasks read_line_tasks(std::string_view standard_error, const std::vector<NodeAutopsy>& seen);

/// Without these lines, which are not complaints of a rank.
[[nodiscard]] std::string without_task_lines(std::string_view text);

/// `3 tasks, 2 of which started muster's agent: not task 1`, `3 tasks, and 6 agents: tasks 0, 1 and 2 started several`;
/// empty: as many as there are tasks, or the launcher does not number them. Pure.
[[nodiscard]] std::string uneven_tasks(const LineTasks& tasks);

}  // namespace muster
