/// The same lists of fields as json_io.hpp, written to a stream as they come: the report of a large run is larger as a
/// document in memory than all that it was drawn from. For the .cpp files of this folder; not included elsewhere.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/text.hpp"
#include "muster/observation.hpp"

namespace muster {

/// Collects text and hands it on in pieces. One object or array is open per level; one blank per level stands before
/// each line. What is nested deepest stands on one line, as a row of a table: there are millions of these.
class JsonText {
 public:
  explicit JsonText(std::ostream& out) : out_(out) {}
  JsonText(const JsonText&) = delete;
  JsonText& operator=(const JsonText&) = delete;
  ~JsonText() { flush(); }

  void open(char bracket) {
    text_ += bracket;
    ++level_;
    is_first_ = true;
  }
  void close(char bracket) {
    const bool is_line = level_ < first_row_level;
    --level_;
    if (!is_first_ && is_line) new_line();
    text_ += bracket;
    is_first_ = false;
    if (text_.size() > most_held) flush();
  }
  /// Before each member or item.
  void next() {
    if (!is_first_) text_ += ',';
    if (level_ < first_row_level)
      new_line();
    else if (!is_first_)
      text_ += ' ';
    is_first_ = false;
  }
  /// Only what a report keeps of a text: see printable().
  void string(std::string_view value);
  void number(double value);  ///< null when it is not finite
  void number(std::int64_t value);
  void word(std::string_view value) { text_ += value; }

 private:
  static constexpr std::size_t most_held = std::size_t{1} << 16;
  static constexpr std::size_t first_row_level = 7;  ///< cases[].node_rows[].metrics[], cases[].metrics[].readings[]
  void new_line() { text_.append(1, '\n').append(level_, ' '); }
  void flush();

  std::ostream& out_;
  std::string text_;
  std::size_t level_ = 0;
  bool is_first_ = true;
};

/// The members of one object.
class JsonStream {
 public:
  static constexpr bool reads = false;
  explicit JsonStream(JsonText& text) : text_(text) { text_.open('{'); }
  JsonStream(const JsonStream&) = delete;
  JsonStream& operator=(const JsonStream&) = delete;
  ~JsonStream() { text_.close('}'); }

  template <class T>
  void operator()(const char* key, const T& value) {
    begin(key);
    put(value);
  }
  template <class T>
  void optional(const char* key, const T& value, const T& nothing = {}) {
    if (!(value == nothing)) (*this)(key, value);
  }
  void derived(const char* key, const nlohmann::json& value) {
    begin(key);
    put_json(value);
  }

 private:
  void begin(std::string_view key) {
    text_.next();
    text_.string(key);
    text_.word(": ");
  }

  void put(bool value) { text_.word(value ? "true" : "false"); }
  void put(int value) { text_.number(std::int64_t{value}); }
  void put(std::int64_t value) { text_.number(value); }
  void put(double value) { text_.number(value); }
  void put(const std::string& value) { text_.string(value); }
  void put(const Labels& labels) {
    put_texts(
        labels, [](const auto& label) -> const auto& { return label.first; },
        [](const auto& label) -> const auto& { return label.second; });
  }
  void put(const std::vector<Fact>& facts) {
    put_texts(
        facts, [](const Fact& fact) -> const auto& { return fact.key; },
        [](const Fact& fact) -> const auto& { return fact.value; });
  }
  template <class T>
  void put(const std::optional<T>& value) {
    if (value)
      put(*value);
    else
      text_.word("null");
  }
  template <class T>
  void put(const std::vector<T>& items) {
    text_.open('[');
    for (const auto& item : items) {
      text_.next();
      put(item);
    }
    text_.close(']');
  }
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      text_.string(to_string(value));
    } else {
      JsonStream object(text_);
      fields(object, value);
    }
  }

  /// An object of texts. Of a key that stands there twice the first one counts, as everywhere.
  template <class Items, class Key, class Value>
  void put_texts(const Items& items, Key key, Value value) {
    text_.open('{');
    for (auto item = items.begin(); item != items.end(); ++item) {
      const auto is_known = [&](const auto& other) { return key(other) == key(*item); };
      if (std::any_of(items.begin(), item, is_known)) continue;
      begin(key(*item));
      text_.string(value(*item));
    }
    text_.close('}');
  }

  void put_json(const nlohmann::json& json) {
    if (!json.is_object()) return text_.word(json.dump());
    text_.open('{');
    for (const auto& [key, value] : json.items()) {
      begin(key);
      put_json(value);
    }
    text_.close('}');
  }

  JsonText& text_;
};

}  // namespace muster
