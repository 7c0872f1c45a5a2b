#include "evaluate/expectations.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/lists.hpp"
#include "base/text.hpp"
#include "evaluate/device_names.hpp"
#include "model/program_metric.hpp"
#include "model/suspect.hpp"

namespace muster {

namespace {

std::string sentence_subject(const Expectation& asked) {
  return asked.metric + where_clause(asked.where);
}

const LabelSpec* find_label_spec(const ProbeSpec& probe, std::string_view name) {
  for (const LabelSpec& label : probe.labels)
    if (label.name == name) return &label;
  return nullptr;
}

/// The label `name` takes its values from this parameter; empty: from none.
std::string_view param_behind(const ProbeSpec& probe, std::string_view name) {
  const LabelSpec* label = find_label_spec(probe, name);
  return label == nullptr ? std::string_view() : label->param;
}

bool has_item(const ParamValue& value, const std::string& wanted) {
  return std::any_of(value.items.begin(), value.items.end(),
                     [&](const ParamScalar& one) { return is_same_value(wanted, to_string(one)); });
}

/// A sweep makes one case per value, and an expectation about one value belongs to the case that has it.
bool belongs_to_sibling(const CaseInput& input, const Expectation& asked) {
  for (const auto& [key, wanted] : asked.where) {
    const LabelSpec* label = find_label_spec(input.probe, key);
    const std::string param{label == nullptr ? key : label->param};
    const auto& swept = input.item.swept;
    if (param.empty() || !is_in(param, swept)) continue;
    const auto found = input.item.params.values().find(param);
    if (found == input.item.params.values().end()) continue;
    const bool is_whole = label == nullptr && is_same_value(wanted, to_string(found->second));
    if (!is_whole && !(label != nullptr && has_item(found->second, wanted))) return true;
  }
  return false;
}

/// What of a `where` is left for labels, once parameters and counts have been compared with the case itself.
struct Scope {
  Labels labels;
  std::string elsewhere;  ///< the expectation is about another case: why; empty: about this one
};

bool is_label(const CaseInput& input, const Readings& readings, const Expectation& asked, const std::string& key) {
  for (const LabelSpec& spec : input.probe.labels)
    if (spec.name == key) return true;
  return std::any_of(readings.groups().begin(), readings.groups().end(), [&](const ReadingGroup& group) {
    return group.key->metric == asked.metric && find_label(group.key->where, key) != nullptr;
  });
}

Scope scope_of(const CaseInput& input, const Readings& readings, const Expectation& asked, const CaseFacts& facts) {
  Scope scope;
  for (const auto& one : asked.where) {
    const auto fact = is_label(input, readings, asked, one.first) ? std::nullopt : fact_of_case(facts, one.first);
    if (!fact)
      scope.labels.push_back(one);
    else if (!is_same_value(one.second, *fact))
      scope.elsewhere = fmt::format("{} is not judged: here {} is {}", sentence_subject(asked), one.first, *fact);
  }
  return scope;
}

std::vector<std::size_t> groups_matching(const std::string& metric, const Labels& labels, const Readings& readings) {
  std::vector<std::size_t> matching;
  for (std::size_t i = 0; i < readings.groups().size(); ++i) {
    const Reading& key = *readings.groups()[i].key;
    if (key.metric == metric && is_matched_by(labels, key.where)) matching.push_back(i);
  }
  return matching;
}

/// Groups whose readings every rank owes. Labels that take their values from a parameter are the same for all
/// ranks (each has every size); others need not be (not every rank has a link of every class).
std::vector<std::vector<std::size_t>> owed_together(const CaseInput& input, const Readings& readings,
                                                    const std::vector<std::size_t>& matching) {
  std::map<Labels, std::vector<std::size_t>> together;
  for (std::size_t index : matching) {
    Labels of_params;
    for (const auto& label : readings.groups()[index].key->where)
      if (!param_behind(input.probe, label.first).empty()) of_params.push_back(label);
    together[of_params].push_back(index);
  }
  std::vector<std::vector<std::size_t>> all;
  for (auto& [labels, indices] : together) all.push_back(std::move(indices));
  std::sort(all.begin(), all.end());
  return all;
}

/// Readings carry the model of their device, which is not known in advance: an expectation for models that are
/// absent is ignored.
bool is_about_another_model(const Readings& readings, const Expectation& asked, std::set<std::string>& here) {
  const std::string* wanted = find_label(asked.where, "model");
  if (wanted == nullptr) return false;
  std::set<std::string> models;
  for (const ReadingGroup& group : readings.groups())
    if (group.key->metric == asked.metric)
      if (const std::string* model = find_label(group.key->where, "model")) models.insert(*model);
  if (models.empty() || models.count(*wanted) != 0) return false;
  here.insert(models.begin(), models.end());
  return true;
}

/// A number of a program that muster does not know.
bool is_declared(const Case& item, std::string_view metric) {
  return std::any_of(item.metrics.begin(), item.metrics.end(),
                     [&](const DeclaredMetric& declared) { return declared.name == metric; });
}

/// A missing reading is not reported beside its cause.
bool owes(const CaseInput& input, std::size_t rank, std::string_view metric) {
  const Attendance& attendance = input.attendance;
  return attendance.has_measured(rank) && !(input.is_troubled && has_no_reading(*attendance.observed[rank], metric));
}

int count_owing(const CaseInput& input, std::string_view metric) {
  int count = 0;
  for (std::size_t rank = 0; rank < input.attendance.observed.size(); ++rank)
    count += owes(input, rank, metric) ? 1 : 0;
  return count;
}

/// Where the mistake of a check is.
Culprit file_of_check(const CaseInput& input) {
  return {CulpritKind::file, input.item.place.empty() ? "the check" : input.item.place, "", -1};
}

constexpr const char* look_at_rank = "look at what that rank printed, and whether the parameters make it measure this";

Suspect suspect_of(const CaseInput& input, const std::vector<int>& ranks) {
  std::set<int> nodes;
  for (int rank : ranks) nodes.insert(input.places.node_of(rank));
  const bool is_rank_0_alone = ranks.size() == 1 && ranks.front() == 0;
  return find_suspect({nodes.size(), static_cast<std::size_t>(input.places.nodes()), is_rank_0_alone}, Half::is_of_job);
}

void doubt_rank_0(const CaseInput& input, Finding& finding) {
  finding.culprits = {rank_0_culprit()};
  finding.remedy = rank_0_remedy(input.world.ranks);
}

/// `rank 2 on nid003 did not report triad, 3 of 4 ranks did`. Of a program's number that half of the nodes or more lack
/// the check is at fault, which asks it of every rank.
Finding lacking_finding(const CaseInput& input, const Expectation& asked, const Labels& where,
                        const std::vector<int>& lacking) {
  const std::string what = asked.metric + where_clause(where);
  const bool is_of_program = is_declared(input.item, asked.metric);
  const int owing = count_owing(input, asked.metric);
  const auto missing = static_cast<int>(lacking.size());
  const Suspect suspect = is_of_program ? suspect_of(input, lacking) : Suspect::nodes;
  if (suspect != Suspect::job) {
    const auto sentence = fmt::format("did not report {}, {} of {} ranks did", what, owing - missing, owing);
    Finding finding = input.places.finding(Verdict::unmeasured, lacking, sentence, look_at_rank);
    if (suspect == Suspect::rank_0) doubt_rank_0(input, finding);
    return finding;
  }
  return {Verdict::unmeasured,
          fmt::format("metric {}: expected from {} ranks, reported by {}", what, owing, owing - missing),
          {file_of_check(input)},
          "change the program to print it on every rank: every rank starts the program and must report the metric"};
}

/// Ranks that have none of `groups`, though others do.
void find_lacking(const CaseInput& input, const Readings& readings, const Expectation& asked,
                  const std::vector<std::size_t>& groups, std::vector<Finding>& findings) {
  std::vector<char> has(input.attendance.observed.size(), 0);
  for (std::size_t index : groups)
    for (const Sample& sample : readings.of(readings.groups()[index])) has[static_cast<std::size_t>(sample.rank)] = 1;
  std::vector<int> lacking;
  for (std::size_t rank = 0; rank < has.size(); ++rank)
    if (has[rank] == 0 && owes(input, rank, asked.metric)) lacking.push_back(static_cast<int>(rank));
  if (lacking.empty()) return;
  const auto& where = groups.size() == 1 ? readings.groups()[groups.front()].where : asked.where;
  findings.push_back(lacking_finding(input, asked, where, lacking));
}

/// `argv[0]` of the check.
Culprit program_of_check(const CaseInput& input) {
  const auto argv = input.item.params.has("argv") ? input.item.params.texts("argv") : std::vector<std::string>{};
  return {CulpritKind::program, argv.empty() ? "the program" : printable_line(argv.front(), 200), "", -1};
}

/// Readings in a unit of another kind. The program is at fault where half of the nodes or more print it.
void find_foreign_units(const CaseInput& input, const ReadingGroup& group, const Readings& readings,
                        std::vector<Finding>& findings) {
  std::vector<int> ranks;
  std::string unit;
  for (const Sample& sample : readings.of(group)) {
    if (factor_to(*sample.reading, group.facts.unit)) continue;
    if (ranks.empty()) unit = printable_line(sample.reading->unit);
    if (ranks.empty() || ranks.back() != sample.rank) ranks.push_back(sample.rank);
  }
  if (ranks.empty()) return;
  const std::string metric = group.metric + where_clause(group.where);
  const std::string what = fmt::format("in {}, which can't be converted to {}", unit, group.facts.unit);
  const std::string remedy =
      "print it in the unit that the check declares, or correct the unit in [check.NAME.metrics]";
  const Suspect suspect = suspect_of(input, ranks);
  if (suspect == Suspect::job) {
    findings.push_back(
        {Verdict::unmeasured, fmt::format("{} was printed {}", metric, what), {program_of_check(input)}, remedy});
    return;
  }
  findings.push_back(
      input.places.finding(Verdict::unmeasured, ranks, fmt::format("printed {} {}", metric, what), remedy));
  if (suspect == Suspect::rank_0) doubt_rank_0(input, findings.back());
}

/// What finds a metric of a program in its output or file; nullopt: the metric is the probe's own, or printed as one.
std::optional<ProgramMetric> pattern_of(const Case& item, const std::string& metric) {
  if (!is_declared(item, metric) || !item.params.has("metric")) return std::nullopt;
  for (const std::string& text : item.params.texts("metric"))
    if (auto found = program_metric_from_text(text); found && found->name == metric) return std::move(*found);
  return std::nullopt;
}

Finding nowhere_reported(const CaseInput& input, const Expectation& asked) {
  const int ranks = count_owing(input, asked.metric);
  if (const auto metric = pattern_of(input.item, asked.metric); metric && asked.where.empty())
    return {Verdict::unmeasured,
            fmt::format("metric {}: no line of {} matches the pattern '{}'", asked.metric,
                        metric->file.empty() ? "the output" : metric->file, metric->pattern),
            {file_of_check(input)},
            "correct the pattern, or what the program prints"};
  return {Verdict::unmeasured,
          fmt::format("metric {}: expected from {} {}, reported by none", sentence_subject(asked), ranks,
                      ranks == 1 ? "rank" : "ranks"),
          {},
          "check the metric's name and `where` against what the probe reports (muster list --metrics)"};
}

struct Applied {
  bool all_pass = true;    ///< that were judged
  std::size_t judged = 0;  ///< samples
};

/// Marks samples.
Applied apply(const Application& application, Readings& readings) {
  Applied applied;
  std::size_t at = 0;
  for (Sample& sample : readings.of(readings.groups()[application.group])) {
    const Verdict verdict = judge_sample(application, at++, sample);
    if (verdict != Verdict::skip) ++applied.judged;
    applied.all_pass = applied.all_pass && (verdict == Verdict::pass || verdict == Verdict::skip);
  }
  return applied;
}

/// The kinds of bound that were kept: `reference and peers`.
std::string kinds_applied(const std::vector<const Application*>& applications) {
  std::set<BoundKind> kinds;
  for (const Application* one : applications)
    for (const Bound& bound : one->bounds)
      if (bound.missing.empty()) kinds.insert(bound.kind);
  std::vector<std::string> names;
  for (BoundKind kind : kinds) names.emplace_back(to_string(kind));
  return human_list(names);
}

/// `; one worse by 17 % would have failed`: of the bounds that come from other values, the widest one. Nothing where a
/// group has no such bound.
std::string limit_clause(const std::vector<const Application*>& applications, const Readings& readings) {
  constexpr double all_of_value = 0.99;
  double widest = 0;
  bool may_exceed_value = true;
  for (const Application* one : applications) {
    double of_group = 0;
    for (const Bound& bound : one->bounds)
      if (bound.missing.empty() && bound.seen_from > 0)
        of_group = of_group > 0 ? std::min(of_group, bound.seen_from) : bound.seen_from;
    if (of_group <= 0) return "";
    widest = std::max(widest, of_group);
    may_exceed_value = may_exceed_value && readings.groups()[one->group].facts.better == Better::lower;
  }
  if (widest <= 0) return "";
  if (widest > all_of_value && !may_exceed_value) return "; their spread hides a loss of any size";
  return fmt::format("; one worse by {:.0f} % would have failed", std::ceil(100 * widest));
}

class Judge {
 public:
  Judge(const CaseInput& input, Readings& readings)
      : input_(input), readings_(readings), facts_(input.item, input.places, input.past) {}

