#include <cmath>
#include <fmt/format.h>

#include "base/units.hpp"
#include "evaluate/bounds.hpp"

namespace muster {

std::optional<std::string> fact_of_case(const CaseFacts& facts, const std::string& key) {
  if (key == "nodes") return std::to_string(facts.nodes);
  if (key == "ranks") return std::to_string(facts.ranks);
  if (key == "ranks_per_node" && facts.nodes > 0 && facts.ranks % facts.nodes == 0)
    return std::to_string(facts.ranks / facts.nodes);
  if (key == "binding") return std::string(to_string(facts.item.shape.binding.kind));
  const auto& params = facts.item.params.values();
  const auto found = params.find(key);
  if (found == params.end()) return std::nullopt;
  return to_string(found->second);
}

namespace {

bool applies(const ProfileReference& candidate, const ReadingGroup& group, const CaseFacts& facts) {
  for (const auto& [key, wanted] : candidate.where) {
    // A reading's own label speaks before the parameter of the same name: `size` before a list of sizes.
    if (const std::string* value = find_label(group.key->where, key)) {
      if (!is_same_value(wanted, *value)) return false;
      continue;
    }
    const auto value = fact_of_case(facts, key);
    if (!value || !is_same_value(wanted, *value)) return false;
  }
  return true;
}

bool is_same(const Reference& a, const Reference& b) {
  return a.value == b.value && a.lower == b.lower && a.upper == b.upper && a.unit == b.unit;
}

struct Choice {
  const ProfileReference* best = nullptr;
  const ProfileReference* rival = nullptr;  ///< as specific, and different
};

Choice choose(const ReadingGroup& group, const CaseFacts& facts) {
  Choice choice;
  for (const ProfileReference& candidate : facts.item.references) {
    if (candidate.metric != group.key->metric || !applies(candidate, group, facts)) continue;
    if (choice.best == nullptr || candidate.where.size() > choice.best->where.size()) {
      choice = {&candidate, nullptr};
    } else if (candidate.where.size() == choice.best->where.size() && choice.rival == nullptr &&
               !is_same(candidate.reference, choice.best->reference)) {
      choice.rival = &candidate;
    }
  }
  return choice;
}

Bound without(std::string missing, std::string remedy, Verdict verdict = Verdict::unmeasured) {
  Bound bound;
  bound.missing = std::move(missing);
  bound.remedy_if_missing = std::move(remedy);
  bound.verdict_if_missing = verdict;
  return bound;
}

std::string percent(const std::optional<double>& tolerance) {
  return tolerance ? fmt::format(" {:+.4g} %", *tolerance * 100) : "";
}

/// In the unit of the metric; the text has the reference as it was given.
Bound from(Reference reference, const std::string& unit) {
  const auto factor = reference.unit.empty() || reference.unit == unit ? 1.0 : unit_factor(reference.unit, unit);
  if (!factor)
    return without(fmt::format("the reference at {} is in {}, the metric in {}", reference.place, reference.unit, unit),
                   "correct the unit of the reference", Verdict::error);
  const std::string as_given = format_value(reference.value, reference.unit.empty() ? unit : reference.unit);
  reference.value *= *factor;
  Bound bound;
  bound.range = reference_range(reference);
  if (!bound.range.judges() || !std::isfinite(reference.value))
    return without(fmt::format("the reference at {} has no tolerance, so that nothing can be outside", reference.place),
                   "give the reference a `lower` or an `upper`");
  bound.text = fmt::format("reference {}{}{}", as_given, percent(reference.lower), percent(reference.upper));
  bound.place = reference.place;
  return bound;
}

}  // namespace

Range reference_range(const Reference& reference) {
  // |value|: -5 % of a negative value is still below it.
  const double size = std::fabs(reference.value);
  Range range;
  if (reference.lower) range.least = reference.value + size * *reference.lower;
  if (reference.upper) range.most = reference.value + size * *reference.upper;
  return range;
}

Bound reference_bound(const Expectation& asked, const ReadingGroup& group, const CaseFacts& facts) {
  if (asked.reference) return from(*asked.reference, group.facts.unit);
  const Choice choice = choose(group, facts);
  const auto what = group.metric + where_clause(group.where);
  if (choice.best == nullptr)
    return without(fmt::format("no reference for {} in the profile", what),
                   "add a reference for it to the system's profile, or judge it by another bound");
  if (choice.rival != nullptr)
    return without(fmt::format("two references fit {} equally well and differ: {} and {}", what,
                               choice.best->reference.place, choice.rival->reference.place),
                   "remove one of the two, or narrow one with another key in its `where`", Verdict::error);
  return from(choice.best->reference, group.facts.unit);
}

}  // namespace muster
