#include "evaluate/training_blame.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "base/lists.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

bool has_tag(const CaseResult& result, std::string_view tag) {
  return is_in(tag, result.tags);
}

/// What the user asked for is to be changed, or a file that the user named: neither machine nor software is at fault.
bool is_of_parameters(const CaseResult& result) {
  return std::any_of(result.culprits.begin(), result.culprits.end(), [](const Culprit& culprit) {
    return culprit.kind == CulpritKind::setting || culprit.kind == CulpritKind::file;
  });
}

/// The cases of one kind.
struct Side {
  int passed = 0;
  bool is_open = false;  ///< some could not be asked, gave no evidence, or failed through their parameters
  std::vector<const CaseResult*> failed;

  void add(const CaseResult& result) {
    const bool has_failed = result.verdict == Verdict::fail && !is_of_parameters(result);
    if (result.verdict == Verdict::pass) ++passed;
    if (has_failed) failed.push_back(&result);
    is_open = is_open || (result.verdict != Verdict::pass && result.verdict != Verdict::skip && !has_failed);
  }
  [[nodiscard]] bool works() const { return passed > 0 && failed.empty() && !is_open; }
  [[nodiscard]] std::string names() const {
    std::vector<std::string> all;
    for (const auto* result : failed)
      if (!is_in(result->check, all)) all.push_back(result->check);
    return fmt::format("{} {}", human_list(all), all.size() == 1 ? "fails" : "fail");
  }
};

/// A check of the environment explains more than a training that did not run.
const CaseResult& explaining(const std::vector<const CaseResult*>& failed) {
  const auto own = std::find_if(failed.begin(), failed.end(),
                                [](const CaseResult* result) { return has_tag(*result, "environment"); });
  return own == failed.end() ? *failed.front() : **own;
}

}  // namespace

std::optional<std::string> blame_training(const std::vector<CaseResult>& cases) {
  Side native;
  Side trained;
  Side torch;
  for (const auto& result : cases) {
    const bool has_torch = has_tag(result, "pytorch");
    if (has_torch) torch.add(result);
    if (has_tag(result, "training")) (has_torch ? trained : native).add(result);
  }
  if (!native.failed.empty() && (trained.passed > 0 || !trained.failed.empty()))
    return fmt::format("training: {} natively: the machine or its fabric is at fault; repair that before PyTorch{}",
                       native.names(), torch.works() ? ", though it passes" : "");
  if (!native.works()) return std::nullopt;
  if (trained.works() && torch.works())
    return "training: it works natively and with PyTorch: neither the machine nor the software environment is in the "
           "way";
  if (trained.failed.empty()) return std::nullopt;
  const auto& cause = explaining(torch.failed);
  return fmt::format(
      "training: it works natively, {} with PyTorch: the software environment is at fault, not the machine: {}: {}",
      torch.names(), cause.check, cause.reason);
}

}  // namespace muster
