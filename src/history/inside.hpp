/// What a History holds. For the .cpp files of this folder.
#pragma once

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "history/database.hpp"
#include "model/json.hpp"

namespace muster {

struct History::Inside {
  fs::path path;
  std::unique_ptr<SQLite::Database> database;

  [[nodiscard]] SQLite::Statement ask(const char* text) const { return {*database, text}; }
};

/// Labels as one text, the same for equal ones.
[[nodiscard]] inline std::string text_of(const Labels& labels) {
  auto json = nlohmann::json::array();
  for (const auto& [key, value] : labels) json.push_back({key, value});
  return dump(json);
}

[[nodiscard]] inline Labels labels_of(const std::string& text) {
  Labels labels;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_array()) return labels;
  for (const auto& pair : json)
    if (pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string())
      labels.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
  return labels;
}

}  // namespace muster
