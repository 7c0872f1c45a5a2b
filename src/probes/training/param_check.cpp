#include "probes/training/param_check.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace muster::training {

namespace {

/// The parameter whose share is the largest: that one is to be smaller.
std::string largest_of(const Demand& demand) {
  const std::uint64_t most = std::max({demand.data, demand.network, demand.activity});
  return demand.network == most ? "hidden" : demand.data == most ? "samples" : "batch";
}

double gibibytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(1u << 30);
}

}  // namespace

Demand demand_of(const Settings& settings, int rank, int ranks) {
  const auto wide = [](int number) { return static_cast<std::uint64_t>(number); };
  const std::uint64_t hidden = wide(settings.hidden);
  const std::uint64_t parameters =
      hidden * (wide(settings.features) + hidden + wide(settings.classes) + 2) + wide(settings.classes);
  const std::uint64_t samples = wide(settings.samples) + wide(settings.held_out);
  const std::uint64_t columns = wide(settings.features) + 4 * hidden + 3 * wide(settings.classes) + 1;
  const bool has_reference = rank == 0;
  Demand demand;
  demand.data = sizeof(float) * (samples * (wide(settings.features) + 1) + 6 * wide(settings.samples));
  // Parameters, velocity, gradients and sums; the state at the start; a checkpoint while it is written and read.
  demand.network = sizeof(float) * parameters * (has_reference ? 16 : 8);
  demand.activity =
      sizeof(float) * columns * (wide(settings.batch) / wide(ranks) + 17 + (has_reference ? wide(settings.batch) : 0));
  return demand;
}

Result<void> demand_sense(const Settings& settings, const RankPlace& place, std::uint64_t available) {
  if (settings.batch > settings.samples)
    return fail(ErrorKind::usage, "batch",
                fmt::format("{0} exceeds the {1} samples; use at most {1}, or increase samples", settings.batch,
                            settings.samples));
  std::uint64_t needed = 0;
  // The lowest rank of a node is its first; which of them is rank 0 is known only there.
  for (int local = 0; local < place.local_size; ++local)
    needed += demand_of(settings, place.node_index == 0 && local == 0 ? 0 : 1, place.world_size).all();
  if (available == 0 || needed <= available) return {};
  const std::string blame = largest_of(demand_of(settings, place.rank, place.world_size));
  return fail(ErrorKind::usage, blame,
              fmt::format("with these sizes the {} ranks of a node need {:.1f} GiB, and {:.1f} GiB are available; a "
                          "smaller one, or fewer ranks per node",
                          place.local_size, gibibytes(needed), gibibytes(available)));
}

}  // namespace muster::training
