#include "measure/bind_words.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "device/bind_lines.hpp"
#include "system/rank_launcher.hpp"

namespace muster {

namespace {

std::string intel_masks(const JobBinding& binding, std::span<const int>, std::string_view) {
  std::vector<std::string> masks;
  for (const RankBinding& rank : binding.ranks) masks.push_back(rank.mask);
  return fmt::format("mpiexec -genv I_MPI_PIN_DOMAIN '[{}]'", join(masks, ","));
}

/// Started by the launchers mpirun and mpiexec, and bound by variables alone. `auto` is an equal share of the cores.
constexpr BindWords intel_words{.cores = "mpiexec -genv I_MPI_PIN_DOMAIN auto:compact",
                                .whole_cores = "mpiexec -genv I_MPI_PIN_DOMAIN auto:compact",
                                .width = "mpiexec -genv I_MPI_PIN_DOMAIN auto:compact",
                                .unbound = "mpiexec -genv I_MPI_PIN 0",
                                .local_rank = "MPI_LOCALRANKID",
                                .masks = intel_masks};

const BindWords* words_of(std::string_view launcher) {
  if (launcher == intel_mpi) return &intel_words;
  const LauncherSpec* spec = find_launcher(launcher);
  return spec == nullptr || spec->words == nullptr || spec->words->masks == nullptr ? nullptr : spec->words;
}

}  // namespace

const BindWords& bind_words(std::string_view launcher) {
  const BindWords* words = words_of(launcher);
  return words == nullptr ? *words_of("srun") : *words;
}

std::string option_in_words(std::string_view launcher, std::string_view BindWords::*what) {
  if (const BindWords* words = words_of(launcher)) return std::string(words->*what);
  std::vector<std::string> common;
  for (const char* name : {"srun", "mpirun"})
    if (const BindWords* words = words_of(name)) common.emplace_back(words->*what);
  return join(common, ", ");
}

std::string width_in_words(std::string_view launcher, long cores) {
  std::string text = option_in_words(launcher, &BindWords::width);
  const std::string number = std::to_string(cores);
  for (std::size_t at = 0; (at = text.find("{}", at)) != text.npos; at += number.size()) text.replace(at, 2, number);
  return text;
}

std::string launch_line(std::string_view launcher, const NodeParts& node, const Placement& placement,
                        const std::vector<int>& ranks, std::string_view host) {
  JobBinding binding;
  binding.kind = BindKind::masks;
  for (const RankPlacement& seat : placement.ranks) binding.ranks.push_back(rank_binding(node, seat));
  binding.openmpi_mapping = mpirun_mapping(node, placement);
  return bind_words(launcher).masks(binding, ranks, host);
}

}  // namespace muster
