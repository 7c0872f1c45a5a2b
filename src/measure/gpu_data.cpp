#include "measure/gpu_data.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "device/device_models.hpp"
#include "device/gpu_backend.hpp"
#include "device/machine.hpp"
#include "measure/gpu_facts.hpp"
#include "measure/gpu_remedies.hpp"
#include "measure/node_gpus.hpp"
#include "measure/node_ranks.hpp"
#include "measure/rank_gpus.hpp"
#include "measure/transport.hpp"
#include "model/fact_fields.hpp"
#include "model/gpu_vendor.hpp"
#include "system/this_machine.hpp"

namespace muster::p2p {

namespace {

/// By address; where the kernel's files name none (MIG, partitions), by number. -1: it is not shown.
int find_device(const Gpus& gpus, const Observation& mapped) {
  const auto& devices = gpus.devices();
  if (const std::string* address = mapped.fact("device.address")) {
    const auto same = std::find_if(devices.begin(), devices.end(), [&](const GpuDevice& device) {
      return device.address && to_string(*device.address) == *address;
    });
    return same == devices.end() ? -1 : static_cast<int>(same - devices.begin());
  }
  const std::string* index = mapped.fact("index");
  const bool is_number =
      index != nullptr && !index->empty() && index->find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || mapped.fact("device") == nullptr || index->size() > 4) return -1;
  const int number = std::atoi(index->c_str());
  return number < static_cast<int>(devices.size()) ? number : -1;
}

std::string state_of(const LibraryReport& report) {
  return report.state == LibraryState::absent ? report.name + " is absent"
                                              : fmt::format("{} is unusable: {}", report.name, report.error);
}

/// A rank's message to the others: its sight, and the transport of its data.
struct Word {
  std::uint8_t sight = 0;
  std::uint8_t is_nccl = 0;
  std::uint8_t is_staged = 0;
  GpuPlace gpu;
};

}  // namespace

Decision decide(const std::vector<Sight>& sights, bool is_asked) {
  const auto count = [&](Sight one) { return std::count(sights.begin(), sights.end(), one); };
  if (count(Sight::broken) > 0) return Decision::refused;
  if (!sights.empty() && count(Sight::gpu) == static_cast<std::ptrdiff_t>(sights.size())) return Decision::device;
  const bool is_about_gpus = is_asked || count(Sight::gpu) + count(Sight::lacking) > 0;
  return is_about_gpus ? Decision::refused : Decision::host;
}

const Device* counted_by(const Inventory& node, const std::vector<GpuPlace>& places, std::size_t self) {
  const GpuPlace& own = places.at(self);
  const Device* gpu = own.is_known ? gpu_copy::known_at(node, own.address) : nullptr;
  const bool is_taken =
      std::any_of(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(self), [&](const GpuPlace& place) {
        return place.is_known && place.node == own.node && gpu_copy::known_at(node, place.address) == gpu;
      });
  return is_taken ? nullptr : gpu;
}

GpuData::GpuData(RunContext& context, GpuUse use)
    : context_(context), use_(use), transport_(context.params.text("transport")) {
  const std::string on = context.params.text("on");
  is_asked_ = on == "device" || (on == "auto" && transport_ == "nccl");
  watch_ = CallWatch(context.recorder);
  if (on != "host") look();
}

void GpuData::see(Sight sight, std::string why, std::string remedy) {
  sight_ = sight;
  why_ = std::move(why);
  remedy_ = std::move(remedy);
}

void GpuData::look() {
  context_.recorder.step("own GPU");
  mapped_.facts = gpu_mapping::observe_here(context_.place.local_rank);
  // Until its runtime reports it.
  const std::string* uuid = mapped_.fact("device.uuid");
  if (const std::string* address = mapped_.fact("device.address"))
    watch_.device(fmt::format("GPU {}{}", *address, uuid == nullptr ? "" : " (" + *uuid + ")"));
  context_.recorder.step("open runtime");
  runtimes_ = open_gpu_runtimes(watch_);
  for (GpuRuntime& runtime : runtimes_)
    if (runtime.gpus && !runtime.gpus->devices().empty() && runtime_ == nullptr) runtime_ = &runtime;
  if (runtime_ != nullptr) return choose_device();
  explain_blindness();
}

