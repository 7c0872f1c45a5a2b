#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "model/json.hpp"

namespace muster {

const ParamSpec* find_param(const ProbeSpec& probe, std::string_view name) {
  for (const auto& spec : probe.params)
    if (spec.name == name) return &spec;
  return nullptr;
}

namespace {

/// The text of a scalar, the texts of a list.
Result<std::vector<std::string>> item_texts(const std::string& name, const nlohmann::json& json) {
  if (json.is_string()) return std::vector<std::string>{json.get<std::string>()};
  if (!json.is_array())
    return fail(ErrorKind::file, name, fmt::format("expected text or an array of texts, found {}", json.type_name()));
  std::vector<std::string> texts;
  for (const auto& item : json) {
    if (!item.is_string())
      return fail(ErrorKind::file, fmt::format("{}[{}]", name, texts.size()),
                  fmt::format("expected text, found {}", item.type_name()));
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

Error unknown_param(const ProbeSpec& probe, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& spec : probe.params) known.emplace_back(spec.name);
  const auto shown = printable_line(name, 80);
  return {ErrorKind::file, shown, fmt::format("is not a parameter of probe {}{}", probe.name, suggestion(name, known))};
}

}  // namespace

nlohmann::json to_json(const Params& params) {
  auto object = nlohmann::json::object();
  for (const auto& [name, value] : params.values()) {
    if (is_list(value.type)) {
      auto& array = object[name] = nlohmann::json::array();
      for (const auto& item : value.items) array.push_back(to_string(item));
    } else {
      object[name] = to_string(value);
    }
  }
  return object;
}

Result<Params> params_from_json(const nlohmann::json& json, const ProbeSpec& probe) {
  if (!json.is_object())
    return fail(ErrorKind::file, "", fmt::format("expected an object, found {}", json.type_name()));
  Params params;
  for (const auto& [name, item] : json.items()) {
    const auto* spec = find_param(probe, name);
    if (spec == nullptr) return tl::unexpected(unknown_param(probe, name));
    const auto texts = item_texts(name, item);
    if (!texts) return tl::unexpected(texts.error());
    auto value = item.is_array() ? parse_param(*spec, *texts) : parse_param(*spec, texts->front());
    if (!value) return fail(ErrorKind::file, name, value.error().what);
    params.set(name, std::move(*value));
  }
  for (const auto& spec : probe.params)
    if (!params.has(spec.name)) return fail(ErrorKind::file, std::string(spec.name), "is missing");
  return params;
}

}  // namespace muster
