#include <fmt/format.h>

#include "app/load.hpp"
#include "app/options.hpp"

namespace muster {

int lint_command(const LintOptions& options) {
  const auto loaded = load(options.paths);
  print_errors(loaded.diagnostics.errors);
  if (!loaded.diagnostics.ok()) {
    fmt::print(stderr, "{} error{}\n", loaded.diagnostics.errors.size(),
               loaded.diagnostics.errors.size() == 1 ? "" : "s");
    return exit_usage;
  }
  const auto count = [](std::size_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
  fmt::print("well formed: {}, {} (shipped ones included)\n", count(loaded.checks.size(), "check"),
             count(loaded.systems.size(), "profile"));
  return 0;
}

}  // namespace muster
