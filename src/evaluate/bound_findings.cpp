#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <set>

#include "base/units.hpp"
#include "evaluate/expectations.hpp"
#include "model/suspect.hpp"

namespace muster {

namespace {

/// So many items are named in a sentence, the worst first.
constexpr std::size_t most_named = 4;

/// `rank 3 on nid002`, or `rank 3 on nid002 to rank 5 on nid003` for a link.
std::string owner(const Sample& sample, const RankMap& places) {
  const auto rank = places.say(sample.rank);
  return sample.reading->peer < 0 ? rank : fmt::format("{} to {}", rank, places.say(sample.reading->peer));
}

Culprit culprit_of(const Sample& sample, const RankMap& places) {
  if (sample.reading->peer < 0) return places.culprit(sample.rank);
  return {CulpritKind::link, fmt::format("rank {} -> rank {}", sample.rank, sample.reading->peer),
          places.name_of(places.node_of(sample.rank)), sample.rank};
}

/// Indices of samples, to be named in that order.
using Chosen = std::vector<std::size_t>;

class Sentences {
 public:
  Sentences(const Application& application, const Readings& readings, const RankMap& places)
      : application_(application),
        readings_(readings),
        group_(readings.groups()[application.group]),
        samples_(readings.of(group_)),
        places_(places) {}

  void without_value(std::vector<Finding>& findings) const {
    if (asks_only_history(*application_.asked)) return;
    const auto is_foreign = [&](const Sample& sample) { return !factor_to(*sample.reading, group_.facts.unit); };
    const Chosen none =
        those([&](const Sample& sample, std::size_t) { return !std::isfinite(sample.value) && !is_foreign(sample); });
    if (!none.empty())
      findings.push_back(about(none, Verdict::unmeasured, " has no value: no sample of the rank counts",
                               "look at what that rank printed, and give it more time or repetitions"));
  }

  void without_bound(std::vector<Finding>& findings) const {
    if (!application_.bounds.empty()) return;
    findings.push_back({Verdict::unmeasured,
                        fmt::format("no bound is given for {}{}", group_.metric, where_clause(group_.where)),
                        {},
                        group_.has_limit ? "give the expectation a reference, a limit or peers"
                                         : "give the expectation a reference or peers"});
  }

  void outside(const Bound& bound, std::vector<Finding>& findings) const {
    Chosen bad = those([&](const Sample& sample, std::size_t at) {
      return !bound.passes_over(at) && judge_value(bound, at, sample.value) == Verdict::fail;
    });
    if (bad.empty()) return;
    const auto excess = [&](std::size_t at) {
      return bound.range_of(at).excess(bound.value_of(at, samples_[at].value));
    };
    std::stable_sort(bad.begin(), bad.end(), [&](std::size_t a, std::size_t b) { return excess(a) > excess(b); });
    findings.push_back(about(bad, Verdict::fail, ", " + broken_end(bound, bad.front()), remedy_for(bound.kind)));
    if (is_unconfirmed(bound, group_, readings_)) doubt_figure(bound, findings.back());
  }

  /// The bound could not be held against any reading, or not against some.
  void missing(const Bound& bound, std::vector<Finding>& findings) const {
    if ((bound.is_optional && !bound.missing.empty()) || bound.kind == BoundKind::history) return;
    if (!bound.missing.empty()) {
      findings.push_back({bound.verdict_if_missing, subject_of_all(bound), {}, bound.remedy_if_missing});
      return;
    }
    Chosen open = those([&](const Sample& sample, std::size_t at) {
      return std::isfinite(sample.value) && !bound.range_of(at).judges();
    });
    if (!open.empty())
      findings.push_back(about(open, Verdict::unmeasured, " has nothing to compare with: no capable value was measured",
                               bound.remedy_if_missing));
  }

 private:
  template <class Wanted>
  [[nodiscard]] Chosen those(Wanted wanted) const {
    Chosen chosen;
    for (std::size_t at = 0; at < samples_.size(); ++at)
      if (wanted(samples_[at], at)) chosen.push_back(at);
    return chosen;
  }

  [[nodiscard]] std::string subject_of_all(const Bound& bound) const {
    // A reference's sentence names the metric already.
    if (bound.kind != BoundKind::limit) return bound.missing;
    return fmt::format("{}{}: {}", group_.metric, where_clause(group_.where), bound.missing);
  }

