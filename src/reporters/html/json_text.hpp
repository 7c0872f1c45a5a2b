/// JSON as it stands in a page: written front to back, no tree in memory, and harmless inside of a script element.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster::html {

/// Writes one document. Commas are its own business; that what is opened gets closed, and that values of an object have
/// a key, is the caller's. `<` and `>` never occur in what it writes, so nothing in it ends a script element or begins
/// a comment.
class JsonText {
 public:
  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_list() { open('['); }
  void end_list() { close(']'); }
  void key(std::string_view name);
  /// Foreign text: made printable, at most `most` bytes of it.
  void text(std::string_view value, std::size_t most = longest_text);
  /// Five digits; what is not finite is null.
  void number(double value);
  void number(std::integral auto value) { whole(static_cast<std::int64_t>(value)); }
  void null() { raw("null"); }
  /// Text of ours that is JSON already.
  void raw(std::string_view json);

  void member(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    key(name);
    text(value);
  }
  void member(std::string_view name, double value) {
    key(name);
    number(value);
  }
  void member(std::string_view name, std::integral auto value) {
    key(name);
    number(value);
  }
  /// A list, or nothing where it would be empty.
  template <class List, class Write>
  void list(std::string_view name, const List& items, Write write) {
    if (std::begin(items) == std::end(items)) return;
    key(name);
    begin_list();
    for (const auto& item : items) write(item);
    end_list();
  }

  [[nodiscard]] const std::string& view() const { return out_; }
  [[nodiscard]] std::size_t size() const { return out_.size(); }

  /// A page holds no more of one text: the ends of what programs print are shorter, and names should be.
  static constexpr std::size_t longest_text = 20'000;

 private:
  void open(char bracket);
  void close(char bracket);
  void separate();
  void whole(std::int64_t value);
  std::string out_;
  bool needs_comma_ = false;
};

/// `text` between the tags of HTML, or in a quoted attribute.
[[nodiscard]] std::string escaped(std::string_view text);
/// Base64 of RFC 4648 with padding.
[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace muster::html
