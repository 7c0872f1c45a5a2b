/// Carries out examples: launches ranks that pretend to be on the machine of one, and compares what the check said.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/load.hpp"
#include "app/site.hpp"
#include "model/example.hpp"
#include "muster/report.hpp"

namespace muster {

/// What came of one check of one example.
struct Shown {
  const Example* example = nullptr;
  std::string check;
  Verdict verdict = Verdict::unmeasured;
  std::vector<std::string> culprits;  ///< sorted
  std::string reason;                 ///< of what is no pass
  std::string wrong;                  ///< why it is not as the example says; empty: it is
};

/// Whether both can be shown in one run: on the same machine with the same faults, and no check twice.
[[nodiscard]] bool can_share(const Example& one, const Example& other);

class Selftest {
 public:
  /// `folder` is there and empty. Fails with kind `launch` when nothing can be started here, with kind `usage` for an
  /// unknown launcher.
  [[nodiscard]] static Result<Selftest> open(const std::string& launcher, const std::string& agent, fs::path folder);

  /// Examples on the same machine that are about different checks, of which only `checks` are wanted: in one run. One
  /// that can't be carried out is wrong; nothing fails.
  [[nodiscard]] std::vector<Shown> show(const std::vector<const Example*>& together,
                                        const std::vector<std::string>& checks, const Loaded& loaded);
  [[nodiscard]] const std::string& interrupted() const { return interrupted_; }

 private:
  [[nodiscard]] Result<RunReport> carry_out(const Example& example, const std::vector<std::string>& checks,
                                            const Loaded& loaded);
  SiteFound found_;
  LauncherSpec launcher_;
  fs::path folder_;
  int count_ = 0;
  std::string interrupted_;
};

}  // namespace muster
