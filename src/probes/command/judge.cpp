#include "probes/command/judge.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string.h>  // sigabbrev_np is not in <cstring> everywhere

#include "base/text.hpp"
#include "base/units.hpp"
#include "probes/command/same.hpp"
#include "probes/command/told.hpp"

namespace muster::program {

namespace {

constexpr std::size_t most_evidence = 20;
constexpr const char* look_at_output = "look at the output of the program; run it by hand on that node";

/// Causes before consequences.
enum class Order { crash, told, told_consequence, late, unreadable };

std::optional<int> number_fact(const Observation& seen, std::string_view key) {
  const std::string* text = seen.fact(key);
  int number = 0;
  if (text == nullptr || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc{})
    return std::nullopt;
  return number;
}

/// What is wrong with the end of one rank's program; empty: nothing.
std::string find_fault(const Observation& seen, const Params& params) {
  const int expected = static_cast<int>(params.integer("expect_status"));
  if (seen.fact("deadline") != nullptr)
    return fmt::format("did not end within {}", format_duration(params.duration("deadline")));
  if (const auto signal = number_fact(seen, "signal")) {
    const char* name = ::sigabbrev_np(*signal);
    return fmt::format("was ended by signal {}{}", *signal, name == nullptr ? "" : fmt::format(" (SIG{})", name));
  }
  const auto status = number_fact(seen, "status");
  if (!status) return "told no exit status";
  if (*status != expected) return fmt::format("exited with {} (expected {})", *status, expected);
  return {};
}

Culprit culprit_of(const RankPlace& place) {
  return {CulpritKind::rank, fmt::format("rank {}", place.rank), place.host, place.rank};
}

std::string describe(const RankPlace& place, const Observation& seen, std::string_view fault) {
  const std::string* last = seen.fact("last_line");
  std::string text = fmt::format("rank {} on {} {}", place.rank, place.host, fault);
  if (last == nullptr || last->empty()) return text + "; it printed nothing";
  return text + "; its last line: " + printable_line(*last, 200);
}

/// A file or a setting that two ranks name is one culprit.
bool is_same(const Culprit& a, const Culprit& b) {
  return a.kind == b.kind && a.name == b.name && a.node == b.node;
}

/// Findings in their order; those with one key share one, with the words of the first rank.
class Findings {
 public:
  void add(Order order, const std::string& key, Finding finding, bool counts_ranks) {
    auto& known = all_[{order, key}];
    if (known.ranks++ == 0) {
      known.finding = std::move(finding);
      known.counts_ranks = counts_ranks;
      return;
    }
    auto& culprits = known.finding.culprits;
    for (Culprit& culprit : finding.culprits)
      if (std::none_of(culprits.begin(), culprits.end(), [&](const Culprit& one) { return is_same(one, culprit); }))
        culprits.push_back(std::move(culprit));
  }

  void deliver(ProbeJudgement& judgement) {
    for (auto& entry : all_) {
      Known& known = entry.second;
      const int others = known.ranks - 1;
      if (others > 0 && known.counts_ranks)
        known.finding.reason += fmt::format(" (and {} more {} likewise)", others, others == 1 ? "rank" : "ranks");
      judgement.findings.push_back(std::move(known.finding));
    }
  }
  [[nodiscard]] bool is_empty() const { return all_.empty(); }
  /// More than that it does not apply here.
  [[nodiscard]] bool has_trouble() const {
    return std::any_of(all_.begin(), all_.end(),
                       [](const auto& entry) { return entry.second.finding.verdict != Verdict::skip; });
  }

