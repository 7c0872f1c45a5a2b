#include "device/nvidia/nvml_watch.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "device/library.hpp"
#include "device/nvidia/nvml_session.hpp"

namespace muster {

namespace nvml {

namespace {

struct LinkCounter {
  int kind;  ///< of NVML
  const char* key;
};
constexpr LinkCounter link_counters[] = {
    {0, "nvlink_replays"}, {1, "nvlink_recoveries"}, {2, "nvlink_crc_flit"}, {3, "nvlink_crc_data"}};

/// Values of NVML_FI_DEV_NVLINK_COUNT_*, of the link in the scope: from NVLink 5 on in place of the counters above.
constexpr LinkCounter link_fields[] = {{214, "nvlink_failed_recoveries"},
                                       {215, "nvlink_recoveries"},
                                       {219, "nvlink_effective_errors"},
                                       {221, "nvlink_symbol_errors"}};
constexpr std::uint32_t symbol_ber = 222;
/// Blocks in which the error correction mended so many symbols, from 1 on; 0 is blocks without an error.
constexpr std::uint32_t first_fec = 236, last_fec = 250;

std::uint64_t count_in(const Field& field) {
  return field.type == 1 ? field.value.number : field.value.longer;
}

/// `1.5e-12`: the lowest byte is the negative exponent, four bits above it the mantissa.
std::string ber_in(const Field& field) {
  const std::uint64_t bits = count_in(field);
  return fmt::format("{}e-{}", bits >> 8 & 0xf, bits & 0xff);
}

void add_count(Device& gpu, const char* key, std::uint32_t link, std::uint64_t count) {
  if (count > 0) gpu.values[fmt::format("{}.{}", key, link)] = std::to_string(count);
}

/// One call for each link; a field that the driver or the GPU lacks has a code of its own. False: it lacks them all.
bool read_link_fields(const Session& session, Handle handle, std::uint32_t link, Device& gpu,
                      std::map<std::string, std::uint64_t>& sums) {
  std::vector<Field> fields;
  const auto want = [&](std::uint32_t id) {
    Field& field = fields.emplace_back();
    field = {};
    field.id = id;
    field.scope = link;
    field.code = not_supported;
  };
  for (const LinkCounter& counter : link_fields) want(static_cast<std::uint32_t>(counter.kind));
  want(symbol_ber);
  for (std::uint32_t id = first_fec; id <= last_fec; ++id) want(id);
  if (!session.ask(gpu, "nvmlDeviceGetFieldValues", session.at.fields, handle, static_cast<int>(fields.size()),
                   fields.data()))
    return true;
  std::optional<std::uint64_t> corrected;
  for (const Field& field : fields) {
    if (field.code != 0) continue;
    if (field.id >= first_fec && field.id <= last_fec) corrected = corrected.value_or(0) + count_in(field);
    if (field.id == symbol_ber && count_in(field) >> 8 != 0)
      gpu.values[fmt::format("nvlink_symbol_ber.{}", link)] = ber_in(field);
    for (const LinkCounter& counter : link_fields)
      if (field.id == static_cast<std::uint32_t>(counter.kind)) {
        add_count(gpu, counter.key, link, count_in(field));
        sums[counter.key] += count_in(field);
      }
  }
  if (corrected) {
    add_count(gpu, "nvlink_fec_corrected", link, *corrected);
    sums["nvlink_fec_corrected"] += *corrected;
  }
  return std::any_of(fields.begin(), fields.end(), [](const Field& field) { return field.code != not_supported; });
}

}  // namespace

void read_link_errors(const Session& session, Handle handle, Device& gpu) {
  std::uint32_t replays = 0;
  if (session.ask(gpu, "nvmlDeviceGetPcieReplayCounter", session.at.pcie_replays, handle, &replays))
    gpu.values["pcie_replays"] = std::to_string(replays);
  std::map<std::string, std::uint64_t> sums;
  std::vector<std::string> down;
  int up = 0;
  bool has_fields = true;
  for (std::uint32_t link = 0; link < most_links; ++link) {
    std::uint32_t is_up = 0;
    const Code code = session.call("nvmlDeviceGetNvLinkState", session.at.link_state, handle, link, &is_up);
    // No such link, or none at all. Any other failure is of this link alone: those behind it may be well.
    if (code == invalid_argument || code == not_supported) break;
    if (!session.note(gpu, "nvmlDeviceGetNvLinkState", code)) {
      if (code == gpu_is_lost) break;
      continue;
    }
    if (is_up == 0) down.push_back(std::to_string(link));
    up += is_up != 0 ? 1 : 0;
    for (const LinkCounter& counter : link_counters) {
      std::uint64_t count = 0;
      if (is_up != 0 && session.ask(gpu, "nvmlDeviceGetNvLinkErrorCounter", session.at.link_errors, handle, link,
                                    int{counter.kind}, &count)) {
        sums[counter.key] += count;
        add_count(gpu, counter.key, link, count);
      }
    }
    if (is_up != 0 && has_fields) has_fields = read_link_fields(session, handle, link, gpu, sums);
  }
  if (up > 0) gpu.values["nvlinks_up"] = std::to_string(up);
  if (!down.empty()) gpu.values["nvlinks_down"] = join(down, ", ");
  for (const auto& [key, sum] : sums) gpu.values[key] = std::to_string(sum);
}

}  // namespace nvml

struct NvmlWatch::Inside {
  explicit Inside(CallWatch reported) : watch(std::move(reported)), session(functions, watch) {}

