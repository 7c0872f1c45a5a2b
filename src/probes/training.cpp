// Data-parallel training of a small network whose course is known. docs/methods/training.md
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <span>

#include "device/gpu_execution.hpp"
#include "measure/domains.hpp"
#include "measure/gpu_data.hpp"
#include "measure/link_class.hpp"
#include "probes/training/judge.hpp"
#include "probes/training/observe.hpp"
#include "probes/training/param_check.hpp"
#include "probes/training/saving.hpp"
#include "system/system.hpp"

namespace muster {

namespace {

constexpr ParamSpec training_params[] = {
    {"seed", ParamType::integer, "1", "Seed of the data set, of its order, and of the initial parameters.", {}, 0, {}},
    {"samples", ParamType::integer, "5000", "Samples of an epoch.", {}, 2, 1e8},
    {"held_out", ParamType::integer, "2000", "Further samples, for the accuracy.", {}, 1, 1e8},
    {"features", ParamType::integer, "64", "Numbers in a sample.", {}, 1, 65536},
    {"classes", ParamType::integer, "10", "Classes of the samples.", {}, 2, 4096},
    {"hidden", ParamType::integer, "256", "Width of each of the two hidden layers.", {}, 1, 65536},
    {"batch", ParamType::integer, "240", "Samples of a step, for all ranks together.", {}, 1, 1e6},
    {"epochs", ParamType::integer, "8", "Number of epochs.", {}, 1, 1e6},
    {"learning_rate", ParamType::real, "0.05", "Of stochastic gradient descent.", {}, 1e-9, 1e3},
    {"momentum", ParamType::real, "0.9", "Of stochastic gradient descent.", {}, 0, 0.9999},
    {"bucket",
     ParamType::bytes,
     "8KiB",
     "Gradients are summed as soon as this many bytes are known, layer by layer.",
     {},
     4,
     {}},
    {"threads",
     ParamType::integer,
     "0",
     "Threads of each rank for matrix products; 0: the cores of its mask, divided among the ranks that share them.",
     {},
     0,
     4096},
    {"blas",
     ParamType::text,
     "auto",
     "Implementation of matrix products: a BLAS if there is one, or plain loops.",
     "auto|plain",
     {},
     {}},
    {"max_loss", ParamType::real, "0.1", "Upper limit of the mean loss of the last epoch.", {}, 0, {}},
    {"min_accuracy",
     ParamType::real,
     "0.97",
     "Fraction of held-out samples that must be classified correctly.",
     {},
     0,
     1},
    {"reference_steps",
     ParamType::integer,
     "100",
     "Number of steps that are compared with those of a single rank.",
     {},
     1,
     1e6},
    {"checkpoint", ParamType::text, "",
     "Checkpoint file to write; empty: a temporary file in rank 0's TMPDIR, removed at the end."},
    {"resume", ParamType::text, "", "Checkpoint to resume, read by rank 0; empty: start anew."},
    {"on",
     ParamType::text,
     "auto",
     "Processor; auto: GPUs if every rank has one that runs kernels, else the host.",
     "auto|host|device",
     {},
     {}},
    {"transport",
     ParamType::text,
     "auto",
     "Transport that sums gradients of GPUs: NCCL (RCCL on AMD), an MPI that takes GPU memory, or MPI through host "
     "memory; auto: the first of these that is installed.",
     "auto|nccl|mpi|staged",
     {},
     {}},
    p2p::deadline_param,
};

constexpr MetricSpec training_metrics[] = {
    {"loss", "1", Better::lower, "Mean loss over a batch, before its update.", false},
    {"initial_loss", "1", Better::neither, "Loss of the first step; about ln(classes).", false},
    {"final_loss", "1", Better::lower, "Mean loss over the last epoch.", false},
    {"accuracy", "1", Better::higher, "Fraction of held-out samples classified correctly at the end.", false},
    {"throughput", "samples/s", Better::higher,
     "Samples per second of all ranks together, for each epoch; the first epoch is a warm-up."},
    {"rank_throughput", "samples/s", Better::higher, "Samples per second of each rank."},
    {"step_time", "us", Better::lower, "Time of one step: forward, backward, sums, update."},
    {"compute_time", "us", Better::lower, "Part of the step until this rank's last gradient is known."},
    {"wait_share", "1", Better::lower, "Share of a step in which the rank waits for sums after that."},
    {"overlap", "1", Better::higher, "Share of the time of sums alone that is hidden behind computation."},
    {"skew", "us", Better::lower, "Difference between this rank's median compute_time and the median of all ranks."},
};

constexpr LabelSpec training_labels[] = {
    {"step", "Step of the loss curve, from 0."},
    p2p::memory_label,
};

struct TrainingState final : ProbeState {
  training::Settings settings;
  training::DataSet data;
  training::DataSet held_out;
  Topology topology;
};

training::Settings settings_of(const Params& params) {
  const auto number = [&](std::string_view name) { return static_cast<int>(params.integer(name)); };
  training::Settings settings;
  settings.seed = static_cast<std::uint64_t>(params.integer("seed"));
  settings.samples = number("samples");
  settings.held_out = number("held_out");
  settings.features = number("features");
  settings.classes = number("classes");
  settings.hidden = number("hidden");
  settings.batch = number("batch");
  settings.epochs = number("epochs");
  settings.rate = static_cast<float>(params.real("learning_rate"));
  settings.momentum = static_cast<float>(params.real("momentum"));
  settings.bucket_bytes = params.bytes("bucket").count;
  settings.reference_steps = number("reference_steps");
  return settings;
}

Result<std::unique_ptr<ProbeState>> prepare_training(const PrepareContext& context) {
  auto made = std::make_unique<TrainingState>();
  made->settings = settings_of(context.params);
  const auto available = memory_bandwidth::read_available_memory();
  if (auto fits = training::demand_sense(made->settings, context.place, available); !fits)
    return tl::unexpected(fits.error());
  const std::string& checkpoint = context.params.text("checkpoint");
  if (context.place.rank == 0 && !checkpoint.empty())
    if (auto free = training::may_write_checkpoint(checkpoint); !free) return tl::unexpected(free.error());
  context.recorder.step("data");
  made->data = training::make_training_data(made->settings);
  made->held_out = training::make_held_out_data(made->settings);
  context.recorder.step("topology");
  auto topology = read_topology();
  if (!topology) return tl::unexpected(topology.error());
  made->topology = std::move(*topology);
  return made;
}

/// Collective. The cores of this rank's mask, shared out among the ranks of its node that may use them, too.
Result<int> own_threads(RunContext& context, const Topology& topology) {
  auto spots = p2p::exchange_spots(context.comm, p2p::spot_here(context.place, topology));
  if (!spots) return tl::unexpected(spots.error());
  const p2p::Spot& mine = (*spots)[static_cast<std::size_t>(context.comm.rank())];
  int sharing = 0;
  for (const p2p::Spot& other : *spots) sharing += other.node == mine.node && other.mask.intersects(mine.mask);
  const auto asked = static_cast<int>(context.params.integer("threads"));
  if (asked > 0) return asked;
  return std::max(1, cores_of(mine.mask).count() / std::max(1, sharing));
}

/// What gradients on GPUs are added up with.
training::Carrier carrier_of(const p2p::GpuData& gpu) {
  if (!gpu.is_on_device() || gpu.carriage() == p2p::DataPath::staged) return {};
  if (DeviceComm* comm = gpu.carrier()) return {comm, true, true, [comm] { comm->abandon(); }};
  // No MPI guarantees non-blocking sums of GPU memory; Open MPI documents that they do not work.
  return {nullptr, true, false, {}};
}

bool is_timing(std::string_view name) {
  return std::any_of(std::begin(training_metrics), std::end(training_metrics),
                     [&](const MetricSpec& metric) { return metric.name == name && metric.is_timing; });
}

Result<Observation> run_training(RunContext& context) {
  const auto& prepared = static_cast<const TrainingState&>(*context.state);
  const auto products = context.params.text("blas") == "plain" ? Products::plain : Products::fastest;
  // Goes last: memory of a GPU must go before its runtime does.
  p2p::GpuData gpu(context, p2p::GpuUse::computing);
  std::unique_ptr<Execution> on_gpu;
  auto agreed = gpu.agree([&]() -> Result<void> {
    auto made = make_gpu_execution(gpu.gpus(), gpu.device(), products, gpu.watch());
    if (!made) return tl::unexpected(made.error());
    on_gpu = std::move(*made);
    return {};
  });
  if (!agreed) return tl::unexpected(agreed.error());
  Observation refused;
  if (gpu.is_refused()) {
    gpu.announce(refused);
    return refused;
  }
  context.recorder.step("placement");
  auto threads = own_threads(context, prepared.topology);
  if (!threads) return tl::unexpected(threads.error());
  const auto on_host = make_host_execution(products, *threads);
  Execution& execution = gpu.is_on_device() ? *on_gpu : *on_host;
  training::Parts parts{execution, context.comm, context.recorder};
  if (gpu.is_on_device()) {
    parts.carrier = carrier_of(gpu);
    parts.reference = on_host.get();
    parts.tolerance = training::gpu_curve_tolerance;
  }
  const training::Task task{prepared.settings,
                            prepared.data,
                            prepared.held_out,
                            context.params.text("checkpoint"),
                            context.params.text("resume"),
                            context.timing_doubt.empty()};
  auto trained = training::train(parts, task);
  if (!trained) return tl::unexpected(trained.error());
  Observation seen = training::observe(*trained, prepared.settings, context.comm.rank());
  // What takes time takes another time on GPUs: the same name would be wider than what was measured.
  for (Reading& reading : seen.readings)
    if (gpu.is_on_device() && is_timing(reading.metric)) reading.where.emplace_back("memory", "device");
  seen.facts.push_back({"execution", execution.name()});
  if (gpu.is_on_device()) seen.facts.push_back({"reference.execution", on_host->name()});
  // Calls that give memory back may fail, too.
  on_gpu.reset();
  gpu.announce(seen);
  return seen;
}

constexpr std::string_view training_facts[] = {"data.device"};

}  // namespace

std::span<const ParamSpec> training::params() {
  return training_params;
}

extern const ProbeSpec probe_training{
    .name = "training",
    .summary =
        "Data-parallel training of a small network converges, with the same parameters on all ranks and the losses of "
        "one rank.",
    .params = training_params,
    .metrics = training_metrics,
    .labels = training_labels,
    .prepare = prepare_training,
    .run = run_training,
    .judge = training::judge,
    .reported_facts = training_facts,
};

}  // namespace muster