  /// `bound 135 GB/s (reference 150 GB/s -10 %, checks/p2p.toml:14)`
  [[nodiscard]] std::string broken_end(const Bound& bound, std::size_t at) const {
    const Range& range = bound.range_of(at);
    const bool is_below = range.least && bound.value_of(at, samples_[at].value) < *range.least;
    const double end = is_below ? *range.least : *range.most;
    const auto place = bound.place.empty() ? "" : ", " + bound.place;
    return fmt::format("bound {} ({}{})", format_value(end, group_.facts.unit), bound.text_of(at), place);
  }

  [[nodiscard]] Finding about(const Chosen& chosen, Verdict verdict, const std::string& end,
                              std::string_view remedy) const {
    const bool with_values = verdict == Verdict::fail;
    const auto where = where_clause(group_.where);
    std::string sentence = group_.metric;
    for (std::size_t i = 0; i < std::min(chosen.size(), most_named); ++i) {
      const Sample& sample = samples_[chosen[i]];
      sentence += fmt::format("{} of {}{}", i == 0 ? "" : ",", owner(sample, places_), i == 0 ? where : "");
      if (with_values) sentence += (i == 0 ? " is " : " ") + format_value(sample.value, group_.facts.unit);
    }
    if (chosen.size() > most_named) sentence += fmt::format(" and {} more", chosen.size() - most_named);
    Finding finding{verdict, sentence + end, {}, std::string(remedy)};
    for (std::size_t i = 0; i < std::min(chosen.size(), most_culprits); ++i)
      finding.culprits.push_back(culprit_of(samples_[chosen[i]], places_));
    return finding;
  }

  /// Without comparison the number of a program proves nothing against a node.
  void doubt_figure(const Bound& bound, Finding& finding) const {
    const BoundUse use = use_of(bound, group_, readings_);
    const std::string figure = bound.kind == BoundKind::limit ? "maximum of the metric" : "reference";
    finding.culprits = {{CulpritKind::file, bound.place.empty() ? "the " + figure : bound.place, "", -1}};
    if (use.nodes > 1) {
      finding.reason += fmt::format("; {} of {} nodes are outside", use.outside, use.nodes);
      finding.remedy = fmt::format(
          "correct the value or the unit of the {}, or what the program is given; no node is blamed, as most "
          "of them are outside",
          figure);
    } else {
      finding.remedy = fmt::format(
          "correct the value or the unit of the {}, or look for what slows the node: run it on more nodes, as "
          "one alone does not show which of the two is wrong",
          figure);
    }
  }

  const Application& application_;
  const Readings& readings_;
  const ReadingGroup& group_;
  std::span<const Sample> samples_;
  const RankMap& places_;
};

}  // namespace

BoundUse use_of(const Bound& bound, const ReadingGroup& group, const Readings& readings) {
  std::set<int> nodes;
  std::set<int> outside;
  const auto samples = readings.of(group);
  for (std::size_t at = 0; at < samples.size(); ++at) {
    if (!std::isfinite(samples[at].value)) continue;
    nodes.insert(samples[at].node);
    if (judge_value(bound, at, samples[at].value) == Verdict::fail) outside.insert(samples[at].node);
  }
  if (const auto like = readings.peers_of(group); nodes.size() == 1 && like.size() > samples.size()) {
    const auto bad = std::count_if(like.begin(), like.end(), [&](double value) { return !bound.range.holds(value); });
    return {like.size(), static_cast<std::size_t>(bad)};
  }
  return {nodes.size(), outside.size()};
}

bool is_unconfirmed(const Bound& bound, const ReadingGroup& group, const Readings& readings) {
  const bool is_figure = bound.kind == BoundKind::reference || bound.kind == BoundKind::limit;
  if (!is_figure || !bound.missing.empty() || !group.is_declared) return false;
  const BoundUse use = use_of(bound, group, readings);
  return use.outside > 0 && find_suspect({use.outside, use.nodes}, Half::is_of_nodes) == Suspect::job;
}

std::vector<Finding> findings_of(const Application& application, const Readings& readings, const RankMap& places) {
  const Sentences sentences(application, readings, places);
  std::vector<Finding> findings;
  for (const Bound& bound : application.bounds) sentences.outside(bound, findings);
  for (const Bound& bound : application.bounds) sentences.missing(bound, findings);
  sentences.without_bound(findings);
  sentences.without_value(findings);
  return findings;
}

}  // namespace muster
