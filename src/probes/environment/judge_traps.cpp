// Settings that are known to hang, crash or slow down jobs where they stand. docs/methods/environment.md has the list.
#include <algorithm>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "measure/network.hpp"
#include "probes/environment/case_view.hpp"

namespace muster::environment {

namespace {

/// A rank together with what its node has.
struct Place {
  const EnvironmentView& seen;
  const SeenRank& rank;
  bool is_slingshot;  ///< interfaces hsn*, or the cxi provider was asked for

  [[nodiscard]] std::string value(std::string_view name) const { return seen.variable(rank, name).value_or(""); }
  [[nodiscard]] bool has(std::string_view name) const { return seen.variable(rank, name).has_value(); }
};

struct Trap {
  std::string_view variable;
  bool is_fault;  ///< else it is a note
  bool (*is_in)(const Place&);
  std::string_view what;
  std::string_view remedy;
};

constexpr Trap traps[] = {
    {"FI_MR_CACHE_MONITOR", true,
     [](const Place& at) { return at.is_slingshot && at.value("FI_MR_CACHE_MONITOR") == "memhooks"; },
     "is known to deadlock in the middle of a run on Slingshot", "export FI_MR_CACHE_MONITOR=kdreg2 (or userfaultfd)"},
    {"FI_CXI_RDZV_PROTO", true,
     [](const Place& at) {
       return at.value("FI_CXI_RDZV_PROTO") == "alt_read" && at.has("SLURM_JOB_ID") &&
              at.value("SLURM_NETWORK").find("disable_rdzv_get") == std::string::npos;
     },
     "needs a job with disable_rdzv_get, which this one was not asked to be",
     "add --network=disable_rdzv_get to sbatch and srun, or unset FI_CXI_RDZV_PROTO"},
    {"NCCL_NET", false,
     [](const Place& at) {
       return at.is_slingshot && at.seen.node_count() == 1 && at.has("NCCL_NET") && at.value("NCCL_NET") != "Socket";
     },
     "forces a network on a job of one node, where its plugin may find none", ""},
    {"NCCL_NET_GDR_LEVEL", false,
     [](const Place& at) {
       return at.is_slingshot && is_in(at.value("NCCL_NET_GDR_LEVEL"), {"LOC", "PIX", "PXB", "0", "1", "2"});
     },
     "keeps network cards from reading GPU memory: expect about three quarters of the bandwidth; use PHB", ""},
    {"MPICH_GPU_SUPPORT_ENABLED", false, [](const Place& at) { return at.value("MPICH_GPU_SUPPORT_ENABLED") == "1"; },
     "can deadlock where a program uses GPU-aware MPI and NCCL at the same time", ""},
    {"SLURM_EXPORT_ENV", false, [](const Place& at) { return at.value("SLURM_EXPORT_ENV") == "NONE"; },
     "makes srun start tasks without the variables and modules of this shell; unset SLURM_EXPORT_ENV", ""},
};

std::vector<InterfaceAddress> interfaces_of(const EnvironmentView& seen, int node_index) {
  const SeenRank* speaker = seen.speaker(node_index, "interfaces");
  return speaker == nullptr ? std::vector<InterfaceAddress>{} : parse_interfaces(*speaker->fact("interfaces"));
}

std::vector<Place> places_of(const EnvironmentView& seen) {
  std::vector<Place> places;
  std::map<int, std::vector<InterfaceAddress>> known;
  for (const SeenRank* rank : seen.ranks()) {
    const int node = rank->place->node_index;
    auto [at, is_new] = known.try_emplace(node);
    if (is_new) at->second = interfaces_of(seen, node);
    const bool has_hsn = std::any_of(at->second.begin(), at->second.end(),
                                     [](const InterfaceAddress& one) { return one.name.substr(0, 3) == "hsn"; });
    const bool asks_cxi = seen.variable(*rank, "FI_PROVIDER").value_or("").find("cxi") != std::string::npos;
    places.push_back({seen, *rank, has_hsn || asks_cxi});
  }
  return places;
}

}  // namespace

void judge_traps(const EnvironmentView& seen, ProbeJudgement& judgement) {
  const std::string& mode = seen.params().text("traps");
  if (mode == "ignored") return;
  const std::vector<Place> places = places_of(seen);
  ProbeJudgement found;
  for (const Trap& trap : traps) {
    RankList caught;
    for (const Place& at : places)
      if (trap.is_in(at)) caught.push_back(&at.rank);
    if (caught.empty() || breaks_profile(seen, trap.variable)) continue;
    std::string reason =
        fmt::format("{}={} on {} {}", trap.variable, printable_line(*seen.variable(*caught.front(), trap.variable), 80),
                    seen.describe(caught), trap.what);
    found.findings.push_back(trap.is_fault
                                 ? seen.about(trap.variable, caught, std::move(reason), std::string(trap.remedy))
                                 : make_note(std::move(reason)));
  }
  for (Finding& finding : found.findings) {
    if (mode == "noted") finding = make_note(std::move(finding.reason));
    judgement.findings.push_back(std::move(finding));
  }
}

}  // namespace muster::environment
