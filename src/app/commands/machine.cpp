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

void say(std::string_view name, const std::string& text) {
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
  say("cpu",
      fmt::format("{}{}{} cores, {} CPUs, {} package{}", machine.cpu_model, machine.cpu_model.empty() ? "" : ": ",
                  machine.cores, machine.cores * machine.smt, machine.packages, machine.packages == 1 ? "" : "s"));
  say("reserved", machine.reserved.empty() ? std::string() : "cores " + machine.reserved.list());
  if (!machine.caches.empty())
    say("caches", fmt::format("{} of {} CPUs{}", machine.caches.size(), machine.caches[0].count(),
                              size_text(machine.cache_bytes)));
  for (const DescribedDomain& domain : machine.domains)
    say(fmt::format("domain {}", domain.number),
        fmt::format("{}{}", domain.cpus.empty() ? "no CPUs" : "CPUs " + domain.cpus.list(), size_text(domain.memory)));
}

void show_devices(const MachineDescription& machine) {
  if (!machine.gpus.devices.empty())
    say("gpus",
        fmt::format("{} x {}{}{}{}", machine.gpus.devices.size(), machine.gpus.model, size_text(machine.gpus.memory),
                    machine.gpus.driver_version.empty() ? "" : ", driver ", machine.gpus.driver_version));
  for (std::size_t i = 0; i < machine.gpus.devices.size(); ++i) {
    const DescribedGpu& gpu = machine.gpus.devices[i];
    say(fmt::format("  gpu {}", i), fmt::format("{}  {}", gpu.address, place_text(machine, gpu.domain, gpu.near)));
  }
  for (const DescribedNic& nic : machine.nics)
    say("  " + nic.name, fmt::format("{}  {}, {} {:g} Gbit/s, {}", nic.address.empty() ? "no device" : nic.address,
                                     place_text(machine, nic.domain, nic.near), nic.kind, nic.rate, nic.state));
}

void show_ranks(const MachineDescription& machine) {
  for (std::size_t i = 0; i < machine.masks.size(); ++i)
    say(fmt::format("rank {}", i), fmt::format("{:<20} CPUs {}", machine.masks[i].hex(), machine.masks[i].list()));
  for (const auto& [name, value] : machine.environment) say("environment", name + "=" + value);
  for (const auto& [name, values] : machine.by_rank)
    say("environment", fmt::format("{}={} by local rank", name, join(values, " ")));
  for (const auto& [name, value] : machine.forced) say("by a fault", name + "=" + value);
  for (const std::string& name : machine.unset) say("by a fault", name + " is not set");
  for (const auto& [name, value] : machine.limits) say("limit", name + " " + value);
}

void show(const MachineDescription& machine) {
  say("machine", machine.name + (machine.summary.empty() ? "" : ": " + machine.summary));
  say("", "synthetic: made from published data, not captured");
  if (!machine.ails.empty()) say("faults", human_list(machine.ails));
  say("kernel", machine.kernel);
  show_cpus(machine);
  show_devices(machine);
  show_ranks(machine);
  for (const MachineFault& fault : machine.faults) say("fault", fmt::format("{:<14} {}", fault.name, fault.summary));
  for (const std::string& source : machine.sources) say("source", source);
  for (const std::string& what : machine.unverified) say("unverified", what);
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
    fmt::print("{}{}: {}\n", machine->name, one->ails.empty() ? "" : " with " + human_list(one->ails),
               printable_line(folder.string()));
  }
  fmt::print("be there: {}={} muster run --simulated\n", env_machine,
             shell_quote(fs::absolute(options.folder).string()));
  return 0;
}

}  // namespace muster
