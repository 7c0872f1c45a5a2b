#include <fmt/format.h>

#include "app/selftest/example_plan.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "config/examples.hpp"
#include "config/machines.hpp"
#include "muster/probe.hpp"

namespace muster {

namespace {

std::vector<std::string> names_of(const std::vector<Check>& checks) {
  std::vector<std::string> names;
  for (const Check& check : checks) names.push_back(check.name);
  return names;
}

/// Checks of all files beside those of one folder of examples: one file of several may have been asked for.
std::vector<std::string> names_beside(const std::string& folder) {
  const auto files = find_check_files(std::vector{fs::path(folder).parent_path().string()});
  std::vector<std::string> names;
  Diagnostics theirs;
  for (const fs::path& file : files ? *files : std::vector<fs::path>{})
    if (const auto text = read_file(file, 16u << 20); text && is_check_document(*text))
      for (std::string& name : names_of(parse_checks(*text, file.string(), all_probes(), theirs)))
        names.push_back(std::move(name));
  return names;
}

/// What is wrong with one example beyond its form.
class ExampleLint {
 public:
  ExampleLint(const Example& example, Loaded& loaded) : example_(example), loaded_(loaded) {}

  void look() {
    const auto checks = known_checks();
    const auto machine = machine_of(example_);
    if (!machine) return machine_is_wrong(machine.error());
    look_at_faults(*machine);
    const auto system = profile_of(example_, loaded_.systems);
    if (!system) return complain("system", system.error().what);
    if (checks.empty()) return;
    Site site;
    site.launcher = "mpirun";
    const auto plan = plan_of(example_, checks, *machine, *system, site, loaded_.checks);
    if (!plan) complain(plan.error().where == "-S" ? "settings" : "checks", plan.error().what);
  }

 private:
  void complain(const std::string& key, const std::string& what) {
    const auto place = example_.places.find(key);
    loaded_.diagnostics.errors.push_back(
        {ErrorKind::file, place == example_.places.end() ? example_.place : place->second, what});
  }

  /// Those among the files that were asked for.
  std::vector<std::string> known_checks() {
    const auto known = names_of(loaded_.checks);
    std::vector<std::string> mine;
    for (const std::string& check : example_.checks) {
      if (is_in(check, known)) {
        mine.push_back(check);
        continue;
      }
      auto all = names_beside(example_.folder);
      if (is_in(check, all)) continue;
      all.insert(all.end(), known.begin(), known.end());
      complain("checks", fmt::format("unknown check \"{}\"{}", printable_line(check, 60), suggestion(check, all)));
    }
    return mine;
  }

  /// A mistake in a description has a place of its own.
  void machine_is_wrong(const Error& error) {
    if (error.kind == ErrorKind::file) return loaded_.diagnostics.errors.push_back(error);
    const bool is_name = error.kind == ErrorKind::usage;
    complain("machine", is_name ? fmt::format("unknown machine \"{}\"{}", printable_line(example_.machine, 60),
                                              suggestion(example_.machine, known_machines()))
                                : to_string(error));
  }

  void look_at_faults(const MachineDescription& machine) {
    for (const std::string& text : example_.faults) {
      const auto at = text.find('@');
      if (at != text.npos && !is_in(text.substr(at + 1), example_.hosts))
        complain("faults", fmt::format("\"{}\" is of a node that is not among \"nodes\"; write for example nodes = "
                                       "\"nid[001-002]\"",
                                       printable_line(text, 60)));
      const std::vector<std::string> name{text.substr(0, at)};
      if (const auto one = with_faults(machine, name); !one)
        complain("faults", fmt::format("{} {}", one.error().where, one.error().what));
    }
  }

  const Example& example_;
  Loaded& loaded_;
};

}  // namespace

std::vector<Example> take_examples(const std::vector<std::string>& paths, Loaded& loaded) {
  std::vector<Example> examples;
  for (const fs::path& file : find_example_files(loaded.is_shipped ? std::vector{shipped_checks().string()} : paths)) {
    const auto text = read_file(file, 4u << 20);
    if (!text)
      loaded.diagnostics.errors.push_back(text.error());
    else if (is_system_document(*text))
      loaded.systems.push_back(parse_system(*text, file.string(), loaded.diagnostics));
    else if (is_machine_document(*text))
      (void)parse_machine(*text, file.string(), loaded.diagnostics);
    else
      for (Example& example : parse_examples(*text, file.string(), loaded.diagnostics))
        examples.push_back(std::move(example));
  }
  // A plan of checks or profiles that are wrong themselves would only repeat it.
  if (!loaded.diagnostics.ok()) return examples;
  for (const Example& example : examples) ExampleLint(example, loaded).look();
  return examples;
}

}  // namespace muster
