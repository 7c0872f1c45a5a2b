/// `muster gate`: quick checks on all nodes of a job, and a command on those that are good. docs/gate.md
#pragma once

#include <string>
#include <vector>

#include "app/inputs/options.hpp"

namespace muster {

/// As env(1) and timeout(1) have them: what is less is COMMAND's own.
inline constexpr int exit_gate_refused = 125;  ///< also for what the command line or a check file got wrong
inline constexpr int exit_gate_not_executable = 126;
inline constexpr int exit_gate_not_found = 127;

struct GateOptions {
  int need = 0;
  std::vector<std::string> checks;    ///< files or folders; empty: the shipped checks tagged `gate`
  std::vector<std::string> config;    ///< as ChooseOptions::config
  std::vector<std::string> tags;      ///< with all of these; empty: `gate`, of the shipped checks and the site's
  std::vector<std::string> excludes;  ///< of those, not what matches these regular expressions
  std::vector<std::string> settings;
  SiteOptions site;
  std::string timeout;  ///< of every case; empty: the checks' own, limited by the deadline
  std::string deadline = "60s";
  std::string print;  ///< hosts, exclude, json: instead of starting anything; empty: start the command
  std::string output = "muster-runs";
  bool keeps_master = false;  ///< MASTER_ADDR stays as it is
  Argv command;
  Argv command_line;
};

/// Returns only when COMMAND is not started: exit_gate_..., 0 with `print`, or 128 and the signal that interrupted it.
int gate_command(const GateOptions& options);

}  // namespace muster
