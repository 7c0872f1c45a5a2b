#include "launchers/retarget/retarget.hpp"

#include <array>
#include <fmt/format.h>

#include "base/hostlist.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "model/launcher_words.hpp"

namespace muster {

namespace {

/// The options of a launcher, as far as one has to know them to find where the user's program begins.
struct Grammar {
  std::span<const std::string_view> alone;    ///< long names without a value
  std::span<const std::string_view> doubles;  ///< with two
  std::string_view short_alone;               ///< letters without a value; may stand together
  bool has_long_with_one_dash = false;
};

// srun of Slurm 22.05 to 24.11, by its --help.
constexpr std::array<std::string_view, 34> srun_alone{"allocate",
                                                      "contiguous",
                                                      "debugger-test",
                                                      "disable-status",
                                                      "exact",
                                                      "exclusive",
                                                      "external",
                                                      "force",
                                                      "help",
                                                      "hold",
                                                      "immediate",
                                                      "interactive",
                                                      "kill-on-bad-exit",
                                                      "label",
                                                      "multi-prog",
                                                      "nice",
                                                      "no-allocate",
                                                      "no-kill",
                                                      "no-requeue",
                                                      "overcommit",
                                                      "overlap",
                                                      "oversubscribe",
                                                      "preserve-env",
                                                      "propagate",
                                                      "pty",
                                                      "quiet",
                                                      "quit-on-interrupt",
                                                      "reboot",
                                                      "spread-job",
                                                      "unbuffered",
                                                      "usage",
                                                      "use-min-nodes",
                                                      "verbose",
                                                      "whole"};
constexpr Grammar srun_grammar{srun_alone, {}, "AEHIKOQXZhklqsuvV", false};

// flux-run(1) of flux-core 0.57.
constexpr std::array<std::string_view, 8> flux_alone{"debug",    "dry-run",    "exclusive", "help",
                                                     "label-io", "unbuffered", "verbose",   "wait"};
constexpr Grammar flux_grammar{flux_alone, {}, "hluvx", false};

// Open MPI 4 and 5, MPICH's Hydra; by their --help.
constexpr std::array<std::string_view, 46> mpirun_alone{"allow-run-as-root",
                                                        "bind-to-core",
                                                        "bind-to-none",
                                                        "bind-to-socket",
                                                        "bynode",
                                                        "byslot",
                                                        "continuous",
                                                        "d",
                                                        "debug",
                                                        "debug-daemons",
                                                        "disable-auto-cleanup",
                                                        "disable-recovery",
                                                        "display-allocation",
                                                        "display-devel-map",
                                                        "display-map",
                                                        "display-topo",
                                                        "do-not-resolve",
                                                        "enable-recovery",
                                                        "envall",
                                                        "envnone",
                                                        "forward-signals",
                                                        "genvall",
                                                        "genvnone",
                                                        "get-stack-traces",
                                                        "l",
                                                        "leave-session-attached",
                                                        "merge-stderr-to-stdout",
                                                        "nolocal",
                                                        "nooversubscribe",
                                                        "noprefix",
                                                        "novm",
                                                        "oversubscribe",
                                                        "pernode",
                                                        "prepend-rank",
                                                        "print-all-exitcodes",
                                                        "print-rank-map",
                                                        "q",
                                                        "quiet",
                                                        "report-bindings",
                                                        "report-child-jobs-separately",
                                                        "show-progress",
                                                        "tag-output",
                                                        "timestamp-output",
                                                        "v",
                                                        "verbose",
                                                        "xml"};
constexpr std::array<std::string_view, 7> mpirun_doubles{"mca", "gmca", "env", "genv", "prtemca", "pmixmca", "omca"};
constexpr Grammar mpirun_grammar{mpirun_alone, mpirun_doubles, "", true};

struct Option {
  std::string name;  ///< without dashes
  std::string value;
};

/// Options in front of the program.
class Options {
 public:
  Options(const Argv& command, const Grammar& grammar) : command_(command), grammar_(grammar) {
    for (at_ = 1; at_ < command.size() && is_option(command[at_]); ++at_) {
      const std::string_view word = command[at_];
      if (word == "--") break;
      const bool is_long = grammar.has_long_with_one_dash || word.substr(0, 2) == "--";
      is_long ? take_long(word) : take_short(word.substr(1));
    }
  }

  /// The last one of those names.
  [[nodiscard]] const Option* find(std::initializer_list<std::string_view> names) const {
    for (auto option = all_.rbegin(); option != all_.rend(); ++option)
      if (is_in(option->name, names)) return &*option;
    return nullptr;
  }

 private:
  static bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-'; }

  /// A value never looks like an option: then the option had none after all.
  std::string next_value() {
    if (at_ + 1 >= command_.size() || is_option(command_[at_ + 1])) return {};
    return command_[++at_];
  }

