// Batch scripts of users: whatever the bytes are, lines are found or not, and each is taken or refused with words fit
// to print.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.hpp"
#include "config/launch_script.hpp"

namespace {

void demand(bool claim) {
  if (!claim) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view script(reinterpret_cast<const char*>(data), size);
  int before = 1;
  for (const auto& command : launch_commands(script, [](std::string_view name) { return name == "srun"; })) {
    demand(command.number >= before && script.find(command.text) != script.npos);
    before = command.number;
    // Patterns would be looked for in folders.
    if (command.text.find_first_of("*?[~") != command.text.npos) continue;
    const auto line = line_of_command(command, {"job.sh", false});
    if (line)
      demand(!line->argv.empty() && !line->left_out.empty());
    else
      demand(line.error().kind == ErrorKind::usage && printable_line(line.error().what, 4000) == line.error().what);
  }
  return 0;
}
