#include "base/names.hpp"
#include "model/json.hpp"
#include "model/plan_fields.hpp"

namespace muster {

constexpr std::string_view ranks_kind_names[] = {"per-node", "one-per-node", "one-per-core", "one-per-numa",
                                                 "one-per-gpu"};

std::string_view to_string(RanksSpec::Kind kind) {
  return enum_name(ranks_kind_names, kind);
}

TypedTexts to_texts(const Params& params) {
  TypedTexts texts;
  for (const auto& [name, value] : params.values()) {
    auto& text = texts[name];
    text.type = value.type;
    for (const auto& item : value.items) text.items.push_back(to_string(item));
  }
  return texts;
}

Result<Params> to_params(const TypedTexts& texts) {
  Params params;
  for (const auto& [name, text] : texts) {
    ParamSpec spec;
    spec.name = name;
    spec.type = text.type;
    auto value = parse_param(spec, text.items);
    if (!value) return fail(ErrorKind::file, name, fmt::format("{}: {}", name, value.error().what));
    params.set(name, std::move(*value));
  }
  return params;
}

nlohmann::json to_json(const Plan& plan) {
  return write_json(plan, TextForm::exact);
}

Result<Plan> plan_from_json(const nlohmann::json& json) {
  return read_json<Plan>(json);
}

nlohmann::json to_json(const ExpectedNode& node) {
  return write_json(node, TextForm::exact);
}

Result<ExpectedNode> expected_node_from_json(const nlohmann::json& json) {
  return read_json<ExpectedNode>(json);
}

nlohmann::json to_json(const World& world) {
  return write_json(world, TextForm::exact);
}

Result<World> world_from_json(const nlohmann::json& json) {
  return read_json<World>(json);
}

}  // namespace muster
