#include "evaluate/training_blame.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.hpp"

namespace muster {

namespace {

/// The cases of one kind that say anything: passed, or failed.
struct Side {
  int passed = 0;
  std::vector<const CaseResult*> failed;

  void add(const CaseResult& result) {
    if (result.verdict == Verdict::pass) ++passed;
    if (result.verdict == Verdict::fail) failed.push_back(&result);
  }
  [[nodiscard]] bool was_judged() const { return passed > 0 || !failed.empty(); }
  [[nodiscard]] std::string names() const {
    std::vector<std::string> all;
    for (const auto* result : failed)
      if (std::find(all.begin(), all.end(), result->check) == all.end()) all.push_back(result->check);
    return fmt::format("{} {}", human_list(all), all.size() == 1 ? "fails" : "fail");
  }
};

/// What the environment's own check found explains more than that a training did not run.
const CaseResult& explaining(const std::vector<const CaseResult*>& failed) {
  const auto own = std::find_if(failed.begin(), failed.end(),
                                [](const CaseResult* result) { return result->check == "torch_environment"; });
  return own == failed.end() ? *failed.front() : **own;
}

}  // namespace

std::optional<std::string> blame_training(const std::vector<CaseResult>& cases) {
  Side native;
  Side torch;
  for (const auto& result : cases) {
    if (result.probe == "training") native.add(result);
    if (std::find(result.tags.begin(), result.tags.end(), "pytorch") != result.tags.end()) torch.add(result);
  }
  if (!native.was_judged() || !torch.was_judged()) return std::nullopt;
  if (!native.failed.empty())
    return fmt::format("training: {} natively: the machine or its fabric is at fault; mend that before PyTorch{}",
                       native.names(), torch.failed.empty() ? ", though it passes" : "");
  if (torch.failed.empty())
    return "training: it works natively and with PyTorch: neither the machine nor the software environment is in the "
           "way";
  const auto& cause = explaining(torch.failed);
  return fmt::format(
      "training: it works natively, {} with PyTorch: the software environment is at fault, not the machine: "
      "{}: {}",
      torch.names(), cause.check, cause.reason);
}

}  // namespace muster