  void expect(const Expectation& asked) {
    const auto facts = metric_facts(input_.item, input_.probe, asked.metric);
    if ((!facts || facts->is_timing) && !input_.world.timing_doubt.empty()) return leave_unjudged(asked);
    if (belongs_to_sibling(input_, asked))
      return note(fmt::format("{} is judged in another case of this sweep", sentence_subject(asked)));
    if (input_.attendance.measured == 0) return;
    const auto scope = scope_of(input_, readings_, asked, facts_);
    if (!scope.elsewhere.empty()) {
      ++elsewhere_;
      return note(scope.elsewhere);
    }
    if (is_about_another_model(readings_, asked, models_)) {
      ++of_other_models_;
      return;
    }
    const auto matching = groups_matching(asked.metric, scope.labels, readings_);
    const bool is_owed = !asks_only_history(asked);
    if (matching.empty() && (!is_owed || count_owing(input_, asked.metric) == 0)) return;
    if (matching.empty()) {
      expected_.findings.push_back(nowhere_reported(input_, asked));
      return;
    }
    // A node may have devices of several models: a reading of one of them is not required from each rank.
    if (is_owed && find_label(asked.where, "model") == nullptr)
      for (const auto& groups : owed_together(input_, readings_, matching))
        find_lacking(input_, readings_, asked, groups, expected_.findings);
    hold_against(asked, matching);
  }

