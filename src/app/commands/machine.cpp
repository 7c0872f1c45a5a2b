// muster machine: shows a described machine, or writes it as files that ranks can pretend to be on.
#include <fmt/format.h>

#include "app/inputs/load.hpp"
#include "app/inputs/machine_files.hpp"
#include "app/inputs/options.hpp"
#include "base/hostlist.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "system/this_machine.hpp"

namespace muster {

namespace {

void print_row(std::string_view name, const std::string& text) {
  if (!text.empty()) fmt::print("{:<13} {}\n", name, printable_line(text, 2000));
}

std::string size_text(std::uint64_t bytes) {
  return bytes == 0 ? std::string() : ", " + format_bytes({bytes});
}

/// `3` or, where only some of the CPUs are, `3: 48-55,112-119`.
std::string place_text(const MachineDescription& machine, int domain, const CpuMask& near) {
  if (domain < 0) return "domain unknown";
  const bool is_all = machine.domains[static_cast<std::size_t>(domain)].cpus == near;
  return fmt::format("domain {}{}", domain, is_all ? "" : ", CPUs " + near.list());
}

void show_cpus(const MachineDescription& machine) {
  print_row("cpu", fmt::format("{}{}{} cores, {} CPUs, {} package{}", machine.cpu_model,
                               machine.cpu_model.empty() ? "" : ": ", machine.cores, machine.cores * machine.smt,
                               machine.packages, machine.packages == 1 ? "" : "s"));
  print_row("reserved", machine.reserved.empty() ? std::string() : "cores " + machine.reserved.list());
  if (!machine.caches.empty())
    print_row("caches", fmt::format("{} of {} CPUs{}", machine.caches.size(), machine.caches[0].count(),
                                    size_text(machine.cache_bytes)));
  for (const DescribedDomain& domain : machine.domains)
    print_row(
        fmt::format("domain {}", domain.number),
        fmt::format("{}{}", domain.cpus.empty() ? "no CPUs" : "CPUs " + domain.cpus.list(), size_text(domain.memory)));
}

void show_devices(const MachineDescription& machine) {
  if (!machine.gpus.devices.empty())
    print_row("gpus", fmt::format("{} x {}{}{}{}", machine.gpus.devices.size(), machine.gpus.model,
                                  size_text(machine.gpus.memory),
                                  machine.gpus.driver_version.empty() ? "" : ", driver ", machine.gpus.driver_version));
  for (std::size_t i = 0; i < machine.gpus.devices.size(); ++i) {
    const DescribedGpu& gpu = machine.gpus.devices[i];
    print_row(fmt::format("  gpu {}", i),
              fmt::format("{}  {}", gpu.address, place_text(machine, gpu.domain, gpu.near)));
  }
  for (const DescribedNic& nic : machine.nics)
    print_row("  " + nic.name,
              fmt::format("{}  {}, {} {:g} Gbit/s, {}", nic.address.empty() ? "no device" : nic.address,
                          place_text(machine, nic.domain, nic.near), nic.kind, nic.rate, nic.state));
}

void show_ranks(const MachineDescription& machine) {
  for (std::size_t i = 0; i < machine.masks.size(); ++i)
    print_row(fmt::format("rank {}", i),
              fmt::format("{:<20} CPUs {}", machine.masks[i].hex(), machine.masks[i].list()));
  for (const auto& [name, value] : machine.environment) print_row("environment", name + "=" + value);
  for (const auto& [name, values] : machine.by_rank)
    print_row("environment", fmt::format("{}={} by local rank", name, join(values, " ")));
  for (const auto& [name, value] : machine.forced) print_row("by a fault", name + "=" + value);
  for (const std::string& name : machine.unset) print_row("by a fault", name + " is not set");
  for (const auto& [name, value] : machine.limits) print_row("limit", name + " " + value);
}

void show(const MachineDescription& machine) {
  print_row("machine", machine.name + (machine.summary.empty() ? "" : ": " + machine.summary));
  print_row("", "synthetic: made from published data, not captured");
  if (!machine.applied_faults.empty()) print_row("faults", human_list(machine.applied_faults));
  print_row("kernel", machine.kernel);
  show_cpus(machine);
  show_devices(machine);
  show_ranks(machine);
  for (const MachineFault& fault : machine.faults)
    print_row("fault", fmt::format("{:<14} {}", fault.name, fault.summary));
  for (const std::string& source : machine.sources) print_row("source", source);
  for (const std::string& what : machine.unverified) print_row("unverified", what);
}

}  // namespace

int machine_command(const MachineOptions& options) {
  if (options.machine.empty()) {
    for (const std::string& name : known_machines()) {
      const auto machine = load_machine(name);
      if (!machine) return usage_error(machine.error());
      fmt::print("{:<16} {}\n", name, printable_line(machine->summary));
    }
    return 0;
  }
  const auto machine = load_machine(options.machine);
  if (!machine) return usage_error(machine.error());
  std::vector<std::string> nodes{"node"};
  if (!options.nodes.empty()) {
    auto named = expand_hostlist(options.nodes);
    if (!named) return usage_error({ErrorKind::usage, "--nodes", named.error().what});
    nodes = std::move(*named);
  }
  const auto faults = faults_of(options.faults, nodes);
  if (!faults) return usage_error(faults.error());
  if (options.folder.empty()) {
    const auto one = with_faults(*machine, faults->everywhere);
    if (!one) return usage_error(one.error());
    show(*one);
    return 0;
  }
  for (const std::string& node : nodes) {
    const auto folder = options.nodes.empty() ? fs::path(options.folder) : fs::path(options.folder) / node;
    const auto one = write_node(*machine, *faults, node, folder);
    if (!one) return usage_error(one.error());
    fmt::print("{}{}: {}\n", machine->name,
               one->applied_faults.empty() ? "" : " with " + human_list(one->applied_faults),
               printable_line(folder.string()));
  }
  fmt::print("run on it: {}={} muster run --simulated\n", env_machine,
             shell_quote(fs::absolute(options.folder).string()));
  return 0;
}

}  // namespace muster
