#include "measure/load_watch.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <thread>

#include "base/clock.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "device/device_models.hpp"
#include "measure/gpu_facts.hpp"
#include "measure/gpu_link_errors.hpp"
#include "model/fact_fields.hpp"
#include "model/gpu_vendor.hpp"
#include "stats/stats.hpp"

namespace muster::gpu_copy {

namespace {

/// A vendor's library refused to report.
bool is_refusal(std::string_view key) {
  const auto all = gpu_vendors();
  return std::any_of(all.begin(), all.end(), [&](const GpuVendor* one) { return one->refusal_value == key; });
}

constexpr double seconds_between_looks = 0.02;
constexpr std::chrono::milliseconds until_second_look{100};

std::string reported(const GpuHealth::Values& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? std::string() : found->second;
}

double real_reported(const GpuHealth::Values& values, const std::string& key) {
  return std::strtod(reported(values, key).c_str(), nullptr);
}

/// Only numbers that stand alone: `4`, and the two of `ras_umc`: `1 0`.
std::vector<std::uint64_t> counts_of(const std::string& text) {
  std::vector<std::uint64_t> counts;
  for (const std::string& word : split(text, ' ')) {
    const auto count = parse_number<std::uint64_t>(word);
    if (!count) return {};
    counts.push_back(*count);
  }
  return counts;
}

/// Errors of NVLinks count by link, `nvlink_replays.3`, where one has any; not their sum.
bool is_counter(const std::string& key) {
  if (key.starts_with("nvlink_") && key.find('.') == key.npos) return false;
  for (const char* part : {"ecc_", "sram_", "dram_", "remapped_rows_", "retired_pages_", "bad_pages_", "nvlink_replays",
                           "nvlink_recoveries", "nvlink_failed_recoveries", "nvlink_crc_", "nvlink_symbol_errors",
                           "nvlink_effective_errors", "nvlink_fec_", "pcie_replays", "ras_", "throttle_"})
    if (key.rfind(part, 0) == 0) return true;
  return false;
}

/// Those of a list that another one lacks: `0, 3` without `3` is 0.
std::vector<std::string> without(const std::string& list, const std::string& other) {
  const auto others = split(other, ',');
  std::vector<std::string> left;
  for (const std::string& one : split(list, ','))
    if (std::none_of(others.begin(), others.end(), [&](const auto& two) { return trim(two) == trim(one); }))
      if (!trim(one).empty()) left.emplace_back(trim(one));
  return left;
}

/// Of two lists of processes, each once, as the first list has it: its memory changes.
std::string all_processes(const std::string& one, const std::string& two) {
  std::vector<std::string> found;
  std::set<std::string> numbers;
  for (const std::string& list : {one, two})
    for (const std::string& process : split(list, ',')) {
      const std::string_view text = trim(process);
      if (text.empty() || text == "none") continue;
      if (numbers.emplace(text.substr(0, text.find(' '))).second) found.emplace_back(text);
    }
  return join(found, ", ");
}

/// The reasons of both, none twice.
std::string both(const std::string& a, const std::string& b) {
  std::set<std::string> reasons;
  for (const std::string& text : {a, b})
    for (const std::string& reason : split(text, ','))
      if (const std::string one{trim(reason)}; !one.empty() && one != "nothing") reasons.insert(one);
  return join(std::vector<std::string>(reasons.begin(), reasons.end()), ", ");
}

/// Partitions of a GPU count together.
std::string whole_key(const SeenGpu& gpu) {
  return gpu.part < 0 ? gpu.key : whole_of(gpu.key);
}

}  // namespace

LostLinks lost_xgmi_links(const GpuHealth::Values& before, const GpuHealth::Values& after,
                          const std::function<GpuHealth::Values()>& look_again) {
  // Of a GPU that no longer shows its table nothing is known.
  if (after.count("gpu_metrics") == 0) return {};
  const auto first = without(reported(before, "xgmi_links_up"), reported(after, "xgmi_links_up"));
  if (first.empty()) return {};
  const GpuHealth::Values again = look_again();
  if (again.count("gpu_metrics") == 0) return {{}, first};
  const auto lost = without(join(first, ", "), reported(again, "xgmi_links_up"));
  const auto inactive = both(reported(after, "xgmi_links_inactive"), reported(again, "xgmi_links_inactive"));
  const auto down = without(join(lost, ", "), inactive);
  return {down, without(join(lost, ", "), join(down, ", "))};
}

bool is_of_corrected(std::string_view key) {
  return key == "ecc_corrected" || key == "sram_corrected" || key == "dram_corrected" ||
         (key.starts_with("ras_") && key.ends_with("_corrected"));
}

bool is_of_xgmi(std::string_view key) {
  return key.starts_with("ras_xgmi");
}

namespace {

void add_xids(const WatchedGpu& gpu, const std::vector<int>& xids, Observation& seen) {
  for (const int xid : xids) seen.facts.push_back(to_fact("xid", XidReported{gpu.address, xid}));
}

/// What the PCIe link can do, `GT/s lanes`, for the number of replays that it may have; not to be judged: it may sleep.
void add_link_able(const WatchedGpu& gpu, const GpuHealth::Values& after, Observation& seen) {
  double speed = pcie_speed(static_cast<int>(std::clamp(real_reported(after, "pcie_generation_able"), 0.0, 99.0)));
  double width = real_reported(after, "pcie_width_able");
  if ((speed <= 0 || width <= 0) && !gpu.device->links.empty()) {
    speed = gpu.device->links[0].speed_able;
    width = gpu.device->links[0].width_able;
  }
  if (speed > 0 && width > 0) seen.facts.push_back(to_fact("link_able", LinkAble{gpu.address, speed, width}));
}

void add_changes(const WatchedGpu& gpu, const GpuHealth::Values& after, Observation& seen) {
  add_link_able(gpu, after, seen);
  const auto note = [&](const char* key, const std::string& text) {
    seen.facts.push_back(to_fact(key, AboutGpu{gpu.address, text}));
  };
  for (const auto& [key, value] : after) {
    const bool is_of_link = key.starts_with("nvlink_") && key.find('.') != key.npos;
    const std::string before = is_of_link && gpu.before.count(key) == 0 ? "0" : reported(gpu.before, key);
    if (key == "nvlinks_down")
      for (const std::string& link : without(value, before)) note("link_down", "NVLink " + link);
    if (key == "nvlinks_up") note("links_watched", value);
    if (key.starts_with("nvlink_symbol_ber."))
      seen.facts.push_back(to_fact("symbol_ber", SymbolErrorRate{gpu.address, key.substr(key.find('.') + 1), value}));
    if (key == "row_remap_pending" || key == "row_remap_failed" || key == "page_retirement_pending") {
      if (value == "yes" && before != "yes") note("became", key);
      continue;
    }
    if (before.empty() && is_refusal(key)) note("health_error", value);
    const auto was = counts_of(before);
    const auto is = counts_of(value);
    if (!is_counter(key) || was.size() != is.size()) continue;
    for (std::size_t i = 0; i < is.size(); ++i)
      if (is[i] > was[i])
        seen.facts.push_back(to_fact("grew", CounterGrowth{gpu.address,
                                                           key + (is.size() == 1 ? ""
                                                                  : i == 0       ? "_uncorrected"
                                                                                 : "_corrected"),
                                                           was[i], is[i]}));
    if (is_of_xgmi(key) && is != was)
      for (const PeerLink& link : gpu.device->peers)
        if (link.kind == "xgmi" && link.up > 0) note("xgmi_peer", to_string(link.to));
  }
}

void add_lost_links(const WatchedGpu& gpu, const GpuHealth::Values& after, const GpuHealth& health, Recorder& recorder,
                    Observation& seen) {
  const LostLinks lost = lost_xgmi_links(gpu.before, after, [&] {
    recorder.step("second look after the load");
    std::this_thread::sleep_for(until_second_look);
    return health.look(*gpu.device);
  });
  for (const std::string& link : lost.down)
    seen.facts.push_back(to_fact("link_down", AboutGpu{gpu.address, "xGMI link " + link}));
  for (const std::string& link : lost.inactive)
    seen.facts.push_back(to_fact("link_inactive", AboutGpu{gpu.address, "xGMI link " + link}));
}

}  // namespace

CounterWatch::CounterWatch(const Inventory& inventory, const Device& gpu, const CallWatch& watch, Recorder& recorder)
    : health_(inventory, watch), recorder_(recorder) {
  recorder_.step("health before the load");
  gpu_ = {&gpu, to_string(gpu.address), health_.look(gpu), -1, {}, monotonic_seconds()};
}

void CounterWatch::end(Observation& seen) const {
  if (gpu_.before.empty()) return;
  recorder_.step("health after the load");
  const auto after = health_.look(*gpu_.device);
  seen.facts.push_back(to_fact(
      "tested", TestedGpu{gpu_.address, gpu_.device->uuid.empty() ? "-" : gpu_.device->uuid, gpu_.device->name}));
  // Also of a GPU of which nothing else is known any more.
  add_xids(gpu_, health_.xids(*gpu_.device), seen);
  if (after.empty()) return;
  seen.facts.push_back(to_fact("watched", WatchedTime{gpu_.address, monotonic_seconds() - gpu_.began}));
  add_changes(gpu_, after, seen);
  add_lost_links(gpu_, after, health_, recorder_, seen);
}

LoadWatch::LoadWatch(RunContext& context, const NodeGpus& node)
    : context_(context), node_(node), health_(node.inventory, CallWatch(context.recorder)) {}

void LoadWatch::begin(const SeenGpu& gpu) {
  const Device* device = node_.known(gpu);
  if (device == nullptr || watched_.count(whole_key(gpu)) != 0) return;
  const std::string address = gpu.part < 0 ? address_of(gpu) : whole_of(address_of(gpu));
  watched_[whole_key(gpu)] = {device, address, health_.look(*device), -1, {}, monotonic_seconds()};
}

void LoadWatch::during(const SeenGpu& gpu) {
  const auto found = watched_.find(whole_key(gpu));
  if (found == watched_.end() || found->second.before.empty()) return;
  const double now_is = monotonic_seconds();
  if (found->second.last_look >= 0 && now_is - found->second.last_look < seconds_between_looks) return;
  found->second.last_look = now_is;
  const GpuHealth::Values now = health_.glance(*found->second.device);
  GpuHealth::Values& worst = found->second.during;
  const std::string throttled = both(reported(worst, "throttled_by"), reported(now, "throttled_by"));
  const std::string processes = all_processes(reported(worst, "processes"), reported(now, "processes"));
  for (const auto& [key, value] : now) {
    // A link wakes up with the first copy: its best is what it can do now.
    const bool is_link = key.rfind("pcie_", 0) == 0;
    if (!is_link || real_reported(now, key) > real_reported(worst, key)) worst[key] = value;
  }
  worst["throttled_by"] = throttled;
  worst["processes"] = processes;
}

/// Nothing of a GPU that counts none.
void LoadWatch::add_corrected(const WatchedGpu& gpu, const GpuHealth::Values& after, double seconds, bool is_alone,
                              Observation& seen) const {
  std::optional<double> most;
  for (const auto& [key, value] : after) {
    const auto was = counts_of(reported(gpu.before, key));
    const auto is = counts_of(value);
    // Of blocks of a driver the second number.
    const bool is_block = key.starts_with("ras_") && is.size() == 2;
    if ((!is_of_corrected(key) && !is_block) || is.empty() || is.size() != was.size()) continue;
    const double grown = is.back() > was.back() ? static_cast<double>(is.back() - was.back()) : 0;
    most = std::max(most.value_or(0), rate_over(seconds, grown));
  }
  if (!most) return;
  seen.readings.push_back({std::string(corrected_errors_metric.name),
                           is_alone ? Labels{} : Labels{{"device", gpu.address}}, summarize(std::span(&*most, 1))});
}

void LoadWatch::add_load(const WatchedGpu& gpu, Observation& seen) const {
  if (const std::string reasons = reported(gpu.during, "throttled_by"); !reasons.empty())
    seen.facts.push_back(to_fact("throttled", AboutGpu{gpu.address, reasons}));
  const auto number = [&](const char* name) { return parse_number<int>(reported(gpu.during, name)); };
  // Where the other end is not visible, a link may be as wide as its slot.
  const auto& links = gpu.device->links;
  const bool is_width_open = links.empty() || links[0].is_one_ended;
  const auto generation = number("pcie_generation");
  const auto generation_able = number("pcie_generation_able");
  const auto width = number("pcie_width");
  const auto width_able = is_width_open ? width : number("pcie_width_able");
  if (generation && generation_able && width && width_able)
    seen.facts.push_back(
        to_fact("link_in_use", LinkInUse{gpu.address, *generation, *generation_able, *width, *width_able}));
}

void LoadWatch::end(Observation& seen, const Schedule& schedule) {
  const auto tested = tested_by(seen).uuids;
  for (const SeenGpu& gpu : node_.seen)
    for (const OverlookedFailure& one : gpu.gpus->overlooked())
      if (const std::string address = address_of(gpu); one.device == gpu.device && tested.count(address) != 0)
        seen.facts.push_back(to_fact(one.is_lack ? "call_lacked" : "call_failed", AboutGpu{address, one.what}));
  std::set<std::string> wholes;
  for (const auto& one : tested) wholes.insert(whole_of(one.first));
  for (auto& [key, gpu] : watched_) {
    if (wholes.count(gpu.address) == 0) continue;
    context_.recorder.step("health after the load");
    const auto after = health_.look(*gpu.device);
    const auto xids = health_.xids(*gpu.device);
    const bool is_reported = schedule.reporting_rank(context_.place.node_index, key) == context_.comm.rank();
    // Also of a GPU of which nothing else is known any more.
    if (is_reported) add_xids(gpu, xids, seen);
    if (gpu.before.empty() || after.empty()) continue;
    if (is_reported) {
      const double seconds = monotonic_seconds() - gpu.began;
      seen.facts.push_back(to_fact("watched", WatchedTime{gpu.address, seconds}));
      add_changes(gpu, after, seen);
      add_lost_links(gpu, after, health_, context_.recorder, seen);
      add_corrected(gpu, after, seconds, wholes.size() == 1, seen);
      add_load(gpu, seen);
    }
    // Of all ranks: strangers slow each of them down. Who was there before the load. Those that came since, and may
    // have gone again, can be ranks of this run, unless the numbers are known to be those of this process's namespace.
    std::string others = all_processes(reported(gpu.before, "processes"), {});
    if (!reported(after, "lists_this_process").empty())
      others = all_processes(all_processes(others, reported(gpu.during, "processes")), reported(after, "processes"));
    if (!others.empty()) seen.facts.push_back(to_fact("others", AboutGpu{gpu.address, others}));
    for (const auto& [name, value] : gpu.device->values)
      if (name.rfind("process.", 0) == 0)
        seen.facts.push_back(to_fact("others", AboutGpu{gpu.address, fmt::format("{} {}", name.substr(8), value)}));
  }
  watched_.clear();
}

void begin_likely(const RunContext& context, const NodeGpus& node, LoadWatch& watch) {
  const auto local = static_cast<std::size_t>(std::max(context.place.local_rank, 0));
  for (std::size_t i = 0; i < node.seen.size(); ++i)
    if (node.seen.size() == 1 || context.place.local_size < static_cast<int>(node.seen.size()) || i == local)
      watch.begin(node.seen[i]);
}

}  // namespace muster::gpu_copy
