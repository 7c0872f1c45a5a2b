/// One list of fields per type, used to write it and to read it back. For the .cpp files of this folder that know
/// nlohmann; not included elsewhere.
///
///   template <class Io> void fields(Io& io, Is<Culprit> auto& culprit) {
///     io("kind", culprit.kind);              // always there
///     io.optional("rank", culprit.rank, -1); // left out when it is -1
///   }
///   json json = write_json(culprit, TextForm::printable);
///   Result<Culprit> back = read_json<Culprit>(json);
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "muster/observation.hpp"
#include "muster/result.hpp"

namespace muster {

template <class T, class Wanted>
concept Is = std::same_as<std::remove_const_t<T>, Wanted>;

/// The words of an enum: a specialisation has `noun` (`no verdict`), `last`, and to_string must be overloaded.
template <class E>
struct Words;

/// `exact` keeps every byte: what is read back by muster must be what it was.
enum class TextForm { printable, exact };

class JsonWriter {
 public:
  static constexpr bool reads = false;
  JsonWriter(nlohmann::json& object, TextForm form) : object_(object), form_(form) {}

  template <class T>
  void operator()(const char* key, const T& value) {
    object_[key] = make(value);
  }
  template <class T>
  void optional(const char* key, const T& value, const T& nothing = {}) {
    if (!(value == nothing)) object_[key] = make(value);
  }
  /// Something that follows from the rest: written for readers, not read back.
  void derived(const char* key, nlohmann::json value) { object_[key] = std::move(value); }

 private:
  [[nodiscard]] std::string text(std::string_view value) const {
    return form_ == TextForm::printable ? printable(value) : std::string(value);
  }
  nlohmann::json make(bool value) const { return value; }
  nlohmann::json make(int value) const { return value; }
  nlohmann::json make(std::int64_t value) const { return value; }
  nlohmann::json make(double value) const {
    if (std::isfinite(value)) return value;
    return nullptr;
  }
  nlohmann::json make(const std::string& value) const { return text(value); }
  nlohmann::json make(const Labels& labels) const {
    auto object = nlohmann::json::object();
    for (const auto& [key, value] : labels) object.emplace(text(key), text(value));
    return object;
  }
  nlohmann::json make(const std::vector<Fact>& facts) const {
    auto object = nlohmann::json::object();
    for (const auto& fact : facts) object.emplace(text(fact.key), text(fact.value));
    return object;
  }
  template <class T>
  nlohmann::json make(const std::optional<T>& value) const {
    if (!value) return nullptr;
    return make(*value);
  }
  template <class T>
  nlohmann::json make(const std::vector<T>& items) const {
    auto array = nlohmann::json::array();
    array.get_ref<nlohmann::json::array_t&>().reserve(items.size());
    for (const auto& item : items) array.push_back(make(item));
    return array;
  }
  template <class T>
  nlohmann::json make(const std::map<std::string, T>& items) const {
    auto object = nlohmann::json::object();
    for (const auto& [key, value] : items) object.emplace(text(key), make(value));
    return object;
  }
  template <class T>
  nlohmann::json make(const T& value) const {
    if constexpr (std::is_enum_v<T>) {
      return std::string(to_string(value));
    } else {
      auto object = nlohmann::json::object();
      JsonWriter writer(object, form_);
      fields(writer, value);
      return object;
    }
  }

  nlohmann::json& object_;
  TextForm form_;
};

template <class T>
nlohmann::json write_json(const T& value, TextForm form) {
  auto object = nlohmann::json::object();
  JsonWriter writer(object, form);
  fields(writer, value);
  return object;
}

/// Where a reader stands in a document; spelled out only when something is wrong there.
struct JsonPlace {
  const JsonPlace* up = nullptr;
  std::string_view key;
  std::size_t index = 0;

  [[nodiscard]] std::string path() const;  ///< `cases[3].verdict`
};

class JsonReader {
 public:
  static constexpr bool reads = true;
  /// `error` receives the first failure; after it nothing more is read.
  JsonReader(const nlohmann::json& object, const JsonPlace& place, std::optional<Error>& error)
      : object_(object), place_(place), error_(error) {
    if (!object_.is_object()) refuse(place_, object_, "an object");
  }

