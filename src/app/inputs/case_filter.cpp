#include "app/inputs/case_filter.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/text.hpp"

namespace muster {

Result<CaseFilter> CaseFilter::make(const std::vector<std::string>& names) {
  SelectOptions select;
  select.names = names;
  auto chooser = Chooser::make(select);
  if (!chooser) return tl::unexpected(chooser.error());
  return CaseFilter(std::move(*chooser), names.empty());
}

bool CaseFilter::is_named(const std::string& check, const std::string& id) {
  if (std::none_of(seen_.begin(), seen_.end(), [&](const Check& one) { return one.name == check; }))
    seen_.emplace_back().name = check;
  return chooser_.is_named(check, id);
}

Result<void> CaseFilter::complain() const {
  return chooser_.complain_unmatched(seen_);
}

void keep_named(PastRun& run, CaseFilter& filter) {
  if (filter.is_everything()) return;
  std::set<std::string> kept;
  // A value is kept under the id without the node of --per-node.
  for (const PastCase& one : run.cases)
    if (filter.is_named(one.check, one.id)) kept.insert({one.id, one.id.substr(0, one.id.find('@'))});
  std::erase_if(run.cases, [&](const PastCase& one) { return kept.count(one.id) == 0; });
  std::erase_if(run.values, [&](const PastValue& value) { return kept.count(value.key.case_id) == 0; });
}

void keep_named(RunReport& report, CaseFilter& filter) {
  if (filter.is_everything()) return;
  const auto all = report.cases.size();
  std::erase_if(report.cases, [&](const CaseResult& one) { return !filter.is_named(one.check, one.id); });
  report.notes.push_back(fmt::format("shows {} of {} by -n; the verdict is that of the whole run", report.cases.size(),
                                     counted(all, "case")));
}

}  // namespace muster
