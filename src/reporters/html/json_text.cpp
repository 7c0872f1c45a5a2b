#include "reporters/html/json_text.hpp"

#include <cmath>
#include <fmt/format.h>
#include <iterator>

#include "base/text.hpp"

namespace muster::html {

namespace {

void append_escaped(std::string& out, std::string_view printable) {
  append_replaced(out, printable, "\"\\\n\t<>", {"\\\"", "\\\\", "\\n", "\\t", "\\u003c", "\\u003e"});
}

/// printable() goes through every byte and copies; nearly all texts need neither.
bool is_plain(std::string_view text) {
  for (const char c : text)
    if (c < ' ' || c > '~') return false;
  return true;
}

}  // namespace

void JsonText::separate() {
  if (needs_comma_) out_ += ',';
  needs_comma_ = true;
}

void JsonText::open(char bracket) {
  separate();
  out_ += bracket;
  needs_comma_ = false;
}

void JsonText::close(char bracket) {
  out_ += bracket;
  needs_comma_ = true;
}

void JsonText::key(std::string_view name) {
  text(name);
  out_ += ':';
  needs_comma_ = false;
}

void JsonText::text(std::string_view value, std::size_t most) {
  separate();
  out_ += '"';
  if (is_plain(value) && value.size() <= most) {
    append_escaped(out_, value);
  } else {
    auto harmless = printable(value);
    if (harmless.size() > most) {
      while (most > 0 && (static_cast<unsigned char>(harmless[most]) & 0xc0U) == 0x80U) --most;
      harmless =
          fmt::format("{}... ({} bytes more)", std::string_view(harmless).substr(0, most), harmless.size() - most);
    }
    append_escaped(out_, harmless);
  }
  out_ += '"';
}

void JsonText::number(double value) {
  if (!std::isfinite(value)) return null();
  separate();
  fmt::format_to(std::back_inserter(out_), "{:.5g}", value);
}

void JsonText::whole(std::int64_t value) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", value);
}

void JsonText::raw(std::string_view json) {
  separate();
  out_ += json;
}

std::string escaped(std::string_view text) {
  std::string out;
  append_replaced(out, printable(text), "&<>\"'", {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"});
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto byte = [&](std::size_t i) -> std::uint32_t {
      return at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U;
    };
    const std::uint32_t three = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (unsigned i = 0; i < 4; ++i) out += at + i <= bytes.size() ? digits[(three >> (18 - 6 * i)) & 63U] : '=';
  }
  return out;
}

}  // namespace muster::html
