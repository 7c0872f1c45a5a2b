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

/// A sentence of judgement. `reason` and `remedy` are sentences without a full stop.
/// A verdict other than pass has a reason and a remedy; culprits where anyone can be named.
struct Finding {
  Verdict verdict = Verdict::fail;
  std::string reason;
  std::vector<Culprit> culprits;
  std::string remedy;
  friend bool operator==(const Finding&, const Finding&) = default;
};

}  // namespace muster
