#include "measure/gpu_health.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "device/device_models.hpp"
#include "device/driver_errors.hpp"
#include "measure/gpu_facts.hpp"
#include "measure/gpu_link_errors.hpp"
#include "measure/load_watch.hpp"
#include "model/fact_fields.hpp"
#include "model/gpu_vendor.hpp"
#include "stats/stats.hpp"

namespace muster::gpu_copy {

namespace {

/// The GPU of a fact, with its rank.
struct Gpu {
  const RankPlace& place;
  const TestedGpus& named;
  std::string address;
};

Finding about(const Gpu& gpu, Verdict verdict, const std::string& what, std::string remedy) {
  return about_gpu(gpu.place, verdict, gpu.address,
                   fmt::format("{} on {} {}", gpu.named(gpu.address), gpu.place.host, what), std::move(remedy));
}

struct Counter {
  std::string_view key;  ///< begins with this
  std::string_view what;
  bool is_fault;
};

/// The first that fits.
constexpr std::array counters = {
    Counter{"ecc_uncorrected", "uncorrected memory errors", true},
    Counter{"sram_uncorrected", "uncorrected errors of its SRAM", true},
    Counter{"dram_uncorrected", "uncorrected errors of its memory", true},
    Counter{"remapped_rows_uncorrected", "rows remapped after uncorrected errors", true},
    Counter{"retired_pages_uncorrected", "pages retired after uncorrected errors", true},
    Counter{"bad_pages_", "bad pages of memory", true},
    Counter{"nvlink_replays", "NVLink replays", true},
    Counter{"nvlink_recoveries", "NVLink recoveries", true},
    Counter{"nvlink_failed_recoveries", "failed NVLink recoveries", true},
    Counter{"throttle_prochot", "times that the board asked it to slow down", true},
    Counter{"throttle_heat", "units of time slowed down by heat", true},
    Counter{"ecc_corrected", "corrected memory errors", false},
    Counter{"sram_corrected", "corrected errors of its SRAM", false},
    Counter{"dram_corrected", "corrected errors of its memory", false},
    Counter{"remapped_rows_corrected", "rows remapped after corrected errors", false},
    Counter{"retired_pages_corrected", "pages retired after corrected errors", false},
    Counter{"nvlink_crc_", "NVLink CRC errors", false},
    Counter{"nvlink_symbol_errors", "NVLink symbol errors", false},
    Counter{"nvlink_effective_errors", "NVLink errors after correction", false},
    Counter{"nvlink_fec_corrected", "NVLink blocks with corrected symbols", false},
    Counter{"pcie_replays", "PCIe replays", false},
};

/// Of blocks of AMD's: `ras_umc_uncorrected`, `ras_xgmi_wafl_corrected`.
Counter counter_of(const std::string& key, std::string& words) {
  for (const Counter& counter : counters)
    if (key.rfind(counter.key, 0) == 0) return counter;
  const bool is_fault = key.ends_with("_uncorrected");
  const std::string block = key.rfind("ras_", 0) == 0 ? key.substr(4, key.rfind('_') - 4) : key;
  words = fmt::format("{} errors of {}", is_fault ? "uncorrected" : "corrected",
                      is_of_xgmi(key) ? "its xGMI links" : "block " + block);
  return {key, words, is_fault};
}

/// As many as bit errors of a link within its specification make in the time watched, a minute at least: 1e-12 x GT/s x
/// lanes x seconds, as in DCGM; of a link that was not seen in use, what it can do; of an unknown one, that of
/// generation 3.
double replay_budget(const Observation& seen, const std::string& address) {
  double in_use = 0;
  double able = 0;
  for (const LinkInUse& link : facts_of<LinkInUse>(seen, "link_in_use"))
    if (link.address == address) in_use = pcie_speed(link.generation) * link.width;
  for (const LinkAble& link : facts_of<LinkAble>(seen, "link_able"))
    if (link.address == address) able = link.speed * link.lanes;
  const double rate = in_use > 0 ? in_use : able > 0 ? able : 8.0 * 16;
  return std::ceil(rate * 1e9 * 1e-12 * std::max(seconds_watched(seen, address), 60.0));
}

/// A healthy memory has a few in a day. At thousands a second the corrections themselves slow the GPU down.
constexpr double most_corrected_per_second = 1000;
/// Above `least_corrected_per_second` a GPU is held against its like, of which there have to be so many.
constexpr double most_of_peers = 10;
constexpr std::size_t least_peers = 5;

/// Corrected errors per second of every GPU that was watched: of the worst of its counters.
std::vector<double> corrected_rates(const CaseView& view) {
  std::map<std::pair<int, std::string>, double> of_gpus;
  for (std::size_t i = 0; i < view.ranks.size() && i < view.observed.size(); ++i) {
    const Observation* seen = view.observed[i];
    if (seen == nullptr) continue;
    const auto rate_of = [&](const std::string& address) -> double& {
      return of_gpus[{view.ranks[i].node_index, whole_of(address)}];
    };
    for (const WatchedTime& one : facts_of<WatchedTime>(*seen, "watched")) rate_of(one.address);
    for (const CounterGrowth& one : facts_of<CounterGrowth>(*seen, "grew")) {
      if (!is_of_corrected(one.counter)) continue;
      double& rate = rate_of(one.address);
      const double seconds = seconds_watched(*seen, one.address);
      if (seconds > 0) rate = std::max(rate, rate_over(seconds, grown(one)));
    }
  }
  std::vector<double> rates;
  for (const auto& [gpu, rate] : of_gpus) rates.push_back(rate);
  return rates;
}

/// Of all GPUs and links of the case, to compare one with.
struct Rates {
  std::vector<double> corrected;
  LinkRates links;
  std::set<std::pair<int, std::string>> with_xgmi_errors;  ///< GPUs by node and address
};

std::set<std::pair<int, std::string>> gpus_with_xgmi_errors(const CaseView& view) {
  std::set<std::pair<int, std::string>> gpus;
  for (std::size_t i = 0; i < view.ranks.size() && i < view.observed.size(); ++i)
    if (view.observed[i] != nullptr)
      for (const CounterGrowth& one : facts_of<CounterGrowth>(*view.observed[i], "grew"))
        if (is_of_xgmi(one.counter)) gpus.emplace(view.ranks[i].node_index, one.address);
  return gpus;
}

/// Which link it can be: one to a GPU that counted errors, too, where there is such a one.
std::string suspected_links(const Observation& seen, const Gpu& gpu, const Rates& rates) {
  std::vector<std::string> all, alike;
  for (const auto& [address, peer] : facts_of<AboutGpu>(seen, "xgmi_peer")) {
    if (address != gpu.address || is_in(peer, all)) continue;
    all.push_back(peer);
    if (rates.with_xgmi_errors.count({gpu.place.node_index, peer}) != 0) alike.push_back(peer);
  }
  if (all.empty()) return {};
  return fmt::format("; the kernel counts them for all its links, which lead to {}{}", human_list(all, 8),
                     alike.empty() ? "" : fmt::format("; {} counted errors, too", human_list(alike, 8)));
}

/// Why so many corrected errors are a fault; empty: they are none.
std::string flood_of_corrected(double rate, const std::vector<double>& rates) {
  if (rate >= most_corrected_per_second)
    return fmt::format("{:.0f} per second, limit {:.0f}", rate, most_corrected_per_second);
  if (rate < least_corrected_per_second || rates.size() < least_peers) return {};
  const double typical = summarize(rates).median;
  if (rate <= most_of_peers * typical) return {};
  return fmt::format("{:.0f} per second, the median of {} GPUs is {:.1f}", rate, rates.size(), typical);
}

/// ` of link 3`, of `nvlink_replays.3`.
std::string link_words(const std::string& key) {
  const auto dot = key.find('.');
  return dot == key.npos ? std::string() : " of link " + key.substr(dot + 1);
}

std::string remedy_for_links(const Gpu& gpu) {
  return fmt::format("drain {}, reset its GPUs, and have riser, bridge or board looked at if the errors come again",
                     gpu.place.host);
}

void judge_growth(const Observation& seen, const Gpu& gpu, const CounterGrowth& growth, const Rates& rates,
                  std::vector<Finding>& findings) {
  const std::string& key = growth.counter;
  const auto before = static_cast<double>(growth.before);
  const double grown = gpu_copy::grown(growth);
  std::string words;
  const Counter counter = counter_of(key, words);
  const bool is_flood = key == "pcie_replays" && grown > replay_budget(seen, gpu.address);
  const double seconds = seconds_watched(seen, gpu.address);
  const double per_second = rate_over(seconds, grown);
  const std::string corrected =
      is_of_corrected(key) && seconds > 0 ? flood_of_corrected(per_second, rates.corrected) : std::string();
  const std::string suspects = is_of_xgmi(key) ? suspected_links(seen, gpu, rates) : std::string();
  if (!corrected.empty())
    return findings.push_back(
        about(gpu, Verdict::fail,
              fmt::format("had {:.0f} {} more under load: {} (counter {}, {:.0f} before){}", grown, counter.what,
                          corrected, key, before, suspects),
              is_of_xgmi(key)
                  ? remedy_for_links(gpu)
                  : fmt::format("drain {} and have the GPU replaced if the rate stays after a reset", gpu.place.host)));
  const std::string rate = seconds > 0 ? fmt::format(", {:.3g} per second", per_second) : std::string();
  const LinkExcess excess = excess_of_link(key, grown, per_second, rates.links);
  if (excess.is_silent) return;
  const std::string what = fmt::format("had {:.0f} {}{} more under load{}{} (counter {}, {:.0f} before{}{}){}", grown,
                                       counter.what, link_words(key), excess.why.empty() ? "" : ": ", excess.why, key,
                                       before, rate, symbol_ber(seen, gpu.address, key), suspects);
  if (!counter.is_fault && !is_flood && !excess.is_fault)
    return findings.push_back(about(gpu, Verdict::pass, what, "watch whether it goes on: run this again"));
  const bool is_heat = key.rfind("throttle_", 0) == 0;
  const bool is_link = key.rfind("nvlink_", 0) == 0 || is_flood || is_of_xgmi(key);
  findings.push_back(about(
      gpu, Verdict::fail, what,
      is_heat ? fmt::format("drain {} and check cooling, power supplies and cables", gpu.place.host)
      : is_link
          ? remedy_for_links(gpu)
          : fmt::format("drain {} and reset the GPU; have it replaced if the errors come again", gpu.place.host)));
}

/// Of all sources; power and current limits are meant so.
void judge_throttling(const Gpu& gpu, const std::string& reasons, std::vector<Finding>& findings) {
  std::vector<std::string> bad;
  for (const std::string& text : split(reasons, ',')) {
    const std::string reason(trim(text));
    for (const char* one : {"hw_slowdown", "hw_thermal", "sw_thermal", "power_brake", "heat"})
      if (reason == one) bad.push_back(reason);
  }
  if (bad.empty()) return;
  findings.push_back(about(gpu, Verdict::fail, fmt::format("was slowed down under load: {}", human_list(bad)),
                           fmt::format("drain {} and check cooling, power supplies and cables; see whether the "
                                       "neighbours of this GPU are hot",
                                       gpu.place.host)));
}

void judge_link_in_use(const Gpu& gpu, const LinkInUse& link, std::vector<Finding>& findings) {
  // What goes another way leaves this link asleep.
  if (const std::string model = gpu.named.model_of(gpu.address); !model.empty())
    if (const DeviceModel* known = find_device_model(model); known != nullptr && known->host > 0) return;
  if (link.generation >= link.generation_able && link.width >= link.width_able) return;
  findings.push_back(
      about(gpu, Verdict::fail,
            fmt::format("has its PCIe link at generation {} x{} under load, generation {} x{} is possible",
                        link.generation, link.width, link.generation_able, link.width_able),
            "power-cycle the node; if the link stays so, have the card or its riser reseated, then replaced"));
}

void judge_xid(const Gpu& gpu, int code, std::vector<Finding>& findings) {
  const DriverErrors* errors = find_driver_errors("xid");
  if (errors == nullptr) return;
  const ErrorMeaning meaning = errors->meaning(code, {}, {});
  findings.push_back(about(gpu, meaning.verdict,
                           fmt::format("gave {} {} under load: {}", errors->label, code, meaning.words),
                           meaning.remedy));
}

std::string strangers(const std::string& list) {
  std::vector<std::string> found;
  for (const std::string& process : split(list, ','))
    if (!is_gpu_service(process)) found.emplace_back(trim(process));
  return human_list(found);
}

void judge_others(const CaseView& view, const Gpu& gpu, const std::string& list, std::vector<Finding>& findings) {
  const std::string who = strangers(list);
  if (who.empty()) return;
  const bool is_timed = view.timing_doubt.empty();
  findings.push_back(about(
      gpu, is_timed ? Verdict::unmeasured : Verdict::pass,
      fmt::format("is used by other programs, {}: {}", is_timed ? "so that its times are invalid" : "beside this run",
                  who),
      fmt::format(
          "find their owners on {} (ps -o user,lstart,cmd -p PID), end what an earlier job left, and run it again",
          gpu.place.host)));
}

/// `seen_others`: reports of others on GPUs, by node. Ranks with partitions of one GPU report the same.
void judge_rank(const CaseView& view, const RankPlace& place, const Observation& seen, const Rates& rates,
                std::set<std::pair<int, std::string>>& seen_others, std::vector<Finding>& findings) {
  const TestedGpus named = tested_by(seen);
  std::set<std::pair<std::string, int>> xids;
  for (const Fact& fact : seen.facts) {
    const auto about_gpu = read_fact<AboutGpu>(fact.value);
    if (!about_gpu) continue;
    const Gpu gpu{place, named, about_gpu->address};
    const std::string& text = about_gpu->words;
    // A fault may be in what can't be read.
    const auto judge_if = [&](const auto& read, const auto& judge) {
      if (read) return judge(*read);
      findings.push_back(about(gpu, Verdict::unmeasured, fmt::format("reported malformed data: {} {}", fact.key, text),
                               "report this: the observation is incomplete"));
    };
    if (fact.key == "grew")
      judge_if(read_fact<CounterGrowth>(fact.value),
               [&](const auto& growth) { judge_growth(seen, gpu, growth, rates, findings); });
    if (fact.key == "throttled") judge_throttling(gpu, text, findings);
    if (fact.key == "link_in_use")
      judge_if(read_fact<LinkInUse>(fact.value), [&](const auto& link) { judge_link_in_use(gpu, link, findings); });
    if (fact.key == "others" && seen_others.insert({place.node_index, fact.value}).second)
      judge_others(view, gpu, text, findings);
    if (fact.key == "xid")
      judge_if(read_fact<XidReported>(fact.value), [&](const auto& xid) {
        if (xids.insert({gpu.address, xid.number}).second) judge_xid(gpu, xid.number, findings);
      });
    if (fact.key == "link_down")
      findings.push_back(about(gpu, Verdict::fail, fmt::format("lost {} under load", text),
                               fmt::format("drain {} and reset its GPUs; have bridge, board or cable looked at if the "
                                           "link goes down again",
                                           place.host)));
    if (fact.key == "link_inactive")
      findings.push_back(
          about(gpu, Verdict::pass,
                fmt::format("had {} inactive after the load: asleep or down, one state for its driver", text),
                "compare the rates of copies between this GPU and the others"));
    if (fact.key == "became")
      findings.push_back(about(gpu, Verdict::fail,
                               text == "row_remap_failed" ? "could not remap a row of its memory under load"
                                                          : "has had a row or page of its memory go bad under load",
                               fmt::format("drain {} and reset the GPU; have it replaced if that fails", place.host)));
    if (fact.key == "call_lacked")
      findings.push_back(about(gpu, Verdict::pass, "has a call that it does not support: " + text,
                               "compare the driver's version with other nodes"));
    if (fact.key == "call_failed")
      findings.push_back(
          about(gpu, Verdict::fail, "had a call fail: " + text,
                fmt::format("see the kernel log of {} and drain it; reset the GPU if it recurs", place.host)));
    if (fact.key == "health_error")
      findings.push_back(about(gpu, Verdict::fail, "failed under load: " + text,
                               fmt::format("see the kernel log of {} (Xid), drain it and reset the GPU", place.host)));
  }
}

}  // namespace

bool is_shared_with_others(const Observation& seen) {
  return std::ranges::any_of(facts_of<AboutGpu>(seen, "others"),
                             [](const AboutGpu& fact) { return !strangers(fact.words).empty(); });
}

bool is_well(const ProbeJudgement& judgement) {
  return std::all_of(judgement.findings.begin(), judgement.findings.end(),
                     [](const Finding& finding) { return finding.verdict == Verdict::pass; });
}

void judge_health(const CaseView& view, std::vector<Finding>& findings) {
  const Rates rates{corrected_rates(view), link_rates(view), gpus_with_xgmi_errors(view)};
  std::set<std::pair<int, std::string>> seen_others;
  for (std::size_t i = 0; i < view.ranks.size(); ++i)
    if (const Observation* seen = view.measured(i))
      judge_rank(view, view.ranks[i], *seen, rates, seen_others, findings);
}

void add_health_evidence(const CaseView& view, ProbeJudgement& judgement) {
  std::size_t watched = 0;
  for (const Observation* seen : view.observed)
    for (const Fact& fact : seen == nullptr ? std::vector<Fact>() : seen->facts) watched += fact.key == "watched";
  if (watched > 0 && is_well(judgement))
    judgement.evidence.push_back("health of " + counted(watched, "GPU") + " watched under load");
}

}  // namespace muster::gpu_copy
