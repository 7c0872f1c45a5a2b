#include "measure/verified_share.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "base/text.hpp"
#include "measure/reading_facts.hpp"
#include "model/fact_fields.hpp"

namespace muster::p2p {

namespace {

void add_reported(std::span<const Observation* const> ranks, VerifiedTotals& totals) {
  for (const Observation* seen : ranks) {
    if (seen == nullptr || seen->state != ObservationState::measured) continue;
    for (const VerifiedCount& one : facts_of<VerifiedCount>(*seen, "verified"))
      totals.add(printable_line(one.size, 20), one.compared, one.all);
  }
}

}  // namespace

void VerifiedTotals::add(const std::string& size, std::uint64_t compared, std::uint64_t all) {
  auto same = std::find_if(sizes_.begin(), sizes_.end(), [&](const OfSize& one) { return one.size == size; });
  if (same == sizes_.end()) same = sizes_.insert(sizes_.end(), {size, 0, 0, compared});
  same->fewest = std::min(same->fewest, compared);
  same->compared += compared;
  same->all += all;
}

void VerifiedTotals::announce(Observation& seen) const {
  for (const OfSize& one : sizes_)
    seen.facts.push_back(to_fact("verified", VerifiedCount{one.size, one.compared, one.all}));
}

std::string VerifiedTotals::sentence(const VerifiedNoun& noun) const {
  std::vector<std::string> shares;
  std::vector<std::string> found;
  for (const OfSize& one : sizes_) {
    if (one.all == 0) continue;
    // Never 100 % of what was not compared whole.
    const double percent = std::min(99.9, 100 * static_cast<double>(one.compared) / static_cast<double>(one.all));
    const std::string share = one.compared < one.all ? fmt::format("{} of {} of {} ({:.{}g} %)", one.compared, one.all,
                                                                   one.size, percent, percent < 99.5 ? 2 : 3)
                                                     : fmt::format("all {} of {}", one.all, one.size);
    shares.push_back(share);
    if (const auto in = found_one_in(noun.of_each.empty() ? one.compared : one.fewest); in >= 2)
      found.push_back(fmt::format("{} of {}", in, one.size));
  }
  if (shares.empty()) return {};
  std::string text = fmt::format("{} compared whole: {}", noun.several, human_list(shares));
  if (!found.empty())
    text += fmt::format("; one wrong {} in {}{} is found with 99 %", noun.one, human_list(found),
                        noun.of_each.empty() ? std::string() : fmt::format(" of {}", noun.of_each));
  return text;
}

std::uint64_t found_one_in(std::uint64_t compared) {
  return static_cast<std::uint64_t>(static_cast<double>(compared) / std::log(100.0));
}

std::string verified_evidence(std::span<const Observation* const> ranks, const VerifiedNoun& noun) {
  VerifiedTotals totals;
  add_reported(ranks, totals);
  return totals.sentence(noun);
}

}  // namespace muster::p2p