  template <class T>
  void operator()(const char* key, T& value) {
    if (const auto* found = find(key))
      take(*found, JsonPlace{&place_, key}, value);
    else
      set_error(JsonPlace{&place_, key}, "is missing");
  }
  template <class T>
  void optional(const char* key, T& value, const T& nothing = {}) {
    if (const auto* found = find(key))
      take(*found, JsonPlace{&place_, key}, value);
    else
      value = nothing;
  }
  void derived(const char* key, const nlohmann::json&) {
    if (find(key) == nullptr) set_error(JsonPlace{&place_, key}, "is missing");
  }
  /// To be called after the last field: a key that no field asked for is an error.
  void finish();
  [[nodiscard]] bool has_failed() const { return error_.has_value(); }
  /// Notes that the value of `key` is not what it should be.
  void set_error(const char* key, std::string what) { set_error(JsonPlace{&place_, key}, std::move(what)); }

 private:
  using Json = nlohmann::json;
  const Json* find(const char* key);
  void set_error(const JsonPlace& place, std::string what);
  void refuse(const JsonPlace& place, const Json& json, std::string_view wanted);

  void take(const Json& json, const JsonPlace& place, bool& value);
  void take(const Json& json, const JsonPlace& place, int& value);
  void take(const Json& json, const JsonPlace& place, std::int64_t& value);
  void take(const Json& json, const JsonPlace& place, double& value);
  void take(const Json& json, const JsonPlace& place, std::string& value);
  void take(const Json& json, const JsonPlace& place, Labels& labels);
  void take(const Json& json, const JsonPlace& place, std::vector<Fact>& facts);
  template <class T>
  void take(const Json& json, const JsonPlace& place, std::optional<T>& value) {
    take(json, place, value.emplace());
  }
  template <class T>
  void take(const Json& json, const JsonPlace& place, std::vector<T>& items) {
    if (!json.is_array()) return refuse(place, json, "an array");
    items.clear();
    items.reserve(json.size());
    for (const auto& item : json) {
      const JsonPlace at{&place, {}, items.size()};
      take(item, at, items.emplace_back());
      if (error_) return;
    }
  }
  template <class T>
  void take(const Json& json, const JsonPlace& place, std::map<std::string, T>& items) {
    if (!json.is_object()) return refuse(place, json, "an object");
    items.clear();
    for (const auto& [key, item] : json.items()) {
      take(item, JsonPlace{&place, key}, items[key]);
      if (error_) return;
    }
  }
  template <class T>
  void take(const Json& json, const JsonPlace& place, T& value) {
    if constexpr (std::is_enum_v<T>) {
      take_word(json, place, value);
    } else {
      JsonReader reader(json, place, error_);
      fields(reader, value);
      reader.finish();
    }
  }
  template <class E>
  void take_word(const Json& json, const JsonPlace& place, E& value) {
    if (!json.is_string()) return refuse(place, json, "text");
    const auto& text = json.get_ref<const std::string&>();
    constexpr int count = static_cast<int>(Words<E>::last) + 1;
    for (int i = 0; i < count; ++i)
      if (to_string(static_cast<E>(i)) == text) return void(value = static_cast<E>(i));
    std::vector<std::string> known;
    for (int i = 0; i < count; ++i) known.emplace_back(to_string(static_cast<E>(i)));
    set_error(place,
              fmt::format("\"{}\" is not a {}{}", printable_line(text), Words<E>::noun, suggestion(text, known)));
  }

  const Json& object_;
  const JsonPlace& place_;
  std::optional<Error>& error_;
  std::vector<const char*> asked_;
  std::size_t found_ = 0;
};

/// Fails with kind `file`, `where` being the path of what is wrong.
template <class T>
Result<T> read_json(const nlohmann::json& json) {
  std::optional<Error> error;
  T value{};
  const JsonPlace top;
  JsonReader reader(json, top, error);
  fields(reader, value);
  reader.finish();
  if (error) return tl::unexpected(std::move(*error));
  return value;
}

}  // namespace muster