/// No runtime shows a GPU: the node has none, this job may not use those that it has, or something is wrong.
void GpuData::explain_blindness() {
  // Also those that fell off the bus or have no driver: a node must not pass on host memory for that.
  const bool has_gpus = mapped_.fact("gpu") != nullptr || mapped_.fact("unusable") != nullptr;
  const bool is_closed = mapped_.fact("closed") != nullptr;
  const std::string wanted = has_gpus || is_closed ? "" : gpu_mapping::wanted_by(context_.node, mapped_.facts);
  if (!wanted.empty())
    return see(Sight::lacking, "no GPU is there, " + wanted,
               "see device_visibility; run on nodes with GPUs, not on a login node");
  if (!has_gpus && !is_asked_) {
    if (is_closed) why_ = "the GPUs of the node are closed to this job";
    return;
  }
  const auto is_of_node = [&](std::string_view vendor) {
    return is_in(Fact{"vendor", std::string(vendor)}, mapped_.facts);
  };
  const auto broken = std::find_if(runtimes_.begin(), runtimes_.end(), [&](const GpuRuntime& runtime) {
    return runtime.library.state == LibraryState::broken && (!has_gpus || is_of_node(runtime.vendor));
  });
  // A driver's library on the GPUs of the node.
  if (broken != runtimes_.end()) {
    setting_ = gpu_mapping::hiding_setting(mapped_.facts);
    return see(Sight::lacking, state_of(broken->library), broken->remedy);
  }
  see(Sight::lacking, "no library shows a GPU here", remedy_without_runtime());
}

void GpuData::choose_device() {
  device_ = find_device(*runtime_->gpus, mapped_);
  if (device_ < 0)
    return see(Sight::lacking,
               fmt::format("no GPU is left for a rank ({} shows {})", runtime_->library.name,
                           counted(runtime_->gpus->devices().size(), "GPU")),
               "start as many ranks on a node as it has GPUs, and see gpu_mapping");
  watch_.device(runtime_->gpus->devices()[static_cast<std::size_t>(device_)].full_label());
  sight_ = Sight::gpu;
  if (use_ == GpuUse::data) return look_for_carrier();
  if (auto loaded = runtime_->gpus->load_kernels(device_); !loaded)
    return see(Sight::lacking, loaded.error().what, remedy_without_compiler(runtime_->vendor));
  look_for_any_carrier();
}

void GpuData::look_for_any_carrier() {
  if (transport_ == "auto" || transport_ == "nccl") {
    library_ = open_collectives(runtime_->vendor, watch_);
    if (library_.table != nullptr) {
      carriage_ = DataPath::library;
      return;
    }
    if (library_.report.state == LibraryState::broken)
      return see(Sight::broken, state_of(library_.report), library_.remedy);
    why_staged_ = state_of(library_.report);
    if (transport_ == "nccl")
      return see(Sight::lacking, why_staged_,
                 fmt::format("install {} or load its module", terms_of_vendor(runtime_->vendor).collectives));
  }
  if (transport_ != "staged" && is_mpi_gpu_aware(runtime_->vendor) == std::optional(true)) return;
  carriage_ = DataPath::staged;
}

void GpuData::look_for_carrier() {
  if (transport_ != "mpi") {
    library_ = open_collectives(runtime_->vendor, watch_);
    carriage_ = library_.table == nullptr ? DataPath::mpi : DataPath::library;
    if (library_.table != nullptr) return;
    if (library_.report.state == LibraryState::broken)
      return see(Sight::broken, state_of(library_.report), library_.remedy);
    if (transport_ == "nccl")
      return see(Sight::lacking, state_of(library_.report),
                 fmt::format("install {} or load its module", terms_of_vendor(runtime_->vendor).collectives));
  }
  const auto is_aware = is_mpi_gpu_aware(runtime_->vendor);
  if (is_aware == std::optional(true)) return;
  see(Sight::lacking,
      fmt::format(
          "{} {}{}", context_.comm.library(),
          is_aware ? "takes no messages from GPU memory" : "does not report whether it takes messages from GPU memory",
          transport_ == "mpi" ? "" : ", and " + state_of(library_.report)),
      fmt::format("load an MPI that is built for GPUs (Open MPI with UCX and {}; Cray MPICH with craype-accel-* and "
                  "MPICH_GPU_SUPPORT_ENABLED=1), or install {} and set transport=nccl",
                  of_all_vendors(&GpuVendor::stack, " or "), of_all_vendors(&GpuVendor::collectives, " or ")));
}

