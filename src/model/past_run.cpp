#include "model/past_run.hpp"

#include <algorithm>

#include "base/names.hpp"
#include "model/json.hpp"
#include "model/report_fields.hpp"

namespace muster {

template <>
struct Words<ItemKind> {
  static constexpr std::string_view noun = "kind of item";
  static constexpr ItemKind last = ItemKind::link;
};
template <>
struct Words<ValueUse> {
  static constexpr std::string_view noun = "use";
  static constexpr ValueUse last = ValueUse::untimed;
};

template <class Io>
void fields(Io& io, Is<MeasuredItem> auto& item) {
  io("kind", item.kind);
  io("name", item.name);
  io.optional("node", item.node);
  io.optional("peer_node", item.peer_node);
}

template <class Io>
void fields(Io& io, Is<SeriesKey> auto& key) {
  io("case", key.case_id);
  io.optional("shape", key.shape);
  io.optional("simulated", key.simulated);
  io("metric", key.metric);
  io("where", key.where);
  io("item", key.item);
}

template <class Io>
void fields(Io& io, Is<PastValue> auto& value) {
  fields(io, value.key);
  io("unit", value.unit);
  io.optional("better", value.better);
  io("value", value.value);
  io.optional("spread", value.spread);
  io.optional("readings", value.readings, 1);
  io("samples", value.samples);
  io.optional("noise", value.noise);
  io.optional("use", value.use);
}

template <class Io>
void fields(Io& io, Is<NodeVerdict> auto& one) {
  io("node", one.node);
  io("verdict", one.verdict);
}

template <class Io>
void fields(Io& io, Is<DisturbedItem> auto& one) {
  io("metric", one.metric);
  io("item", one.item);
}

template <class Io>
void fields(Io& io, Is<PastCase> auto& one) {
  io("id", one.id);
  io("check", one.check);
  io("verdict", one.verdict);
  io.optional("reason", one.reason);
  io("nodes", one.nodes);
  io("ranks", one.ranks);
  io.optional("on_nodes", one.on_nodes);
  io.optional("devices", one.devices);
  io.optional("disturbed", one.disturbed);
}

template <class Io>
void fields(Io& io, Is<PastRun> auto& run) {
  io("run_id", run.run_id);
  io("started", run.started);
  io("seconds", run.seconds);
  io.optional("host", run.host);
  io.optional("user", run.user);
  io.optional("system", run.system);
  io.optional("muster_version", run.muster_version);
  io("command_line", run.command_line);
  io.optional("folder", run.folder);
  io("verdict", run.verdict);
  io("exit_status", run.exit_status);
  io.optional("interrupted", run.interrupted);
  io.optional("simulated", run.simulated);
  io.optional("skipped", run.skipped);
  io.optional("nodes", run.nodes);
  io.optional("cases", run.cases);
  io.optional("values", run.values);
}

template <class Io>
void fields(Io& io, Is<NodeAction> auto& action) {
  io("time", action.time);
  io("node", action.node);
  io("action", action.action);
  io.optional("reason", action.reason);
  io.optional("owner", action.owner);
  io("outcome", action.outcome);
  io.optional("run_id", action.run_id);
}

SeriesKey without_nodes(SeriesKey key) {
  key.item.node.clear();
  key.item.peer_node.clear();
  return key;
}

bool is_of_cpus(const SeriesKey& key) {
  const MeasuredItem& item = key.item;
  if (item.kind == ItemKind::device || (item.kind == ItemKind::link && item.node != item.peer_node)) return false;
  const bool is_of_device_memory =
      std::ranges::find(key.where, std::pair<std::string, std::string>("memory", "device")) != key.where.end();
  // `8 ranks on 2 nodes`; `4 ranks per node` is of one.
  return !is_of_device_memory && !key.shape.ends_with(" nodes");
}

std::set<std::string> virtual_nodes(const PastRun& run) {
  std::set<std::string> found;
  for (const NodeProvenance& node : run.nodes)
    if (std::ranges::any_of(node.facts, [](const Fact& fact) { return fact.key == "hypervisor"; }))
      found.insert(node.node);
  return found;
}

constexpr std::string_view value_use_names[] = {"basis", "outside", "untimed"};

std::string_view to_string(ValueUse use) {
  return enum_name(value_use_names, use);
}

nlohmann::json to_json(const PastRun& run) {
  return write_json(run, TextForm::printable);
}

Result<PastRun> past_run_from_json(const nlohmann::json& json) {
  return read_json<PastRun>(json);
}

nlohmann::json to_json(const PastCase& one) {
  return write_json(one, TextForm::printable);
}

Result<PastCase> past_case_from_json(const nlohmann::json& json) {
  return read_json<PastCase>(json);
}

nlohmann::json to_json(const NodeAction& action) {
  return write_json(action, TextForm::printable);
}

Result<NodeAction> node_action_from_json(const nlohmann::json& json) {
  return read_json<NodeAction>(json);
}

}  // namespace muster
