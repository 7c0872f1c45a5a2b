/// Which checks and cases the options -n, -t and -x ask for. Part of select.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/pattern.hpp"
#include "run/select.hpp"

namespace muster {

/// The options, compiled.
class Chooser {
 public:
  /// Fails with kind `usage` for a bad regular expression.
  [[nodiscard]] static Result<Chooser> make(const SelectOptions& options);

  /// The choice by tags and the tag `default`.
  [[nodiscard]] bool has_tags(const std::vector<std::string>& tags) const;
  /// The choice by -n; `id` may be empty. Remembers which patterns matched anything.
  [[nodiscard]] bool is_named(const std::string& check, const std::string& id);
  /// The choice by -x.
  [[nodiscard]] bool is_excluded(const std::string& check, const std::string& id) const;

  /// After all were considered: messages about tags that no check has and names without a match.
  [[nodiscard]] Result<void> complain_unmatched(const std::vector<Check>& checks) const;
  /// Why nothing is left.
  [[nodiscard]] Error nothing_left(const std::vector<Check>& checks) const;

 private:
  struct Wanted {
    std::string text;
    std::optional<Pattern> pattern;  ///< nullopt: `check%3f2a9c1d` given literally
    bool matched = false;
  };
  [[nodiscard]] static Result<std::vector<Wanted>> compile(const std::vector<std::string>& texts, const char* option);
  [[nodiscard]] static bool matches(const Wanted& wanted, const std::string& check, const std::string& id);

  std::vector<Wanted> names_;
  std::vector<Wanted> excludes_;
  std::vector<std::string> tags_;
  std::string or_tag_;
  bool default_only_ = false;
  bool per_node_ = false;
};

}  // namespace muster
