/// Short commands on the nodes of a launch, many in parallel: autopsy, clean-up, inventory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/loop.hpp"
#include "muster/launcher.hpp"

namespace muster {

/// How nodes are reached: through the launcher's own means, or directly when the node is this one.
struct RemoteExec {
  const LauncherSpec* launcher = nullptr;
  LauncherIdentity identity;
  Argv launcher_options;
  fs::path self;  ///< muster: the same path on every node

  /// argv that runs `muster node <arguments>` on `node`.
  [[nodiscard]] Argv command(const std::string& node, const Argv& arguments) const;
  /// Names of variables that these commands must not see.
  [[nodiscard]] std::vector<std::string> hidden() const;
  /// argv that runs it on all of `nodes` at once, answers signed; empty where there is no such way.
  [[nodiscard]] Argv joint_command(const std::vector<std::string>& nodes, const Argv& arguments) const;
};

/// True when `node` names the machine we are on (host name, short or full, or localhost), or is empty.
[[nodiscard]] bool is_this_node(const std::string& node);

/// What came back from one node.
struct NodeAnswer {
  std::string node;
  bool answered = false;  ///< ended with status 0 in time
  std::string out;
  std::string error;  ///< why not, one printable line
};

/// The last line of `text` that starts with `{`: login shells print greetings before our answer.
[[nodiscard]] std::string last_object(const std::string& text);

/// Runs `muster node <arguments>` on every node: on all at once where the launcher can, in at most `deadline_s`; where
/// that brings no answer by itself, at most 256 at a time, each at most `deadline_s`. Turns `loop` until all have
/// answered or run out of time. Answers in the order of `nodes`. When most have answered and `straggling_s` passed
/// since the last one did, the others are taken for nodes that will not answer together with others. A node in whose
/// name another one answered is asked alone, too; standard error names it.
[[nodiscard]] std::vector<NodeAnswer> ask_nodes(Loop& loop, const RemoteExec& reach,
                                                const std::vector<std::string>& nodes, const Argv& arguments,
                                                double deadline_s, double straggling_s = 1.5);

}  // namespace muster
