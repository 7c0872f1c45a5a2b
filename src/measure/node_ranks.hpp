/// The ranks of one node as the judges of gpu_mapping see them, and how findings about many nodes become one.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/cpu_mask.hpp"
#include "measure/torchrun.hpp"
#include "muster/probe.hpp"

namespace muster::gpu_mapping {

struct RankView {
  const RankPlace* place = nullptr;
  const Observation* seen = nullptr;
  std::vector<std::string> gpus;                    ///< addresses of those that it could use if no variable hid any
  std::vector<std::string> closed;                  ///< by its control group
  std::vector<std::string> unusable;                ///< lost, without a driver, not to be opened
  std::optional<std::vector<std::string>> visible;  ///< nullopt: unknown
  bool is_explained = false;                        ///< a finding already explains why it has no device of its own

  [[nodiscard]] std::string fact(std::string_view key) const;  ///< printable; empty: none
  [[nodiscard]] bool has(std::string_view key) const { return seen->fact(key) != nullptr; }
  [[nodiscard]] CpuMask cpus(std::string_view key) const;
  /// GPUs of the processes that torchrun starts in its place, where the launch line has one: the first of those that it
  /// sees, one each; else its own. nullopt: not known.
  [[nodiscard]] std::optional<std::vector<std::string>> used() const;
  /// Of torchrun or its like; 0: the line starts none; nullopt: not known.
  [[nodiscard]] std::optional<std::size_t> processes() const;
};

struct NodeRanks {
  std::string host;
  std::vector<RankView> ranks;  ///< by local rank

  [[nodiscard]] bool is_explained() const;
  [[nodiscard]] bool has_fault() const;  ///< in a variable that selects devices
};
using Nodes = std::vector<NodeRanks>;

/// Ranks whose node shows no PCI bus, or whose facts are damaged, become a finding.
[[nodiscard]] Nodes nodes_of(const CaseView& view, std::vector<Finding>& findings);

/// Stands in a sentence for `on nid001, nid002 and 3 more`; no printable text holds it.
inline constexpr char on_nodes = '\x01';

/// The same sentence about several nodes is reported once.
class Tally {
 public:
  struct Sentence {
    std::string reason;
    std::string remedy;
    Verdict verdict = Verdict::fail;
  };
  void add(Sentence sentence, const std::string& host, const std::vector<Culprit>& culprits);
  /// In the order in which the sentences came up first.
  void move_to(std::vector<Finding>& findings);

 private:
  struct Entry {
    Sentence sentence;
    std::vector<std::string> hosts;
    std::vector<Culprit> culprits;
  };
  std::vector<Entry> entries_;
};

[[nodiscard]] Culprit culprit_of(const RankView& rank);
[[nodiscard]] Culprit setting_of(const RankView& rank, std::string_view name);
[[nodiscard]] Culprit culprit_of(const NodeRanks& node);
/// The source that requires GPUs on a node, whose rank reported `facts`: `8 expected by the profile`; empty: none.
[[nodiscard]] std::string wanted_by(const ExpectedNode& promised, const std::vector<Fact>& facts);
/// What the launch line starts in each task; torchrun where it starts none.
[[nodiscard]] const environment::StarterWords& starter_on(const NodeRanks& node);
/// `local rank 3`, `local ranks 0 and 1`, `all 8 ranks`.
[[nodiscard]] std::string subject(const NodeRanks& node, const std::vector<const RankView*>& some);

// In the order in which they are called, causes come before their consequences.
void judge_absence(const CaseView& view, Nodes& nodes, std::vector<Finding>& findings);
void judge_faults(Nodes& nodes, std::vector<Finding>& findings);
void judge_range(Nodes& nodes, std::vector<Finding>& findings);
void judge_sharing(const CaseView& view, Nodes& nodes, std::vector<Finding>& findings);
/// Several on a node that see the same GPUs.
void judge_torchruns(const CaseView& view, Nodes& nodes, std::vector<Finding>& findings);
/// Of torchrun, in tasks that see fewer GPUs.
void judge_processes(Nodes& nodes, std::vector<Finding>& findings);
void judge_idle(const CaseView& view, const Nodes& nodes, std::vector<Finding>& findings);
void judge_unknown(const Nodes& nodes, std::vector<Finding>& findings);
void note_cages(const Nodes& nodes, std::vector<Finding>& findings);
void judge_near(const CaseView& view, const Nodes& nodes, std::vector<Finding>& findings);
void judge_order(const Nodes& nodes, std::vector<Finding>& findings);

/// How many masks lie where their device is.
struct NearTally {
  int near = 0;
  int far = 0;
  int unknown = 0;
};
[[nodiscard]] NearTally near_tally(const Nodes& nodes);

}  // namespace muster::gpu_mapping