 private:
  struct Known {
    Finding finding;
    int ranks = 0;
    bool counts_ranks = false;
  };
  std::map<std::pair<Order, std::string>, Known> all_;
};

/// True when what the program told is a failure: then its exit status is nothing new.
bool take_told(const CaseView& view, const RankPlace& place, const Observation& seen, Findings& findings) {
  bool has_failed = false;
  for (const Fact& fact : seen.facts) {
    if (fact.key != "finding") continue;
    Told told = to_told(fact.value, place, view.ranks);
    has_failed = has_failed || told.finding.verdict == Verdict::fail;
    const std::string key = told.finding.reason;
    findings.add(told.is_consequence ? Order::told_consequence : Order::told, key, std::move(told.finding), false);
  }
  return has_failed;
}

void take_end(const CaseView& view, const RankPlace& place, const Observation& seen, bool has_told_why,
              Findings& findings) {
  const std::string what = find_fault(seen, view.params);
  const bool is_exit = seen.fact("deadline") == nullptr && seen.fact("signal") == nullptr;
  if (what.empty() || (is_exit && has_told_why)) return;
  Finding finding{Verdict::fail, describe(place, seen, what), {culprit_of(place)}, look_at_output};
  findings.add(seen.fact("deadline") != nullptr ? Order::late : Order::crash, what, std::move(finding), true);
}

void take_unreadable(const RankPlace& place, const Observation& seen, Findings& findings) {
  constexpr std::array<std::array<const char*, 3>, 4> kinds{{
      {"bad_metric_line", "a metric", R"(print one line {"metric":name,"value":number,"unit":"GB/s"} per metric)"},
      {"bad_finding_line", "a finding", R"(print one line {"finding":{"reason":text,"remedy":text}} per finding)"},
      {"bad_evidence_line", "evidence", R"(print one line {"evidence":text} per sentence)"},
      {"bad_same_line", "what should be the same everywhere", R"(print one line {"same":{name:text}})"},
  }};
  for (const auto& [key, name, remedy] : kinds) {
    const std::string* line = seen.fact(key);
    if (line == nullptr) continue;
    Finding finding{Verdict::unmeasured,
                    fmt::format("rank {} on {} printed {} that can't be read: {}", place.rank, place.host, name,
                                printable_line(*line)),
                    {culprit_of(place)},
                    remedy};
    findings.add(Order::unreadable, key, std::move(finding), false);
  }
}

/// Where no rank could run it, it does not apply; where only some could, they differ, and that is a fault.
void take_absent(const CaseView& view, Findings& findings) {
  std::size_t measured = 0;
  std::size_t absent = 0;
  const bool is_named = !view.params.text("python").empty();
  for (const Observation* seen : view.observed) {
    measured += seen != nullptr && seen->state == ObservationState::measured ? 1 : 0;
    absent += seen != nullptr && seen->fact("absent") != nullptr ? 1 : 0;
  }
  const bool is_everywhere = absent == measured && !is_named;
  for (std::size_t rank = 0; rank < view.ranks.size() && rank < view.observed.size(); ++rank) {
    const Observation* seen = view.observed[rank];
    const std::string* lack = seen == nullptr ? nullptr : seen->fact("absent");
    if (lack == nullptr) continue;
    const RankPlace& place = view.ranks[rank];
    Finding finding;
    finding.verdict = is_everywhere ? Verdict::skip : Verdict::fail;
    finding.reason = is_everywhere ? printable_line(*lack)
                                   : fmt::format("{}: {}{}", place.host, printable_line(*lack),
                                                 is_named ? "" : ", though other nodes have one that does");
    finding.culprits = {{CulpritKind::program, is_named ? view.params.text("python") : "python3", place.host, -1}};
    finding.remedy = "name the right one with -S CHECK.python=/path/to/python, or load its module before muster";
    const std::string key = finding.reason;
    findings.add(Order::told, key, std::move(finding), false);
  }
}

/// Whose Python was tried: it need not be the one that the user has in mind.
std::string interpreters_of(const CaseView& view) {
  std::vector<std::string> all;
  for (const Observation* seen : view.observed) {
    const std::string* one = seen == nullptr ? nullptr : seen->fact("interpreter");
    if (one == nullptr) continue;
    std::string text = printable_line(*one, 300);
    if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(std::move(text));
  }
  return all.empty() ? std::string() : "run by " + human_list(all, 4);
}

}  // namespace

ProbeJudgement judge(const CaseView& view) {
  ProbeJudgement judgement;
  Findings findings;
  std::vector<std::string> told;
  std::size_t right = 0;
  for (std::size_t rank = 0; rank < view.ranks.size() && rank < view.observed.size(); ++rank) {
    const Observation* seen = view.observed[rank];
    if (seen == nullptr || seen->state != ObservationState::measured) continue;
    if (seen->fact("absent") != nullptr || seen->fact("not_started") != nullptr) continue;
    const RankPlace& place = view.ranks[rank];
    const bool has_told_why = take_told(view, place, *seen, findings);
    take_end(view, place, *seen, has_told_why, findings);
    take_unreadable(place, *seen, findings);
    right += find_fault(*seen, view.params).empty() ? 1 : 0;
    for (const Fact& fact : seen->facts)
      if (fact.key == "evidence" && std::find(told.begin(), told.end(), fact.value) == told.end())
        told.push_back(fact.value);
  }
  take_absent(view, findings);
  for (Finding& finding : find_differences(view)) {
    const std::string key = finding.reason;
    findings.add(Order::told, key, std::move(finding), false);
  }
  if (right > 0 && findings.is_empty()) {
    for (std::size_t i = 0; i < std::min(told.size(), most_evidence); ++i)
      judgement.evidence.push_back(printable_line(told[i]));
    judgement.evidence.push_back(fmt::format("{} of {} programs exited with {}", right, view.ranks.size(),
                                             view.params.integer("expect_status")));
  }
  const std::string interpreters = interpreters_of(view);
  if (!interpreters.empty() && (findings.is_empty() ? right > 0 : findings.has_trouble()))
    judgement.evidence.push_back(interpreters);
  findings.deliver(judgement);
  return judgement;
}

}  // namespace muster::program
