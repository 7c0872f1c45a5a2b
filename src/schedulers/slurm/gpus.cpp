// GPUs as Slurm counts them. Answers as a real Slurm 22.05 gave them; `gres/gpu` for `gres:gpu` is of later versions.
#include <algorithm>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "schedulers/slurm/parts.hpp"

namespace muster::slurm {

namespace {

constexpr std::string_view gpu_options[] = {
    "--gpus",          "--gpus-per-node", "--gpus-per-task", "--gpus-per-socket",
    "--tres-per-task", "--tres-per-job",  "--tres-per-node", "--gres"};

/// `gpu:h100:8(S:0-1),nvme:1` without what is in brackets, where commas separate nothing.
std::string without_brackets(std::string_view text) {
  std::string kept;
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : 0;
    if (depth == 0) kept += c;
    depth -= c == ')' ? 1 : 0;
  }
  return kept;
}

/// `gpu`, `gpu:8`, `gpu:h100:8`; 0: it is something else.
int count_of(const std::string& resource) {
  const auto parts = split(resource, ':');
  if (parts.front() != "gpu") return 0;
  return parts.size() > 1 ? std::max(0, leading_number<int>(parts.back()).value_or(1)) : 1;
}

/// The default partition has a star behind its name.
bool is_wanted(std::string_view partition, std::string_view wanted) {
  const bool is_default = !partition.empty() && partition.back() == '*';
  if (wanted.empty()) return is_default;
  const auto names = split(wanted, ',');
  return is_in(partition.substr(0, partition.size() - (is_default ? 1 : 0)), names);
}

}  // namespace

int gpus_of(std::string_view gres) {
  int all = 0;
  for (const auto& resource : split(without_brackets(gres), ',')) all += count_of(resource);
  return all;
}

std::string gpu_type_of(std::string_view gres) {
  std::string type;
  for (const auto& resource : split(without_brackets(gres), ',')) {
    const auto parts = split(resource, ':');
    if (count_of(resource) == 0) continue;
    if (!type.empty() || parts.size() < 3) return {};
    type = parts[1];
  }
  return type;
}

Argv ask_gpus(std::string_view partition) {
  Argv argv{"sinfo", "--noheader", "--Node", "--format=%N|%P|%G"};
  if (!partition.empty()) argv.push_back(fmt::format("--partition={}", partition));
  return argv;
}

std::vector<CountedGpus> read_gpus(std::string_view out, std::string_view partition) {
  std::vector<CountedGpus> nodes;
  for (const std::string_view line : lines(out)) {
    const auto fields = split(trim(line), '|');
    if (fields.size() != 3 || fields[0].empty() || !is_wanted(fields[1], partition)) continue;
    const auto is_known = [&](const CountedGpus& node) { return node.node == fields[0]; };
    if (std::none_of(nodes.begin(), nodes.end(), is_known))
      nodes.push_back({printable_line(fields[0], 255), gpus_of(fields[2])});
  }
  return nodes;
}

std::string gpu_option(std::span<const JobOption> options) {
  for (const auto name : gpu_options)
    if (chooses(options, name)) return std::string(name);
  return {};
}

/// `TresPerNode=gres:gpu:8`, TresPerJob, TresPerTask, TresPerSocket. GRES= of an exclusive job names all GPUs of its
/// nodes, which its steps do not get.
bool asks_for_gpus(std::string_view out) {
  constexpr std::string_view mark = " TresPer";
  for (auto at = out.find(mark); at != out.npos; at = out.find(mark, at + 1)) {
    const auto word = out.substr(at + 1, out.find_first_of(" \n", at + 1) - at - 1);
    if (word.find("gpu") != word.npos) return true;
  }
  return false;
}

}  // namespace muster::slurm
