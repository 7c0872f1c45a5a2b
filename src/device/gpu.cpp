#include "device/gpu.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "device/gpu_backend.hpp"
#include "device/gpu_table.hpp"

namespace muster {

/// What a device has once it was used.
struct Gpus::Opened {
  int handle = 0;
  void* context = nullptr;  ///< nullptr: not used yet
  void* module = nullptr;   ///< of the kernels
  std::string no_module;    ///< why there is none; empty: not tried, or there is one
  std::map<std::string, void*, std::less<>> kernels;
  std::map<int, bool> reach;
};

std::string GpuDevice::label() const {
  if (address) return "GPU " + to_string(*address);
  return uuid.empty() ? "a GPU without a name" : uuid;
}

std::string GpuDevice::full_label() const {
  return address && !uuid.empty() ? fmt::format("{} ({})", label(), uuid) : label();
}

double GpuDevice::memory_rate() const {
  return 2.0 * 1e3 * memory_clock_khz * memory_bus_bits / 8;
}

void GpuRelease::operator()(void* handle) const {
  if (handle == nullptr || gpus == nullptr) return;
  gpus->turn_to(device);
  // Nothing can be done about a device that is gone.
  static_cast<void>(gpus->use(device));
  const GpuTable& table = *gpus->table_;
  switch (what) {
    case What::memory:
      static_cast<void>(gpus->try_call(device, table.free, handle));
      break;
    case What::pinned:
      static_cast<void>(gpus->try_call(device, table.unpin, handle));
      break;
    case What::stream:
      static_cast<void>(gpus->try_call(device, table.destroy_stream, handle));
      break;
    case What::event:
      static_cast<void>(gpus->try_call(device, table.destroy_event, handle));
      break;
  }
}

Gpus::Gpus(std::unique_ptr<GpuTable> table, CallWatch watch) : table_(std::move(table)), watch_(std::move(watch)) {}

Gpus::~Gpus() {
  for (std::size_t i = 0; i < opened_.size(); ++i) {
    Opened& opened = opened_[i];
    if (opened.context == nullptr) continue;
    turn_to(static_cast<int>(i));
    if (opened.module != nullptr && use(static_cast<int>(i)))
      static_cast<void>(call(table_->unload_module, opened.module));
    static_cast<void>(call(table_->release, opened.handle));
  }
}

std::string_view Gpus::vendor() const {
  return table_->vendor;
}

template <class Call, class... Args>
int Gpus::call(const Call& call, Args... args) const {
  return watch_(call.name, call.function, args...);
}

template <class Call, class... Args>
int Gpus::try_call(int device, const Call& call, Args... args) const {
  const int code = this->call(call, args...);
  if (code == 0) return code;
  // Attributes are refused as invalid where a driver is older than they.
  constexpr int invalid_value = 1, not_supported = 801;  // both vendors'
  const bool is_attribute = std::string_view(call.name) == table_->attribute.name;
  OverlookedFailure failure{device, fmt::format("{} returned {}: {}", call.name, code, table_->words(code)),
                            code == not_supported || (is_attribute && code == invalid_value)};
  if (!is_in(failure, overlooked_)) overlooked_.push_back(std::move(failure));
  return code;
}

Error Gpus::error_of(int device, const char* call, int code) const {
  const auto index = static_cast<std::size_t>(device);
  return {ErrorKind::device, index < devices_.size() ? devices_[index].full_label() : std::string(),
          fmt::format("{} returned {}: {}", call, code, table_->words(code))};
}

template <class Call, class... Args>
Result<void> Gpus::ask(int device, const Call& call, Args... args) const {
  if (const int code = this->call(call, args...); code != 0) return tl::unexpected(error_of(device, call.name, code));
  return {};
}

void Gpus::turn_to(int device) const {
  watch_.device(devices_[static_cast<std::size_t>(device)].full_label());
}

Result<void> Gpus::use(int device) const {
  if (current_ == device) return {};
  turn_to(device);
  Opened& opened = opened_[static_cast<std::size_t>(device)];
  if (opened.context == nullptr)
    if (auto retained = ask(device, table_->retain, &opened.context, opened.handle); !retained) return retained;
  if (auto used = ask(device, table_->use, opened.context); !used) return used;
  current_ = device;
  return {};
}

Result<GpuDevice> Gpus::describe(int index) {
  GpuDevice device;
  // The first one may be queried; the others only after they reported their place.
  if (index > 0) watch_.device({});
  int& handle = opened_[static_cast<std::size_t>(index)].handle;
  if (auto got = ask(index, table_->device, &handle, index); !got) return tl::unexpected(got.error());
  std::array<char, 256> text{};
  const int size = static_cast<int>(text.size()) - 1;
  if (try_call(index, table_->bus_id, text.data(), size, handle) == 0) device.address = parse_pci_address(text.data());
  if (device.address) watch_.device(device.full_label());
  text = {};
  if (try_call(index, table_->name, text.data(), size, handle) == 0) device.name = printable_line(text.data(), 80);
  // More room than a UUID needs: what a newer driver writes beyond 16 bytes must not hit us.
  std::array<unsigned char, 64> bytes{};
  if (try_call(index, table_->uuid, static_cast<void*>(bytes.data()), handle) == 0) {
    std::array<unsigned char, 16> uuid{};
    std::copy_n(bytes.begin(), uuid.size(), uuid.begin());
    const GpuBackend* backend = find_gpu_backend(table_->vendor);
    if (backend != nullptr && backend->uuid_text != nullptr) device.uuid = backend->uuid_text(uuid);
    watch_.device(device.full_label());
  }
  const auto attribute = [&](int which) {
    int value = 0;
    return try_call(index, table_->attribute, &value, which, handle) == 0 ? value : 0;
  };
  const GpuAttributes& wanted = table_->attributes;
  device.multiprocessors = attribute(wanted.multiprocessors);
  device.clock_khz = attribute(wanted.clock);
  device.memory_clock_khz = attribute(wanted.memory_clock);
  device.memory_bus_bits = attribute(wanted.bus_width);
  device.l2_bytes = attribute(wanted.l2);
  device.capability = attribute(wanted.major) * 10 + attribute(wanted.minor);
  device.copy_engines = attribute(wanted.engines);
  std::size_t memory = 0;
  if (try_call(index, table_->total_memory, &memory, handle) == 0) device.memory = memory;
  return device;
}

Result<std::unique_ptr<Gpus>> Gpus::start(std::unique_ptr<GpuTable> table, CallWatch watch) {
  std::unique_ptr<Gpus> gpus(new Gpus(std::move(table), std::move(watch)));
  int count = 0;
  if (auto counted = gpus->ask(-1, gpus->table_->count, &count); !counted) return tl::unexpected(counted.error());
  gpus->opened_.resize(static_cast<std::size_t>(std::max(count, 0)));
  for (int i = 0; i < count; ++i) {
    auto device = gpus->describe(i);
    if (!device) return tl::unexpected(device.error());
    gpus->devices_.push_back(std::move(*device));
  }
  if (count > 1) gpus->watch_.device({});
  return gpus;
}

Result<GpuHandle> Gpus::allocate(int device, std::size_t bytes) const {
  void* memory = nullptr;
  if (auto used = use(device); !used) return tl::unexpected(used.error());
  if (auto got = ask(device, table_->allocate, &memory, bytes); !got) return tl::unexpected(got.error());
  return GpuHandle(memory, {this, device, GpuRelease::What::memory});
}

Result<GpuHandle> Gpus::pin(int device, std::size_t bytes) const {
  void* memory = nullptr;
  if (auto used = use(device); !used) return tl::unexpected(used.error());
  if (auto got = ask(device, table_->pin, &memory, bytes, table_->pin_flags); !got) return tl::unexpected(got.error());
  return GpuHandle(memory, {this, device, GpuRelease::What::pinned});
}

Result<void*> Gpus::device_address(int device, void* pinned) const {
  void* address = nullptr;
  if (auto used = use(device); !used) return tl::unexpected(used.error());
  if (auto got = ask(device, table_->pinned_address, &address, pinned, 0U); !got) return tl::unexpected(got.error());
  return address;
}

Result<std::uint64_t> Gpus::free_memory(int device) const {
  std::size_t free = 0;
  std::size_t total = 0;
  if (auto used = use(device); !used) return tl::unexpected(used.error());
  if (auto got = ask(device, table_->memory_info, &free, &total); !got) return tl::unexpected(got.error());
  return free;
}

Result<GpuHandle> Gpus::stream(int device) const {
  void* stream = nullptr;
  if (auto used = use(device); !used) return tl::unexpected(used.error());
  if (auto got = ask(device, table_->create_stream, &stream, table_->stream_flags); !got)
    return tl::unexpected(got.error());
  return GpuHandle(stream, {this, device, GpuRelease::What::stream});
}

Result<GpuHandle> Gpus::event(int device) const {
  void* event = nullptr;
  if (auto used = use(device); !used) return tl::unexpected(used.error());
  if (auto got = ask(device, table_->create_event, &event, 0U); !got) return tl::unexpected(got.error());
  return GpuHandle(event, {this, device, GpuRelease::What::event});
}

Result<void> Gpus::copy(int device, void* to, const void* from, std::size_t bytes, void* stream) const {
  if (auto used = use(device); !used) return used;
  return ask(device, table_->copy, to, from, bytes, stream);
}

Result<void> Gpus::copy_to_peer(int device, const void* from, int peer, void* to, std::size_t bytes,
                                void* stream) const {
  // Its context has to be there.
  if (auto used = use(peer); !used) return used;
  if (auto used = use(device); !used) return used;
  return ask(device, table_->peer_copy, to, opened_[static_cast<std::size_t>(peer)].context, from,
             opened_[static_cast<std::size_t>(device)].context, bytes, stream);
}

Result<void> Gpus::set(int device, void* memory, std::uint32_t value, std::size_t count, void* stream) const {
  if (auto used = use(device); !used) return used;
  return ask(device, table_->set32, memory, static_cast<unsigned>(value), count, stream);
}

Result<void> Gpus::record(int device, void* event, void* stream) const {
  if (auto used = use(device); !used) return used;
  return ask(device, table_->record, event, stream);
}

Result<void> Gpus::wait(int device, void* stream, void* event) const {
  if (auto used = use(device); !used) return used;
  return ask(device, table_->wait_event, stream, event, 0U);
}

Result<void> Gpus::synchronize(int device, void* stream) const {
  if (auto used = use(device); !used) return used;
  return ask(device, table_->synchronize, stream);
}

Result<bool> Gpus::is_done(int device, void* stream) const {
  constexpr int not_ready = 600;  // both vendors'
  if (auto used = use(device); !used) return tl::unexpected(used.error());
  const int code = table_->query.function(stream);
  if (code != 0 && code != not_ready) return tl::unexpected(error_of(device, table_->query.name, code));
  return code == 0;
}

Result<double> Gpus::seconds_between(int device, void* start, void* stop) const {
  float milliseconds = 0;
  if (auto used = use(device); !used) return tl::unexpected(used.error());
  if (auto got = ask(device, table_->elapsed, &milliseconds, start, stop); !got) return tl::unexpected(got.error());
  return milliseconds * 1e-3;
}

Result<bool> Gpus::reach(int device, int peer) const {
  auto& known = opened_[static_cast<std::size_t>(device)].reach;
  if (const auto found = known.find(peer); found != known.end()) return found->second;
  int can = 0;
  if (auto got = ask(device, table_->can_access, &can, opened_[static_cast<std::size_t>(device)].handle,
                     opened_[static_cast<std::size_t>(peer)].handle);
      !got)
    return tl::unexpected(got.error());
  if (can != 0) {
    if (auto used = use(peer); !used) return tl::unexpected(used.error());
    if (auto used = use(device); !used) return tl::unexpected(used.error());
    const int code = call(table_->enable_peer, opened_[static_cast<std::size_t>(peer)].context, 0U);
    if (code != 0 && code != table_->peer_is_enabled)
      return tl::unexpected(error_of(device, table_->enable_peer.name, code));
  }
  return known[peer] = can != 0;
}

Result<void> Gpus::load_kernels(int device) const {
  Opened& opened = opened_[static_cast<std::size_t>(device)];
  const std::string label = devices_[static_cast<std::size_t>(device)].label();
  if (opened.module != nullptr) return {};
  if (!opened.no_module.empty()) return fail(ErrorKind::device, label, opened.no_module);
  if (auto used = use(device); !used) return used;
  std::vector<std::string> tried;
  for (const auto& make : table_->images) {
    const auto image = watch_("compile kernels", make, devices_[static_cast<std::size_t>(device)].capability);
    if (!image) {
      tried.push_back(to_string(image.error()));
      continue;
    }
    const int code = call(table_->load_module, &opened.module, static_cast<const void*>(image->c_str()));
    if (code == 0) return {};
    opened.module = nullptr;
    tried.push_back(error_of(device, table_->load_module.name, code).what);
  }
  opened.no_module = "no code for kernels: " + join(tried, "; ");
  return fail(ErrorKind::device, label, opened.no_module);
}

Result<void*> Gpus::kernel(int device, const char* name) const {
  if (auto loaded = load_kernels(device); !loaded) return tl::unexpected(loaded.error());
  Opened& opened = opened_[static_cast<std::size_t>(device)];
  if (const auto found = opened.kernels.find(name); found != opened.kernels.end()) return found->second;
  void* function = nullptr;
  if (auto got = ask(device, table_->find_kernel, &function, opened.module, name); !got)
    return tl::unexpected(got.error());
  return opened.kernels[name] = function;
}

Result<void> Gpus::launch(int device, const char* kernel, const GpuLaunch& launch,
                          std::initializer_list<void*> arguments, void* stream) const {
  if (auto used = use(device); !used) return used;
  auto function = this->kernel(device, kernel);
  if (!function) return tl::unexpected(function.error());
  std::vector<void*> list(arguments);
  return ask(device, table_->launch, *function, launch.blocks, launch.block_rows, 1U, launch.threads,
             launch.thread_rows, 1U, 0U, stream, list.data(), static_cast<void**>(nullptr));
}

}  // namespace muster
