// Check files and profiles: whatever the bytes are, they are read or refused with a place.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/config.hpp"
#include "config/machines.hpp"

using namespace muster;

namespace {

void insist(bool claim) {
  if (!claim) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Diagnostics of_checks;
  const auto checks = parse_checks(text, "f.toml", all_probes(), of_checks);
  insist(!checks.empty() || !of_checks.ok());
  Diagnostics of_system;
  const auto system = parse_system(text, "f.toml", of_system);
  insist(!of_system.ok() || (!system.name.empty() && !system.partitions.empty()));
  insist(!of_checks.ok() || !of_system.ok() || (is_system_document(text) && is_check_document(text)));
  if (is_system_document(text)) check_references(system, checks, all_probes(), of_system);
  Diagnostics of_machine;
  const auto machine = parse_machine(text, "f.toml", of_machine);
  insist(!of_machine.ok() || (!machine.name.empty() && machine.cores > 0 && !machine.domains.empty()));
  for (const auto* diagnostics : {&of_checks, &of_system, &of_machine})
    for (const auto& error : diagnostics->errors)
      insist(error.where.substr(0, 7) == "f.toml:" && !error.what.empty() &&
             error.what.find('\n') == std::string::npos);
  return 0;
}
