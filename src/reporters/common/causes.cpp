#include "reporters/common/causes.hpp"

#include <cctype>
#include <string>
#include <unordered_map>

#include "base/lists.hpp"
#include "reporters/common/blocks.hpp"
#include "reporters/common/console_text.hpp"

namespace muster {

namespace {

/// As it would read of any node and with any numbers.
std::string neutral(const CaseResult& result, std::string_view text) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::string all;
  bool is_number = false, is_status = false;
  for (const char byte : without_node(result, text.substr(0, 2000))) {
    const bool goes_on = is_digit(byte) || (is_number && byte == '.');
    // Exit statuses of programs identify causes: 1 and 60 are different.
    if (goes_on && !is_number) is_status = all.ends_with("exited with ") || all.ends_with(" status ");
    if (!goes_on || is_status) all += byte;
    if (goes_on && !is_number && !is_status) all += '#';
    is_number = goes_on;
  }
  return all;
}

std::string key_of(const CaseResult& result) {
  std::string key(to_string(result.verdict));
  key.append(1, '\n').append(neutral(result, result.reason)).append(1, '\n');
  return key.append(neutral(result, result.remedy));
}

class Gathering {
 public:
  explicit Gathering(const std::vector<const CaseResult*>& cases) { take_all(cases); }

  [[nodiscard]] std::vector<Cause> take() { return std::move(causes_); }

 private:
  void take_all(const std::vector<const CaseResult*>& ordered) {
    for (const auto* result : ordered) cases_.emplace(result->id, result);
    for (const auto* result : ordered)
      if (root_of(*result) == result) add(*result);
    for (const auto* result : ordered)
      if (const auto* root = root_of(*result); root != result) follow(*result, *root);
  }

  /// The case that explains this one in the end; itself where nothing in the report does. What goes round in a circle
  /// explains nothing.
  const CaseResult* root_of(const CaseResult& result) const {
    const CaseResult* at = &result;
    for (int steps = 0; steps < 8; ++steps) {
      if (at->follows.empty()) return at;
      const auto next = cases_.find(at->follows);
      if (next == cases_.end()) return at;
      at = next->second;
    }
    return &result;
  }

  void add(const CaseResult& result) {
    const auto [at, is_new] = by_key_.try_emplace(key_of(result), causes_.size());
    if (is_new) causes_.emplace_back();
    causes_[at->second].cases.push_back(&result);
    of_case_[&result] = at->second;
  }

  void follow(const CaseResult& result, const CaseResult& root) {
    const auto known = of_case_.find(&root);
    if (known == of_case_.end()) return add(result);
    causes_[known->second].following.push_back(&result);
  }

  std::vector<Cause> causes_;
  std::unordered_map<std::string_view, const CaseResult*> cases_;  ///< by id
  std::unordered_map<std::string, std::size_t> by_key_;
  std::unordered_map<const CaseResult*, std::size_t> of_case_;
};

}  // namespace

std::vector<Culprit> Cause::culprits(std::size_t most) const {
  std::vector<Culprit> named;
  for (const auto* result : cases)
    for (const auto& culprit : result->culprits) {
      if (named.size() >= most) return named;
      if (!is_in(culprit, named)) named.push_back(culprit);
    }
  return named;
}

std::vector<Cause> causes_of(const RunReport& report) {
  return Gathering(by_urgency(report)).take();
}

std::vector<Cause> skips_of(const RunReport& report) {
  std::vector<const CaseResult*> all;
  for (const auto& result : report.cases) {
    if (result.verdict != Verdict::skip) return {};
    all.push_back(&result);
  }
  return Gathering(all).take();
}

}  // namespace muster
