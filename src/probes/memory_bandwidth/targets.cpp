#include "probes/memory_bandwidth/targets.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>

#include "base/text.hpp"
#include "probes/memory_bandwidth/stream.hpp"

namespace muster::memory_bandwidth {

namespace {

bool has_strange_pages(const Extent& extent, std::size_t domain, const std::string& name) {
  return domain < extent.pages.size() && !extent.pages[domain].empty() && extent.pages[domain] != name;
}

bool is_throttled(const Extent& extent, const CpuMask& cpus) {
  return extent.quota > 0 && extent.quota + 1e-6 < cpus.count();
}

/// Whether some domain of these has arrays that are smaller than four times its caches, as far as both are known.
bool is_cached(std::span<const Domain> domains, std::size_t first, const Extent& extent) {
  for (std::size_t i = 0; i < domains.size() && first + i < extent.arrays.size(); ++i)
    if (extent.arrays[first + i] < times_of_cache * domains[i].cache) return true;
  return false;
}

Labels labels_of(const std::string& domain, const CpuMask& cpus, bool is_whole, const Extent& extent, bool is_cached) {
  Labels where;
  if (is_cached) where.emplace_back("cached", "yes");
  if (!is_whole) where.emplace_back("cpus", cpus.list());
  where.emplace_back("domain", domain);
  if (is_throttled(extent, cpus)) where.emplace_back("quota", fmt::format("{:.3g}", extent.quota));
  where.emplace_back("threads", std::to_string(cpus.count()));
  return where;
}

Target target_of(const std::vector<Domain>& domains, std::size_t at, const Extent& extent) {
  const Domain& domain = domains[at];
  const bool is_whole = extent.sharers == 1 && !domain.closed.intersects(extent.closed);
  Labels where = labels_of(domain.name, domain.cpus, is_whole, extent, is_cached({&domain, 1}, at, extent));
  if (has_strange_pages(extent, at, domain.name)) where.emplace_back("pages", extent.pages[at]);
  std::sort(where.begin(), where.end());
  return {static_cast<int>(at), domain.cpus, {std::move(where)}, "domain " + domain.name};
}

std::string lack_of(const std::vector<Domain>& domains, const CpuMask& open, const Extent& extent) {
  if (extent.sharers > 1)
    return fmt::format("{} ranks share the node, and each measures its own CPUs ({}) in its turn", extent.sharers, open.list());
  if (!extent.closed.empty())
    return fmt::format("CPUs {} of {} are open to it", open.list(), (open | extent.closed).list());
  for (std::size_t at = 0; at < domains.size(); ++at)
    if (has_strange_pages(extent, at, domains[at].name))
      return fmt::format("memory of domain {} lies in domain {}", domains[at].name, extent.pages[at]);
  if (is_throttled(extent, open))
    return fmt::format("control groups allow {:.3g} CPUs at a time, and {} threads share them", extent.quota,
                       open.count());
  return {};
}

}  // namespace

Cover cover_of(const std::vector<Domain>& domains, const Extent& extent) {
  Cover cover;
  CpuMask open;
  for (std::size_t at = 0; at < domains.size(); ++at) {
    cover.targets.push_back(target_of(domains, at, extent));
    open = open | domains[at].cpus;
  }
  cover.lacking = lack_of(domains, open, extent);
  const bool is_whole = cover.lacking.empty();
  const bool is_any_cached = is_cached(domains, 0, extent);
  if (domains.size() > 1)
    cover.targets.push_back({Stream::everywhere,
                             open,
                             {labels_of(is_whole ? "node" : "open", open, is_whole, extent, is_any_cached)},
                             is_whole ? "node" : "all open domains"});
  else if (is_whole)
    cover.targets[0].where.push_back(labels_of("node", open, true, extent, is_any_cached));
  return cover;
}

}  // namespace muster::memory_bandwidth
