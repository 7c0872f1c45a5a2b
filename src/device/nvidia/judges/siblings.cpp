// GPUs of a node against each other: NVLinks, the fabric they join, MIG.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/text.hpp"
#include "device/nvidia/judges/judges.hpp"
#include "probes/device_visibility/symptoms.hpp"
#include "stats/outliers.hpp"

namespace muster::visibility {

namespace {

using Gpus = std::vector<const Device*>;

int links_of(const Device& gpu, int PeerLink::*state) {
  int count = 0;
  for (const PeerLink& peer : gpu.peers)
    if (peer.kind == "nvlink") count += peer.*state;
  return count;
}

/// Boards whose links are wired: on others a bridge may be missing by intent.
bool is_wired(const Device& gpu) {
  const std::string model = model_of(gpu);
  const auto has = [&](std::string_view part) { return model.find(part) != model.npos; };
  return has("SXM") || has("HBM3") || (has("H200") && !has("NVL") && !has("GH200")) || has("B200") || has("B300");
}

std::string links_text(std::size_t count) {
  return counted(count, "NVLink");
}

void judge_nvlinks(const NodeView& node, const Gpus& siblings, Symptoms& symptoms) {
  int most = 0;
  for (const Device* gpu : siblings) most = std::max(most, links_of(*gpu, &PeerLink::up));
  for (const Device* gpu : siblings) {
    if (reported(*gpu, "mig") == "on") continue;  // then NVML reports none
    const int up = links_of(*gpu, &PeerLink::up);
    const int down = links_of(*gpu, &PeerLink::down);
    const std::string remedy = fmt::format(
        "drain {}, look for Xid 74 in its kernel log, reset GPUs and fabric (reboot); if a link stays down, have "
        "GPU, baseboard or bridge reseated or replaced",
        node.host);
    if (down > 0 && (up > 0 || most > 0 || is_wired(*gpu))) {
      const std::string which = reported(*gpu, "nvlinks_down");
      symptoms.add(
          *gpu,
          {fmt::format("{} of {} down ({})", down, links_text(static_cast<std::size_t>(up + down)), which), remedy});
    } else if (up < most) {
      symptoms.add(*gpu,
                   {fmt::format("{}, others of its model on this node have {}",
                                up == 0 ? "no NVLink is up" : links_text(static_cast<std::size_t>(up)) + " up", most),
                    remedy});
    }
  }
}

void judge_fabric_health(const NodeView& node, const Device& gpu, Symptoms& symptoms) {
  const std::string links =
      fmt::format("drain {} and look for links down in the log of nvidia-fabricmanager", node.host);
  const std::string reset =
      fmt::format("drain {} and reset its GPUs; look at the log of nvidia-fabricmanager", node.host);
  if (!reported(gpu, "fabric_bandwidth").empty())
    symptoms.add(gpu, {"the NVLink fabric reports degraded bandwidth", links});
  if (!reported(gpu, "fabric_route").empty()) symptoms.add(gpu, {"a route of the NVLink fabric is unhealthy", links});
  if (!reported(gpu, "fabric_recovery").empty())
    symptoms.add(gpu, {"routes of the NVLink fabric are being recovered: its NVLinks carry nothing", reset});
  if (!reported(gpu, "fabric_timeout").empty())
    symptoms.add(gpu, {"the NVLink fabric recovers from an access that timed out", reset});
  if (const std::string wrong = reported(gpu, "fabric_configuration"); !wrong.empty())
    symptoms.add(gpu, {fmt::format("the NVLink fabric is configured wrong: {}", printable_line(wrong, 60)),
                       "correct the configuration of the rack (nvidia-fabricmanager, nmx-c), then reset the GPUs"});
}

void judge_fabric(const NodeView& node, const Device& gpu, Symptoms& symptoms) {
  const std::string state = reported(gpu, "fabric");
  if (state.empty()) return;
  const std::string remedy = fmt::format(
      "start nvidia-fabricmanager on {} (systemctl status nvidia-fabricmanager, its log), of the driver's "
      "version; then reset the GPUs or reboot",
      node.host);
  if (state != "completed")
    symptoms.add(
        gpu,
        {fmt::format("it has not joined the NVLink fabric (state {}): CUDA programs fail to start", state), remedy});
  else if (const std::string status = reported(gpu, "fabric_status"); status != "success")
    symptoms.add(gpu, {fmt::format("joining the NVLink fabric failed with status {}", status), remedy});
  else
    judge_fabric_health(node, gpu, symptoms);
}

/// All GPUs of a node are in one domain: the same clique of the same cluster.
void judge_domain(const NodeView& node, const Gpus& siblings, Findings& findings) {
  Question question{
      "NVLink domain",
      "others there",
      fmt::format("drain {} and see the partitions of the fabric (nvidia-fabricmanager, nmx-c)", node.host),
      {}};
  for (const Device* gpu : siblings)
    if (const std::string domain = reported(*gpu, "fabric_domain"); !domain.empty())
      question.votes.push_back({"of " + subject(node, {gpu}), printable_line(domain, 60), culprit_of(node, *gpu)});
  if (auto finding = outlier_finding(question)) findings.push_back(std::move(*finding));
}

void judge_mig(const NodeView& node, const Gpus& siblings, Symptoms& symptoms) {
  const auto is_on = [](const Device* gpu) { return reported(*gpu, "mig") == "on"; };
  const auto on = std::count_if(siblings.begin(), siblings.end(), is_on);
  const auto all = static_cast<std::ptrdiff_t>(siblings.size());
  for (const Device* gpu : siblings) {
    const std::string mode = reported(*gpu, "mig");
    if (mode.empty()) continue;
    const std::string address = to_string(gpu->address);
    const bool is_odd = on != 0 && on != all && (is_on(gpu) ? 2 * on <= all : 2 * on >= all);
    if (is_odd)
      symptoms.add(
          *gpu, {fmt::format("MIG is {}, unlike on {} of {} GPUs of its model", mode, is_on(gpu) ? all - on : on, all),
                 fmt::format("bring them to one mode: nvidia-smi -mig {} on {}, or request nodes that are alike",
                             is_on(gpu) ? 0 : 1, node.host)});
    if (is_on(gpu) && reported(*gpu, "mig_instances") == "0")
      symptoms.add(*gpu, {"MIG is on and has no instance: no program can use it",
                          fmt::format("make instances on {} (nvidia-smi mig -i {} -cgi ... -C), or switch MIG off",
                                      node.host, address)});
    if (const std::string pending = reported(*gpu, "mig_pending"); !pending.empty())
      symptoms.add(*gpu, {fmt::format("MIG is {} and will be {} after a reset", mode, pending),
                          fmt::format("reset the GPU on {}: nvidia-smi --gpu-reset -i {}", node.host, address)});
  }
}

}  // namespace

void judge_siblings(const NodeView& node, Findings& findings) {
  std::map<std::string, Gpus> models;
  Symptoms symptoms;
  for (const Device* gpu : reported_by_nvml(node)) models[gpu->device_id + model_of(*gpu)].push_back(gpu);
  for (const auto& [model, siblings] : models) {
    judge_nvlinks(node, siblings, symptoms);
    for (const Device* gpu : siblings) judge_fabric(node, *gpu, symptoms);
    judge_mig(node, siblings, symptoms);
    judge_domain(node, siblings, findings);
  }
  symptoms.report(node, findings);
}

}  // namespace muster::visibility
