#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

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

/// Nothing of anybody else's is removed.
Result<void> clear(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_empty(folder, error) && !fs::exists(folder / "machine.json", error))
    return fail(ErrorKind::usage, printable_line(folder.string()),
                "is neither empty nor a machine that muster wrote; name another folder");
  for (const char* part : {"root", "topology.xml", "drivers.json", "machine.json"}) {
    fs::remove_all(folder / part, error);
    if (error) return fail(ErrorKind::system, printable_line((folder / part).string()), error.message());
  }
  return {};
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

Result<void> write_into(const MachineDescription& machine, const std::string& host, const fs::path& folder) {
  if (auto cleared = clear(folder); !cleared) return cleared;
  TreeWriter tree(folder / "root");
  tree.folder("dev");
  tree.folder("sys/bus/pci/devices");
  write_process(machine, host, tree);
  write_cpus(machine, tree);
  write_gpus(machine, host, tree);
  write_nics(machine, tree);
  for (const std::string& library : machine.libraries) tree.put("usr/lib64/" + library, "");
  if (!tree.result()) return tree.result();
  if (auto written = write_topology(folder / "root", folder / "topology.xml"); !written) return written;
  const fs::path sheet = folder / "drivers.json";
  if (auto written = write_file(sheet, dump(driver_sheet(machine, host), 1) + "\n"); !written) return written;
  // Last: where it is, the rest is whole.
  return write_file(folder / "machine.json", dump(card_of(machine, host), 1) + "\n");
}

/// Another user could change what ranks read there.
Result<void> check_folder(int folder, const fs::path& path) {
  struct stat about {};
  if (::fstat(folder, &about) != 0) return fail(ErrorKind::system, path.string(), std::strerror(errno));
  if (is_other_user(about.st_uid))
    return fail(ErrorKind::usage, printable_line(path.string()),
                fmt::format("belongs to user {}; name a folder of your own", about.st_uid));
  return {};
}

}  // namespace

Result<void> write_machine(const MachineDescription& machine, const std::string& host, const fs::path& folder) {
  if (auto links = check_links(folder); !links) return links;
  std::error_code error;
  if (!fs::exists(folder, error))
    if (auto made = make_folder(folder, 0755); !made) return made;
  if (!fs::is_directory(folder, error))
    return fail(ErrorKind::usage, printable_line(folder.string()), "is not a folder");
  // All is written by the descriptor: another folder, or a link, may have the name by then.
  const OwnedDescriptor held(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (held.number() < 0) return fail(ErrorKind::system, printable_line(folder.string()), std::strerror(errno));
  if (auto own = check_folder(held.number(), folder); !own) return own;
  const fs::path by_number = fmt::format("/proc/self/fd/{}", held.number());
  const bool has_proc = fs::exists(by_number, error);
  auto written = write_into(machine, host, has_proc ? by_number : folder);
  if (written || !has_proc) return written;
  Error problem = written.error();
  for (std::string* text : {&problem.where, &problem.what})
    if (const auto at = text->find(by_number.string()); at != std::string::npos)
      text->replace(at, by_number.string().size(), printable_line(folder.string()));
  return tl::unexpected(std::move(problem));
}

}  // namespace muster
