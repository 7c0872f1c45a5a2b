// What each mask is to the machine: reserved cores, width, NUMA domains, the rank's GPU.
#include <algorithm>
#include <fmt/format.h>
#include <span>

#include "base/text.hpp"
#include "device/placement.hpp"
#include "measure/bind_words.hpp"
#include "probes/cpu_affinity/node_masks.hpp"

namespace muster::affinity {

namespace {

/// One sentence for all ranks that something is wrong with.
struct Offenders {
  std::vector<int> ranks;
  std::vector<std::string> words;
  void add(int rank, std::string sentence) {
    ranks.push_back(rank);
    words.push_back(std::move(sentence));
  }
};

/// Of many ranks a part for each between semicolons, of which reports make rows.
std::string sentence_of(const std::vector<std::string>& words) {
  constexpr std::size_t several = 4;
  constexpr std::size_t most = 8;
  if (words.size() < several) return human_list(words);
  const std::span shown = std::span(words).first(std::min(words.size(), most));
  return join(shown, "; ") + (words.size() > most ? fmt::format("; and {} more", words.size() - most) : "");
}

void report(const CaseView& view, const NodeMasks& node, const Offenders& offenders, std::string remedy,
            Findings& findings) {
  if (offenders.ranks.empty()) return;
  findings.push_back(about(node, offenders.ranks, fmt::format("on {} {}", node.host, sentence_of(offenders.words)),
                           with_line(view, node, std::move(remedy))));
}

/// Those with no CPU near to their GPU.
Offenders far_from(const NodeMasks& node, const std::vector<RankGpu>& gpus) {
  Offenders offenders;
  for (const RankGpu& gpu : gpus) {
    if (nearness_of(gpu.rank->mask, gpu.near) != Nearness::apart) continue;
    const CpuMask domain = node.layout.domains_of(gpu.near);
    offenders.add(gpu.rank->rank, fmt::format("rank {} runs on {}, {}, far from its GPU {} ({}: {}, {})",
                                              gpu.rank->rank, named("CPU", gpu.rank->mask),
                                              named("NUMA domain", node.layout.domains_of(gpu.rank->mask)),
                                              printable_line(gpu.address, 20), printable_line(gpu.because, 120),
                                              named("CPU", gpu.near), named("NUMA domain", domain)));
  }
  return offenders;
}

/// The site's own simple line, which leaves ranks far from their GPUs.
bool has_shares_in_order(const NodeMasks& node) {
  NodeParts parts;
  parts.layout = node.layout;
  parts.reserved = node.reserved;
  std::vector<CpuMask> masks;
  for (const RankMask& rank : node.ranks) masks.push_back(rank.mask);
  return are_shares_in_order(parts, masks);
}

}  // namespace

void judge_asked(const CaseView& view, const NodeMasks& node, Findings& findings) {
  Offenders offenders;
  std::string binder;
  for (const RankMask& rank : node.ranks) {
    if (rank.asked.empty() || rank.asked == rank.mask || rank.binder == "line") continue;
    binder = rank.binder;
    offenders.add(rank.rank, fmt::format("rank {}: asked {} ({}), got {}", rank.rank, named("CPU", rank.asked),
                                         rank.asked_by, named("CPU", rank.mask)));
  }
  std::string remedy = fmt::format(
      "see which variable, default or wrapper of the site replaces the masks in the line of {} (file command in the "
      "launch's folder)",
      node.launcher.empty() ? "the launcher" : node.launcher);
  if (binder == "agent") remedy = "ask the scheduler for whole nodes (--exclusive): the job may not use these CPUs";
  report(view, node, offenders, std::move(remedy), findings);
}

void judge_reserved(const CaseView& view, const NodeMasks& node, Findings& findings) {
  Offenders offenders;
  for (const RankMask& rank : node.ranks)
    if (const CpuMask taken = rank.mask & node.reserved; !taken.empty())
      offenders.add(rank.rank,
                    fmt::format("rank {} may run on {}, reserved for the system", rank.rank, named("CPU", taken)));
  const std::size_t before = findings.size();
  report(view, node, offenders, "leave out the cores that the profile reserves", findings);
  if (findings.size() > before) soften(view.node, "reserved_cores", findings.back());
}

void judge_width(const CaseView& view, const NodeMasks& node, Findings& findings) {
  const auto wanted = view.params.integer("cores");
  if (wanted == 0) return;
  Offenders offenders;
  for (const RankMask& rank : node.ranks)
    if (rank.cores.count() != wanted)
      offenders.add(rank.rank, fmt::format("rank {} has {} ({}) instead of {}", rank.rank, rank.cores.count(),
                                           named("core", rank.cores), wanted));
  report(view, node, offenders,
         fmt::format("request {} cores per rank: {}", wanted, width_in_words(node.launcher, wanted)), findings);
}

void judge_domains(const CaseView& view, const NodeMasks& node, Findings& findings) {
  const bool is_wanted = view.params.text("numa") == "one";
  const auto must_fit = [&](const RankMask& rank) { return is_wanted || rank.nic_policy == "NUMA"; };
  if (std::none_of(node.ranks.begin(), node.ranks.end(), must_fit)) return;
  if (node.layout.domains.empty()) {
    Finding finding = about(node, {}, fmt::format("{} reported no NUMA domains", node.host),
                            "see the fact layout_error of its first rank, or set numa = \"any\"");
    finding.culprits.push_back({CulpritKind::node, node.host, node.host});
    finding.verdict = Verdict::unmeasured;
    return findings.push_back(std::move(finding));
  }
  Offenders offenders;
  bool is_refused = false;
  for (const RankMask& rank : node.ranks) {
    const CpuMask domains = node.layout.domains_of(rank.mask);
    if (domains.count() < 2 || !must_fit(rank)) continue;
    is_refused |= rank.nic_policy == "NUMA";
    offenders.add(rank.rank, fmt::format("rank {} (CPUs {}) spans {}{}", rank.rank, rank.mask.list(),
                                         named("NUMA domain", domains),
                                         rank.nic_policy == "NUMA" ? " under MPICH_OFI_NIC_POLICY=NUMA" : ""));
  }
  report(view, node, offenders,
         is_refused ? "keep each rank inside one NUMA domain: Cray MPICH refuses to start it otherwise"
                    : "keep each rank inside one NUMA domain",
         findings);
}

void judge_devices(const CaseView& view, const NodeMasks& node, Findings& findings) {
  if (view.params.text("devices") != "near") return;
  if (const Offenders maybe = far_from(node, first_gpus(node)); !maybe.ranks.empty())
    findings.push_back(make_note(fmt::format("on {} {}", node.host, human_list(maybe.words, 8))));
  const Offenders offenders = far_from(node, gpus_of_ranks(node));
  const std::size_t before = findings.size();
  report(view, node, offenders, "bind each rank next to its GPU, or give it the GPU that is near", findings);
  if (findings.size() == before || !view.node.bind || !view.node.bind->is_far_noted) return;
  if (!has_shares_in_order(node)) return;
  findings.back().verdict = Verdict::pass;
  findings.back().reason += "; no fault, as the site itself leaves it so; " + findings.back().remedy;
  findings.back().culprits.clear();
  findings.back().remedy.clear();
}

}  // namespace muster::affinity
