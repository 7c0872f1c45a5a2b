#include <fmt/format.h>

#include "app/inputs/load.hpp"
#include "app/inputs/options.hpp"
#include "app/selftest/example_plan.hpp"

namespace muster {

int lint_command(const LintOptions& options) {
  auto loaded = load(options.paths, options.config);
  const auto profiles = loaded.systems.size();
  const auto examples = take_examples(options.paths, loaded);
  print_errors(loaded.diagnostics.errors);
  if (!loaded.diagnostics.ok()) {
    fmt::print(stderr, "{} error{}\n", loaded.diagnostics.errors.size(),
               loaded.diagnostics.errors.size() == 1 ? "" : "s");
    return exit_usage;
  }
  const auto count = [](std::size_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
  fmt::print("well formed: {}, {} (shipped ones and those of the site included){}\n",
             count(loaded.checks.size(), "check"), count(profiles, "profile"),
             examples.empty() ? "" : ", " + count(examples.size(), "example"));
  return 0;
}

}  // namespace muster
