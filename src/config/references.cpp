#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "base/text.hpp"
#include "base/units.hpp"
#include "config/config.hpp"
#include "config/expectations.hpp"
#include "config/where.hpp"

namespace muster {

namespace {

class ReferenceChecker {
 public:
  ReferenceChecker(const SystemProfile& system, std::span<const Check> checks, Diagnostics& diagnostics)
      : system_(system), checks_(checks), diagnostics_(diagnostics) {}

  [[nodiscard]] const Check* find_check(const ProfileReference& reference) {
    std::vector<std::string> known;
    for (const auto& check : checks_) {
      if (check.name == reference.check) return &check;
      known.push_back(check.name);
    }
    complain(
        reference, "check",
        fmt::format(
            "check \"{}\" is neither among the given files nor one of muster's{}; name the file of the check, too: "
            "muster lint PROFILE CHECKS",
            printable_line(reference.check, 60), suggestion(reference.check, known)));
    return nullptr;
  }

  void hold(const ProfileReference& reference, const Check& check, const ProbeSpec& probe) {
    for (const auto& [key, wanted] : reference.where) {
      auto text = wanted;
      if (const auto fault = settle_where(check, probe, key, text))
        complain(reference, (fault->is_key ? "where key " : "where value ") + key, fault->what);
    }
    const auto unit = unit_of_metric(check, probe, reference.metric);
    if (!unit)
      return complain(reference, "metric",
                      fmt::format("check {} has no metric \"{}\"{}", check.name, printable_line(reference.metric, 60),
                                  metric_suggestion(check, probe, reference.metric)));
    if (!unit_factor(reference.reference.unit, *unit))
      complain(reference, "unit",
               fmt::format("\"{}\" can't be converted to {}, the unit of {}", reference.reference.unit, *unit,
                           reference.metric));
    const bool is_used = std::any_of(check.expects.begin(), check.expects.end(), [&](const Expectation& expectation) {
      return expectation.profile_reference && expectation.metric == reference.metric;
    });
    if (!is_used)
      complain(reference, "metric",
               fmt::format("check {} never uses this: no [[check.{}.expect]] of {} has reference = \"profile\"",
                           check.name, check.name, reference.metric));
  }

 private:
  void complain(const ProfileReference& reference, const std::string& part, std::string what) {
    const auto found = system_.places.find(reference.reference.place + " " + part);
    diagnostics_.errors.push_back({ErrorKind::file,
                                   found == system_.places.end() ? reference.reference.place : found->second,
                                   printable_line(what, 1000)});
  }

  const SystemProfile& system_;
  std::span<const Check> checks_;
  Diagnostics& diagnostics_;
};

}  // namespace

void check_references(const SystemProfile& system, std::span<const Check> checks,
                      std::span<const ProbeSpec* const> probes, Diagnostics& diagnostics) {
  ReferenceChecker checker(system, checks, diagnostics);
  std::set<std::string> seen;  // a partition that is like another one has its references too
  for (const auto& partition : system.partitions)
    for (const auto& reference : partition.references) {
      if (!seen.insert(reference.reference.place).second) continue;
      const auto* check = checker.find_check(reference);
      if (check == nullptr) continue;
      const auto probe =
          std::find_if(probes.begin(), probes.end(), [&](const ProbeSpec* one) { return one->name == check->probe; });
      if (probe != probes.end()) checker.hold(reference, *check, **probe);
    }
}

}  // namespace muster