  void take_long(std::string_view word) {
    word.remove_prefix(word.substr(0, 2) == "--" ? 2 : 1);
    const auto equals = word.find('=');
    Option option{std::string(word.substr(0, equals)), {}};
    if (equals != word.npos) {
      option.value = word.substr(equals + 1);
    } else if (!is_in(option.name, grammar_.alone)) {
      option.value = next_value();
      if (is_in(option.name, grammar_.doubles) && at_ + 1 < command_.size()) ++at_;
    }
    all_.push_back(std::move(option));
  }

  void take_short(std::string_view letters) {
    for (std::size_t i = 0; i < letters.size(); ++i) {
      Option option{std::string(1, letters[i]), {}};
      const bool is_alone = grammar_.short_alone.find(letters[i]) != std::string_view::npos;
      if (!is_alone) option.value = i + 1 < letters.size() ? std::string(letters.substr(i + 1)) : next_value();
      all_.push_back(std::move(option));
      if (!is_alone) return;
    }
  }

  const Argv& command_;
  const Grammar& grammar_;
  std::size_t at_ = 1;
  std::vector<Option> all_;
};

tl::unexpected<Error> refuse(const Argv& command, std::string what) {
  return fail(ErrorKind::usage, printable_line(command.front(), 80), std::move(what));
}

std::string spelt(const Option& option) {
  return (option.name.size() == 1 ? "-" : "--") + printable_line(option.name, 40);
}

/// Of several programs only the first would get the nodes.
bool is_several(const Argv& command) {
  return is_in(":", command);
}

Result<Argv> inserted(const Argv& command, const Argv& words) {
  Argv all = command;
  all.insert(all.begin() + 1, words.begin(), words.end());
  return all;
}

/// Options that choose nodes (`choosing`) or another number of them than `count`.
Result<void> check_nodes(const Argv& command, const Options& options, std::initializer_list<std::string_view> choosing,
                         const std::string& count) {
  if (const auto* own = options.find(choosing))
    return refuse(command, fmt::format("{} chooses nodes, and so does the gate; leave it out", spelt(*own)));
  if (const auto* own = options.find({"nodes", "N"}); own != nullptr && own->value != count)
    return refuse(command,
                  fmt::format("{} {} is another number of nodes than --need {}; leave it out, or make the two alike",
                              spelt(*own), printable_line(own->value, 20), count));
  return {};
}

/// Its options stand behind the word `run`.
Result<Argv> aimed_flux(const Argv& command, const Destination& there) {
  const Argv run(command.begin() + 1, command.end());
  const auto count = std::to_string(there.nodes.size());
  if (auto fits = check_nodes(command, Options(run, flux_grammar), {"requires"}, count); !fits)
    return tl::unexpected(fits.error());
  Argv all = command;
  const Argv words{"--requires=host:" + join(there.nodes, ","), "--nodes=" + count};
  all.insert(all.begin() + 2, words.begin(), words.end());
  return all;
}

Result<Argv> aimed_srun(const Argv& command, const Destination& there) {
  const auto count = std::to_string(there.nodes.size());
  const Options options(command, srun_grammar);
  if (auto fits = check_nodes(command, options, {"nodelist", "w", "exclude", "x", "nodefile", "relative", "r"}, count);
      !fits)
    return tl::unexpected(fits.error());
  if (is_several(command))
    return refuse(command,
                  "its several programs (:) can't be sent to the nodes chosen; write "
                  "--nodelist=$MUSTER_NODELIST for each, in a script");
  return inserted(command, {"--nodelist=" + compress_hostlist(there.nodes), "--nodes=" + count});
}

Result<Argv> aimed_mpirun(const Argv& command, std::string_view flavor, const Destination& there) {
  const Options options(command, mpirun_grammar);
  const bool is_openmpi = flavor == "openmpi";
  const auto* own = options.find({"host", "H", "hostfile", "machinefile", "hosts", "default-hostfile"});
  if (own == nullptr && !is_openmpi) own = options.find({"f"});
  if (own != nullptr)
    return refuse(command, fmt::format("-{} chooses nodes, and so does the gate; leave it out", own->name));
  if (is_several(command))
    return refuse(command,
                  "its several programs (:) can't be sent to the nodes chosen; write "
                  "--hostfile $MUSTER_HOSTFILE for each, in a script");
  return inserted(command, {is_openmpi ? "--hostfile" : "-f", there.host_file});
}

}  // namespace

Starter starter_of(const Argv& command) {
  if (command.empty()) return Starter::other;
  const std::string_view launcher = launcher_of_program(command.front());
  if (launcher == "srun") return Starter::srun;
  if (launcher == "flux") return command.size() > 1 && command[1] == "run" ? Starter::flux : Starter::other;
  return launcher == "mpirun" || launcher == "mpiexec" ? Starter::mpirun : Starter::other;
}

Result<Argv> retargeted(const Argv& command, Starter starter, std::string_view flavor, const Destination& there) {
  switch (starter) {
    case Starter::srun:
      return aimed_srun(command, there);
    case Starter::mpirun:
      return aimed_mpirun(command, flavor, there);
    case Starter::flux:
      return aimed_flux(command, there);
    case Starter::other:
      break;
  }
  return command;
}

}  // namespace muster