  /// A metric that a check declares for its program is asked for, bound or not.
  void expect_declared(const DeclaredMetric& metric) {
    const auto& expects = input_.item.expects;
    const bool is_asked = std::any_of(expects.begin(), expects.end(), [&](const Expectation& asked) {
      // The bound `history` alone does not require a reading: it is applied where there is a value.
      return asked.metric == metric.name && !asks_only_history(asked);
    });
    if (is_asked || input_.attendance.measured == 0) return;
    Expectation asked;
    asked.metric = metric.name;
    const auto matching = groups_matching(metric.name, {}, readings_);
    if (matching.empty() && count_owing(input_, metric.name) == 0) return;
    if (matching.empty()) {
      expected_.findings.push_back(nowhere_reported(input_, asked));
      return;
    }
    // A pattern is applied on each rank; what a program prints by itself may be the sum of all, on one of them.
    if (pattern_of(input_.item, metric.name)) find_lacking(input_, readings_, asked, matching, expected_.findings);
    for (const std::size_t index : matching)
      find_foreign_units(input_, readings_.groups()[index], readings_, expected_.findings);
  }

  /// Rates of errors are held against earlier runs wherever these are read.
  void expect_error_rates() {
    if (facts_.past == nullptr || input_.attendance.measured == 0) return;
    for (const MetricSpec& spec : input_.probe.metrics) {
      const auto matching = groups_matching(std::string(spec.name), {}, readings_);
      if (spec.error_floor <= 0 || matching.empty()) continue;
      Expectation& asked = expected_.implied.emplace_back();
      asked.metric = spec.name;
      asked.history = Drift{};
      hold_against(asked, matching);
    }
  }

