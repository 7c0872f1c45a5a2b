/// After a failed launch: inspects its nodes, ends remaining processes, and determines the cause.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/loop.hpp"
#include "run/autopsy.hpp"
#include "run/crowded_port.hpp"
#include "run/launch.hpp"
#include "run/reach.hpp"
#include "run/session.hpp"

namespace muster {

/// What is wrong with a launch, and whose fault it is.
struct Damage {
  Finding finding;
  bool is_total = false;  ///< launching again can't help: launcher missing, agent of another MPI
};

class Examiner {
 public:
  /// Loop and options must outlive this.
  Examiner(Loop& loop, Reach reach, const SessionOptions& options);

  /// What is asked about, and what was seen of it.
  struct Scene {
    std::vector<std::string> nodes;
    std::string tag;
    int ranks = 0;
    std::string case_id;       ///< in flight; empty: none
    bool is_per_node = false;  ///< nodes do not wait for each other in it
    fs::path folder;           ///< of the launch: command, stdout, stderr
    std::vector<NodeAutopsy> seen;
    ProcessState launcher = ProcessState::running;
    std::optional<CrowdedPort> crowded_port;  ///< of the launcher, while ranks start
  };

  /// Looks at launcher and ranks where they stand. Sends no signal.
  void look(const Launch& launch, Scene& scene);
  /// Ends launcher and ranks, and removes what they left on the nodes that answer. Returns the nodes on which something
  /// would not end, with why.
  [[nodiscard]] std::map<std::string, std::string> clear_away(Launch& launch, const Scene& scene);
  [[nodiscard]] Damage diagnose(const Launch& launch, const Scene& scene) const;

 private:
  /// Has `muster clean` end what the launch left on the nodes; by node: what could not be ended.
  std::map<std::string, std::string> clean_nodes(const std::vector<std::string>& nodes, const std::string& tag,
                                                 const std::vector<std::string>& options);
  [[nodiscard]] std::vector<NodeAutopsy> autopsy(const Scene& scene);
  [[nodiscard]] Finding refused_by_launcher(const Launch& launch, const Scene& scene) const;
  void heed_silence(Wreck& wreck) const;
  [[nodiscard]] Wreck wreck_of(const Launch& launch, const Scene& scene) const;
  [[nodiscard]] std::string program() const { return std::string(reach_.launcher->name); }

  Loop& loop_;
  Reach reach_;
  const SessionOptions& options_;
};

}  // namespace muster