  CallWatch watch;
  nvml::Functions functions;
  nvml::Session session;
  std::map<PciAddress, nvml::Handle> handles;
  nvml::Handle events = nullptr;
  std::map<PciAddress, std::vector<int>> xids;
  std::set<PciAddress> registered;

  void find_handles() {
    std::uint32_t count = 0;
    if (session.call("nvmlDeviceGetCount_v2", functions.count, &count) != 0) return;
    for (std::uint32_t index = 0; index < std::min(count, 256u); ++index) {
      nvml::Handle handle = nullptr;
      nvml::PciInfo pci{};
      if (session.call("nvmlDeviceGetHandleByIndex_v2", functions.by_index, index, &handle) == 0 &&
          session.call("nvmlDeviceGetPciInfo_v3", functions.pci, handle, &pci) == 0)
        handles[nvml::address_of(pci)] = handle;
    }
  }

  /// Some GPUs and users may not have events: then the kernel's log is the only source.
  void listen_to(const PciAddress& gpu, nvml::Handle handle) {
    if (!registered.insert(gpu).second) return;
    if (events == nullptr && session.call("nvmlEventSetCreate", functions.create_events, &events) != 0) return;
    if (events != nullptr)
      session.call("nvmlDeviceRegisterEvents", functions.register_events, handle, nvml::xid_event, events);
  }

  void take_events() {
    // More than these are one and the same, again and again.
    for (int taken = 0; events != nullptr && taken < 64; ++taken) {
      nvml::Event event{};
      if (session.call("nvmlEventSetWait_v2", functions.wait_for_event, events, &event, 0u) != 0) return;
      for (const auto& [address, handle] : handles)
        if (handle == event.device && event.kind == nvml::xid_event)
          xids[address].push_back(static_cast<int>(event.data));
    }
  }
};

NvmlWatch::NvmlWatch(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}

std::unique_ptr<NvmlWatch> NvmlWatch::open(const Inventory& inventory, CallWatch watch) {
  if (!nvml::is_to_be_asked(inventory)) return nullptr;
  const Library library = watch("dlopen libnvidia-ml.so.1", [] { return Library::open({"libnvidia-ml.so.1"}); });
  if (!library.is_open()) return nullptr;
  auto inside = std::make_unique<Inside>(std::move(watch));
  std::vector<std::string> missing;
  inside->functions = nvml::functions_of(library, missing);
  if (!nvml::can_be_asked(inside->functions) || inside->session.call("nvmlInit_v2", inside->functions.init) != 0)
    return nullptr;
  inside->find_handles();
  return std::unique_ptr<NvmlWatch>(new NvmlWatch(std::move(inside)));
}

NvmlWatch::~NvmlWatch() {
  inside_->session.turn_away();
  if (inside_->events != nullptr)
    inside_->session.call("nvmlEventSetFree", inside_->functions.free_events, inside_->events);
  inside_->session.call("nvmlShutdown", inside_->functions.shutdown);
}

bool NvmlWatch::look(Device& gpu) const {
  const auto found = inside_->handles.find(gpu.address);
  if (found == inside_->handles.end()) return false;
  inside_->session.turn_to(gpu);
  inside_->listen_to(gpu.address, found->second);
  nvml::read_link(inside_->session, found->second, gpu);
  nvml::read_health(inside_->session, found->second, gpu);
  nvml::read_processes(inside_->session, found->second, gpu);
  return true;
}

bool NvmlWatch::glance(Device& gpu) const {
  const auto found = inside_->handles.find(gpu.address);
  if (found == inside_->handles.end()) return false;
  inside_->session.turn_to(gpu);
  nvml::read_link(inside_->session, found->second, gpu);
  nvml::read_heat_and_clocks(inside_->session, found->second, gpu);
  nvml::read_processes(inside_->session, found->second, gpu);
  return true;
}

std::vector<int> NvmlWatch::xids(const PciAddress& gpu) {
  inside_->take_events();
  return std::exchange(inside_->xids[gpu], {});
}

}  // namespace muster
