/// Verdicts and what explains them. See docs/glossary.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

enum class Verdict : std::uint8_t {
  pass,        ///< measured, inside the bound, with evidence; never the default
  fail,        ///< the machine did not do what was asked
  unmeasured,  ///< no sufficient evidence
  error,       ///< muster could not ask
  skip,        ///< does not apply here
};

[[nodiscard]] std::string_view to_string(Verdict verdict);
[[nodiscard]] std::optional<Verdict> parse_verdict(std::string_view text);

/// fail > error > unmeasured > pass; skip is neutral; an empty set is `unmeasured`; only skips: `skip`.
[[nodiscard]] Verdict combine(std::span<const Verdict> verdicts);
[[nodiscard]] Verdict combine(Verdict one, Verdict other);

enum class CulpritKind : std::uint8_t { node, rank, device, link, setting, launcher, file, program };

[[nodiscard]] std::string_view to_string(CulpritKind kind);
[[nodiscard]] std::optional<CulpritKind> parse_culprit_kind(std::string_view text);

/// Who is at fault. `name` is what a person would look for: `rank 5`, `nid003`, `0000:c1:00.0`.
struct Culprit {
  CulpritKind kind = CulpritKind::node;
  std::string name;
  std::string node;  ///< host name, where that is known
  int rank = -1;     ///< where a rank is meant
  friend bool operator==(const Culprit&, const Culprit&) = default;
};

[[nodiscard]] Culprit node_culprit(std::string node);
[[nodiscard]] Culprit rank_culprit(int rank, std::string node);
/// The node that it blames: its own, or that on which it is; empty: unknown.
[[nodiscard]] std::string node_of(const Culprit& culprit);

/// What a finding is about. Later ones can be consequences of earlier ones on the same node: a rank is far from a GPU
/// because another one is missing. docs/bounds-and-verdicts.md has the table.
enum class Subject : std::uint8_t {
  none,        ///< stands for itself: neither explains nor is explained
  node,        ///< the node does not answer
  gpus,        ///< GPUs missing, lost, closed
  nics,        ///< network cards missing, down, slow
  interfaces,  ///< settings that name network interfaces
  masks,       ///< CPUs that ranks may use
  placement,   ///< those CPUs against the rank's GPU
  mapping,     ///< which GPU a rank takes
  nearness,    ///< that GPU against the rank's CPUs
  devices,     ///< what GPUs do with their data, and how fast: copies, memory, products
  memory,      ///< bandwidth of host memory
  transport,   ///< what carries messages
  links,       ///< time between two ranks or nodes
  data,        ///< what a message carried
  collective,  ///< time of operations of all ranks
  sums,        ///< results of operations of all ranks
  training,    ///< what was learnt
};

[[nodiscard]] std::string_view to_string(Subject subject);

/// A sentence of judgement. `reason` and `remedy` are sentences without a full stop.
/// A verdict other than pass has a reason and a remedy; culprits where anyone can be named.
struct Finding {
  Verdict verdict = Verdict::fail;
  std::string reason;
  std::vector<Culprit> culprits;
  std::string remedy;
  Subject subject = Subject::none;
  std::string follows = {};  ///< id of the case whose finding explains this one; set by the frame
  friend bool operator==(const Finding&, const Finding&) = default;
};

/// A sentence that is printed with a case and does not change its verdict.
[[nodiscard]] Finding make_note(std::string sentence);

/// For a judge: the findings from index `first` on are about `subject`, unless they already have a subject.
void set_subject(std::vector<Finding>& findings, std::size_t first, Subject subject);

}  // namespace muster
