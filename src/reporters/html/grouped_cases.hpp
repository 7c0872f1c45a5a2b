/// The cases of a run as a page shows them: of a check that ran on many nodes (--per-node), those that are well are
/// one, and those that failed in the same words are one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "muster/report.hpp"

namespace muster::html {

/// One case, or several that are shown as one. Points into the report.
struct CaseGroup {
  const CaseResult* first = nullptr;
  std::vector<const CaseResult*> all;  ///< with the first
  [[nodiscard]] bool is_folded() const { return all.size() > 1; }
};

/// By urgency: the worst verdict first, causes before what follows from them, then as in the report. Linear in the
/// number of cases.
[[nodiscard]] std::vector<CaseGroup> grouped_cases(const RunReport& report);

/// Numbers for names, in the order in which they came.
class Names {
 public:
  int of(std::string_view name);
  /// -1: unknown
  [[nodiscard]] int find(std::string_view name) const;
  [[nodiscard]] const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, int> index_;
};

/// Every node that is named anywhere: those with facts, then those of launches, of rows, of culprits.
[[nodiscard]] Names nodes_of(const RunReport& report);

/// The size limit of a page's part: a part beyond it is omitted, with a note on the page.
class SizeBudget {
 public:
  explicit SizeBudget(std::size_t bytes) : left_(bytes) {}
  /// False, and nothing taken, where there is not as much left.
  bool take(std::size_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

 private:
  std::size_t left_;
};

}  // namespace muster::html
