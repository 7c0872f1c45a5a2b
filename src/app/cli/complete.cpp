#include "app/help/complete.hpp"

#include <fmt/format.h>
#include <memory>

#include "app/cli/options.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

/// A candidate a line, behind a tab what it means; lines that begin with a colon are for the shell.
int complete_command(const CLI::App& app, const std::vector<std::string>& marked) {
  std::vector<std::string> given;
  // The first is the program.
  for (std::size_t i = 1; i < marked.size(); ++i) given.push_back(marked[i].substr(1));
  const auto root = words_of(app);
  const auto found = complete(find_cursor(root, given));
  if (found.has_files) fmt::print(":files\n");
  if (found.has_folders) fmt::print(":folders\n");
  if (found.goes_on) fmt::print(":goes_on\n");
  for (const auto& one : found.candidates)
    fmt::print("{}\t{}\n", printable_line(one.text), printable_line(one.help, 100));
  return 0;
}

}  // namespace

/// For shells (packaging/completion/), which put an equals sign before each word: so none is empty, and none an option.
void add_complete(CommandLine line) {
  const auto words = std::make_shared<std::vector<std::string>>();
  auto* app = line.root.add_subcommand("complete", "Print completions of the last word")->group("");
  app->add_option("words", *words, "The command line up to the cursor, = before each word")->type_name("=WORD");
  app->callback([words, &root = line.root, &status = line.status] { status = complete_command(root, *words); });
}

}  // namespace muster
