#include "model/matrix.hpp"

#include <bit>
#include <cstdint>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::size_t most_rows = 4096;
constexpr std::size_t most_head_bytes = std::size_t{1} << 22;

std::string text_of(const nlohmann::json& head, const char* key) {
  const auto found = head.find(key);
  return found != head.end() && found->is_string() ? printable_line(found->get<std::string>()) : std::string();
}

float value_at(std::string_view bytes) {
  std::uint32_t bits = 0;
  for (unsigned i = 0; i < 4; ++i) bits |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return std::bit_cast<float>(bits);
}

}  // namespace

std::string to_file(const Matrix& matrix) {
  nlohmann::json head{{"muster_matrix", 1},
                      {"metric", printable_line(matrix.metric)},
                      {"unit", printable_line(matrix.unit)},
                      {"where", nlohmann::json::object()},
                      {"rows", matrix.is_of_nodes ? "node" : "rank"},
                      {"size", matrix.names.size()},
                      {"names", nlohmann::json::array()},
                      {"type", "float32"}};
  for (const auto& [name, value] : matrix.where) head["where"][printable_line(name)] = printable_line(value);
  for (const std::string& name : matrix.names) head["names"].push_back(printable_line(name));
  std::string text = head.dump() + "\n";
  for (const float value : matrix.values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned shift = 0; shift < 32; shift += 8) text += static_cast<char>((bits >> shift) & 0xffU);
  }
  return text;
}

Result<Matrix> matrix_from_file(std::string_view bytes) {
  const auto end = bytes.substr(0, most_head_bytes).find('\n');
  if (end == std::string_view::npos) return fail(ErrorKind::file, "", "has no head line; it is not a matrix of muster");
  const auto head = nlohmann::json::parse(bytes.substr(0, end), nullptr, false);
  if (!head.is_object() || head.value("muster_matrix", nlohmann::json()) != 1)
    return fail(ErrorKind::file, "", "does not begin as a matrix of muster does");
  Matrix matrix{text_of(head, "metric"), text_of(head, "unit"), {}, text_of(head, "rows") == "node", {}, {}};
  const auto names = head.find("names");
  if (names == head.end() || !names->is_array() || names->size() > most_rows || text_of(head, "type") != "float32")
    return fail(ErrorKind::file, "", "has a head line without the kind of its rows");
  for (const auto& name : *names)
    matrix.names.push_back(name.is_string() ? printable_line(name.get<std::string>()) : "");
  if (const auto where = head.find("where"); where != head.end() && where->is_object())
    for (const auto& [key, value] : where->items())
      if (value.is_string()) matrix.where.emplace_back(printable_line(key), printable_line(value.get<std::string>()));
  bytes.remove_prefix(end + 1);
  const std::size_t count = matrix.names.size() * matrix.names.size();
  if (bytes.size() != count * 4)
    return fail(ErrorKind::file, "", fmt::format("holds {} bytes of values, not {}", bytes.size(), count * 4));
  matrix.values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) matrix.values.push_back(value_at(bytes.substr(4 * i)));
  return matrix;
}

}  // namespace muster
