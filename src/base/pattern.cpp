#include "base/pattern.hpp"

#include <array>
#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.hpp"

namespace muster {

namespace {

/// A pattern that needs more is refused when it is compiled; nothing that people write by hand comes near.
constexpr std::int64_t most_memory = 8 << 20;

RE2::Options quiet_options() {
  RE2::Options some;
  some.set_log_errors(false);
  some.set_max_mem(most_memory);
  return some;
}

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

/// What Perl and ECMAScript have and RE2 lacks: it would take more than linear time.
std::string_view name_of_lacking(std::string_view part) {
  struct Lacking {
    std::string_view start;
    std::string_view name;
  };
  static constexpr std::array<Lacking, 6> all{{{"(?=", "lookahead"},
                                               {"(?!", "lookahead"},
                                               {"(?<", "lookbehind; a named group is written (?P<name>...)"},
                                               {"(?>", "atomic groups"},
                                               {"\\k", "back-references"},
                                               {"\\u", "\\u escapes; write \\x{00b5}"}}};
  for (const Lacking& one : all)
    if (part.starts_with(one.start)) return one.name;
  const bool is_number = part.size() >= 2 && part[0] == '\\' && part[1] >= '1' && part[1] <= '9';
  return is_number ? "back-references" : "";
}

std::string describe(const RE2& compiled) {
  const std::string part = printable_line(compiled.error_arg(), 40);
  if (const auto name = name_of_lacking(compiled.error_arg()); !name.empty())
    return fmt::format("\"{}\": RE2 has no {}", part, name);
  if (compiled.error_code() == RE2::ErrorPatternTooLarge) return "the pattern is too large";
  return printable_line(compiled.error(), 200);
}

}  // namespace

class Pattern::Compiled : public RE2 {
 public:
  explicit Compiled(std::string_view text) : RE2(piece(text), quiet_options()) {}
};

Result<Pattern> Pattern::compile(std::string_view text) {
  auto compiled = std::make_shared<const Compiled>(text);
  if (!compiled->ok()) return fail(ErrorKind::usage, "", describe(*compiled));
  return Pattern(std::move(compiled));
}

bool Pattern::is_found_in(std::string_view text) const {
  return RE2::PartialMatch(piece(text), *compiled_);
}

int Pattern::groups() const {
  return compiled_->NumberOfCapturingGroups();
}

std::vector<std::string> Pattern::group_names() const {
  std::vector<std::string> names(static_cast<std::size_t>(groups()));
  for (const auto& [index, name] : compiled_->CapturingGroupNames()) names[static_cast<std::size_t>(index) - 1] = name;
  return names;
}

std::vector<std::vector<std::string>> Pattern::matches(std::string_view text, std::size_t most) const {
  std::vector<std::vector<std::string>> all;
  std::vector<re2::StringPiece> parts(static_cast<std::size_t>(groups()) + 1);
  std::size_t from = 0;
  while (
      all.size() < most && from <= text.size() &&
      compiled_->Match(piece(text), from, text.size(), RE2::UNANCHORED, parts.data(), static_cast<int>(parts.size()))) {
    auto& found = all.emplace_back();
    for (std::size_t i = 1; i < parts.size(); ++i) found.emplace_back(parts[i].data(), parts[i].size());
    const auto end = static_cast<std::size_t>(parts[0].data() - text.data()) + parts[0].size();
    // An empty match must not be found again.
    from = parts[0].empty() ? end + 1 : end;
  }
  return all;
}

std::optional<bool> is_pattern_found(std::string_view pattern, std::string_view text) {
  const auto compiled = Pattern::compile(pattern);
  if (!compiled) return std::nullopt;
  return compiled->is_found_in(text);
}

}  // namespace muster
