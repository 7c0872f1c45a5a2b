// What hangs on a GPU: its NVLinks, its MIG instances, the processes that compute on it.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <unistd.h>

#include "device/nvidia/nvml_session.hpp"
#include "system/process_owner.hpp"
#include "system/this_machine.hpp"

namespace muster::nvml {

namespace {

constexpr std::uint32_t link_speed = 164;        // MB/s of the link in the scope; Hopper's drivers on
constexpr std::uint32_t link_speed_common = 90;  // MB/s of each of them

double number_of(const Field& field) {
  if (field.type == 0) return field.value.real;
  return field.type == 1 ? field.value.number : static_cast<double>(field.value.longer);
}

/// GB/s in one direction; 0: unknown.
double rate_of(const Session& session, Handle handle, Device& gpu, std::uint32_t link) {
  for (const std::uint32_t id : {link_speed, link_speed_common}) {
    Field field{};
    field.id = id;
    field.scope = id == link_speed ? link : 0;
    if (session.ask(gpu, "nvmlDeviceGetFieldValues", session.at.fields, handle, 1, &field) && field.code == 0 &&
        number_of(field) > 0)
      return number_of(field) / 1000;
  }
  return 0;
}

PciAddress remote_of(const Session& session, Handle handle, Device& gpu, std::uint32_t link) {
  PciInfo pci{};
  if (!session.ask(gpu, "nvmlDeviceGetNvLinkRemotePciInfo_v2", session.at.link_remote, handle, link, &pci)) return {};
  constexpr std::uint32_t most_bus = 0xff, most_device = 0x1f;
  if (pci.domain == off_this_bus.domain || pci.bus > most_bus || pci.device > most_device) return off_this_bus;
  return {pci.domain, pci.bus, pci.device, 0};
}

PeerLink& link_to(Device& gpu, const PciAddress& to) {
  const auto found = std::find_if(gpu.peers.begin(), gpu.peers.end(),
                                  [&](const PeerLink& peer) { return peer.kind == "nvlink" && peer.to == to; });
  if (found != gpu.peers.end()) return *found;
  PeerLink& peer = gpu.peers.emplace_back();
  peer.to = to;
  peer.kind = "nvlink";
  return peer;
}

constexpr std::size_t longest_list = 64;

/// Processes as the library lays them out: number, memory, and of the newer forms the instance. One driver (535) had a
/// longer form under the same name, so the length follows from the entries that can be a list of processes.
std::vector<std::pair<std::uint32_t, std::uint64_t>> parse_processes(const unsigned char* bytes, std::uint32_t count,
                                                                     std::size_t stride) {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> list;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t pid = 0;
    std::uint64_t used = 0;
    std::memcpy(&pid, bytes + i * stride, sizeof(pid));
    std::memcpy(&used, bytes + i * stride + 8, sizeof(used));
    if (pid == 0 || pid > 1u << 22) return {};
    list.emplace_back(pid, used);
  }
  return list;
}

/// Whether it is an agent of this launch: another run of muster is a stranger.
bool is_own_agent(std::uint32_t pid) {
  return this_machine().simulated.empty() && is_agent_of_this_launch(static_cast<int>(pid));
}

std::string command_of(std::uint32_t pid) {
  if (!this_machine().simulated.empty()) return {};
  std::string name;
  std::ifstream in(fmt::format("/proc/{}/comm", pid));
  std::getline(in, name);
  return printable_line(name, 40);
}

/// Any user can give a program the name of a service.
std::string owner_of(std::uint32_t pid) {
  return this_machine().simulated.empty() ? of_ordinary_user(static_cast<int>(pid)) : std::string();
}

/// `NVIDIA H200 MIG 1g.18gb`; the name of the profile does not follow from an instance's memory. Empty: an older
/// driver.
std::string named_profile(const std::string& name) {
  constexpr std::string_view before = " MIG ";
  const auto at = name.rfind(before);
  return at == name.npos ? std::string() : name.substr(at + before.size());
}

/// `1g.10gb`, `1c.3g.40gb`, as older nvidia-smi write it.
std::string profile_of(const MigAttributes& reported) {
  const std::uint64_t gigabytes = (reported.memory_mib + 1023) / 1024;
  const std::string part = reported.compute_slices != 0 && reported.compute_slices != reported.instance_slices
                               ? fmt::format("{}c.", reported.compute_slices)
                               : std::string();
  return fmt::format("{}{}g.{}gb", part, reported.instance_slices, gigabytes);
}

void read_part(const Session& session, Handle handle, Device& part) {
  const auto& at = session.at;
  part.vendor_id = "10de";
  part.uuid = text_of(session, part, "nvmlDeviceGetUUID", at.uuid, handle);
  part.name = text_of(session, part, "nvmlDeviceGetName", at.name, handle);
  std::uint32_t number = 0;
  if (session.ask(part, "nvmlDeviceGetGpuInstanceId", at.gpu_instance, handle, &number))
    part.values["gpu_instance"] = std::to_string(number);
  if (session.ask(part, "nvmlDeviceGetComputeInstanceId", at.compute_instance, handle, &number))
    part.values["compute_instance"] = std::to_string(number);
  struct {
    MigAttributes reported;
    char spare[64];
  } room{};
  if (session.ask(part, "nvmlDeviceGetAttributes_v2", at.mig_attributes, handle, &room.reported)) {
    part.values["profile"] = profile_of(room.reported);
    if (const std::string named = named_profile(part.name); !named.empty()) part.values["profile"] = named;
    part.values["multiprocessors"] = std::to_string(room.reported.multiprocessors);
  }
  read_memory(session, handle, part);
}

}  // namespace

