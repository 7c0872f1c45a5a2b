#include "measure/variables.hpp"

#include <algorithm>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "model/gpu_vendor.hpp"
#include "system/system.hpp"

namespace muster::environment {

namespace {

constexpr std::array<std::string_view, 7> also_own = {"SLURM_JOB_ID",        "SLURM_NETWORK", "SLURM_EXPORT_ENV",
                                                      "TORCHELASTIC_RUN_ID", "SLURM_STEP_ID", "SLURM_GPU_BIND",
                                                      "MUSTER_GPU_BIND"};

// Beyond those that every report has of a node: what decides which libraries a program loads, and PyTorch's own.
constexpr std::array<std::string_view, 5> shared_variables = {"LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH",
                                                              "VIRTUAL_ENV", "CONDA_PREFIX"};
constexpr std::array<std::string_view, 4> shared_prefixes = {"GLOO_", "TORCH_NCCL_", "HSA_", "UCC_"};

// A scheduler's and a launcher's own differ with every rank, and they are judged by name.
constexpr std::array<std::string_view, 6> private_prefixes = {"SLURM_",           "PBS_",        "HYDRA_",
                                                              "MPICH_INTERFACE_", "MPICH_RANK_", "OMPI_MCA_mpi_yield"};
// What a wrapper sets to give each rank a device, a network card or cores of its own.
constexpr std::array<std::string_view, 4> pinning_nics = {"UCX_NET_DEVICES", "NCCL_IB_HCA", "FI_CXI_DEVICE_NAME",
                                                          "FI_OPX_HFI_SELECT"};
constexpr std::array<std::string_view, 5> pinning = {"GOMP_CPU_AFFINITY", "OMP_PLACES", "KMP_AFFINITY",
                                                     "NCCL_DEBUG_FILE", "CUDA_CACHE_PATH"};
// Those that choose network cards by a rule or for all ranks alike, or stripe messages over several.
constexpr std::array<std::string_view, 14> choosing_nics = {"MPICH_OFI_NIC_POLICY",
                                                            "MPICH_OFI_NIC_MAPPING",
                                                            "MPICH_OFI_NUM_NICS",
                                                            "NCCL_SOCKET_IFNAME",
                                                            "NCCL_CROSS_NIC",
                                                            "FI_VERBS_IFACE",
                                                            "FI_TCP_IFACE",
                                                            "FI_SOCKETS_IFACE",
                                                            "FI_DOMAIN",
                                                            "PSM3_NIC",
                                                            "HFI_UNIT",
                                                            "MV2_IBA_HCA",
                                                            "OMPI_MCA_btl_tcp_if_include",
                                                            "OMPI_MCA_btl_openib_if_include"};

template <class List>
bool starts_with_any(const List& prefixes, std::string_view name) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; });
}

bool is_shared(std::string_view name) {
  constexpr std::string_view devices = "_VISIBLE_DEVICES";
  if (name.size() >= devices.size() && name.substr(name.size() - devices.size()) == devices) return false;
  if (looks_secret(name) || pins_to_device(name) || vendor_by_visible_variable(name) != nullptr) return false;
  if (starts_with_any(private_prefixes, name)) return false;
  return is_in(name, shared_variables) || starts_with_any(shared_prefixes, name) || is_wanted_variable(name);
}

template <class Predicate>
Variables only(const Variables& all, Predicate wanted) {
  Variables some;
  for (const auto& [name, value] : all)
    if (wanted(name)) some.emplace(name, value);
  return some;
}

/// As long as a search path may be and still be compared to its end.
std::string harmless(std::string_view value) {
  return printable_line(value, 4096);
}

}  // namespace

bool is_own_variable(std::string_view name) {
  if (is_in(name, torch_variables) || is_in(name, also_own)) return true;
  const auto launchers = launcher_variables();
  return std::any_of(launchers.begin(), launchers.end(), [&](const LauncherVariables& launcher) {
    return name == launcher.rank || name == launcher.world_size || name == launcher.local_rank ||
           name == launcher.local_size;
  });
}

Variables parse_environment(const char* const* environment) {
  Variables all;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    all.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return all;
}

Variables own_variables(const Variables& all) {
  return only(all, [](std::string_view name) { return is_own_variable(name); });
}

Variables shared_variables(const Variables& all) {
  return only(all, [](std::string_view name) { return is_shared(name) && !is_own_variable(name); });
}

bool pins_to_device(std::string_view name) {
  return is_in(name, pinning) || is_in(name, pinning_nics);
}

bool choose_nics(const Variables& all) {
  return std::any_of(all.begin(), all.end(), [](const auto& variable) {
    const auto& [name, value] = variable;
    if (name == "UCX_MAX_RNDV_RAILS") return value != "1";
    return is_in(name, pinning_nics) || is_in(name, choosing_nics);
  });
}

ByteVector encode(const Variables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) {
    text += name;
    text += '\0';
    text += value;
    text += '\0';
  }
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

Variables decode(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::vector<std::string> parts = split(text, '\0');
  Variables variables;
  for (std::size_t at = 0; at + 1 < parts.size(); at += 2) variables.emplace(parts[at], parts[at + 1]);
  return variables;
}

void add_variables(const Variables& variables, std::vector<Fact>& facts) {
  for (const auto& [name, value] : variables) facts.push_back({"env." + printable_line(name), harmless(value)});
}

void add_differences(const Variables& first, const Variables& mine, std::vector<Fact>& facts) {
  for (const auto& [name, value] : mine) {
    const auto other = first.find(name);
    if (other == first.end() || other->second != value)
      facts.push_back({"env." + printable_line(name), harmless(value)});
  }
  for (const auto& [name, value] : first)
    if (mine.find(name) == mine.end()) facts.push_back({"lacks." + printable_line(name), "not set"});
}

}  // namespace muster::environment
