#include "model/json_io.hpp"


#include "base/lists.hpp"

namespace muster {

std::string JsonPlace::path() const {
  if (up == nullptr) return "";
  auto before = up->path();
  if (key.empty()) return fmt::format("{}[{}]", before, index);
  return before.empty() ? std::string(key) : fmt::format("{}.{}", before, key);
}

const nlohmann::json* JsonReader::find(const char* key) {
  if (error_) return nullptr;
  asked_.push_back(key);
  const auto found = object_.find(key);
  if (found == object_.end()) return nullptr;
  ++found_;
  return &*found;
}

void JsonReader::finish() {
  if (error_ || found_ == object_.size()) return;
  const std::vector<std::string> known(asked_.begin(), asked_.end());
  for (const auto& [key, value] : object_.items())
    if (!is_in(key, known)) {
      const auto shown = printable_line(key, 80);
      return set_error(JsonPlace{&place_, shown}, "is not known" + suggestion(key, known));
    }
}

void JsonReader::set_error(const JsonPlace& place, std::string what) {
  if (error_) return;
  error_ = Error{ErrorKind::file, place.path(), std::move(what)};
}

void JsonReader::refuse(const JsonPlace& place, const Json& json, std::string_view wanted) {
  set_error(place, fmt::format("expected {}, found {}", wanted, json.type_name()));
}

void JsonReader::take(const Json& json, const JsonPlace& place, bool& value) {
  if (!json.is_boolean()) return refuse(place, json, "true or false");
  value = json.get<bool>();
}

void JsonReader::take(const Json& json, const JsonPlace& place, std::int64_t& value) {
  if (!json.is_number_integer()) return refuse(place, json, "an integer");
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > most) return set_error(place, "is too large");
  value = json.get<std::int64_t>();
}

void JsonReader::take(const Json& json, const JsonPlace& place, int& value) {
  std::int64_t wide = 0;
  take(json, place, wide);
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max())
    return set_error(place, "is too large");
  value = static_cast<int>(wide);
}

/// null stands for a number that could not be written.
void JsonReader::take(const Json& json, const JsonPlace& place, double& value) {
  if (json.is_null()) return void(value = std::numeric_limits<double>::quiet_NaN());
  if (!json.is_number()) return refuse(place, json, "a number");
  value = json.get<double>();
}

void JsonReader::take(const Json& json, const JsonPlace& place, std::string& value) {
  if (!json.is_string()) return refuse(place, json, "text");
  value = json.get_ref<const std::string&>();
}

void JsonReader::take(const Json& json, const JsonPlace& place, Labels& labels) {
  if (!json.is_object()) return refuse(place, json, "an object");
  labels.clear();
  labels.reserve(json.size());
  for (const auto& [key, item] : json.items()) {
    auto& label = labels.emplace_back(key, "");
    take(item, JsonPlace{&place, key}, label.second);
  }
}

void JsonReader::take(const Json& json, const JsonPlace& place, std::vector<Fact>& facts) {
  Labels pairs;
  take(json, place, pairs);
  facts.clear();
  facts.reserve(pairs.size());
  for (auto& pair : pairs) facts.push_back({std::move(pair.first), std::move(pair.second)});
}

}  // namespace muster
