#include "model/json.hpp"

#include <nlohmann/json.hpp>

namespace muster {

namespace {

using Json = nlohmann::json;
using DomBuilder = nlohmann::detail::json_sax_dom_parser<Json>;

constexpr int deepest = 64;

/// Builds the document, but stops where the nesting gets so deep that the stack is in danger.
class ShallowBuilder : public DomBuilder {
 public:
  explicit ShallowBuilder(Json& into) : DomBuilder(into, false) {}
  bool start_object(std::size_t size) { return ++depth_ <= deepest && DomBuilder::start_object(size); }
  bool start_array(std::size_t size) { return ++depth_ <= deepest && DomBuilder::start_array(size); }
  bool end_object() { return --depth_, DomBuilder::end_object(); }
  bool end_array() { return --depth_, DomBuilder::end_array(); }

 private:
  int depth_ = 0;
};

}  // namespace

std::vector<std::byte> to_cbor(const Json& json) {
  std::vector<std::uint8_t> bytes;
  Json::to_cbor(json, bytes);
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  return {begin, begin + bytes.size()};
}

Result<Json> from_cbor(std::span<const std::byte> bytes) {
  Json json;
  ShallowBuilder builder(json);
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  try {
    if (Json::sax_parse(begin, begin + bytes.size(), &builder, Json::input_format_t::cbor)) return json;
  } catch (const Json::exception&) {
    // As any other damage.
  }
  return fail(ErrorKind::protocol, "", "not a CBOR document");
}

std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace muster
