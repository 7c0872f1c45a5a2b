/// The fields of plans and worlds, one list per type: the internal form on the wire and in the spool, and the form that
/// `muster plan --json` shows. Texts are kept byte for byte.
#pragma once

#include "model/plan.hpp"
#include "model/record.hpp"
#include "model/report_fields.hpp"

namespace muster {

[[nodiscard]] std::string_view to_string(RanksSpec::Kind kind);

template <>
struct Words<Better> {
  static constexpr std::string_view noun = "direction";
  static constexpr Better last = Better::neither;
};
template <>
struct Words<RanksSpec::Kind> {
  static constexpr std::string_view noun = "number of ranks";
  static constexpr RanksSpec::Kind last = RanksSpec::Kind::one_per_gpu;
};
template <>
struct Words<BindKind> {
  static constexpr std::string_view noun = "kind of binding";
  static constexpr BindKind last = BindKind::masks;
};
template <>
struct Words<Must> {
  static constexpr std::string_view noun = "demand";
  static constexpr Must last = Must::address;
};
template <>
struct Words<ParamType> {
  static constexpr std::string_view noun = "type";
  static constexpr ParamType last = ParamType::bytes_list;
};

/// A parameter without its ParamSpec: the type, and each item as one would type it.
struct TypedText {
  ParamType type = ParamType::text;
  std::vector<std::string> items;
};
using TypedTexts = std::map<std::string, TypedText>;

[[nodiscard]] TypedTexts to_texts(const Params& params);
[[nodiscard]] Result<Params> to_params(const TypedTexts& texts);

template <class Io>
void fields(Io& io, Is<TypedText> auto& param) {
  io("type", param.type);
  io("items", param.items);
}

template <class Io>
void fields(Io& io, Is<RanksSpec> auto& ranks) {
  io("kind", ranks.kind);
  io("count", ranks.count);
}

template <class Io>
void fields(Io& io, Is<Reference> auto& reference) {
  io("value", reference.value);
  io("unit", reference.unit);
  io.optional("lower", reference.lower);
  io.optional("upper", reference.upper);
  io.optional("source", reference.source);
  io.optional("place", reference.place);
}

template <class Io>
void fields(Io& io, Is<Limit> auto& limit) {
  io.optional("at_least", limit.at_least);
  io.optional("at_most", limit.at_most);
}

template <class Io>
void fields(Io& io, Is<Peers> auto& peers) {
  io("max_z", peers.max_z);
  io("mad_floor", peers.mad_floor);
  io("min_items", peers.min_items);
}

template <class Io>
void fields(Io& io, Is<Drift> auto& drift) {
  io("min_runs", drift.min_runs);
  io("max_z", drift.max_z);
  io("least", drift.least);
  io("noise", drift.noise);
}

template <class Io>
void fields(Io& io, Is<Expectation> auto& expectation) {
  io("metric", expectation.metric);
  io("where", expectation.where);
  io.optional("reference", expectation.reference);
  io.optional("limit", expectation.limit);
  io.optional("peers", expectation.peers);
  io.optional("history", expectation.history);
  io("profile_reference", expectation.profile_reference);
  io.optional("place", expectation.place);
}

template <class Io>
void fields(Io& io, Is<DeclaredMetric> auto& metric) {
  io("name", metric.name);
  io("unit", metric.unit);
  io("better", metric.better);
  io.optional("labels", metric.labels);
  io.optional("maximum", metric.maximum);
}

template <class Io>
void fields(Io& io, Is<ProfileReference> auto& reference) {
  io("check", reference.check);
  io("where", reference.where);
  io("metric", reference.metric);
  io("reference", reference.reference);
}

template <class Io>
void fields(Io& io, Is<RankBinding> auto& rank) {
  io("cpus", rank.cpus);
  io("mask", rank.mask);
  io.optional("gpu", rank.gpu, -1);
  io.optional("nic", rank.nic);
  io.optional("cores", rank.cores);
}

template <class Io>
void fields(Io& io, Is<JobBinding> auto& binding) {
  io("kind", binding.kind);
  io.optional("source", binding.source);
  io.optional("ranks", binding.ranks);
  io.optional("openmpi_mapping", binding.openmpi_mapping);
  io.optional("launcher_selects_gpus", binding.launcher_selects_gpus);
  io.optional("gpu_variable", binding.gpu_variable);
  io.optional("why_cores", binding.why_cores);
}

template <class Io>
void fields(Io& io, Is<JobShape> auto& shape) {
  io("nodes", shape.nodes);
  io("ranks_per_node", shape.ranks_per_node);
  io("cores_per_rank", shape.cores_per_rank);
  io.optional("cpus_per_core", shape.cpus_per_core, 1);
  io.optional("one_thread_per_core", shape.one_thread_per_core);
  io.optional("binding", shape.binding);
  io("oversubscribed", shape.oversubscribed);
  io.optional("partition", shape.partition);
  io.optional("environment", shape.environment);
  io.optional("line", shape.line);
}

template <class Io>
void fields(Io& io, Is<GpuExpectation> auto& gpus) {
  io("count", gpus.count);
  io.optional("vendor", gpus.vendor);
  io.optional("name", gpus.name);
}

template <class Io>
void fields(Io& io, Is<GpuLinkExpectation> auto& pair) {
  io("first", pair.first);
  io("second", pair.second);
  io("links", pair.links);
}

template <class Io>
void fields(Io& io, Is<NicExpectation> auto& nics) {
  io("count", nics.count);
  io.optional("name", nics.name);
  io.optional("rate", nics.rate);
}

template <class Io>
void fields(Io& io, Is<BindExpectation> auto& bind) {
  io.optional("policy", bind.policy);
  io("smt", bind.smt);
  io.optional("select", bind.select);
  io.optional("masks", bind.masks);
  io.optional("far_noted", bind.is_far_noted);
}

template <class Io>
void fields(Io& io, Is<CpuExpectation> auto& cpu) {
  io.optional("architecture", cpu.architecture);
  io.optional("model", cpu.model);
  io("smt", cpu.smt);
  io("domains", cpu.domains);
}

template <class Io>
void fields(Io& io, Is<VariableExpectation> auto& variable) {
  io("name", variable.name);
  io("must", variable.must);
  io.optional("values", variable.values);
  io("nodes", variable.nodes);
  io("is_note", variable.is_note);
  io.optional("why", variable.why);
  io.optional("source", variable.source);
}

template <class Io>
void fields(Io& io, Is<LoginExpectation> auto& login) {
  io("host", login.host);
  io("gpus", login.gpus);
}

template <class Io>
void fields(Io& io, Is<ExpectedNode> auto& node) {
  io("cores", node.cores);
  io("reserved_cores", node.reserved_cores);
  io.optional("gpus", node.gpus);
  io.optional("gpu_links", node.gpu_links);
  io.optional("bind", node.bind);
  io.optional("nics", node.nics);
  io.optional("plugins", node.plugins);
  io.optional("plugins_from", node.plugins_from);
  io.optional("plugins_in", node.plugins_in);
  io.optional("cpu", node.cpu);
  io.optional("variables", node.variables);
  io.optional("login", node.login);
  io.optional("unverified", node.unverified);
}

/// Where a case comes from and what it is called.
template <class Io>
void name_fields(Io& io, Is<Case> auto& item) {
  io("id", item.id);
  io("check", item.check);
  io("probe", item.probe);
  io.optional("summary", item.summary);
  io("tags", item.tags);
  io.optional("file", item.file);
  io.optional("place", item.place);
  io.optional("system", item.system);
  io.optional("partition", item.partition);
  io.optional("environment", item.environment);
  io.optional("host", item.host);
}

template <class Io>
void fields(Io& io, Is<Case> auto& item) {
  name_fields(io, item);
  auto texts = to_texts(item.params);
  io("params", texts);
  if constexpr (Io::reads) {
    if (auto params = to_params(texts))
      item.params = std::move(*params);
    else
      io.set_error("params", params.error().what);
  }
  io("swept", item.swept);
  io("timeout_s", item.timeout.value);
  io("expects", item.expects);
  io("metrics", item.metrics);
  io("references", item.references);
  io("ranks", item.ranks);
  io.optional("bind", item.bind);
  io("min_nodes", item.min_nodes);
  io("node", item.node);
  io("shape", item.shape);
  io("rerun", item.rerun);
  io("unable", item.unable);
}

template <class Io>
void fields(Io& io, Is<WorkItem> auto& item) {
  io("case", item.case_index);
  io("repetition", item.repetition);
}

template <class Io>
void fields(Io& io, Is<PlannedLaunch> auto& launch) {
  io("shape", launch.shape);
  io("items", launch.items);
}

template <class Io>
void fields(Io& io, Is<Plan> auto& plan) {
  io("system", plan.system);
  io.optional("system_file", plan.system_file);
  io("launcher", plan.launcher);
  io("repeat", plan.repeat);
  io("cases", plan.cases);
  io("launches", plan.launches);
}

template <class Io>
void fields(Io& io, Is<RankPlace> auto& place) {
  io("rank", place.rank);
  io("world_size", place.world_size);
  io("local_rank", place.local_rank);
  io("local_size", place.local_size);
  io("node_index", place.node_index);
  io("node_count", place.node_count);
  io("host", place.host);
}

template <class Io>
void fields(Io& io, Is<World> auto& world) {
  io("library", world.library);
  io("ranks", world.ranks);
  io("pids", world.pids);
  io("nodes", world.nodes);
  io.optional("timing_doubt", world.timing_doubt);
  io.optional("node_doubts", world.node_doubts);
}

}  // namespace muster
