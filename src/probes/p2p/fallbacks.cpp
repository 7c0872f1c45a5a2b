#include <fmt/format.h>
#include <map>
#include <set>

#include "base/text.hpp"
#include "measure/reading_facts.hpp"
#include "measure/transport.hpp"
#include "model/fact_fields.hpp"
#include "probes/p2p/judge.hpp"

namespace muster::p2p {

namespace {

/// GB by link class and carrier, as reported by one rank.
using BytesOfCarriers = std::map<std::string, std::map<std::string, double>>;

BytesOfCarriers reported_by(const Observation& seen) {
  BytesOfCarriers reported;
  for (const CarriedBytes& one : facts_of<CarriedBytes>(seen, "transport"))
    reported[one.link][one.carrier] += one.gigabytes;
  return reported;
}

/// What carried most of the bytes of a class; empty when nothing did: other traffic may look like a carrier for a
/// moment.
std::string main_carrier(const std::map<std::string, double>& bytes) {
  double sum = 0;
  for (const auto& [carrier, some] : bytes) sum += some;
  for (const auto& [carrier, some] : bytes)
    if (some > sum / 2) return carrier;
  return {};
}

/// What is wrong with that way; empty: nothing.
std::string sentence_of(const std::string& link, const std::string& carrier, const std::string* fast) {
  if (carrier.empty() || carrier == "memory" || carrier == "unknown") return {};
  if (link == "network") {
    if (fast == nullptr || fast->empty() || is_port(carrier)) return {};
    return fmt::format("messages between nodes go through sockets on {}, though {} is there", printable_line(carrier),
                       printable_line(*fast));
  }
  return fmt::format("messages within a node go through {}{} instead of shared memory",
                     is_port(carrier) ? "the adapter " : "sockets on ", printable_line(carrier));
}

struct Fallback {
  std::string sentence;
  std::set<int> ranks;
};

Finding name_fallback(const CaseView& view, const Fallback& fallback, bool is_network) {
  Finding finding;
  finding.reason = fmt::format("{} ({} of {} ranks, proven by the interface's byte counters)", fallback.sentence,
                               fallback.ranks.size(), view.ranks.size());
  for (const int rank : fallback.ranks)
    if (finding.culprits.size() < 8)
      finding.culprits.push_back(rank_culprit(rank, view.ranks[static_cast<std::size_t>(rank)].host));
  finding.remedy = is_network
                       ? "let MPI use the fabric: look at its transport settings (OMPI_MCA_pml, OMPI_MCA_btl, UCX_TLS, "
                         "FI_PROVIDER) and at the permission of its device files"
                       : "let MPI use shared memory: look at its transport settings (OMPI_MCA_btl, UCX_TLS) and at the "
                         "size and permission of /dev/shm";
  return finding;
}

}  // namespace

std::vector<Finding> find_fallbacks(const CaseView& view) {
  if (view.params.text("sockets") == "allowed") return {};
  // Within a node the class of a link (below one cache or not) makes no other fault of it.
  std::map<std::pair<bool, std::string>, Fallback> ways;
  for (std::size_t rank = 0; rank < view.observed.size(); ++rank) {
    const Observation* seen = view.measured(rank);
    if (seen == nullptr) continue;
    for (const auto& [link, bytes] : reported_by(*seen)) {
      const std::string carrier = main_carrier(bytes);
      const std::string sentence = sentence_of(link, carrier, seen->fact("fast_ports"));
      if (sentence.empty()) continue;
      Fallback& way = ways[{link == "network", carrier}];
      way.sentence = sentence;
      way.ranks.insert(static_cast<int>(rank));
    }
  }
  std::vector<Finding> findings;
  for (const auto& [way, fallback] : ways) findings.push_back(name_fallback(view, fallback, way.first));
  return findings;
}

}  // namespace muster::p2p
