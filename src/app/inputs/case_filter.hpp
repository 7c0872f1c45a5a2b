/// -n of commands that look at finished runs: as `muster run -n` chooses cases.
#pragma once

#include <string>
#include <vector>

#include "history/store.hpp"
#include "muster/result.hpp"
#include "run/case_choice.hpp"

namespace muster {

class CaseFilter {
 public:
  /// No names: every case. Fails with kind `usage` for a bad regular expression.
  [[nodiscard]] static Result<CaseFilter> make(const std::vector<std::string>& names);

  /// Whether the case is one of those. Remembers its check for complain().
  [[nodiscard]] bool is_named(const std::string& check, const std::string& id);
  [[nodiscard]] bool is_everything() const { return is_everything_; }
  /// After all cases were asked: fails with kind `usage` for a name that matched none of them.
  [[nodiscard]] Result<void> complain() const;

 private:
  CaseFilter(Chooser chooser, bool is_everything) : chooser_(std::move(chooser)), is_everything_(is_everything) {}
  Chooser chooser_;
  bool is_everything_;
  std::vector<Check> seen_;
};

/// Leaves those cases of a run, with their values, that `filter` names.
void keep_named(PastRun& run, CaseFilter& filter);
/// Likewise; a note has the number of the remaining ones.
void keep_named(RunReport& report, CaseFilter& filter);

}  // namespace muster
