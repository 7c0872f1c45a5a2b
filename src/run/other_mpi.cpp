#include "run/other_mpi.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>

#include "base/text.hpp"

namespace muster {

namespace {

enum class MpiKind { unknown, openmpi, intel, mvapich, cray, mpich };

struct NamedKind {
  std::string_view part;
  MpiKind kind;
};

// Parts of the texts of MPI_Get_library_version and mpi_built_for; names that hold others come first.
constexpr std::array named_kinds{
    NamedKind{"Open MPI", MpiKind::openmpi}, NamedKind{"Intel(R) MPI", MpiKind::intel},
    NamedKind{"Intel MPI", MpiKind::intel},  NamedKind{"MVAPICH", MpiKind::mvapich},
    NamedKind{"CRAY MPICH", MpiKind::cray},  NamedKind{"Cray MPICH", MpiKind::cray},
    NamedKind{"MPICH", MpiKind::mpich},
};

struct MpiIdentity {
  MpiKind kind = MpiKind::unknown;
  std::string major;
};

MpiIdentity identify(std::string_view text) {
  for (const NamedKind& named : named_kinds) {
    const std::size_t at = text.find(named.part);
    if (at == text.npos) continue;
    const std::size_t begin = std::min(text.find_first_of("0123456789", at), text.size());
    const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
    return {named.kind, std::string(text.substr(begin, end - begin))};
  }
  return {};
}

bool is_served_by(const MpiIdentity& built, const MpiIdentity& found) {
  if (built.kind == MpiKind::unknown || found.kind == MpiKind::unknown) return true;
  if (built.kind == MpiKind::mpich && found.kind == MpiKind::cray) return true;
  return built.kind == found.kind && (built.kind != MpiKind::openmpi || built.major == found.major);
}

}  // namespace

std::string other_mpi(std::string_view built_for, std::string_view found) {
  if (is_served_by(identify(built_for), identify(found))) return {};
  return fmt::format("built for {}, and {}{}", printable_line(built_for, 60), finds_another_mpi,
                     printable_line(found, 120));
}

std::string other_launcher(std::string_view built_for, std::string_view launcher) {
  if (launcher != "MPICH" || identify(built_for).kind != MpiKind::openmpi) return {};
  return fmt::format("built for {}, and {}{}", printable_line(built_for, 60), started_by_another_mpi, launcher);
}

}  // namespace muster
