/// Data on GPUs: whether a case of p2p or allreduce is about memory of the host or of GPUs, and what carries it.
/// docs/methods/p2p.md, "On GPUs".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/collectives.hpp"
#include "measure/gpu_links.hpp"
#include "measure/load_watch.hpp"
#include "measure/pair_measure.hpp"
#include "measure/rails.hpp"
#include "muster/probe.hpp"

namespace muster::p2p {

inline constexpr ParamSpec on_param{"on",
                                    ParamType::text,
                                    "auto",
                                    "Memory that holds the data; auto: GPU memory if the node of any rank has GPUs, "
                                    "without a fallback to host memory; else host memory.",
                                    "auto|host|device",
                                    {},
                                    {}};
inline constexpr ParamSpec transport_param{"transport",
                                           ParamType::text,
                                           "auto",
                                           "Transport between GPUs: NCCL (RCCL on AMD), or an MPI that takes messages "
                                           "from GPU memory; auto: the first that is installed.",
                                           "auto|mpi|nccl",
                                           {},
                                           {}};
inline constexpr ParamSpec deadline_param{
    "deadline",
    ParamType::duration,
    "300s",
    "Time limit of one operation of NCCL or RCCL, which is then aborted. A shorter timeout of the check takes effect "
    "first, and names the ranks that are behind.",
    {},
    0.1,
    86400};

/// `fallback` differs by probe.
constexpr ParamSpec least_of_link_param(std::string_view fallback) {
  return {"least_of_link",
          ParamType::real,
          fallback,
          "The largest size between GPUs of one node fails below this share of what NVLink or xGMI between them can "
          "do; 0: never.",
          {},
          0,
          1};
}

inline constexpr LabelSpec memory_label{"memory", "device: the data is in GPU memory. Absent for host memory."};
inline constexpr LabelSpec carrier_label{"transport", "nccl, rccl or mpi. Only between GPUs."};

/// What one rank finds before anybody is asked.
enum class Sight : std::uint8_t {
  host,     ///< nothing speaks for a GPU
  gpu,      ///< all that is needed is there
  lacking,  ///< GPUs are here, or were asked for, and something is not there
  broken,   ///< something is present and unusable
};

/// What all ranks come to.
enum class Decision : std::uint8_t { host, device, refused };
/// Host memory only where no rank saw a GPU and none was asked for (`is_asked`): a rank that lacks one must not turn a
/// case about GPUs into one about the host. Pure.
[[nodiscard]] Decision decide(const std::vector<Sight>& sights, bool is_asked);

/// The GPU whose counters this rank (`self`) reads: they are of all ranks on it or on partitions of it, of which it is
/// the first. nullptr: none. Pure.
[[nodiscard]] const Device* counted_by(const Inventory& node, const std::vector<GpuPlace>& places, std::size_t self);

/// What a probe wants GPUs for.
enum class GpuUse : std::uint8_t {
  data,       ///< something has to carry data between their memories
  computing,  ///< kernels are needed; without a carrier data goes by way of the host
};

/// What carries data between GPUs.
enum class DataPath : std::uint8_t { library, mpi, staged };

/// One rank's. Must outlive the buffers that it moved.
class GpuData {
 public:
  /// Local: opens what there is; the recorder gets every call of a vendor's library.
  explicit GpuData(RunContext& context, GpuUse use = GpuUse::data);
  GpuData(const GpuData&) = delete;
  GpuData& operator=(const GpuData&) = delete;

  /// Collective. Afterwards all ranks are on the host, or all on GPUs, or refused. On GPUs both buffers are there, too.
  [[nodiscard]] Result<void> agree(Buffer& out, Buffer& in);
  /// Collective, likewise; `make` is called where it is to be GPUs, and has what is needed there ready.
  [[nodiscard]] Result<void> agree(const std::function<Result<void>()>& make);
  [[nodiscard]] bool is_on_device() const { return decision_ == Decision::device; }
  /// Nothing is to be measured.
  [[nodiscard]] bool is_refused() const { return decision_ == Decision::refused; }
  /// nullptr: the communicator of the case carries the data.
  [[nodiscard]] DeviceComm* carrier() const { return comm_.get(); }
  [[nodiscard]] DataPath carriage() const { return carriage_; }
  // On GPUs.
  [[nodiscard]] const Gpus& gpus() const { return *runtime_->gpus; }
  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] const CallWatch& watch() const { return watch_; }
  /// On GPUs.
  [[nodiscard]] const GpuLinks& links() const { return links_; }
  /// GB/s in one direction between this rank's GPU and that of `rank`, by all links that its model has, which nothing
  /// exceeds; 0: not known, or not on GPUs.
  [[nodiscard]] double possible_to(int rank) const;
  /// On GPUs: the NICs nearest to this rank's; nullopt: none is known to be near.
  [[nodiscard]] std::optional<Rail> near_rail() const;
  /// GB/s in one direction between this rank's GPU and those of all other ranks together.
  [[nodiscard]] double possible_to_all() const;
  /// On GPUs: for all readings. Leaves them sorted.
  void add_labels(Labels& labels) const;
  /// Facts for the judge, of keys that begin with `data.`; after the load: also what the counters of the GPU did
  /// (gpu_copy::judge_health).
  void announce(Observation& seen) const;

 private:
  void look();
  void look_for_carrier();
  void look_for_any_carrier();
  void choose_device();
  void explain_blindness();
  void see(Sight sight, std::string why, std::string remedy = {});
  [[nodiscard]] GpuPlace own_place() const;
  void read_links(std::vector<GpuPlace> places);
  void watch_counters(const std::vector<GpuPlace>& places);
  void add_overlooked(Observation& seen) const;
  [[nodiscard]] Result<void> settle(Result<void> mine);
  [[nodiscard]] Result<void> start(const std::function<Result<void>()>& make);

  RunContext& context_;
  GpuUse use_;
  bool is_asked_ = false;
  std::string transport_;
  CallWatch watch_;
  std::vector<GpuRuntime> runtimes_;
  GpuRuntime* runtime_ = nullptr;
  Observation mapped_;  ///< this rank's GPU according to gpu_mapping
  int device_ = -1;
  CollectiveLibrary library_;
  DataPath carriage_ = DataPath::mpi;
  std::string why_staged_;
  Sight sight_ = Sight::host;
  std::string why_;
  std::string remedy_;
  std::string setting_;  ///< the variable that hides every GPU from this rank; empty: none
  Decision decision_ = Decision::host;
  GpuLinks links_;
  Inventory node_;                                    ///< on GPUs: what the kernel shows
  std::unique_ptr<gpu_copy::CounterWatch> counters_;  ///< of the first rank on its GPU
  std::unique_ptr<DeviceComm> comm_;
};

/// Findings on where the data lies and on its way. True: the case was refused, there is nothing else to judge.
[[nodiscard]] bool judge_gpu_data(const CaseView& view, bool may_use_sockets, std::vector<Finding>& findings);
/// What a pass was measured on; empty: on host memory, as expected.
[[nodiscard]] std::string gpu_data_evidence(const CaseView& view);

}  // namespace muster::p2p
