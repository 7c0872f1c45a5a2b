// Data of AMD's libraries, KFD and amdgpu on present GPUs: whether they agree, and which values are faults.
#include "device/amd/judges/judges.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <map>

#include "base/number.hpp"
#include "base/text.hpp"
#include "device/amd/numbers.hpp"
#include "probes/device_visibility/vendor_judges.hpp"
#include "stats/outliers.hpp"

namespace muster::visibility {

namespace {

/// A library that joins its word to the inventory, by the name of the source that it is there.
struct AmdLibrary {
  std::string_view source;
  std::string_view library;  ///< how the names of its files begin
  std::string_view name;
};
constexpr AmdLibrary libraries[] = {{"rocm_smi", "librocm_smi64", "ROCm SMI"}, {"amd_smi", "libamd_smi", "AMD SMI"}};

std::string in_one_line(std::string_view text) {
  return printable_line(text, 200);
}

std::string key_of(const AmdLibrary& library, std::string_view what) {
  return fmt::format("{}_{}", library.source, what);
}

void judge_broken(const NodeView& node, Findings& findings) {
  for (const LibraryReport& report : node.inventory.libraries) {
    const auto is_it = [&](const AmdLibrary& one) { return report.name.rfind(one.library, 0) == 0; };
    if (report.state != LibraryState::broken || std::none_of(std::begin(libraries), std::end(libraries), is_it))
      continue;
    const bool is_open = !report.file.empty();
    findings.push_back(
        {Verdict::fail,
         fmt::format("on {} the driver amdgpu works, but {} is unusable: {}", node.host,
                     printable_line(report.name, 60), in_one_line(report.error)),
         {culprit_of(node)},
         is_open
             ? fmt::format("compare the release of ROCm in {} with that of the driver on {}, run rocm-smi there and "
                           "read its kernel log (dmesg: amdgpu); until then no monitoring of the node sees its GPUs",
                           in_one_line(report.file), node.host)
             : fmt::format("install ROCm anew on {}; its libraries do not fit one another", node.host)});
  }
}

/// GPUs that are healthy according to the kernel.
std::vector<const Device*> gpus_of(const NodeView& node) {
  std::vector<const Device*> gpus = devices_of(node, DeviceKind::gpu);
  std::erase_if(gpus, [&](const Device* gpu) {
    return vendor_of(*gpu) != "amd" || problem_of(node, *gpu) != DeviceProblem::none;
  });
  return gpus;
}

void judge_count(const NodeView& node, const AmdLibrary& library, Findings& findings) {
  std::vector<const Device*> unlisted;
  auto gpus = gpus_of(node);
  // What a control group hides, KFD hides, and a library may.
  std::erase_if(gpus, [](const Device* gpu) { return !gpu->is_seen_by("kfd"); });
  for (const Device* gpu : gpus)
    if (!gpu->is_seen_by(library.source)) unlisted.push_back(gpu);
  if (unlisted.empty()) return;
  findings.push_back(
      about(node, unlisted,
            fmt::format("{} lists {} of {} that amdgpu offers on {}; it misses {}", library.name,
                        gpus.size() - unlisted.size(), counted(gpus.size(), "GPU"), node.host, names_of(unlisted)),
            fmt::format("compare with what rocm-smi lists on {}; check what may hide GPUs there (a container, "
                        "permissions on /sys/class/drm); reset the GPU when it is idle",
                        node.host)));
}

void judge_unique_ids(const NodeView& node, const AmdLibrary& library, Findings& findings) {
  for (const Device* gpu : gpus_of(node)) {
    const std::string reported = value_of(*gpu, key_of(library, "unique_id"));
    const std::string known = unique_id_of(*gpu);
    if (reported.empty() || known.empty() || reported == known) continue;
    findings.push_back(about(
        node, {gpu},
        fmt::format("{} on {} has unique id {} by the kernel and {} by {}", label_of(*gpu), node.host, known,
                    in_one_line(reported), library.name),
        fmt::format("reboot {}: driver and library disagree on which GPU is where; if they still do, have both brought "
                    "to one release of ROCm",
                    node.host)));
  }
}

void judge_errors_reported(const NodeView& node, const AmdLibrary& library, Findings& findings) {
  for (const Device* gpu : gpus_of(node)) {
    const std::string failed = value_of(*gpu, key_of(library, "error"));
    if (!failed.empty())
      findings.push_back(about(
          node, {gpu}, fmt::format("{} gave {} no answer: {}", named(node, *gpu), library.name, in_one_line(failed)),
          fmt::format("read the kernel log of {} (dmesg: amdgpu), reset the GPU, and drain the "
                      "node if it still does not answer",
                      node.host)));
    const auto count = to_number(value_of(*gpu, key_of(library, "uncorrected")));
    // The kernel's own count has its finding already.
    if (count > 0 && gpu->uncorrected == 0)
      findings.push_back(
          about(node, {gpu},
                fmt::format("{} has {}, as {} counts them", named(node, *gpu),
                            counted(static_cast<std::size_t>(count), "uncorrected error"), library.name),
                fmt::format("drain {} and reset the GPU; have it replaced if the errors come back", node.host)));
  }
}

void judge_pages(const NodeView& node, const Device& gpu, Findings& findings) {
  const auto pending = to_number(value_of(gpu, "bad_pages_pending"));
  const auto failed = to_number(value_of(gpu, "bad_pages_failed"));
  if (pending > 0)
    findings.push_back(about(node, {&gpu},
                             fmt::format("{} has {} of memory to be retired at its next reset", named(node, gpu),
                                         counted(static_cast<std::size_t>(pending), "page")),
                             fmt::format("drain {} and reset the GPU, so that this memory is not used", node.host)));
  if (failed > 0)
    findings.push_back(about(node, {&gpu},
                             fmt::format("{} could not retire {} of bad memory", named(node, gpu),
                                         counted(static_cast<std::size_t>(failed), "page")),
                             fmt::format("drain {} and have the GPU replaced", node.host)));
}

void judge_temperature(const NodeView& node, const Device& gpu, Findings& findings) {
  for (const char* place : {"edge", "junction", "memory"}) {
    const double now = real_of(value_of(gpu, fmt::format("temperature_{}", place)));
    const double limit = real_of(value_of(gpu, fmt::format("temperature_limit_{}", place)));
    if (limit <= 0 || now < limit) continue;
    findings.push_back(about(
        node, {&gpu}, fmt::format("{} is at {:g} degrees ({}), its limit is {:g}", named(node, gpu), now, place, limit),
        fmt::format("drain {} and see to its cooling: fans, coolant, heat sink", node.host)));
    return;
  }
}

/// Limits of power and current are meant so.
void judge_throttling(const NodeView& node, const Device& gpu, Findings& findings) {
  if (value_of(gpu, "throttled_by").find("heat") == std::string::npos) return;
  findings.push_back(about(node, {&gpu}, fmt::format("{} is slowed down by heat", named(node, gpu)),
                           fmt::format("drain {} and see to its cooling: fans, coolant, heat sink", node.host)));
}

/// `8589934592 python`, by `process.4242`.
void judge_processes(const NodeView& node, const Device& gpu, Findings& findings) {
  constexpr std::string_view prefix = "process.";
  std::vector<std::string> list;
  for (const auto& [key, value] : gpu.values) {
    if (key.rfind(prefix, 0) != 0) continue;
    const auto space = value.find(' ');
    list.push_back(fmt::format("{} (pid {}) holds {:.1f} GiB",
                               printable_line(space == value.npos ? "a process" : value.substr(space + 1), 40),
                               printable_line(key.substr(prefix.size()), 20),
                               static_cast<double>(to_number(value.substr(0, space))) / (1u << 30)));
  }
  if (list.empty() || is_withheld(gpu)) return;
  Finding used =
      about(node, {&gpu}, fmt::format("{} is used by other programs: {}", named(node, gpu), human_list(list)),
            fmt::format("end what a former job left on {}; where jobs share GPUs, request them alone", node.host));
  // Outside of a job it may be that of another user, whose GPU it is.
  if (node.job.count("SLURM_JOB_ID") == 0) {
    used.verdict = Verdict::pass;
    used.culprits.clear();
  }
  findings.push_back(std::move(used));
}

/// How MI300s are cut in parts: all of a node alike.
void judge_partitions(const NodeView& node, Findings& findings) {
  constexpr std::pair<const char*, const char*> modes[] = {{"compute_partition", "compute partition mode"},
                                                           {"memory_partition", "memory partition mode"}};
  for (const auto& [key, what] : modes) {
    std::map<std::string, Question> questions;
    for (const Device* gpu : gpus_of(node)) {
      Question& question = questions[gpu->device_id];
      question.what = what;
      question.others = "others there";
      question.remedy = fmt::format(
          "drain {} and set one mode for all its GPUs: amd-smi set --compute-partition, "
          "--memory-partition",
          node.host);
      question.votes.push_back({"of " + named(node, *gpu), in_one_line(value_of(*gpu, key)), culprit_of(node, *gpu)});
    }
    for (const auto& [model, question] : questions)
      if (auto finding = outlier_finding(question)) findings.push_back(std::move(*finding));
  }
}

}  // namespace

std::string value_of(const Device& device, std::string_view key) {
  const auto found = device.values.find(std::string(key));
  return found == device.values.end() ? std::string() : found->second;
}

double real_of(std::string_view text) {
  return parse_number<double>(text).value_or(0);
}

std::string unique_id_of(const Device& gpu) {
  const auto number = to_number(gpu.uuid);
  return number == 0 ? in_one_line(gpu.uuid) : fmt::format("{:#x}", number);
}

std::string named(const NodeView& node, const Device& gpu) {
  const std::string id = unique_id_of(gpu);
  return fmt::format("{}{} on {}", label_of(gpu), id.empty() ? "" : fmt::format(" (unique id {})", id), node.host);
}

std::string names_of(const std::vector<const Device*>& gpus) {
  std::vector<std::string> names;
  for (const Device* gpu : gpus) {
    const std::string id = unique_id_of(*gpu);
    names.push_back(to_string(gpu->address) + (id.empty() ? "" : fmt::format(" (unique id {})", id)));
  }
  return human_list(names);
}

void judge_amd(const NodeView& node, Findings& findings) {
  judge_broken(node, findings);
  for (const AmdLibrary& library : libraries) {
    if (!node.inventory.has_source(library.source)) continue;
    judge_count(node, library, findings);
    judge_unique_ids(node, library, findings);
    judge_errors_reported(node, library, findings);
  }
  for (const Device* gpu : gpus_of(node)) {
    judge_pages(node, *gpu, findings);
    judge_temperature(node, *gpu, findings);
    judge_throttling(node, *gpu, findings);
    judge_processes(node, *gpu, findings);
  }
  judge_partitions(node, findings);
}

extern const VendorJudges amd_judges;
constexpr VendorJudges amd_judges{.vendor = "amd",
                                  .libraries = nullptr,
                                  .versions = nullptr,
                                  .health = nullptr,
                                  .siblings = nullptr,
                                  .sources = judge_amd,
                                  .links = judge_xgmi,
                                  .nodes = nullptr,
                                  .evidence = nullptr};

}  // namespace muster::visibility