  /// A check whose expectations are all for other numbers of nodes or ranks, or other models, has none here.
  [[nodiscard]] Expected take() {
    if (of_other_models_ > 0 && of_other_models_ == input_.item.expects.size()) {
      const std::vector<std::string> models(models_.begin(), models_.end());
      expected_.findings.push_back(
          {Verdict::unmeasured,
           fmt::format("none of the expectations of this check is about {}", printable_line(human_list(models))),
           {},
           "add one for this model with a figure that you trust, or judge it by another bound"});
    }
    if (elsewhere_ > 0 && elsewhere_ == input_.item.expects.size())
      expected_.findings.push_back(
          {Verdict::unmeasured,
           fmt::format("none of the expectations of this check is about {} {} on {} {}", facts_.ranks,
                       facts_.ranks == 1 ? "rank" : "ranks", facts_.nodes, facts_.nodes == 1 ? "node" : "nodes"),
           {},
           "run it with the number of nodes and ranks that the check names, or give it another bound"});
    return std::move(expected_);
  }

 private:
  void hold_against(const Expectation& asked, const std::vector<std::size_t>& matching) {
    bool all_pass = true;
    std::size_t count = 0;
    const std::size_t first = expected_.applications.size();
    for (std::size_t index : matching) {
      const ReadingGroup& group = readings_.groups()[index];
      auto& application =
          expected_.applications.emplace_back(Application{&asked, index, bounds_of(asked, group, readings_, facts_)});
      for (const Bound& bound : application.bounds) {
        const bool is_left_out = !bound.missing.empty() && bound.is_optional;
        // Rates of errors are judged by their past without being asked.
        if (is_left_out && group.facts.error_floor <= 0)
          note(fmt::format("{} not judged: {}", to_string(bound.kind), bound.missing));
        if (!is_left_out && !bound.note.empty()) note(bound.note);
      }
      const Applied applied = apply(application, readings_);
      count += applied.judged;
      if (applied.all_pass) continue;
      all_pass = false;
      for (const Bound& bound : application.bounds)
        if (is_unconfirmed(bound, group, readings_)) expected_.of_no_node.emplace(group.metric, group.where);
      auto findings = findings_of(application, readings_, input_.places);
      for (Finding& finding : findings) name_device(finding, input_.attendance);
      std::move(findings.begin(), findings.end(), std::back_inserter(expected_.findings));
      if (!asks_only_history(asked)) find_foreign_units(input_, group, readings_, expected_.findings);
    }
    if (!all_pass || count == 0) return;
    std::vector<const Application*> mine;
    for (std::size_t i = first; i < expected_.applications.size(); ++i) mine.push_back(&expected_.applications[i]);
    expected_.evidence.push_back(fmt::format("{}: {} inside the bounds ({}){}", sentence_subject(asked),
                                             count == 1 ? "1 reading" : fmt::format("all {} readings", count),
                                             kinds_applied(mine), limit_clause(mine, readings_)));
  }

