#include "measure/gpu_limits.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

#include "base/text.hpp"
#include "base/units.hpp"
#include "measure/gpu_facts.hpp"
#include "measure/gpu_remedies.hpp"
#include "model/fact_fields.hpp"

namespace muster::gpu_copy {

namespace {

/// Of the way of a GPU to its host, by the fact `host_way`.
std::string way_of(const Observation& seen, const std::string& address) {
  for (const AboutGpu& fact : facts_of<AboutGpu>(seen, "host_way"))
    if (fact.address == address) return fact.words;
  return "PCIe";
}

/// What a reading is held against.
struct Bounds {
  double least = 0;  ///< share of what is possible; 0: not judged
  std::string what;  ///< `its PCIe link`
  std::string remedy;
};

bool is_to_host(const std::string& metric) {
  return metric == "host_to_device" || metric == "device_to_host";
}

std::optional<Bounds> bounds_of(const CaseView& view, const Observation& seen, const Reading& reading,
                                const std::string& address) {
  const bool is_engine = label_of(reading.where, "by") == "engine";
  const std::string link = label_of(reading.where, "link");
  if (reading.metric == "local_copy" || reading.metric == "pattern_rate")
    return Bounds{view.params.real("least_of_memory"), "its memory",
                  fmt::format("see its clocks, power limit and throttle reasons ({}), and whether others use it; if it "
                              "stays slow, have it replaced",
                              state_commands())};
  if (reading.metric != "peer_copy" && !(is_to_host(reading.metric) && is_engine)) return std::nullopt;
  if (is_to_host(reading.metric))
    return Bounds{
        view.params.real("least_of_link"), "its " + way_of(seen, address) + " link",
        "see whether the link is up in full width and speed under load (device_visibility, lspci -vv: LnkSta), "
        "whether an IOMMU or ACS is in the way, and in which slot the GPU sits"};
  if (link != "nvlink" && link != "xgmi") return std::nullopt;
  return Bounds{
      view.params.real("least_of_peer"), std::string("the way over ") + (link == "nvlink" ? "NVLink" : "xGMI"),
      fmt::format("see whether all links between the two are up, and their error counters ({})", links_commands())};
}

std::string subject_of(const Reading& reading) {
  if (reading.metric == "pattern_rate") return "patterns in memory";
  if (reading.metric != "peer_copy") return "copies " + words_of(reading.metric);
  const std::string to = label_of(reading.where, "to");
  return to.empty() ? fmt::format("copies to the GPU of rank {}", reading.peer) : "copies to GPU " + to;
}

/// A reading that is outside.
struct Outside {
  const Reading* reading = nullptr;
  double able = 0;
  Bounds bounds;

  [[nodiscard]] double share() const { return reading->summary.median / able; }
};

/// By address and metric.
using Key = std::pair<std::string, std::string>;
using Broken = std::map<Key, std::vector<Outside>>;

/// One GPU, one kind of copy: the worst of it.
Finding finding_of(const RankPlace& place, const TestedGpus& named, const Key& key, const std::vector<Outside>& list) {
  const auto& [address, metric] = key;
  const auto& [reading, able, bounds] = list.front();
  const std::string more =
      list.size() == 1 ? "" : fmt::format("; {} more like it", counted(list.size() - 1, "reading"));
  return about_gpu(
      place, Verdict::fail, address,
      fmt::format("{} of {} on {} run at {}, below {:.3g} % of the {} that {} can do{}", subject_of(*reading),
                  named(address), place.host, format_value(reading->summary.median, "GB/s"), bounds.least * 100,
                  format_value(able, "GB/s"), bounds.what, more),
      bounds.remedy);
}

}  // namespace

std::string words_of(const std::string& metric) {
  if (metric == "host_to_device") return "from host to device";
  if (metric == "device_to_host") return "from device to host";
  if (metric == "both_ways") return "both ways at once";
  if (metric == "local_copy") return "within the device";
  return metric == "peer_copy" ? "to another GPU" : metric;
}

const Reading* capable_of(const Observation& seen, const Reading& reading) {
  for (const Reading& other : seen.readings)
    if (other.metric == reading.metric + ".capable" && other.where == reading.where && other.peer == reading.peer)
      return &other;
  return nullptr;
}

void judge_limits(const CaseView& view, const RankPlace& place, const Observation& seen, const TestedGpus& named,
                  std::vector<Finding>& findings) {
  Broken broken;
  for (const Reading& reading : seen.readings) {
    const Reading* capable = reading.summary.n > 0 ? capable_of(seen, reading) : nullptr;
    if (capable == nullptr) continue;
    const std::string reported = label_of(reading.where, "device");
    const std::string address = reported.empty() ? named.only : reported;
    const auto bounds = bounds_of(view, seen, reading, address);
    if (!bounds) continue;
    const double able = capable->summary.median;
    if (reading.summary.median >= bounds->least * able) continue;
    auto& list = broken[{address, reading.metric}];
    list.push_back({&reading, able, *bounds});
    // The worst goes first.
    if (list.back().share() < list.front().share()) std::swap(list.front(), list.back());
  }
  for (const auto& [key, list] : broken) findings.push_back(finding_of(place, named, key, list));
}

}  // namespace muster::gpu_copy
