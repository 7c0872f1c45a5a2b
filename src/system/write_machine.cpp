#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/place.hpp"
#include "base/text.hpp"
#include "base/trusted_path.hpp"
#include "model/json.hpp"
#include "model/machine_description.hpp"
#include "system/this_machine.hpp"
#include "system/tree_writer.hpp"

namespace muster {

namespace {

nlohmann::json to_object(const Environment& variables) {
  auto object = nlohmann::json::object();
  for (const auto& [name, value] : variables) object[name] = value;
  return object;
}

std::vector<Fact> facts_of(const MachineDescription& machine) {
  std::uint64_t memory = 0;
  int with_cpus = 0;
  for (const DescribedDomain& domain : machine.domains) {
    memory += domain.memory;
    with_cpus += domain.cpus.empty() ? 0 : 1;
  }
  return {{"kernel", "Linux " + machine.kernel},
          {"architecture", machine.architecture},
          {"cpu", machine.cpu_model},
          {"packages", std::to_string(machine.packages)},
          {"numa_domains", std::to_string(with_cpus)},
          {"memory", fmt::format("{:.1f} GiB", static_cast<double>(memory) / (1u << 30))},
          {"cores", std::to_string(machine.cores)},
          {"cpus", machine.cpus().list()}};
}

/// What a rank must know of its machine beside the files.
nlohmann::json card_of(const MachineDescription& machine, const std::string& host) {
  std::vector<std::string> masks;
  for (const CpuMask& mask : machine.masks) masks.push_back(mask.hex());
  auto interfaces = nlohmann::json::object();
  std::vector<std::string> down;
  for (const DescribedNic& nic : machine.nics) {
    interfaces[nic.name] = nic.inet;
    if (nic.state != "up") down.push_back(nic.name);
  }
  auto facts = nlohmann::json::object();
  for (const Fact& fact : facts_of(machine)) facts[fact.key] = fact.value;
  return {{"name", machine.name},
          {"synthetic", true},
          {"summary", machine.summary},
          {"sources", machine.sources},
          {"unverified", machine.unverified},
          {"node", host},
          {"faults", machine.applied_faults},
          {"launcher", machine.launcher},
          {"masks", masks},
          {"environment", to_object(machine.environment)},
          {"by_rank", machine.by_rank},
          {"forced", to_object(machine.forced)},
          {"unset", machine.unset},
          {"limits", machine.limits},
          {"interfaces", interfaces},
          {"down", down},
          {"facts", facts}};
}

/// Data for stand-ins of the vendor's libraries. A lost GPU is included: its library still reports it.
nlohmann::json driver_sheet(const MachineDescription& machine, const std::string& host) {
  auto devices = nlohmann::json::array();
  for (std::size_t i = 0; i < machine.gpus.devices.size(); ++i) {
    const DescribedGpu& gpu = machine.gpus.devices[i];
    devices.push_back({{"address", gpu.address},
                       {"uuid", uuid_of(machine, host, gpu)},
                       {"domain", gpu.domain},
                       {"lanes", gpu.lanes},
                       {"partitions", gpu.is_whole ? 1 : machine.gpus.partitions},
                       {"partitions_are_functions", machine.gpus.is_partition_low},
                       {"lost", gpu.is_lost}});
  }
  auto links = nlohmann::json::array();
  for (const DescribedLinks& link : machine.gpus.links) links.push_back({link.from, link.to, link.count});
  return {{"machine", machine.name},
          {"host", host},
          {"links", links},
          {"vendor", machine.gpus.vendor},
          {"model", machine.gpus.model},
          {"id", machine.gpus.id},
          {"driver_version", machine.gpus.driver_version},
          {"firmware", machine.gpus.firmware},
          {"memory", machine.gpus.memory},
          {"lines", machine.gpus.driver},
          {"devices", devices}};
}

/// That muster wrote for this user: another one may put a file of that name into a shared folder.
bool is_machine_of_ours(int folder) {
  struct stat about {};
  return see_link_at(folder, "machine.json", about) && S_ISREG(about.st_mode) && !is_other_user(about.st_uid);
}

/// Nothing of another user is removed.
Result<void> clear(TreeWriter& top, const fs::path& folder) {
  if (!top.names().empty() && !is_machine_of_ours(top.descriptor()))
    return fail(ErrorKind::usage, printable_line(folder.string()),
                "is neither empty nor a machine that muster wrote; name another folder");
  for (const char* part : {"root", "topology.xml", "drivers.json", "machine.json"}) top.remove(part);
  return top.result();
}

void write_process(const MachineDescription& machine, const std::string& host, TreeWriter& tree) {
  CpuMask domains;
  for (const DescribedDomain& domain : machine.domains) domains.add(domain.number);
  tree.put("proc/sys/kernel/osrelease", machine.kernel);
  tree.put("proc/sys/kernel/random/boot_id",
           fmt::format("{:08x}-0000-4000-8000-{:012x}", number_of(host) >> 32, number_of(machine.name + host) >> 16));
  tree.put("proc/self/status",
           fmt::format("Name:\tmuster-rank\nCapEff:\t0000000000000000\nMems_allowed_list:\t{}", domains.list()));
  tree.put("proc/self/cgroup", "0::/job");
  tree.put("sys/fs/cgroup/job/cpuset.cpus.effective", machine.cpus().list());
  tree.put("sys/fs/cgroup/job/cpu.max", machine.cpu_quota > 0 ? fmt::format("{:.0f} 100000", machine.cpu_quota * 100000)
                                                              : std::string("max 100000"));
  if (!machine.board.empty()) tree.put("sys/devices/virtual/dmi/id/board_name", machine.board);
}

}  // namespace

namespace {

/// The folder as a path that stays the same, whatever its name leads to by then.
fs::path path_of(const TreeWriter& top, const fs::path& folder) {
  std::error_code error;
  const fs::path by_number = fmt::format("/proc/self/fd/{}", top.descriptor());
  return fs::exists(by_number, error) ? by_number : folder;
}

Result<void> write_into(const MachineDescription& machine, const std::string& host, TreeWriter& top,
                        const fs::path& folder) {
  if (auto cleared = clear(top, folder); !cleared) return cleared;
  TreeWriter tree = top.below("root");
  tree.folder("dev");
  tree.folder("sys/bus/pci/devices");
  write_process(machine, host, tree);
  write_cpus(machine, tree);
  write_gpus(machine, host, tree);
  write_nics(machine, tree);
  for (const std::string& library : machine.libraries) tree.put("usr/lib64/" + library, "");
  if (!tree.result()) return tree.result();
  const auto topology = topology_text(path_of(top, folder) / "root");
  if (!topology) return fail(ErrorKind::system, printable_line(folder.string()), topology.error().what);
  top.write("topology.xml", *topology);
  top.write("drivers.json", dump(driver_sheet(machine, host), 1) + "\n");
  // Last: where it is, the rest is whole.
  top.replace("machine.json", dump(card_of(machine, host), 1) + "\n");
  return top.result();
}

/// Another user could change what ranks read there; and, of a folder of root, lead elsewhere what root writes.
Result<void> check_folder(int folder, const fs::path& path) {
  struct stat about {};
  const std::string shown = printable_line(path.string());
  if (!see_file(folder, about)) return fail(ErrorKind::system, shown, std::strerror(errno));
  if (!S_ISDIR(about.st_mode)) return fail(ErrorKind::usage, shown, "is not a folder");
  if (is_other_user(about.st_uid))
    return fail(ErrorKind::usage, shown, fmt::format("belongs to user {}; name a folder of your own", about.st_uid));
  if (::geteuid() == 0 && (about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(ErrorKind::usage, shown,
                "is not used: other users may put files into it; name a folder that does not exist yet, or chmod go-w");
  return {};
}

/// What is there. For root, neither it nor a folder above it may be one in which another user may exchange a part.
Result<OwnedDescriptor> open_there(const fs::path& folder) {
  if (::geteuid() == 0) return open_trusted(folder);
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return fail(ErrorKind::usage, printable_line(folder.string()), "is not a folder");
  auto place = open_place(folder / ".");
  if (!place) return tl::unexpected(place.error());
  return std::move(place->folder);
}

/// The folder, which is made where it is not there.
Result<OwnedDescriptor> open_machine_folder(const fs::path& folder) {
  if (auto links = check_links(folder); !links) return tl::unexpected(links.error());
  std::error_code error;
  const auto whole = fs::absolute(folder, error);
  auto there = whole;
  while (!fs::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  auto held = open_there(there);
  const auto missing = whole.lexically_relative(there);
  if (!held || missing == ".") return held;
  TreeWriter above(std::move(*held), there);
  TreeWriter made = above.below(missing.string());
  if (!made.result()) return tl::unexpected(made.result().error());
  // Each part, as another user may have made one of them in a folder like /tmp.
  return ::geteuid() == 0 ? open_trusted(folder) : Result<OwnedDescriptor>(made.release());
}

}  // namespace

Result<void> write_machine(const MachineDescription& machine, const std::string& host, const fs::path& folder) {
  auto held = open_machine_folder(folder);
  if (!held) return tl::unexpected(held.error());
  if (auto own = check_folder(held->number(), folder); !own) return own;
  TreeWriter top(std::move(*held), folder);
  return write_into(machine, host, top, folder);
}

}  // namespace muster