  /// A probe judges more than times. Of a number that a check declares for its program the bound is all there is, so
  /// that a pass would have no evidence.
  void leave_unjudged(const Expectation& asked) {
    note(timing_note(input_.world));
    if (!is_declared(input_.item, asked.metric) || asks_only_history(asked) ||
        !simulated_by(input_.world.nodes).empty())
      return;
    expected_.findings.push_back(
        {Verdict::unmeasured,
         fmt::format("{} is not judged: {}", sentence_subject(asked), printable_line(input_.world.timing_doubt)),
         {},
         "give each rank cores of its own: fewer ranks (--ranks-per-node), or more CPUs for the job"});
  }

  void note(std::string text) {
    auto& notes = expected_.notes;
    if (!is_in(text, notes)) notes.push_back(std::move(text));
  }

  const CaseInput& input_;
  Readings& readings_;
  CaseFacts facts_;
  Expected expected_;
  std::size_t elsewhere_ = 0;        ///< expectations about other numbers of nodes or ranks
  std::size_t of_other_models_ = 0;  ///< expectations about models that are not here
  std::set<std::string> models_;     ///< that are here instead
};

}  // namespace

std::string timing_note(const World& world) {
  return "timing is not judged: " + printable_line(world.timing_doubt);
}

Verdict judge_value(const Bound& bound, std::size_t sample, double value) {
  if (!bound.missing.empty()) return bound.verdict_if_missing;
  const Range& range = bound.range_of(sample);
  value = bound.value_of(sample, value);
  if (!range.judges() || !std::isfinite(value)) return Verdict::unmeasured;
  return range.holds(value) ? Verdict::pass : Verdict::fail;
}

Verdict judge_sample(const Application& application, std::size_t at, Sample& sample) {
  // An expectation without any bound judges nothing: it must not look like one that was kept.
  Verdict verdict = application.bounds.empty() || !std::isfinite(sample.value) ? Verdict::unmeasured : Verdict::pass;
  const auto& bounds = application.bounds;
  if (asks_only_history(*application.asked) && !std::isfinite(sample.value)) return Verdict::skip;
  if (verdict == Verdict::pass &&
      std::all_of(bounds.begin(), bounds.end(), [&](const Bound& bound) { return bound.passes_over(at); }))
    return Verdict::skip;
  for (const Bound& bound : application.bounds) {
    if ((bound.is_optional && !bound.missing.empty()) || bound.passes_over(at)) continue;
    const Verdict one = judge_value(bound, at, sample.value);
    sample.is_held = sample.is_held || one == Verdict::pass || one == Verdict::fail;
    verdict = combine(verdict, one);
  }
  sample.verdict = sample.is_judged ? combine(sample.verdict, verdict) : verdict;
  sample.is_judged = true;
  return verdict;
}

Expected judge_expectations(const CaseInput& input, Readings& readings) {
  Judge judge(input, readings);
  for (const Expectation& asked : input.item.expects) judge.expect(asked);
  for (const DeclaredMetric& metric : input.item.metrics) judge.expect_declared(metric);
  judge.expect_error_rates();
  return judge.take();
}

}  // namespace muster
