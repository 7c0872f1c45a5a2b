/// Regular expressions as users write them: RE2, in time linear in the text. The only place that includes RE2.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/result.hpp"

namespace muster {

/// A compiled pattern. Copies share it; safe to use from several threads.
class Pattern {
 public:
  /// Fails with kind `usage` and an empty place: the sentence names what RE2 lacks (lookahead, back-references) or
  /// where the pattern is malformed. An empty pattern is found everywhere.
  [[nodiscard]] static Result<Pattern> compile(std::string_view text);

  [[nodiscard]] bool is_found_in(std::string_view text) const;

  /// Groups in parentheses, without those written `(?:...)`.
  [[nodiscard]] int groups() const;
  /// Index = group, from 0; empty: the group has no name.
  [[nodiscard]] std::vector<std::string> group_names() const;
  /// The groups of each match from the left, those that took no part empty. At most `most` matches.
  [[nodiscard]] std::vector<std::vector<std::string>> matches(std::string_view text, std::size_t most) const;

 private:
  class Compiled;
  explicit Pattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

/// Whether `pattern` is found in `text`; nullopt: it is malformed. For patterns that were checked when they were read.
[[nodiscard]] std::optional<bool> is_pattern_found(std::string_view pattern, std::string_view text);

}  // namespace muster
