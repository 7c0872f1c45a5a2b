#include "app/help/manual.hpp"

#include <fmt/format.h>
#include <memory>

#include "app/cli/options.hpp"
#include "app/inputs/load.hpp"

namespace muster {

namespace {

struct ManualOptions {
  std::string folder;
  std::string date = "1970-01-01";
};

Result<void> write_pages(const CommandWords& command, const CommandWords& root, const ManualOptions& manual) {
  const auto path = fs::path(manual.folder) / (page_name(command) + ".1");
  auto written = write_file(path, manual_page(command, root, manual.date));
  for (const auto& one : command.commands)
    if (written) written = write_pages(one, root, manual);
  return written;
}

int manual_command(const CLI::App& app, const ManualOptions& manual) {
  const auto root = words_of(app);
  auto written = write_pages(root, root, manual);
  if (written) written = write_file(fs::path(manual.folder) / "muster-rank.1", agent_page(root, manual.date));
  return written ? 0 : usage_error(written.error());
}

}  // namespace

/// For the build, which keeps what it writes; hence not in the help.
void add_manual(CommandLine line) {
  const auto manual = std::make_shared<ManualOptions>();
  auto* app = line.root.add_subcommand("manual", "Write the manual pages of all commands")->group("");
  app->add_option("--folder", manual->folder, "Where to")->type_name("FOLDER")->required();
  app->add_option("--date", manual->date, "Of the pages")->type_name("YYYY-MM-DD");
  app->callback([manual, &root = line.root, &status = line.status] { status = manual_command(root, *manual); });
}

}  // namespace muster
