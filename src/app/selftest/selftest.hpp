/// Carries out examples: launches ranks on the simulated machine of one, and compares the report with its expectation.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/inputs/load.hpp"
#include "app/inputs/site.hpp"
#include "model/example.hpp"
#include "muster/report.hpp"

namespace muster {

/// What came of one check of one example.
struct ExampleResult {
  const Example* example = nullptr;
  std::string check;
  Verdict verdict = Verdict::unmeasured;
  std::vector<std::string> culprits;  ///< sorted
  std::string reason;                 ///< of a verdict other than pass
  std::string wrong;                  ///< the difference from the example; empty: none
};

/// Examples of one run: on the same machine with the same faults, and about different checks.
struct SharedRun {
  std::vector<const Example*> examples;
  std::vector<std::string> checks;  ///< those of them that are wanted
};

/// Whether both can be shown in one run.
[[nodiscard]] bool can_share(const Example& one, const Example& other);

class Selftest {
 public:
  /// `folder` is there and empty. Fails with kind `launch` when nothing can be started here, with kind `usage` for an
  /// unknown launcher.
  [[nodiscard]] static Result<Selftest> open(const std::string& launcher, const std::string& agent, fs::path folder);

  /// Starts ranks for each of the runs, some runs at once, and leaves what came of run i in the folder i + 1. The
  /// signal in the list that ended it; 0: none.
  [[nodiscard]] int carry_out(const std::vector<SharedRun>& runs, const Loaded& loaded, std::span<const int> heeded);
  /// What came of the run with this index that was carried out. One that could not be is wrong; nothing fails.
  [[nodiscard]] std::vector<ExampleResult> show(const SharedRun& run, std::size_t index) const;

 private:
  [[nodiscard]] Result<void> carry_out(const SharedRun& run, std::size_t index, const Loaded& loaded,
                                       std::span<const int> heeded) const;
  [[nodiscard]] fs::path place_of(std::size_t index) const { return folder_ / std::to_string(index + 1); }
  SiteFound found_;
  LauncherSpec launcher_;
  fs::path folder_;
};

}  // namespace muster
