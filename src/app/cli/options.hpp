/// What several commands take on their command lines, and every command that there is. Only cli*.cpp include this.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/cli/words.hpp"
#include "app/inputs/options.hpp"

namespace muster {

/// --config
void add_config(CLI::App& app, std::vector<std::string>& config);
/// -n, as every command has it.
void add_names(CLI::App& app, std::vector<std::string>& names);
void add_choose(CLI::App& app, ChooseOptions& choose);
void add_site(CLI::App& app, SiteOptions& site);
/// What `run` and `plan` have in common.
void add_run_like(CLI::App& app, RunOptions& run);
void add_reports(CLI::App& app, std::vector<std::string>& reports, std::string& color, bool& quiet);

/// One line per command, in the order of the help: it adds itself, keeps what it was given, and sets `status` when it
/// was called. `words` is the command line as it was given, the program's name first.
struct CommandLine {
  CLI::App& root;
  int& status;
  const Argv& words;
};
void add_run(CommandLine line);
void add_plan(CommandLine line);
void add_list(CommandLine line);
void add_lint(CommandLine line);
void add_show(CommandLine line);
void add_doctor(CommandLine line);
void add_machine(CommandLine line);
void add_bind(CommandLine line);
void add_init(CommandLine line);
void add_gate(CommandLine line);
void add_selftest(CommandLine line);
void add_node(CommandLine line);
void add_history(CommandLine line);
void add_compare(CommandLine line);
void add_manual(CommandLine line);
void add_complete(CommandLine line);

/// The description of a command, without hidden parts. `above` are its parent commands.
[[nodiscard]] CommandWords words_of(const CLI::App& app, const std::string& above = {});

}  // namespace muster
