/// A TOML document as a tree of values with their places. The only door to toml++.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/document_errors.hpp"

namespace muster {

enum class NodeKind { table, array, text, integer, real, boolean, time };

/// `a table`, `text`, ... as in error messages.
[[nodiscard]] std::string_view to_string(NodeKind kind);

struct Entry;

struct Node {
  NodeKind kind = NodeKind::table;
  Place at;
  std::string text;            ///< of a scalar: as one would type it, text without its quotes
  double number = 0;           ///< of an integer or real
  std::int64_t integer = 0;    ///< of an integer
  std::vector<Entry> entries;  ///< of a table, in the order of the file
  std::vector<Node> items;     ///< of an array

  [[nodiscard]] const Entry* find(std::string_view key) const;
  [[nodiscard]] bool is_number() const { return kind == NodeKind::integer || kind == NodeKind::real; }
  [[nodiscard]] bool is_scalar() const { return kind != NodeKind::table && kind != NodeKind::array; }
};

struct Entry {
  std::string key;
  Place at;  ///< of the key
  Node value;
};

/// The document's top table; nullopt, with a complaint, when it is not TOML.
[[nodiscard]] std::optional<Node> parse_document(std::string_view toml, DocumentErrors& errors);

}  // namespace muster
