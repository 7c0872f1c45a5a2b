#include "probes/memory_bandwidth/targets.hpp"

#include <fmt/format.h>

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

Labels labels_of(const std::string& domain, const CpuMask& cpus, bool is_whole, const Extent& extent) {
  Labels where;
  if (!is_whole) where.emplace_back("cpus", cpus.list());
  where.emplace_back("domain", domain);
  if (is_throttled(extent, cpus)) where.emplace_back("quota", fmt::format("{:.3g}", extent.quota));
  where.emplace_back("threads", std::to_string(cpus.count()));
  return where;
}

Target target_of(const std::vector<Domain>& domains, std::size_t at, const Extent& extent) {
  const Domain& domain = domains[at];
  const bool is_whole = extent.sharers == 1 && !domain.closed.intersects(extent.closed);
  Labels where = labels_of(domain.name, domain.cpus, is_whole, extent);
  const auto behind_domain = where.begin() + (is_whole ? 1 : 2);
  if (has_strange_pages(extent, at, domain.name)) where.insert(behind_domain, {"pages", extent.pages[at]});
  return {static_cast<int>(at), domain.cpus, {std::move(where)}, "domain " + domain.name};
}

std::string lack_of(const std::vector<Domain>& domains, const CpuMask& open, const Extent& extent) {
  if (extent.sharers > 1)
    return fmt::format("{} ranks share the node, and each measures its own CPUs ({})", extent.sharers, open.list());
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
  if (domains.size() > 1)
    cover.targets.push_back({Stream::everywhere,
                             open,
                             {labels_of(is_whole ? "node" : "open", open, is_whole, extent)},
                             is_whole ? "node" : "all open domains"});
  else if (is_whole)
    cover.targets[0].where.push_back(labels_of("node", open, true, extent));
  return cover;
}

}  // namespace muster::memory_bandwidth
