#include "app/inputs/checks_here.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "app/binding/scheduler_gpus.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "muster/probe.hpp"
#include "run/select.hpp"
#include "system/python.hpp"

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

/// Of this node; most checks that need a Python need the same one.
class Pythons {
 public:
  /// Empty: the case needs none, or there is one with its modules.
  std::string lack(const Case& item) {
    if (item.probe != "command" || !item.params.has("argv")) return {};
    const auto argv = item.params.texts("argv");
    if (!is_in("{python}", argv)) return {};
    const auto named = item.params.text("python");
    const auto modules = item.params.texts("imports");
    const auto [place, is_new] = found_.try_emplace({named, modules});
    if (is_new) place->second = find_interpreter(named, modules).lack;
    return place->second;
  }

 private:
  std::map<std::pair<std::string, std::vector<std::string>>, std::string> found_;
};

/// Empty: it could run.
std::string why_not(const Case& item, const SiteFound& site, Pythons& pythons) {
  if (site.no_launch) return to_string(*site.no_launch);
  if (!item.unable.empty()) return item.unable.front().reason;
  if (is_about_gpus(item) && site.site.gpus == 0) return "this node shows no GPU";
  if (lacks_reference(item)) return "the profile has no reference for it";
  if (const auto program = missing_program(item); !program.empty()) return fmt::format("{} is not on PATH", program);
  return pythons.lack(item);
}

}  // namespace

Result<ChecksHere> checks_here(const Loaded& loaded, const SystemProfile& system, const SiteFound& site) {
  const auto plan = make_plan(loaded.checks, system, SelectOptions{}, site.site, all_probes());
  if (!plan) return tl::unexpected(plan.error());
  ChecksHere here;
  Pythons pythons;
  for (const auto& check : loaded.checks) {
    std::string why;
    bool is_able = false;
    for (const auto& item : plan->cases) {
      if (item.check != check.name) continue;
      why = why_not(item, site, pythons);
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
