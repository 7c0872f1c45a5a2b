// What `muster compare --json` prints.
#include <nlohmann/json.hpp>

#include "app/views/compare_words.hpp"
#include "base/text.hpp"
#include "model/json.hpp"

namespace muster {

namespace {

nlohmann::json names_json(const std::vector<std::string>& all) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::string& one : all) list.push_back(printable_line(one));
  return list;
}

nlohmann::json labels_json(const Labels& where) {
  nlohmann::json map = nlohmann::json::object();
  for (const auto& [key, value] : where) map[printable_line(key)] = printable_line(value);
  return map;
}

nlohmann::json run_of(const PastRun& run) {
  return {{"run_id", printable_line(run.run_id)}, {"started", printable_line(run.started)},
          {"verdict", to_string(run.verdict)},    {"command", printable_line(shell_line(run.command_line), 4000)},
          {"folder", printable_line(run.folder)}, {"simulated", printable_line(run.simulated)}};
}

nlohmann::json object_of(const VerdictChange& one) {
  return {{"case", printable_line(one.case_id)}, {"before", to_string(one.before)},
          {"after", to_string(one.after)},       {"reason", printable_line(one.reason, 4000)},
          {"nodes", names_json(one.nodes)},      {"worse", one.is_worse},
          {"less_known", one.is_less_known}};
}

nlohmann::json object_of(const MetricChange& one) {
  return {{"case", printable_line(one.key.case_id)},
          {"metric", printable_line(one.key.metric)},
          {"where", labels_json(one.key.where)},
          {"subject", printable_line(one.subject)},
          {"items", names_json(one.items)},
          {"measured", one.measured},
          {"unit", printable_line(one.unit)},
          {"before", one.before},
          {"after", one.after},
          {"change", one.share},
          {"worse", one.is_worse}};
}

nlohmann::json object_of(const FactChange& one) {
  return {{"fact", printable_line(one.key)},
          {"before", printable_line(one.before, 4000)},
          {"after", printable_line(one.after, 4000)},
          {"nodes", names_json(one.nodes)}};
}

nlohmann::json object_of(const OneSided& one) {
  return {{"case", printable_line(one.case_id)},
          {"metric", printable_line(one.metric)},
          {"items", names_json(one.items)},
          {"worse", one.is_worse},
          {"less_known", one.is_less_known}};
}

nlohmann::json object_of(const Relabelled& one) {
  return {{"case", printable_line(one.case_id)},
          {"metric", printable_line(one.metric)},
          {"items", names_json(one.items)},
          {"before", labels_json(one.before)},
          {"after", labels_json(one.after)}};
}

template <class All>
nlohmann::json list_of(const All& all) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& one : all) list.push_back(object_of(one));
  return list;
}

nlohmann::json counts_of(const Comparison& found) {
  return {{"compared", found.compared},           {"untimed", found.untimed},
          {"other_machine", found.other_machine}, {"other_shape", found.other_shape},
          {"without_share", found.without_share}, {"one_sided", found.one_sided},
          {"with_past", found.with_past},         {"as_often", found.as_often},
          {"seen_from", found.seen_from},         {"half_seen_from", found.half_seen_from}};
}

}  // namespace

std::string comparison_json(const PastRun& before, const PastRun& after, const Comparison& found) {
  const nlohmann::json all{{"muster_compare", 1},
                           {"before", run_of(before)},
                           {"after", run_of(after)},
                           {"outcome", outcome_of(before, found)},
                           {"worse", found.is_worse()},
                           {"verdicts", list_of(found.verdicts)},
                           {"metrics", list_of(found.metrics)},
                           {"facts", list_of(found.facts)},
                           {"virtual_nodes", names_json(found.virtual_nodes)},
                           {"nodes_gone", names_json(found.nodes_gone)},
                           {"nodes_new", names_json(found.nodes_new)},
                           {"devices_gone", names_json(found.devices_gone)},
                           {"devices_new", names_json(found.devices_new)},
                           {"cases_only_before", names_json(found.only_before)},
                           {"cases_only_after", names_json(found.only_after)},
                           {"values_gone", list_of(found.values_gone)},
                           {"values_new", list_of(found.values_new)},
                           {"relabelled", list_of(found.relabelled)},
                           {"values", counts_of(found)},
                           {"values_text", compared_line(before, after, found)}};
  return dump(all);
}

}  // namespace muster
