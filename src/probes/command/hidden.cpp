#include "probes/command/hidden.hpp"

#include <string_view>

#include "model/launcher_words.hpp"

extern char** environ;

namespace muster::program {

std::vector<std::string> hidden_from(const std::string& program) {
  std::vector<std::string> names{"MUSTER_KEY", "MUSTER_WIRE"};
  const bool is_launcher = !launcher_of_program(program).empty();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    // Open MPI's own settings (OMPI_MCA_btl) and Slurm's about the job stay.
    if (variable.starts_with("TORCHELASTIC_") || (is_launcher && is_set_for_rank(variable)))
      names.emplace_back(variable.substr(0, variable.find('=')));
  }
  return names;
}

}  // namespace muster::program
