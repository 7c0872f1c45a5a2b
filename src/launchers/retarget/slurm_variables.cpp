#include <fmt/format.h>

#include "base/hostlist.hpp"
#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "launchers/retarget/retarget.hpp"

namespace muster {

namespace {

constexpr long most = 1'000'000'000;

std::optional<long> number(std::string_view text) {
  return parse_number_from(text, 0L, most);
}

/// `2(x3),1` as 2 2 2 1; nothing when it is not that, or not about so many nodes.
std::vector<long> per_node(std::string_view text, std::size_t nodes) {
  std::vector<long> counts;
  for (const std::string& part : split(text, ',')) {
    const auto open = part.find("(x");
    const auto count = number(part.substr(0, open));
    const auto times = open == part.npos    ? std::optional<long>(1)
                       : part.back() == ')' ? number(std::string_view(part).substr(open + 2, part.size() - open - 3))
                                            : std::nullopt;
    if (!count || !times || counts.size() + static_cast<std::size_t>(*times) > nodes) return {};
    counts.insert(counts.end(), static_cast<std::size_t>(*times), *count);
  }
  return counts.size() == nodes ? counts : std::vector<long>();
}

std::string per_node_text(const std::vector<long>& counts) {
  std::string text;
  for (std::size_t at = 0; at < counts.size();) {
    std::size_t end = at;
    while (end < counts.size() && counts[end] == counts[at]) ++end;
    if (!text.empty()) text += ',';
    text += end - at == 1 ? fmt::format("{}", counts[at]) : fmt::format("{}(x{})", counts[at], end - at);
    at = end;
  }
  return text;
}

class Rewriting {
 public:
  Rewriting(const LookUp& look_up, const std::vector<std::string>& job_nodes, const std::vector<std::string>& nodes)
      : look_up_(look_up), job_nodes_(job_nodes), nodes_(nodes) {}

  void replace(const std::string& name, const std::string& value) {
    if (look_up_(name)) changed_.emplace_back(name, value);
  }

  /// Counts of the nodes that are left; nothing when they can't be understood.
  std::vector<long> keep(const std::string& name) {
    const auto reported = look_up_(name);
    const auto all = reported ? per_node(*reported, job_nodes_.size()) : std::vector<long>();
    std::vector<long> kept;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (is_in(job_nodes_[i], nodes_)) kept.push_back(all[i]);
    if (!kept.empty()) replace(name, per_node_text(kept));
    return kept;
  }

  /// A total over all nodes, where it is the same on each.
  void scale(const std::string& name) {
    const auto reported = look_up_(name);
    const auto total = reported ? number(*reported) : std::nullopt;
    const auto count = static_cast<long>(job_nodes_.size());
    if (total && count > 0 && *total % count == 0)
      replace(name, std::to_string(*total / count * static_cast<long>(nodes_.size())));
  }

  [[nodiscard]] Environment done() { return std::move(changed_); }

 private:
  const LookUp& look_up_;
  const std::vector<std::string>& job_nodes_;
  const std::vector<std::string>& nodes_;
  Environment changed_;
};

}  // namespace

Environment slurm_variables(const LookUp& look_up, const std::vector<std::string>& job_nodes,
                            const std::vector<std::string>& nodes) {
  Rewriting all(look_up, job_nodes, nodes);
  const auto list = compress_hostlist(nodes);
  for (const char* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) all.replace(name, list);
  for (const char* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"}) all.replace(name, std::to_string(nodes.size()));
  (void)all.keep("SLURM_JOB_CPUS_PER_NODE");
  const auto tasks = all.keep("SLURM_TASKS_PER_NODE");
  long sum = 0;
  for (const long count : tasks) sum += count;
  for (const char* name : {"SLURM_NTASKS", "SLURM_NPROCS"})
    if (sum > 0) all.replace(name, std::to_string(sum));
  all.scale("SLURM_GPUS");
  return all.done();
}

}  // namespace muster