Result<void> GpuData::agree(Buffer& out, Buffer& in) {
  return agree([&]() -> Result<void> {
    auto moved = out.move_to(*runtime_->gpus, device_);
    return moved ? in.move_to(*runtime_->gpus, device_) : moved;
  });
}

Result<void> GpuData::agree(const std::function<Result<void>()>& make) {
  // With memory = host, no rank has looked.
  if (context_.params.text("on") == "host") return {};
  context_.recorder.step("agree on memory");
  Word mine{static_cast<std::uint8_t>(sight_), library_.table != nullptr, carriage_ == DataPath::staged, {}};
  mine.gpu = own_place();
  auto words = context_.comm.all_gather(std::as_bytes(std::span(&mine, 1)));
  if (!words) return tl::unexpected(words.error());
  std::vector<Sight> sights;
  std::vector<GpuPlace> places;
  bool is_alike = true;
  for (const ByteVector& bytes : *words) {
    if (bytes.size() != sizeof(Word)) return fail(ErrorKind::protocol, "all_gather", "a rank sent another length");
    sights.push_back(static_cast<Sight>(bytes[0]));
    is_alike = is_alike && bytes[1] == (*words)[0][1];
    GpuPlace& place = places.emplace_back();
    std::memcpy(&place, bytes.data() + offsetof(Word, gpu), sizeof(place));
    // One that needs the host takes all by way of it.
    if (bytes[2] != std::byte{0}) carriage_ = DataPath::staged;
  }
  decision_ = decide(sights, is_asked_);
  if (decision_ != Decision::device) return {};
  if (!is_alike) {
    decision_ = Decision::refused;
    if (library_.table == nullptr)
      see(Sight::broken, state_of(library_.report) + ", which other ranks have", "install it on all nodes alike");
    return {};
  }
  read_links(std::move(places));
  return start(make);
}

GpuPlace GpuData::own_place() const {
  GpuPlace place{context_.place.node_index, false, {}};
  if (device_ < 0) return place;
  if (const auto& address = runtime_->gpus->devices()[static_cast<std::size_t>(device_)].address) {
    place.is_known = true;
    place.address = *address;
  }
  return place;
}

void GpuData::read_links(std::vector<GpuPlace> places) {
  context_.recorder.step("links");
  auto inventory = read_inventory(root_of("/"));
  // device_visibility reports unreadable data; here nothing is known of links then.
  if (!inventory) return;
  node_ = *inventory;
  watch_counters(places);
  if (const GpuBackend* backend = find_gpu_backend(runtime_->vendor);
      backend != nullptr && backend->add_links != nullptr)
    backend->add_links(*inventory, watch_);
  // Which asked about others in between.
  watch_.device(runtime_->gpus->devices()[static_cast<std::size_t>(device_)].full_label());
  links_ = GpuLinks(std::move(*inventory), std::move(places), context_.comm.rank());
}

void GpuData::watch_counters(const std::vector<GpuPlace>& places) {
  if (const Device* gpu = counted_by(node_, places, static_cast<std::size_t>(context_.comm.rank())))
    counters_ = std::make_unique<gpu_copy::CounterWatch>(node_, *gpu, watch_, context_.recorder);
}

double GpuData::possible_to(int rank) const {
  if (!is_on_device() || !links_.is_other_gpu(rank)) return 0;
  const DeviceModel* model = find_whole_model(runtime_->gpus->devices()[static_cast<std::size_t>(device_)].name);
  return model == nullptr ? 0 : most_of_links(*model);
}

double GpuData::possible_to_all() const {
  double least = 0;
  for (int rank = 0; rank < context_.comm.size(); ++rank) {
    if (rank == context_.comm.rank()) continue;
    least = possible_to(rank);
    if (least <= 0) return 0;
  }
  return least;
}

