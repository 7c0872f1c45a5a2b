#include "evaluate/link_errors.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <map>

#include "base/number.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

enum class Kind { broken, damaged, corrected };

struct Counter {
  std::string_view name;
  Kind kind;
  double most_per_second;  ///< of `damaged`: from here on a failure; 0: of links like it alone
};

/// The kernel's and the drivers' names. `broken`: the link was down or had to be trained again, and what it carried
/// stood still.
constexpr std::array counters = {
    Counter{"link_downed", Kind::broken, 0},
    Counter{"carrier_down_count", Kind::broken, 0},
    Counter{"link_error_recovery", Kind::broken, 0},
    Counter{"aer_fatal", Kind::broken, 0},
    Counter{"symbol_error", Kind::damaged, 1},
    Counter{"port_rcv_errors", Kind::damaged, 1},
    Counter{"local_link_integrity_errors", Kind::damaged, 1},
    Counter{"excessive_buffer_overrun_errors", Kind::damaged, 1},
    Counter{"rx_errors", Kind::damaged, 1},
    Counter{"tx_errors", Kind::damaged, 1},
    Counter{"rx_crc_errors", Kind::damaged, 1},
    Counter{"tx_carrier_errors", Kind::damaged, 1},
    Counter{"hni_pcs_uncorrected_cw", Kind::damaged, 1},
    Counter{"hni_llr_tx_replay_event", Kind::damaged, 10},
    Counter{"hni_llr_rx_replay_event", Kind::damaged, 10},
    // Ten times what a link within its specification makes: 1e-12 x 32 GT/s x 16 lanes is 0.5 in a second.
    Counter{"aer_correctable", Kind::damaged, 5},
    Counter{"hni_pcs_corrected_cw", Kind::corrected, 0},
};

/// Fewer are chance, also within a short case.
constexpr std::uint64_t least_errors = 10;
/// A link is compared with its like from this rate on, where there are so many of them.
constexpr double least_compared_per_second = 0.1;
constexpr std::size_t least_like = 5;
constexpr double most_of_like = 10;
/// What is corrected differs more: with the length and the kind of cables.
constexpr double most_corrected_of_like = 1000;
constexpr double least_corrected_per_second = 1000;
/// A shorter time counts as this.
constexpr double least_seconds = 1;

struct Grown {
  std::string host;
  std::string link;
  const Counter* counter = nullptr;
  std::uint64_t errors = 0;
  double seconds = 0;
  bool is_beside = false;  ///< of a port that is not of the network that jobs use
  [[nodiscard]] double rate() const { return static_cast<double>(errors) / std::max(seconds, least_seconds); }
};

/// All that the nodes of a case reported.
struct LinkCounts {
  std::vector<Grown> grown;
  std::map<std::string_view, std::size_t> links;  ///< by counter: how many links have it
};

const Counter* counter_named(std::string_view name) {
  const auto found =
      std::find_if(counters.begin(), counters.end(), [&](const Counter& one) { return one.name == name; });
  return found == counters.end() ? nullptr : &*found;
}

std::uint64_t count_of(const std::string& text) {
  return leading_number<std::uint64_t>(text).value_or(0);
}

LinkCounts link_counts(const CaseInput& input) {
  LinkCounts all;
  for (const RankPlace& place : input.world.ranks) {
    const Observation* seen = input.attendance.observed[static_cast<std::size_t>(place.rank)];
    for (const Fact& fact : seen == nullptr ? std::vector<Fact>() : seen->facts) {
      const auto words = split(printable_line(fact.value, 200), ' ');
      if (fact.key == "link_counters" && words.size() == 2)
        if (const Counter* counter = counter_named(words[0])) all.links[counter->name] += count_of(words[1]);
      const bool is_beside = words.size() == 5 && words[4] == "beside";
      if (fact.key != "link_error" || (words.size() != 4 && !is_beside)) continue;
      const Counter* counter = counter_named(words[1]);
      if (counter == nullptr || count_of(words[2]) == 0) continue;
      all.grown.push_back(
          {place.host, words[0], counter, count_of(words[2]), std::strtod(words[3].c_str(), nullptr), is_beside});
    }
  }
  return all;
}

/// Of the links that have this counter; those without an error have none.
double median_rate(const LinkCounts& all, const Counter& counter, std::size_t links) {
  std::vector<double> rates;
  for (const Grown& one : all.grown)
    if (one.counter == &counter && !one.is_beside) rates.push_back(one.rate());
  rates.resize(std::max(links, rates.size()), 0);
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2];
}

/// Why so many are a fault; empty: they are none.
std::string excess(const LinkCounts& all, const Grown& one) {
  const Counter& counter = *one.counter;
  if (one.is_beside) return {};
  if (counter.kind == Kind::broken) return "the link was down or had to be trained again";
  if (one.errors < least_errors || counter.kind == Kind::corrected) return {};
  if (one.rate() >= counter.most_per_second)
    return fmt::format("{:.3g} per second, limit {:g}", one.rate(), counter.most_per_second);
  const auto links = all.links.find(counter.name);
  if (one.rate() < least_compared_per_second || links == all.links.end() || links->second < least_like) return {};
  const double typical = median_rate(all, counter, links->second);
  if (one.rate() <= most_of_like * typical) return {};
  return fmt::format("{:.3g} per second, the median of {} links is {:.3g}", one.rate(), links->second, typical);
}

/// Corrected words are the rule on fast links; worth a note is only a link that is far from all others.
bool is_worth_a_note(const LinkCounts& all, const Grown& one) {
  if (one.counter->kind != Kind::corrected) return true;
  const auto links = all.links.find(one.counter->name);
  return one.rate() >= least_corrected_per_second && links != all.links.end() && links->second >= least_like &&
         one.rate() > most_corrected_of_like * median_rate(all, *one.counter, links->second);
}

bool is_pcie(const Grown& one) {
  return one.counter->name.starts_with("aer_");
}

Finding link_finding(const Grown& one, const std::string& why) {
  Finding finding;
  finding.reason =
      fmt::format("{} {} on {} counted {} more {} during this case: {}", is_pcie(one) ? "PCIe link" : "port", one.link,
                  one.host, one.errors, one.counter->name, why);
  finding.culprits.push_back({CulpritKind::link, one.link, one.host, -1});
  finding.remedy =
      is_pcie(one)
          ? fmt::format("drain {}; have the card and its riser reseated, then replaced if the counter still grows",
                        one.host)
          : "check the cable and the switch port at its other end, and clean or replace them; drain the node while the "
            "counter grows";
  if (!is_pcie(one)) finding.subject = Subject::nics;
  return finding;
}

}  // namespace

void judge_link_errors(const CaseInput& input, CaseResult& result) {
  if (input.probe.judges_link_errors) return;
  const LinkCounts all = link_counts(input);
  for (const Grown& one : all.grown) {
    if (const std::string why = excess(all, one); !why.empty())
      result.findings.push_back(link_finding(one, why));
    else if (is_worth_a_note(all, one))
      result.notes.push_back(fmt::format("{} of {} on {} grew by {} during this case ({:.3g} per second){}",
                                         one.counter->name, one.link, one.host, one.errors, one.rate(),
                                         one.is_beside ? "; the data of jobs takes other ports" : ""));
  }
}

}  // namespace muster
