// A GPU's health by NVML: memory errors and repairs, throttling, modes, foreign processes. Thresholds and their
// sources: docs/methods/device_visibility.md.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"
#include "device/nvidia/judges/judges.hpp"
#include "model/gpu_vendor.hpp"
#include "probes/device_visibility/symptoms.hpp"

namespace muster::visibility {

namespace {

struct Counter {
  std::string_view key;
  double most;  ///< well up to here
  std::string_view what;
  std::string_view remedy;  ///< behind `drain NODE`
};

constexpr std::array counters = {
    Counter{"ecc_uncorrected", 0, "uncorrected memory errors since its driver was loaded",
            " and reset the GPU; have it replaced if the errors come back"},
    Counter{"sram_corrected", 10'000, "corrected errors of its SRAM since its driver was loaded",
            ", run a memory test on the GPU, and have it replaced if they go on"},
    Counter{"dram_corrected", 20'000'000, "corrected errors of its memory since its driver was loaded",
            ", run a memory test on the GPU, and have it replaced if they go on"},
    Counter{"remapped_rows_uncorrected", 512, "rows of its memory remapped after uncorrected errors",
            " and have the GPU replaced"},
};

/// Those that DCGM counts as a GPU to be replaced.
constexpr double most_retired_pages = 62;

void judge_counters(const NodeView& node, const Device& gpu, Symptoms& symptoms) {
  for (const Counter& counter : counters) {
    const double count = vendor_number(gpu, counter.key);
    if (count <= counter.most) continue;
    const std::string bound = counter.most > 0 ? fmt::format(", limit {:.0f}", counter.most) : std::string();
    symptoms.add(gpu, {fmt::format("{:.0f} {}{}", count, counter.what, bound),
                       fmt::format("drain {}{}", node.host, counter.remedy)});
  }
  const double retired =
      vendor_number(gpu, "retired_pages_corrected") + vendor_number(gpu, "retired_pages_uncorrected");
  if (retired > most_retired_pages)
    symptoms.add(gpu, {fmt::format("{:.0f} pages of its memory retired, limit {:.0f}", retired, most_retired_pages),
                       fmt::format("drain {} and have the GPU replaced", node.host)});
}

void judge_repairs(const NodeView& node, const Device& gpu, Symptoms& symptoms) {
  if (reported(gpu, "row_remap_failed") == "yes")
    symptoms.add(gpu, {"a row of its memory could not be remapped: no spare is left",
                       fmt::format("drain {} and have the GPU replaced", node.host)});
  if (reported(gpu, "row_remap_pending") == "yes")
    symptoms.add(gpu, {"a row of its memory waits to be remapped, which takes a reset",
                       fmt::format("drain {} and reset the GPU: nvidia-smi --gpu-reset -i {}", node.host,
                                   to_string(gpu.address))});
  if (reported(gpu, "page_retirement_pending") == "yes")
    symptoms.add(gpu, {"a page of its memory waits to be retired, which takes a reset",
                       fmt::format("drain {} and reset the GPU: nvidia-smi --gpu-reset -i {}", node.host,
                                   to_string(gpu.address))});
}

/// `link 3: 4, link 10: 1`: those that have any.
std::string counts_by_link(const Device& gpu, const std::string& key) {
  std::map<int, std::string> links;
  for (const auto& [name, value] : gpu.values)
    if (name.starts_with(key + ".")) links[std::atoi(name.c_str() + key.size() + 1)] = value;
  std::vector<std::string> words;
  for (const auto& [link, count] : links) words.push_back(fmt::format("link {}: {}", link, printable_line(count, 20)));
  return join(words, ", ");
}

/// A link that was trained again carried nothing meanwhile; when that was is unknown.
void note_recoveries(const Device& gpu, Symptoms& symptoms) {
  for (const auto& [key, words] : {std::pair<std::string, const char*>{"nvlink_recoveries", "NVLink recoveries"},
                                   {"nvlink_failed_recoveries", "failed NVLink recoveries"}}) {
    const double count = vendor_number(gpu, key);
    if (count <= 0) continue;
    const std::string links = counts_by_link(gpu, key);
    symptoms.add(gpu, {fmt::format("{:.0f} {} since its driver was loaded{}", count, words,
                                   links.empty() ? "" : " (" + links + ")"),
                       "", true});
  }
}

bool is_throttled_by(const Device& gpu, std::string_view reason) {
  for (const std::string& one : split(reported(gpu, "throttled_by"), ','))
    if (trim(one) == reason) return true;
  return false;
}

void judge_clocks(const NodeView& node, const Device& gpu, Symptoms& symptoms) {
  const double heat = vendor_number(gpu, "temperature");
  const double limit = vendor_number(gpu, "temperature_slowdown");
  const std::string at = heat > 0 ? fmt::format(" at {:.0f} C", heat) : std::string();
  const std::string cooling = fmt::format(
      "drain {} and check its cooling: fans, coolant, air flow, dust; see whether its neighbours are hot", node.host);
  const std::string power =
      fmt::format("check power supplies and cables of {}, and the site's power capping", node.host);
  if (is_throttled_by(gpu, "power_brake"))
    symptoms.add(gpu, {"its clocks are lowered by the external power brake", power});
  if (is_throttled_by(gpu, "hw_thermal") || is_throttled_by(gpu, "sw_thermal"))
    symptoms.add(gpu, {fmt::format("its clocks are lowered because of heat{}", at), cooling});
  else if (heat > 0 && limit > 0 && heat >= limit)
    symptoms.add(gpu, {fmt::format("it is {:.0f} C hot, and slows down at {:.0f} C", heat, limit), cooling});
  else if (is_throttled_by(gpu, "hw_slowdown") && !is_throttled_by(gpu, "power_brake"))
    symptoms.add(
        gpu, {fmt::format("its clocks are lowered by the hardware{} (heat, power brake or a power draw too high)", at),
              fmt::format("drain {} and check cooling, power supplies and cables", node.host)});
}

void judge_modes(const NodeView& node, const Device& gpu, Symptoms& symptoms) {
  if (reported(gpu, "compute_mode") == "prohibited")
    symptoms.add(gpu,
                 {"its compute mode is prohibited: no program may use it",
                  fmt::format("set it back on {}: nvidia-smi -c DEFAULT -i {}", node.host, to_string(gpu.address))});
  if (reported(gpu, "ecc") == "off") symptoms.add(gpu, {"ECC is off: errors of its memory go unnoticed", "", true});
  if (reported(gpu, "persistence") == "off")
    symptoms.add(gpu, {"persistence is off: its driver sleeps between programs, and counters since its load are lost",
                       "", true});
}

void judge_processes(const NodeView& node, const Device& gpu, Symptoms& symptoms) {
  std::vector<std::string> foreign;
  const std::string list = reported(gpu, "processes");
  if (list.empty() || list == "none") return;
  for (const std::string& process : split(list, ','))
    if (!is_gpu_service(process)) foreign.emplace_back(trim(process));
  if (foreign.empty()) return;
  const bool is_in_job = node.job.count("SLURM_JOB_ID") != 0;
  symptoms.add(
      gpu, {fmt::format(
                "{} computing on it: {}",
                foreign.size() == 1 ? "a process that is not of this run is" : "processes that are not of this run are",
                human_list(foreign)),
            fmt::format("see whose they are on {} (ps -o user,lstart,cmd -p PID), end what an earlier job left, and "
                        "have the epilog do so",
                        node.host),
            !is_in_job});
}

/// Where /sys shows the same link it has been judged.
void judge_width(const NodeView& node, const Device& gpu, Symptoms& symptoms) {
  const double width = vendor_number(gpu, "pcie_width");
  const double able = vendor_number(gpu, "pcie_width_able");
  if (width <= 0 || width >= able) return;
  if (std::any_of(gpu.links.begin(), gpu.links.end(), [](const PciLink& link) { return link.width < link.width_able; }))
    return;
  const bool is_open = gpu.links.empty() || gpu.links[0].is_one_ended;
  const bool has_wider =
      std::any_of(node.inventory.devices.begin(), node.inventory.devices.end(), [&](const Device& like) {
        return like.kind == DeviceKind::gpu && like.device_id == gpu.device_id &&
               vendor_number(like, "pcie_width") > width;
      });
  symptoms.add(gpu, {fmt::format("NVML reports a PCIe link x{:.0f} where x{:.0f} is possible{}", width, able,
                                 is_open && !has_wider ? "; the other end of the link is not visible" : ""),
                     "power-cycle the node; if the link stays so, have the card or its riser reseated, then replaced",
                     is_open && !has_wider});
}

}  // namespace

void judge_nvml_health(const NodeView& node, Findings& findings) {
  Symptoms symptoms;
  for (const Device* gpu : reported_by_nvml(node)) {
    judge_counters(node, *gpu, symptoms);
    judge_repairs(node, *gpu, symptoms);
    note_recoveries(*gpu, symptoms);
    judge_clocks(node, *gpu, symptoms);
    judge_width(node, *gpu, symptoms);
    judge_processes(node, *gpu, symptoms);
    judge_modes(node, *gpu, symptoms);
  }
  symptoms.report(node, findings);
}

}  // namespace muster::visibility
