#include "app/checks_here.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "app/scheduler_gpus.hpp"
#include "base/text.hpp"
#include "muster/probe.hpp"
#include "run/select.hpp"

namespace muster {

namespace {

/// Judged by the profile alone, which has no reference for it.
bool lacks_reference(const Case& item) {
  const auto is_profile = [](const Expectation& one) {
    return one.profile_reference && !one.limit && !one.peers && !one.reference;
  };
  return item.references.empty() && !item.expects.empty() &&
         std::all_of(item.expects.begin(), item.expects.end(), is_profile);
}

/// Of a case that starts a program by its name alone; empty: it is there, or it is known on the nodes only.
std::string missing_program(const Case& item) {
  if (item.probe != "command" || !item.params.has("argv")) return {};
  const auto argv = item.params.texts("argv");
  const bool is_name = !argv.empty() && argv[0].find_first_of("/{$") == std::string::npos;
  return is_name && find_program(argv[0]).empty() ? argv[0] : std::string();
}

/// Empty: it could run.
std::string why_not(const Case& item, const SiteFound& site) {
  if (site.no_launch) return to_string(*site.no_launch);
  if (!item.unable.empty()) return item.unable.front().reason;
  if (is_about_gpus(item) && site.site.gpus == 0) return "this node shows no GPU";
  if (lacks_reference(item)) return "the profile has no reference for it";
  if (const auto program = missing_program(item); !program.empty()) return fmt::format("{} is not on PATH", program);
  return {};
}

}  // namespace

Result<ChecksHere> checks_here(const Loaded& loaded, const SystemProfile& system, const SiteFound& site) {
  const auto plan = make_plan(loaded.checks, system, SelectOptions{}, site.site, all_probes());
  if (!plan) return tl::unexpected(plan.error());
  ChecksHere here;
  for (const auto& check : loaded.checks) {
    std::string why;
    bool is_able = false;
    for (const auto& item : plan->cases) {
      if (item.check != check.name) continue;
      why = why_not(item, site);
      is_able = is_able || why.empty();
    }
    if (is_able)
      here.able.push_back(check.name);
    else
      here.unable[why].push_back(check.name);
  }
  return here;
}

}  // namespace muster
