#include "probes/gpu_compute/judge_rates.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/units.hpp"
#include "measure/gpu_limits.hpp"
#include "stats/stats.hpp"

namespace muster::gpu_compute {

namespace {

constexpr std::string_view slow_remedy =
    "see its power, clock and throttle reasons against the others' (metrics power and clock, device_visibility), its "
    "cooling and its power limit, and whether others use it";

/// One rate of one GPU.
struct Rate {
  const RankPlace* place;
  std::string address;
  std::string who;  ///< `GPU 0000:c1:00.0 (GPU-...) on nid001 multiplies bfloat16 at 500 TFLOP/s`
  double value;
};

/// By type and model.
using Likes = std::map<std::pair<std::string, std::string>, std::vector<Rate>>;

Rate rate_of(const RankPlace& place, const Reading& reading, const gpu_copy::TestedGpus& named) {
  const std::string reported = label_of(reading.where, "device");
  const std::string address = reported.empty() ? named.only : reported;
  return {
      &place, address,
      fmt::format("{} on {} multiplies {} at {}", named(address), place.host,
                  printable_line(label_of(reading.where, "type"), 20), format_value(reading.summary.median, "TFLOP/s")),
      reading.summary.median};
}

Finding slow(const Rate& rate, const std::string& than) {
  return gpu_copy::about_gpu(*rate.place, Verdict::fail, rate.address, rate.who + ", " + than,
                             std::string(slow_remedy));
}

void judge_rank(const CaseView& view, int rank, const gpu_copy::TestedGpus& named, Likes& likes,
                std::vector<Finding>& findings) {
  const double least = view.params.real("least_of_peak");
  const auto index = static_cast<std::size_t>(rank);
  const Observation& seen = *view.observed[index];
  for (const Reading& reading : seen.readings) {
    if (reading.metric != "rate" || reading.summary.n == 0 || label_of(reading.where, "by") != "blas") continue;
    Rate rate = rate_of(view.ranks[index], reading, named);
    const Reading* capable = gpu_copy::capable_of(seen, reading);
    if (capable != nullptr && rate.value < least * capable->summary.median)
      findings.push_back(slow(rate, fmt::format("below {:.3g} % of the {} that its model can do", least * 100,
                                                format_value(capable->summary.median, "TFLOP/s"))));
    const auto model = named.models.find(rate.address);
    likes[{label_of(reading.where, "type"), model == named.models.end() ? "" : model->second}].push_back(
        std::move(rate));
  }
}

}  // namespace

void judge_rates(const CaseView& view, const std::map<int, gpu_copy::TestedGpus>& named,
                 std::vector<Finding>& findings) {
  Likes likes;
  for (const auto& [rank, gpus] : named) judge_rank(view, rank, gpus, likes, findings);
  const double least = view.params.real("least_of_like");
  for (const auto& [kind, list] : likes) {
    if (list.size() < 3) continue;
    std::vector<double> rates;
    for (const Rate& rate : list) rates.push_back(rate.value);
    const double median = summarize(rates).median;
    for (const Rate& rate : list)
      if (rate.value < least * median)
        findings.push_back(slow(
            rate, fmt::format("{} like it at {} in the median", list.size() - 1, format_value(median, "TFLOP/s"))));
  }
}

}  // namespace muster::gpu_compute
