/// What the author of a launcher implements: job shape in, argv and environment out; no processes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/result.hpp"

namespace muster {

using Argv = std::vector<std::string>;
using Environment = std::vector<std::pair<std::string, std::string>>;

/// CPUs (logical ones), GPU and network card of one rank, as `muster bind` prints them.
struct RankBinding {
  std::string cpus;        ///< list: `1-7`
  std::string mask;        ///< the same as a number: `0xfe`
  int gpu = -1;            ///< index in the order of the GPUs' runtime; -1: none
  std::string nic = {};    ///< name of the nearest fast card: `hsn2`; empty: none is known
  std::string cores = {};  ///< the same CPUs by hwloc's numbers of cores; empty: parts of cores, or not reliably known
  friend bool operator==(const RankBinding&, const RankBinding&) = default;
};

enum class BindKind : std::uint8_t {
  cores,  ///< each rank on its own share of the cores, as the launcher counts them
  node,   ///< no rank is bound: each may use all cores of the allocation
  none,   ///< no binding option is added
  masks,  ///< each rank on the CPUs of its RankBinding
};

[[nodiscard]] std::string_view to_string(BindKind kind);

/// Where the ranks of each node run. docs/bind.md
struct JobBinding {
  BindKind kind = BindKind::cores;
  std::string source;                  ///< `--bind none`, `profile lumi`, `auto`; empty: the default
  std::vector<RankBinding> ranks;      ///< kind masks: by local rank
  std::string openmpi_mapping;         ///< `--map-by ppr:2:numa:PE=8 --bind-to core` where that gives the same masks
  bool launcher_selects_gpus = false;  ///< ranks get their GPUs by the launcher's own option, not by a wrapper
  /// `ROCR_VISIBLE_DEVICES`, which the agent sets to each rank's GPU: local rank i has not GPU i; empty: not needed
  std::string gpu_variable = {};
  /// Kind cores: why ranks do not have the masks that were asked for; empty: none were. Kind none beside a line of the
  /// user's own: why `muster bind` has no masks for its ranks.
  std::string why_cores = {};
  friend bool operator==(const JobBinding&, const JobBinding&) = default;
};

/// Which part binds ranks as a JobBinding asks.
enum class Binder : std::uint8_t {
  launcher,  ///< options of muster's command line
  options,   ///< options that the user or the profile gave: they take precedence
  agent,     ///< muster-rank, before MPI_Init: the launcher has no option for this
  line,      ///< the user's own launch line binds as it does; the masks are what `muster bind` would have it ask for
};

/// All cases of one shape share one launch.
struct JobShape {
  std::vector<std::string> nodes;  ///< host names in order; empty: this machine alone
  int ranks_per_node = 1;
  int cores_per_rank = 0;            ///< physical ones; 0: whatever is fair
  int cpus_per_core = 1;             ///< as the scheduler counts CPUs
  bool one_thread_per_core = false;  ///< the site's pages leave the other hardware threads alone
  bool oversubscribed = false;       ///< more ranks on a node than it has cores
  std::string partition;
  std::string environment;
  JobBinding binding = {};
  std::string line = {};  ///< the user's own launch line, which starts the ranks; empty: a command of the launcher does
  std::vector<std::string> job_nodes = {};  ///< of the scheduler's job, in its order, where that is known