/// The judge reports failures here; failures elsewhere are reported there.
Result<void> GpuData::settle(Result<void> mine) {
  if (!mine) see(Sight::broken, to_string(mine.error()), "see the library's output with NCCL_DEBUG=INFO");
  auto all = context_.comm.all_true(mine.has_value());
  if (!all) return tl::unexpected(all.error());
  if (!*all) decision_ = Decision::refused;
  return {};
}

Result<void> GpuData::start(const std::function<Result<void>()>& make) {
  if (auto settled = settle(make()); !settled || is_refused()) return settled;
  if (library_.table == nullptr) return {};
  context_.recorder.step("make communicator");
  auto made =
      make_device_comm(context_.comm, *runtime_->gpus, device_, library_, watch_, context_.params.duration("deadline"));
  if (!made) {
    decision_ = Decision::refused;
    // A rank without an error has nothing to report.
    if (made.error().kind != ErrorKind::protocol)
      // Without the GPU's name, so that equal messages of ranks are reported once.
      see(Sight::broken, made.error().what,
          "see the library's output with NCCL_DEBUG=INFO, and that each rank has a GPU of its own (gpu_mapping)");
    return {};
  }
  comm_ = std::move(*made);
  return {};
}

std::optional<Rail> GpuData::near_rail() const {
  const std::string* nics = mapped_.fact("device.nic");  // `mlx5_0, same switch`
  return nics == nullptr ? std::nullopt : near_rail_of(*nics);
}

void GpuData::add_labels(Labels& labels) const {
  if (!is_on_device()) return;
  labels.emplace_back("memory", "device");
  labels.emplace_back("transport", comm_ == nullptr ? "mpi" : terms_of_vendor(runtime_->vendor).transport);
  // What stands beside a reading is found by equal labels.
  std::sort(labels.begin(), labels.end());
}

/// Calls about this rank's GPU that failed without stopping anything.
void GpuData::add_overlooked(Observation& seen) const {
  const GpuPlace own = own_place();
  for (const OverlookedFailure& one : runtime_->gpus->overlooked())
    if (one.device == device_)
      seen.facts.push_back(to_fact(one.is_lack ? "call_lacked" : "call_failed",
                                   gpu_copy::AboutGpu{own.is_known ? to_string(own.address) : "-", one.what}));
}

void GpuData::announce(Observation& seen) const {
  const auto add = [&](const char* key, std::string_view value) {
    if (!value.empty()) seen.facts.push_back({key, printable_line(value, 400)});
  };
  if (device_ >= 0) add("data.device", runtime_->gpus->devices()[static_cast<std::size_t>(device_)].full_label());
  if (is_refused() && sight_ != Sight::gpu) {
    add("data.refused", why_.empty() ? "it has no GPU" : why_);
    add("data.remedy", remedy_);
    add("data.setting", setting_);
  } else if (is_refused()) {
    add("data.stopped", "others refused");
  } else if (!is_on_device()) {
    add("data.host", why_);
  }
  if (!is_on_device()) return;
  if (counters_ != nullptr) counters_->end(seen);
  add_overlooked(seen);
  if (comm_ != nullptr)
    add("data.carrier", comm_->library());
  else if (carriage_ == DataPath::staged)
    add("data.carrier", "MPI by way of the host" + (why_staged_.empty() ? "" : " (" + why_staged_ + ")"));
  else
    add("data.carrier", context_.comm.library());
  if (comm_ == nullptr) return;
  const Connections connections = comm_->connections();
  if (context_.comm.size() > 1) add("data.connections", describe(connections));
  for (Fact& fact : links_.detours(connections)) seen.facts.push_back(std::move(fact));
  const bool has_sockets = std::any_of(connections.ways.begin(), connections.ways.end(),
                                       [](const auto& way) { return is_socket(way.first); });
  const auto ports = fast_ports(root_of("/"));
  if (has_sockets) add("data.sockets", join(ports, " "));
  if (misses_slingshot(connections, ports)) add("data.provider", connections.provider);
}

}  // namespace muster::p2p
