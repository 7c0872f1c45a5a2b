/// The command line as plain values; cli.cpp fills them, the commands read them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "muster/launcher.hpp"

namespace muster {

/// Which checks, and how they are varied.
struct ChooseOptions {
  std::vector<std::string> paths;
  std::vector<std::string> config;  ///< --config: folders beside the usual homes of a site's files; or `none`
  bool is_gate = false;             ///< of the shipped checks those tagged `gate`, each with one rank per node
  std::vector<std::string> names;
  std::vector<std::string> tags;
  std::vector<std::string> excludes;
  std::vector<std::string> settings;
  std::string timeout;
  int repeat = 1;
  bool per_node = false;
};

/// Where they run.
struct SiteOptions {
  std::string system;
  std::string environment;
  std::string launcher;
  std::string launch;  ///< --launch: the user's own launch line; empty: muster makes one for each shape
  std::string nodes;
  std::optional<int> ranks_per_node;
  std::string bind;       ///< none, profile, auto, cores; empty: the profile's, else auto
  Argv launcher_options;  ///< --launcher-option, and -J without --submit
  Argv job_options;       ///< -J with --submit
  std::string agent;
  bool is_simulated = false;  ///< --simulated: variables may name a machine to simulate
};

/// What keeps runs apart, and what a run may do to nodes when it is over: docs/night.md.
struct ScheduledRunOptions {
  bool lock = false;
  std::string lock_file;  ///< empty: in the folder of the user's state
  std::string on_fail;    ///< `drain`; empty: nothing
  std::string on_pass;    ///< `resume`; empty: nothing
  std::optional<int> max_drain;
  bool dry_run_actions = false;
};

struct RunOptions {
  ChooseOptions choose;
  SiteOptions site;
  ScheduledRunOptions night;
  int max_failures = 0;
  std::vector<std::string> reports;
  std::string output = "muster-runs";
  bool quiet = false;
  bool dry_run = false;
  bool json = false;  ///< of `muster plan`
  std::string color = "auto";
  Argv command_line;
  bool submit = false;
  std::string history;      ///< file; empty: the default
  bool no_history = false;  ///< nothing is read from it or stored there
  std::string run_folder;   ///< where a submitted job keeps its run; empty: a new one in `output`
  Argv inside;              ///< of what was given, the words that the run inside a submitted job gets
};

struct ListOptions {
  ChooseOptions choose;
  bool probes = false;
  std::string metrics;  ///< probe
  bool launchers = false;
  bool reporters = false;
  bool systems = false;
  bool json = false;
};

struct LintOptions {
  std::vector<std::string> paths;
  std::vector<std::string> config;
};

struct ShowOptions {
  std::string run;
  std::string history;             ///< file; empty: the default
  std::vector<std::string> names;  ///< -n: regular expressions
  std::vector<std::string> reports;
  std::string color = "auto";
  bool quiet = false;
};

struct DoctorOptions {
  SiteOptions site;
  std::vector<std::string> config;
  bool json = false;
};

struct MachineOptions {
  std::string machine;  ///< name or file; empty: list them
  std::string folder;
  std::string nodes;
  std::vector<std::string> faults;
};

struct BindOptions {
  std::vector<std::string> paths;  ///< profiles
  std::vector<std::string> config;
  std::string system;
  std::string topology;
  std::string machine;
  std::optional<int> ranks_per_node;
  std::optional<int> cores_per_rank;
  std::optional<int> gpus_per_rank;
  std::string policy;
  bool smt = false;
  std::string reserve;
  bool is_simulated = false;
  bool rankfile = false;
  bool json = false;
  std::string color = "auto";
};

struct NodeOptions {
  std::string sign;  ///< variable with the node's name: one of many that answer through one pipe
  std::string tag;
  std::vector<int> launcher_ports;          ///< at which the launcher listens
  std::vector<std::string> launcher_hosts;  ///< its names and addresses
  double launcher_age_s = 0;
  double grace_s = 3;
  bool launcher_has_ended = false;
  bool ends_daemons = false;
  std::string machine;              ///< folder of the machine that the node is pretended to be
  std::vector<std::string> among;   ///< addresses of nodes in one network, as a host list; repeated: of several
  std::vector<std::string> driver;  ///< addresses
};

// Each returns the exit status.
int run_command(const RunOptions& options);
int submit_command(const RunOptions& options);
int plan_command(const RunOptions& options);
int list_command(const ListOptions& options);
int lint_command(const LintOptions& options);
int show_command(const ShowOptions& options);
int bind_command(const BindOptions& options);
int doctor_command(const DoctorOptions& options);
int machine_command(const MachineOptions& options);
int node_autopsy_command(const NodeOptions& options);
int node_clean_command(const NodeOptions& options);
int node_inventory_command(const NodeOptions& options);
int node_network_command(const NodeOptions& options);
int node_parts_command(const NodeOptions& options);

}  // namespace muster
