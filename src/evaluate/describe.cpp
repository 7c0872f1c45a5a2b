#include "base/text.hpp"
#include "evaluate/evaluate.hpp"
#include "evaluate/verdict_rules.hpp"

namespace muster {

CaseResult describe(const Case& item) {
  CaseResult head;
  head.id = item.id;
  head.check = item.check;
  head.probe = item.probe;
  head.summary = item.summary;
  head.place = item.place;
  head.tags = item.tags;
  for (const auto& [name, value] : item.params.values()) head.params.emplace_back(name, to_string(value));
  head.system = item.system;
  head.partition = item.partition;
  head.environment = item.environment;
  head.nodes = item.shape.node_count();
  head.ranks = item.shape.ranks();
  head.node = item.host;
  head.rerun = item.rerun;
  head.swept = item.swept;
  return head;
}

CaseResult evaluate_unable(const Case& item) {
  CaseResult result = describe(item);
  result.findings = item.unable;
  apply_verdict_rules(result, "the case was not launched, for an unknown reason");
  return result;
}

}  // namespace muster