void read_nvlinks(const Session& session, Handle handle, Device& gpu) {
  gpu.values.erase("nvlinks_down");
  for (std::uint32_t link = 0; link < most_links; ++link) {
    std::uint32_t is_up = 0;
    const Code code = session.call("nvmlDeviceGetNvLinkState", session.at.link_state, handle, link, &is_up);
    // Returned for all links by a GPU that has none, or is in MIG mode; and of those behind its last one.
    if (code == invalid_argument || code == not_supported) break;
    if (!session.note(gpu, "nvmlDeviceGetNvLinkState", code)) {
      if (code == gpu_is_lost) break;
      continue;
    }
    if (is_up == 0) {
      ++link_to(gpu, {}).down;
      gpu.values["nvlinks_down"] += (gpu.values["nvlinks_down"].empty() ? "" : ", ") + std::to_string(link);
      continue;
    }
    std::uint32_t version = 0;
    if (session.ask(gpu, "nvmlDeviceGetNvLinkVersion", session.at.link_version, handle, link, &version))
      gpu.values["nvlink_version"] = std::to_string(version);
    PeerLink& peer = link_to(gpu, remote_of(session, handle, gpu, link));
    ++peer.up;
    peer.rate += rate_of(session, handle, gpu, link);
  }
}

void read_processes(const Session& session, Handle handle, Device& gpu) {
  std::vector<unsigned char> bytes(longest_list * 64);
  auto count = static_cast<std::uint32_t>(longest_list);
  if (!session.ask(gpu, "nvmlDeviceGetComputeRunningProcesses", session.at.processes, handle, &count,
                   static_cast<void*>(bytes.data())))
    return;
  count = std::min(count, static_cast<std::uint32_t>(longest_list));
  std::vector<std::pair<std::uint32_t, std::uint64_t>> list;
  for (const std::size_t stride : {24u, 32u})
    if (list.empty()) list = parse_processes(bytes.data(), count, session.at.are_processes_short ? 16 : stride);
  std::vector<std::string> texts;
  for (const auto& [pid, used] : list) {
    // In a namespace of its own, this process has another number in the list.
    if (pid == static_cast<std::uint32_t>(::getpid())) gpu.values["lists_this_process"] = "yes";
    if (pid == static_cast<std::uint32_t>(::getpid()) || is_own_agent(pid)) continue;
    const std::string command = command_of(pid);
    const std::string memory = used > 1ull << 48 ? "memory unknown" : fmt::format("{} MiB", used >> 20);
    texts.push_back(fmt::format("{}{}{} ({})", pid, command.empty() ? "" : " " + command,
                                command.empty() ? "" : owner_of(pid), memory));
  }
  if (count > 0 && list.empty()) texts.push_back(fmt::format("{} that can't be read", count));
  gpu.values["processes"] = texts.empty() ? "none" : join(texts, ", ");
}

void read_parts(const Session& session, Handle handle, const PciAddress& whole, Inventory& inventory) {
  const auto is_on = [&] {
    const Device* gpu = inventory.gpu_at(whole);
    const auto mig = gpu->values.find("mig");
    return mig != gpu->values.end() && mig->second == "on";
  };
  if (!is_on()) return;
  std::uint32_t most = 0;
  const std::string parent = inventory.gpu_at(whole)->uuid;
  if (!session.ask(*inventory.gpu_at(whole), "nvmlDeviceGetMaxMigDeviceCount", session.at.mig_most, handle, &most))
    return;
  int count = 0;
  for (std::uint32_t index = 0; index < std::min(most, 64u); ++index) {
    Handle instance = nullptr;
    // Not found: that place is free.
    if (!session.ask(*inventory.gpu_at(whole), "nvmlDeviceGetMigDeviceHandleByIndex", session.at.mig_by_index, handle,
                     index, &instance))
      continue;
    Device& part = inventory.seen_part(whole, static_cast<int>(index), "nvml");
    part.parent = parent;
    read_part(session, instance, part);
    ++count;
  }
  inventory.gpu_at(whole)->values["mig_instances"] = std::to_string(count);
}

}  // namespace muster::nvml
