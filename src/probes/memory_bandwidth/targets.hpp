/// What is measured together, and under which labels: a name never covers more than the threads did. Pure.
#pragma once

#include <string>
#include <vector>

#include "measure/domains.hpp"
#include "muster/observation.hpp"

namespace muster::memory_bandwidth {

/// One domain, or all at once.
struct Target {
  int domain = 0;  ///< index into the domains; Stream::everywhere: all
  CpuMask cpus;    ///< one thread on each
  std::vector<Labels> where;
  std::string name;  ///< for sentences: `domain 0`, `node`
};

/// How much of its node a rank has.
struct Extent {
  CpuMask closed;   ///< one CPU of each core of the node that it may not use and that no profile reserves
  int sharers = 1;  ///< ranks on the node: each measures its own part, in its turn
  /// By domain: where its memory lies; empty: not known.
  std::vector<std::string> pages = {};
  double quota = 0;  ///< CPUs that control groups allow at a time; 0: as many as there are
  /// By domain: bytes of each of its arrays; empty: not known.
  std::vector<std::uint64_t> arrays = {};
};

struct Cover {
  std::vector<Target> targets;
  std::string lacking;  ///< why nothing bears the label `domain=node`; empty: it stands for the whole node
};

/// Labels: `domain` (its number, `node`, or `open`: all that the rank may use of several domains), `threads`, and only
/// where less than the domain was measured `cpus`, where its memory lies in another one `pages`, where control groups
/// allow fewer CPUs than there are threads `quota`, and where caches may hold a part of the arrays `cached`.
[[nodiscard]] Cover cover_of(const std::vector<Domain>& domains, const Extent& extent);

}  // namespace muster::memory_bandwidth
