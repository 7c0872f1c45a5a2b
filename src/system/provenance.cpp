#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <string_view>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <vector>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/files.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "model/gpu_vendor.hpp"
#include "system/system.hpp"
#include "system/this_machine.hpp"

extern char** environ;

namespace muster {

namespace {

// What changes how ranks are placed, how they talk and which devices they see. Everything else stays private.
constexpr std::array prefixes = {"OMP_", "NCCL_", "RCCL_",  "MPICH_", "OMPI_MCA_", "PRTE_MCA_",
                                 "UCX_", "FI_",   "SLURM_", "PBS_",   "HYDRA_",    "GOMP_",
                                 "KMP_", "CUDA_", "HIP_",   "ROCR_",  "ZE_"};
constexpr std::array suffixes = {"_VISIBLE_DEVICES"};
constexpr std::array secrets = {"SECRET", "TOKEN", "KEY", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH", "COOKIE", "JWT"};

// Set by Open MPI's launcher for its own ranks; they differ with every launch, and one of them is a key.
constexpr std::array internals = {"OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_pmix", "OMPI_MCA_initial_wdir",
                                  "OMPI_MCA_routed"};

/// The value of `NAME="value"` in a file of such lines.
std::string assigned(const fs::path& file, std::string_view name) {
  const auto text = read_file(file, 1u << 20);
  if (!text) return {};
  for (std::string_view line : lines(*text)) {
    if (line.substr(0, name.size()) != name || line.substr(name.size(), 1) != "=") continue;
    line.remove_prefix(name.size() + 1);
    if (line.size() >= 2 && line.front() == '"' && line.back() == '"') line = line.substr(1, line.size() - 2);
    return std::string(line);
  }
  return {};
}

std::string limit(decltype(RLIMIT_NOFILE) which, bool is_bytes) {
  rlimit found{};
  if (::getrlimit(which, &found) != 0) return {};
  if (found.rlim_cur == RLIM_INFINITY) return "unlimited";
  return is_bytes ? format_bytes(Bytes{found.rlim_cur}) : std::to_string(found.rlim_cur);
}

/// A kernel module's version, `loaded` when it states none, empty when it is not there.
std::string module_version(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) return {};
  const auto version = read_file(folder / "version", 4096);
  return version ? std::string(trim(*version)) : "loaded";
}

void add(std::vector<Fact>& facts, std::string key, std::string_view value) {
  if (!value.empty()) facts.push_back({std::move(key), printable_line(value)});
}

void add_topology(std::vector<Fact>& facts) {
  const auto topology = read_topology();
  if (!topology) return add(facts, "topology", to_string(topology.error()));
  add(facts, "cpu", topology->cpu_model);
  add(facts, "packages", std::to_string(topology->packages));
  add(facts, "numa_domains", std::to_string(topology->numa_domains));
  add(facts, "memory", fmt::format("{:.1f} GiB", static_cast<double>(topology->memory_bytes) / (1u << 30)));
}

/// Of the node, not of the mask that the caller happens to be bound to.
void add_cores(std::vector<Fact>& facts) {
  const CpuMask cpus = node_cpus();
  if (cpus.empty()) return;
  add(facts, "cores", std::to_string(cores_of(cpus).count()));
  add(facts, "cpus", cpus.list());
}

/// Whose virtual machine this is, as its CPUs report it (`KVMKVMKVM`); empty: none, or not reported.
std::string hypervisor() {
#if defined(__x86_64__) || defined(__i386__)
  constexpr unsigned is_virtual = 1u << 31;  // of ecx of leaf 1
  constexpr unsigned name_of_hypervisor = 0x40000000;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & is_virtual) == 0) return {};
  __cpuid(name_of_hypervisor, a, b, c, d);
  const std::array<unsigned, 3> parts = {b, c, d};
  std::array<char, sizeof parts + 1> name{};
  std::memcpy(name.data(), parts.data(), sizeof parts);
  return name[0] == '\0' ? "unknown" : std::string(trim(name.data()));
#else
  const auto name = read_file("/sys/firmware/devicetree/base/hypervisor/compatible", 4096);
  if (name) return std::string(trim(name->c_str()));
  const auto vendor = read_file("/sys/class/dmi/id/sys_vendor", 4096);
  return vendor && trim(*vendor) == "QEMU" ? "QEMU" : "";
#endif
}

void add_drivers(std::vector<Fact>& facts) {
  std::vector<std::string_view> modules;
  for (const GpuVendor* vendor : gpu_vendors()) modules.push_back(vendor->driver);
  for (const char* module : {"mlx5_core", "cxi_ss1", "xpmem", "gdrdrv", "knem"}) modules.emplace_back(module);
  for (const std::string_view module : modules)
    add(facts, fmt::format("driver.{}", module), module_version(this_machine().root / "sys/module" / module));
}

void add_environment(std::vector<Fact>& facts) {
  const std::vector<Fact> environment = environment_facts(environ);
  facts.insert(facts.end(), environment.begin(), environment.end());
}

}  // namespace

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return printable_line(name);
}

bool is_wanted_variable(std::string_view name) {
  const auto starts = [&](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; };
  const auto ends = [&](std::string_view suffix) {
    return name.size() >= suffix.size() && name.substr(name.size() - suffix.size()) == suffix;
  };
  if (std::any_of(internals.begin(), internals.end(), starts)) return false;
  return std::any_of(prefixes.begin(), prefixes.end(), starts) || std::any_of(suffixes.begin(), suffixes.end(), ends);
}

bool looks_secret(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char letter) { return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter; });
  return std::any_of(secrets.begin(), secrets.end(), [&](const char* word) { return upper.find(word) != upper.npos; });
}

std::vector<Fact> environment_facts(const char* const* environment) {
  std::vector<Fact> facts;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    const std::string_view name = entry.substr(0, equals);
    if (!is_wanted_variable(name) || looks_secret(name)) continue;
    facts.push_back({"env." + printable_line(name), printable_line(entry.substr(equals + 1))});
  }
  std::sort(facts.begin(), facts.end(), [](const Fact& a, const Fact& b) { return a.key < b.key; });
  return facts;
}

NodeProvenance node_provenance() {
  NodeProvenance provenance;
  provenance.node = host_name();
  std::vector<Fact>& facts = provenance.facts;
  if (!this_machine().simulated.empty()) {
    add(facts, "simulated", this_machine().simulated);
    for (const Fact& fact : this_machine().facts) add(facts, fact.key, fact.value);
    add_drivers(facts);
    add_environment(facts);
    return provenance;
  }
  if (const char* name = std::getenv("SLURMD_NODENAME"); name != nullptr && provenance.node != name)
    add(facts, "slurm_node", name);
  utsname kernel{};
  if (::uname(&kernel) == 0) {
    add(facts, "kernel", fmt::format("{} {}", kernel.sysname, kernel.release));
    add(facts, "architecture", kernel.machine);
  }
  add(facts, "os", assigned("/etc/os-release", "PRETTY_NAME"));
  add(facts, "hypervisor", hypervisor());
  add_topology(facts);
  add_cores(facts);
  add(facts, "limit.memlock", limit(RLIMIT_MEMLOCK, true));
  add(facts, "limit.nofile", limit(RLIMIT_NOFILE, false));
  add_drivers(facts);
  add_environment(facts);
  return provenance;
}

}  // namespace muster
