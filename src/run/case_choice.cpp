#include "run/case_choice.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::size_t hash_size = 8;

/// `hello%3f2a9c1d`, or of one node `hello%3f2a9c1d@nid003`.
bool is_case_id(const std::string& text) {
  const auto at = text.find('%');
  if (at == std::string::npos || at == 0 || text.size() < at + 1 + hash_size) return false;
  const auto hash = text.substr(at + 1, hash_size);
  const auto host = text.substr(at + 1 + hash_size);
  return hash.find_first_not_of("0123456789abcdef") == std::string::npos &&
         (host.empty() || (host.size() > 1 && host.front() == '@'));
}

/// The case itself, or with --per-node that of every node.
bool is_id_of(const std::string& text, const std::string& id) {
  return id == text || (id.size() > text.size() && id[text.size()] == '@' && id.compare(0, text.size(), text) == 0);
}

std::vector<std::string> check_names(const std::vector<Check>& checks) {
  std::vector<std::string> names;
  for (const auto& check : checks) names.push_back(check.name);
  return names;
}

std::vector<std::string> all_tags(const std::vector<Check>& checks) {
  std::vector<std::string> tags;
  for (const auto& check : checks)
    for (const auto& tag : check.tags)
      if (!is_in(tag, tags)) tags.push_back(tag);
  return tags;
}

Error usage(std::string what) {
  return {ErrorKind::usage, "", std::move(what)};
}

}  // namespace

Result<std::vector<Chooser::Wanted>> Chooser::compile(const std::vector<std::string>& texts, const char* option) {
  std::vector<Wanted> all;
  for (const auto& text : texts) {
    const auto refuse = [&, option](const std::string& why) {
      return fail(ErrorKind::usage, option,
                  fmt::format("\"{}\" is not a valid regular expression: {}", printable_line(text, 60), why));
    };
    if (text.empty()) return refuse("it is empty");
    all.push_back({text, std::nullopt, false});
    if (is_case_id(text)) continue;
    auto pattern = Pattern::compile(text);
    if (!pattern) return refuse(pattern.error().what);
    all.back().pattern = std::move(*pattern);
  }
  return all;
}

bool Chooser::matches(const Wanted& wanted, const std::string& check, const std::string& id) {
  if (!wanted.pattern) return is_id_of(wanted.text, id);
  return wanted.pattern->is_found_in(check) || (!id.empty() && wanted.pattern->is_found_in(id));
}

Result<Chooser> Chooser::make(const SelectOptions& options) {
  Chooser chooser;
  auto names = compile(options.names, "-n");
  if (!names) return tl::unexpected(names.error());
  auto excludes = compile(options.excludes, "-x");
  if (!excludes) return tl::unexpected(excludes.error());
  chooser.names_ = std::move(*names);
  chooser.excludes_ = std::move(*excludes);
  chooser.tags_ = options.tags;
  chooser.or_tag_ = options.or_tag;
  chooser.per_node_ = options.per_node;
  chooser.default_only_ = options.default_only && options.names.empty() && options.tags.empty();
  return chooser;
}

bool Chooser::has_tags(const std::vector<std::string>& tags) const {
  if (default_only_ && !is_in("default", tags)) return false;
  if (!or_tag_.empty() && is_in(or_tag_, tags)) return true;
  return std::all_of(tags_.begin(), tags_.end(), [&](const auto& tag) { return is_in(tag, tags); });
}

bool Chooser::is_named(const std::string& check, const std::string& id) {
  bool named = names_.empty();
  for (auto& pattern : names_) {
    if (!matches(pattern, check, id)) continue;
    pattern.matched = true;
    named = true;
  }
  return named;
}

bool Chooser::is_excluded(const std::string& check, const std::string& id) const {
  return std::any_of(excludes_.begin(), excludes_.end(),
                     [&](const Wanted& wanted) { return matches(wanted, check, id); });
}

Result<void> Chooser::complain_unmatched(const std::vector<Check>& checks) const {
  const auto known_tags = all_tags(checks);
  for (const auto& tag : tags_)
    if (!is_in(tag, known_tags))
      return tl::unexpected(
          usage(fmt::format("no check has tag \"{}\"{}", printable_line(tag, 60), suggestion(tag, known_tags))));
  for (const auto& pattern : names_) {
    if (pattern.matched) continue;
    if (!pattern.pattern && pattern.text.find('@') != std::string::npos && !per_node_)
      return tl::unexpected(
          usage(fmt::format("-n \"{}\" is a case of one node: add --per-node", printable_line(pattern.text, 80))));
    const auto known = check_names(checks);
    const auto name = !pattern.pattern ? pattern.text.substr(0, pattern.text.find('%')) : pattern.text;
    if (!pattern.pattern && is_in(name, known))
      return tl::unexpected(
          usage(fmt::format("no case is -n \"{}\": the file, the profile or a -S differs from when it was; muster plan "
                            "lists the cases of {}",
                            pattern.text, name)));
    return tl::unexpected(
        usage(fmt::format("no check matches -n \"{}\"{}", printable_line(pattern.text, 60), suggestion(name, known))));
  }
  return {};
}

Error Chooser::nothing_left(const std::vector<Check>& checks) const {
  if (checks.empty()) return usage("there is no check");
  if (default_only_ && excludes_.empty())
    return usage(fmt::format("no check is tagged default; choose with -n or -t; known: {}",
                             human_list(check_names(checks), 12)));
  std::string asked;
  const auto add = [&](const char* option, const std::string& text) {
    asked += fmt::format(" {} \"{}\"", option, printable_line(text, 60));
  };
  for (const auto& pattern : names_) add("-n", pattern.text);
  for (const auto& tag : tags_) add("-t", tag);
  for (const auto& pattern : excludes_) add("-x", pattern.text);
  return usage(fmt::format("no check is left by{}; known: {}", asked, join(check_names(checks), ", ")));
}

}  // namespace muster
