#include "model/expected_node.hpp"

#include <fmt/format.h>

#include "base/lists.hpp"
#include "base/names.hpp"
#include "base/pattern.hpp"

namespace muster {

constexpr std::string_view must_names[] = {"set", "unset", "equal", "differ", "address"};

std::string_view to_string(Must must) {
  return enum_name(must_names, must);
}

void soften(const ExpectedNode& node, std::string_view key, Finding& finding) {
  const auto why = node.unverified.find(std::string(key));
  if (why == node.unverified.end()) return;
  finding.verdict = Verdict::pass;
  finding.reason += fmt::format("; not a fault, as the profile's value is not verified: {}", why->second);
  finding.culprits.clear();
  finding.remedy.clear();
}

bool matches_profile(const std::string& text, const std::string& pattern) {
  // The profile was read with a valid pattern; an invalid one does not match any text.
  return is_pattern_found(pattern, text).value_or(true);
}

bool is_login_node(const ExpectedNode& node, const std::string& host, bool is_in_job, int gpus) {
  return node.login && !is_in_job && gpus <= node.login->gpus && matches_profile(host, node.login->host);
}

bool is_fulfilled(const VariableExpectation& wanted, const std::optional<std::string>& value) {
  const bool is_one = value && is_in(*value, wanted.values);
  switch (wanted.must) {
    case Must::set:
      return value.has_value();
    case Must::unset:
      return !value;
    case Must::equal:
      return is_one;
    case Must::differ:
      return !is_one;
    case Must::address:
      return true;  // decided by addresses of nodes, not by the value
  }
  return true;
}

}  // namespace muster
