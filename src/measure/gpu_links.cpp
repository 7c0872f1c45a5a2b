#include "measure/gpu_links.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/lists.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "measure/gpu_limits.hpp"
#include "measure/gpu_remedies.hpp"
#include "measure/node_devices.hpp"
#include "measure/pair_settings.hpp"
#include "measure/peak_bandwidth.hpp"
#include "model/gpu_vendor.hpp"

namespace muster::p2p {

namespace {

constexpr std::size_t most_named_pairs = 4;
constexpr std::size_t most_blamed_pairs = 8;

bool is_link(std::string_view kind) {
  return kind == "nvlink" || kind == "xgmi";
}

std::string link_words(std::string_view kind) {
  return kind == "nvlink" ? "NVLink" : "xGMI";
}

/// `NET/IB`: two ranks of one node.
std::string way_words(const std::string& way) {
  if (way == "SHM") return "through the host's memory (SHM)";
  return way.rfind("NET/", 0) == 0 ? fmt::format("over the network ({})", way) : "by " + way;
}

struct Pair {
  int from = 0;
  int to = 0;
  friend auto operator<=>(const Pair&, const Pair&) = default;
};

std::string pair_words(const CaseView& view, const Pair& pair) {
  return fmt::format("rank {} -> rank {} on {}", pair.from, pair.to,
                     view.ranks[static_cast<std::size_t>(pair.from)].host);
}

std::string pair_words(const CaseView& view, const std::vector<Pair>& pairs) {
  std::vector<std::string> names;
  for (const Pair& pair : pairs) names.push_back(pair_words(view, pair));
  return human_list(names, most_named_pairs);
}

void blame_pairs(const CaseView& view, const std::vector<Pair>& pairs, Finding& finding) {
  for (const Pair& pair : pairs)
    if (finding.culprits.size() < most_blamed_pairs)
      finding.culprits.push_back({CulpritKind::link, fmt::format("rank {} -> rank {}", pair.from, pair.to),
                                  view.ranks[static_cast<std::size_t>(pair.from)].host, -1});
}

template <class Each>
void for_each_measured(const CaseView& view, Each each) {
  for (std::size_t rank = 0; rank < view.ranks.size(); ++rank)
    if (const Observation* seen = view.measured(rank)) each(static_cast<int>(rank), *seen);
}

std::string see_links() {
  return fmt::format(
      "see whether all links between the GPUs are up, and their error counters ({}); gpu_copy measures them without "
      "the library",
      links_commands());
}

}  // namespace

GpuLinks::GpuLinks(Inventory inventory, std::vector<GpuPlace> places, int self)
    : inventory_(std::move(inventory)), places_(std::move(places)), self_(self) {}

const Device* GpuLinks::device_of(int rank) const {
  if (rank < 0 || static_cast<std::size_t>(rank) >= places_.size()) return nullptr;
  const GpuPlace& place = places_[static_cast<std::size_t>(rank)];
  const Device* found = nullptr;
  for (const Device& device : inventory_.devices) {
    if (device.kind != DeviceKind::gpu || !place.is_known || device.address != place.address) continue;
    // Parts of one GPU share its address: the intended one is unknown.
    if (found != nullptr || device.part >= 0) return nullptr;
    found = &device;
  }
  return found;
}

bool GpuLinks::end_in_node() const {
  const Device* mine = device_of(self_);
  if (mine == nullptr) return false;
  if (terms_of_vendor(vendor_of(*mine)).are_links_inside) return true;
  return visibility::are_links_known(*mine) && mine->values.count("fabric_domain") == 0;
}

std::optional<GpuLink> GpuLinks::to(int rank) const {
  const Device* mine = device_of(self_);
  const Device* other = device_of(rank);
  if (mine == nullptr || other == nullptr || mine == other) return std::nullopt;
  if (places_[static_cast<std::size_t>(self_)].node != places_[static_cast<std::size_t>(rank)].node)
    return std::nullopt;
  const std::string kind = gpu_copy::link_between(inventory_, mine, other, true);
  if (!is_link(kind)) return std::nullopt;
  return GpuLink{kind, gpu_copy::peer_way(inventory_, mine, other, kind).kernel};
}

bool GpuLinks::is_other_gpu(int rank) const {
  const auto is_placed = [&](int one) { return one >= 0 && static_cast<std::size_t>(one) < places_.size(); };
  if (!is_placed(self_) || !is_placed(rank)) return false;
  const GpuPlace& mine = places_[static_cast<std::size_t>(self_)];
  const GpuPlace& other = places_[static_cast<std::size_t>(rank)];
  return mine.node != other.node || (mine.is_known && other.is_known && mine.address != other.address);
}

double GpuLinks::together() const {
  double direct = 0;
  double by_switch = 0;
  for (std::size_t rank = 0; rank < places_.size(); ++rank) {
    if (static_cast<int>(rank) == self_) continue;
    const auto link = to(static_cast<int>(rank));
    if (!link || link->rate <= 0) return 0;
    const Device* mine = device_of(self_);
    const bool is_direct = std::any_of(mine->peers.begin(), mine->peers.end(), [&](const PeerLink& peer) {
      return peer.to == places_[rank].address && peer.up > 0;
    });
    // By way of switches the same links lead to all others.
    if (is_direct)
      direct += link->rate;
    else
      by_switch = std::max(by_switch, link->rate);
  }
  return direct + by_switch;
}

std::vector<Fact> GpuLinks::detours(const Connections& connections) const {
  std::set<std::string> reported;
  for (const Connection& one : connections.between) {
    if (one.from != self_ && one.to != self_) continue;
    // Multicast and reduction in the switch is not a detour.
    if (one.way != "SHM" && one.way.rfind("NET/", 0) != 0) continue;
    const int other = one.from == self_ ? one.to : one.from;
    if (const auto link = to(other)) reported.insert(fmt::format("{} {} {}", other, one.way, link->kind));
  }
  std::vector<Fact> facts;
  for (const std::string& value : reported) facts.push_back({"data.detour", value});
  return facts;
}

void find_detours(const CaseView& view, std::vector<Finding>& findings) {
  std::map<std::pair<std::string, std::string>, std::set<Pair>> groups;
  for_each_measured(view, [&](int rank, const Observation& seen) {
    for (const Fact& fact : seen.facts) {
      if (fact.key != "data.detour") continue;
      std::string text = printable_line(fact.value, 100);
      const std::string number = gpu_copy::take_word(text);
      // The way may have blanks, the kind has none.
      const auto blank = text.rfind(' ');
      const int other = leading_number<int>(number).value_or(-1);
      if (blank == std::string::npos || other < 0 || static_cast<std::size_t>(other) >= view.ranks.size()) continue;
      groups[{text.substr(0, blank), text.substr(blank + 1)}].insert({std::min(rank, other), std::max(rank, other)});
    }
  });
  for (const auto& [reported, found] : groups) {
    const std::vector<Pair> pairs(found.begin(), found.end());
    Finding finding;
    finding.reason = fmt::format(
        "data between GPUs of one node goes {}, though {} links them ({}: {}, from the library's own log)",
        way_words(reported.first), link_words(reported.second), counted(pairs.size(), "pair"), pair_words(view, pairs));
    blame_pairs(view, pairs, finding);
    finding.remedy =
        "let every rank see all GPUs of its node (with Slurm neither --gpus-per-task nor --gpu-bind; choose by the "
        "local rank), unset NCCL_P2P_DISABLE and NCCL_P2P_LEVEL, give containers the host's /dev/shm and IPC; if it "
        "stays so, see IOMMU and ACS, and gpu_copy, which copies without the library";
    finding.subject = Subject::transport;
    findings.push_back(std::move(finding));
  }
}

void find_below_links(const CaseView& view, std::string_view metric, std::vector<Finding>& findings) {
  const double least = view.params.real("least_of_link");
  const std::size_t largest = largest_size(view.params);
  // The time of a few bytes does not characterise a link.
  if (least <= 0 || largest < (std::size_t{1} << 20)) return;
  const std::string size = muster::to_string(ParamScalar(Bytes{largest}));
  bool is_detour = false;
  for_each_measured(view, [&](int, const Observation& seen) { is_detour = is_detour || seen.fact("data.detour"); });
  if (is_detour) return;
  struct Below {
    Pair pair;
    double rate = 0;
    double able = 0;
  };
  std::vector<Below> below;
  std::size_t judged = 0;
  for_each_measured(view, [&](int rank, const Observation& seen) {
    for (const Reading& reading : seen.readings) {
      if (reading.metric != metric || reading.summary.n == 0 || label_of(reading.where, "size") != size) continue;
      const Reading* capable = gpu_copy::capable_of(seen, reading);
      if (capable == nullptr || capable->summary.median <= 0) continue;
      ++judged;
      if (reading.summary.median < least * capable->summary.median)
        below.push_back({{rank, reading.peer}, reading.summary.median, capable->summary.median});
    }
  });
  if (below.empty()) return;
  const auto share = [](const Below& one) { return one.rate / one.able; };
  std::sort(below.begin(), below.end(),
            [&](const Below& a, const Below& b) { return std::pair(share(a), a.pair) < std::pair(share(b), b.pair); });
  std::vector<Pair> pairs;
  for (const Below& one : below)
    if (one.pair.to >= 0 && !is_in(one.pair, pairs)) pairs.push_back(one.pair);
  const Below& worst = below.front();
  const std::string where = pairs.empty() ? fmt::format("rank {} on {}", worst.pair.from,
                                                        view.ranks[static_cast<std::size_t>(worst.pair.from)].host)
                                          : pair_words(view, worst.pair);
  Finding finding;
  finding.reason =
      fmt::format("{} of {} runs at {}, below {:.3g} % of the {} that the links between the GPUs can do ({})", metric,
                  size, format_value(worst.rate, "GB/s"), least * 100, format_value(worst.able, "GB/s"), where);
  if (below.size() > 1) finding.reason += fmt::format("; {} of {} readings are below", below.size(), judged);
  blame_pairs(view, pairs, finding);
  finding.remedy = see_links();
  finding.subject = Subject::links;
  findings.push_back(std::move(finding));
}

}  // namespace muster::p2p