  [[nodiscard]] int node_count() const { return nodes.empty() ? 1 : static_cast<int>(nodes.size()); }
  [[nodiscard]] int ranks() const { return node_count() * ranks_per_node; }
  friend bool operator==(const JobShape&, const JobShape&) = default;
};

/// The program that every rank shall be, and what it needs in its environment.
struct AgentCommand {
  Argv argv;
  Environment env;  ///< every variable here must reach every rank on every node
};

/// Which launcher this is, learned by asking it once.
struct LauncherIdentity {
  std::string path;  ///< program as found on PATH
  /// `openmpi`, `mpich`, ...; chooses the agent muster-rank-<flavor>. Empty: it starts programs of any MPI; where it
  /// has `mpi_types`, the caller of identify then sets it to the agent's.
  std::string flavor;
  std::string version;  ///< `4.1.4`
  std::string banner;   ///< `Open MPI 4.1.4`, for people
  /// Variables that choose its remote agent; the first that is set goes into `remote_agent` (set by the caller of
  /// identify: a launcher does not look at the environment).
  std::vector<std::string> remote_agent_variables = {};
  std::string remote_agent = {};  ///< command line in front of a node's name that runs something there; empty: ssh
  std::vector<std::string> mpi_types = {};  ///< ways to start MPI programs that it offers by name (`pmix`, `pmi2`)
};

/// Stands in an argument of a LaunchCommand for the folder in which its files lie.
inline constexpr std::string_view files_placeholder = "{files}";

/// A file that a launcher reads when it starts.
struct LaunchFile {
  std::string name;
  std::string text;
  friend bool operator==(const LaunchFile&, const LaunchFile&) = default;
};

struct LaunchCommand {
  Argv argv;
  Environment env;                     ///< added to the driver's own environment
  std::vector<LaunchFile> files = {};  ///< written before the start; arguments name them as `{files}/<name>`
};

/// What a launcher reported when it ended: parsed from its output and its exit status (128+N for signal N).
struct LauncherNotice {
  std::optional<int> rank;         ///< rank that died first, where the launcher reports it
  std::optional<int> pid;          ///< of that rank's process on its node, where the launcher reports it
  std::string node;                ///< its node, where the launcher reports it
  std::optional<int> signal;       ///< that ended it
  std::optional<int> exit_status;  ///< that it exited with
  /// Ranks of the node of the first one that died, which was killed and is one of them, or exited and is not (Intel
  /// MPI).
  std::vector<int> killed;
  /// Ranks that ended because their connection to another rank was closed (Open MPI 5).
  std::vector<int> lost_a_peer;
  std::string sentence;          ///< why the launch failed as a whole, without a full stop; empty: unknown
  std::string remedy;            ///< what to do about it; empty: unknown
  bool is_about_a_node = false;  ///< the sentence is, whether the launcher reports its name or not
  bool is_first_cause = false;   ///< the sentence is why every rank ended, whatever ranks left behind (job cancelled)
};

/// How a person writes a binding into a line of this launcher, for remedies. Each is required.
struct BindWords {
  std::string_view cores = {};        ///< binds each rank to cores of its own: `srun --cpu-bind=cores`
  std::string_view whole_cores = {};  ///< likewise, no two ranks on hardware threads of one core
  std::string_view width = {};        ///< likewise, `{}` cores for each rank
  std::string_view unbound = {};      ///< binds no rank
  std::string_view local_rank = {};   ///< variable with a rank's number on its node: `SLURM_LOCALID`
  /// Binds the ranks `numbers` of node `host` to the masks of `binding`: `srun --cpu-bind=mask_cpu:0xfe,0xfe00`.
  std::string (*masks)(const JobBinding& binding, std::span<const int> numbers, std::string_view host) = nullptr;
};

struct LauncherSpec {
  std::string_view name;
  std::string_view summary;
  int most_ranks = 0;                    ///< 0: any number
  bool needs_allocation = false;         ///< it starts ranks on nodes that its scheduler has granted
  bool selects_gpus = false;             ///< it has an option that gives each rank its GPU
  bool reads_handshakes_in_turn = true;  ///< a caller that sends half of one makes others wait
  /// What it reads on standard input goes to rank 0 and to no other node. True where that is not so: each launch over
  /// several nodes is refused, as the key of rank 0 is missing.
  bool gives_input_to_rank_0 = false;
  std::string_view program;                    ///< looked up on PATH; empty: no launcher program is needed
  std::span<const std::string_view> ask = {};  ///< arguments that make it print its version; empty: none
  /// From what it printed when asked. Fails with kind `launch` when it is none that muster knows.
  Result<LauncherIdentity> (*identify)(std::string_view path, std::string_view printed) = nullptr;
  /// `options` come from -J and the profile and go to the launcher as they are; what they choose is not chosen again.
  LaunchCommand (*command)(const LauncherIdentity&, const JobShape&, const AgentCommand&,
                           const Argv& options) = nullptr;
  /// Variables of the driver's environment that the program must not see, neither for a launch nor to reach a node.
  std::span<const std::string_view> hidden_variables = {};
  /// Why no command of this launcher starts ranks on exactly the nodes of `shape`, a sentence without a full stop;
  /// empty: one does. nullptr: it starts them on any nodes.
  std::string (*cannot_place)(const JobShape&) = nullptr;
  /// Options that give variables of these names to all ranks, for a line that muster did not make; nullptr: it passes
  /// on its whole environment.
  Argv (*pass_on)(const LauncherIdentity&, const Environment& variables) = nullptr;
  /// Which part binds ranks as `shape` asks; nullptr: always the agent. For the kinds cores and none only whether
  /// `options` do.
  Binder (*binder)(const LauncherIdentity&, const JobShape&, const Argv& options) = nullptr;
  /// How `options` have it give each rank its GPU (`closest` of srun's --gpu-bind); empty: they don't. nullptr: it has
  /// no such option.
  std::string (*gpu_choice)(const Argv& options) = nullptr;
  /// Required for more than one rank. `mpirun` has those of Open MPI, `mpiexec` those of Hydra.
  const BindWords* words = nullptr;
  /// `text`: its standard error, and behind it what it wrote to standard output (Hydra's notices are there).
  LauncherNotice (*read_notice)(const LauncherIdentity&, std::string_view text, int status) = nullptr;
  /// Why a launch of `argv` ended with an error before any rank was there and without a message: what is known to end
  /// so. Sentence and remedy; both empty: nothing in `argv` is. nullptr: likewise.
  LauncherNotice (*explain_silence)(const Argv& argv) = nullptr;
  /// Name of the folder that it makes on `host` for this user, where other users can predict it; empty: they can't.
  /// nullptr: likewise.
  std::string (*session_folder)(const LauncherIdentity&, std::string_view host, unsigned user) = nullptr;
  /// The first of these variables that is set names the folder in which it makes that one; none is: /tmp.
  std::span<const std::string_view> session_folder_variables = {};
  /// argv that runs `command` on another node beside a running launch (autopsy), for at most a few seconds. nullptr: it
  /// starts ranks on this node only.
  Argv (*reach)(const LauncherIdentity&, std::string_view node, const Argv& command, const Argv& options) = nullptr;
  /// The same on all of `nodes` at once, where each by itself would be a burden; nullptr: there is no such way. A node
  /// that is not there may keep the others from answering: then they are reached one by one. The launcher must begin
  /// each line of their output with `N: `, the number of the task: a node could sign with the name of another one.
  Argv (*reach_all)(const LauncherIdentity&, std::span<const std::string> nodes, const Argv& command,
                    const Argv& options) = nullptr;
  /// In which a command that reach_all started finds the node's name, as given in `nodes`.
  std::string_view node_variable = {};
};

/// As LauncherSpec::binder, for any launcher.
[[nodiscard]] inline Binder binder_of(const LauncherSpec& launcher, const LauncherIdentity& identity,
                                      const JobShape& shape, const Argv& options) {
  return launcher.binder == nullptr ? Binder::agent : launcher.binder(identity, shape, options);
}

/// Every launcher that was built in, by name. Generated from the folder.
[[nodiscard]] std::span<const LauncherSpec* const> all_launchers();
[[nodiscard]] const LauncherSpec* find_launcher(std::string_view name);

}  // namespace muster
