#include "probes/gpu_copy/judge_limits.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <tuple>

#include "base/text.hpp"
#include "base/units.hpp"

namespace muster::gpu_copy {

namespace {

/// The way of a GPU to its host, of the fact `host_way`.
struct Way {
  double most = 0;
  std::string kind = "PCIe";
};

Way way_of(const Observation& seen, const std::string& address) {
  for (const Fact& fact : seen.facts) {
    if (fact.key != "host_way") continue;
    std::string text = printable_line(fact.value, 100);
    if (take_word(text) != address) continue;
    const double most = std::strtod(take_word(text).c_str(), nullptr);
    return {most, text};
  }
  return {};
}

/// What a reading is held against.
struct Bounds {
  double least = 0;  ///< share of what is possible; 0: not judged
  double most = 0;   ///< GB/s; 0: not judged
  std::string what;  ///< `its PCIe link`
  std::string remedy;
};

bool is_to_host(const std::string& metric) {
  return metric == "host_to_device" || metric == "device_to_host";
}

std::optional<Bounds> bounds_of(const CaseView& view, const Observation& seen, const Reading& reading,
                                const Reading& capable, const std::string& address) {
  const bool is_engine = label_of(reading, "by") == "engine";
  const double rate = capable.summary.median;
  const std::string link = label_of(reading, "link");
  if (reading.metric == "local_copy" || reading.metric == "pattern_rate")
    return Bounds{view.params.real("least_of_memory"), 0, "its memory",
                  "see its clocks, power limit and throttle reasons (nvidia-smi -q, rocm-smi), and whether others use "
                  "it; if it stays slow, have it replaced"};
  if (reading.metric != "peer_copy" && !(is_to_host(reading.metric) && is_engine)) return std::nullopt;
  const double share = view.params.real("most_of_link");
  if (is_to_host(reading.metric)) {
    const Way way = way_of(seen, address);
    return Bounds{
        view.params.real("least_of_link"), share * std::max(rate, way.most), "its " + way.kind + " link",
        "see whether the link is up in full width and speed under load (device_visibility, lspci -vv: LnkSta), "
        "whether an IOMMU or ACS is in the way, and in which slot the GPU sits"};
  }
  // What root complexes and switches do between two GPUs nobody knows, nor whether there is an NVLink that nobody told
  // of.
  if (link != "nvlink" && link != "xgmi") return std::nullopt;
  // Over xGMI an engine is held against one link, and may use more.
  const double most = link == "xgmi" && is_engine ? 0 : share * rate;
  return Bounds{view.params.real("least_of_peer"), most,
                std::string("the way over ") + (link == "nvlink" ? "NVLink" : "xGMI"),
                "see whether all links between the two are up, and their error counters (nvidia-smi nvlink -s -e, "
                "rocm-smi --shownodesbw)"};
}

std::string subject_of(const Reading& reading) {
  if (reading.metric == "pattern_rate") return "patterns in memory";
  if (reading.metric != "peer_copy") return "copies " + words_of(reading.metric);
  const std::string to = label_of(reading, "to");
  return to.empty() ? fmt::format("copies to the GPU of rank {}", reading.peer) : "copies to GPU " + to;
}

/// A reading that is outside.
struct Outside {
  const Reading* reading = nullptr;
  double able = 0;
  Bounds bounds;

  [[nodiscard]] double share() const { return reading->summary.median / able; }
};

/// By address and metric; true: too slow.
using Key = std::tuple<std::string, std::string, bool>;
using Broken = std::map<Key, std::vector<Outside>>;

/// One GPU, one kind of copy: the worst of it.
Finding finding_of(const CaseView& view, const RankPlace& place, const TestedGpus& named, const Key& key,
                   const std::vector<Outside>& list) {
  const auto& [address, metric, is_low] = key;
  const auto& [reading, able, bounds] = list.front();
  const std::string who = fmt::format("{} of {} on {} run at {}", subject_of(*reading), named(address), place.host,
                                      format_value(reading->summary.median, "GB/s"));
  const std::string more =
      list.size() == 1 ? "" : fmt::format("; {} more like it", counted(list.size() - 1, "reading"));
  if (is_low)
    return about_gpu(place, Verdict::fail, address,
                     fmt::format("{}, below {:.3g} % of the {} that {} can do{}", who, bounds.least * 100,
                                 format_value(able, "GB/s"), bounds.what, more),
                     bounds.remedy);
  return about_gpu(place, Verdict::fail, address,
                   fmt::format("{}, which is too good to be true: {} can do {} at most{}", who, bounds.what,
                               format_value(bounds.most / view.params.real("most_of_link"), "GB/s"), more),
                   "trust no time of this GPU until it is known why: the link is not what the system tells of it (a "
                   "virtual machine may make it up), or the GPU's clock runs wrong");
}

}  // namespace

std::string words_of(const std::string& metric) {
  if (metric == "host_to_device") return "from host to device";
  if (metric == "device_to_host") return "from device to host";
  if (metric == "both_ways") return "both ways at once";
  if (metric == "local_copy") return "within the device";
  return metric == "peer_copy" ? "to another GPU" : metric;
}

std::string label_of(const Reading& reading, std::string_view key) {
  for (const auto& [name, value] : reading.where)
    if (name == key) return value;
  return {};
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
    const std::string told = label_of(reading, "device");
    const std::string address = told.empty() ? named.only : told;
    const auto bounds = bounds_of(view, seen, reading, *capable, address);
    if (!bounds) continue;
    const double rate = reading.summary.median;
    const double able = capable->summary.median;
    const bool is_low = rate < bounds->least * able;
    if (!is_low && (bounds->most <= 0 || rate <= bounds->most)) continue;
    auto& list = broken[{address, reading.metric, is_low}];
    list.push_back({&reading, able, *bounds});
    // The worst goes first.
    if (is_low ? rate / able < list[0].share() : rate / able > list[0].share()) std::swap(list.front(), list.back());
  }
  for (const auto& [key, list] : broken) findings.push_back(finding_of(view, place, named, key, list));
}

}  // namespace muster::gpu_copy
