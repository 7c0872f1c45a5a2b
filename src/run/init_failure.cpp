#include "run/init_failure.hpp"

#include <fmt/format.h>
#include <optional>
#include <vector>

#include "base/number.hpp"
#include "base/text.hpp"
#include "run/rank_complaint.hpp"

namespace muster {

namespace {

constexpr std::size_t most_of_a_reason = 200;
/// Of Open MPI's handler of errors.
constexpr std::string_view of_handler = "An error occurred in MPI_Init";

/// Notices of Open MPI: lines between two rules.
std::vector<std::string_view> notices_of(std::string_view text) {
  std::vector<std::string_view> notices;
  const char* begin = nullptr;
  for (const std::string_view line : lines(text)) {
    if (!is_rule(line)) continue;
    if (begin == nullptr) {
      begin = line.data() + line.size();
      continue;
    }
    notices.emplace_back(begin, static_cast<std::size_t>(line.data() - begin));
    begin = nullptr;
  }
  return notices;
}

/// Without its last stop: `An invalid value was given for btl_tcp_if_include`.
std::string first_sentence(std::string_view notice) {
  std::string sentence;
  for (const std::string_view line : lines(notice)) {
    const std::string_view words = trim(line);
    if (words.empty() && !sentence.empty()) break;
    if (!sentence.empty()) sentence += ' ';
    sentence += words;
  }
  constexpr std::string_view warning = "WARNING: ";
  if (sentence.rfind(warning, 0) == 0) sentence.erase(0, warning.size());
  const auto stop = sentence.find(". ");
  if (stop != sentence.npos) sentence.erase(stop);
  if (!sentence.empty() && sentence.back() == '.') sentence.pop_back();
  return sentence;
}

/// 7 of `[nid001:2971] 7 more processes have sent help message help-mpi-btl-tcp.txt / invalid if_inexclude`, of all
/// such lines together.
int more_that_sent(std::string_view text, std::string_view message) {
  int more = 0;
  for (const std::string_view line : lines(text)) {
    const auto words = line.find(" more process");
    if (words == line.npos || words == 0 || line.find(message) == line.npos) continue;
    const auto begin = line.rfind(' ', words - 1);
    if (begin == line.npos) continue;
    more += leading_number<int>(line.substr(begin + 1, words - begin - 1)).value_or(0);
  }
  return more;
}

/// `WARNING: An invalid value was given for btl_tcp_if_include.`
std::optional<InitFailure> rejected_value(std::string_view notice, std::string_view text) {
  constexpr std::string_view words = "An invalid value was given for ";
  const std::string sentence = first_sentence(notice);
  if (sentence.rfind(words, 0) != 0) return std::nullopt;
  const std::string setting = sentence.substr(words.size());
  const std::string_view value = entry(notice, "Value:");
  const std::string_view message = entry(notice, "Message:");
  return InitFailure{fmt::format("{}: {} ({})", sentence, value, message), setting,
                     1 + more_that_sent(text, "invalid if_inexclude")};
}

InitFailure of_open_mpi(std::string_view text) {
  std::string before;
  for (const std::string_view notice : notices_of(text)) {
    if (auto rejected = rejected_value(notice, text)) return *rejected;
    const std::string sentence = first_sentence(notice);
    if (sentence.rfind("MPI_INIT has failed", 0) != 0 && sentence.rfind("It looks like MPI_INIT failed", 0) != 0) {
      before = sentence;
      continue;
    }
    return {before.empty() ? sentence : before, "", 0};
  }
  return {before.empty() ? std::string(of_handler) : before, "", 0};
}

/// Each line of the stack is `function(line)....: words`.
InitFailure of_mpich(std::string_view text) {
  std::string last;
  bool is_in_stack = false;
  for (const std::string_view line : lines(text)) {
    const bool begins = line.find("Fatal error in ") != line.npos && line.find("Init") != line.npos;
    if (begins && is_in_stack) break;
    if (begins) {
      is_in_stack = true;
      continue;
    }
    if (!is_in_stack) continue;
    const auto function = line.find('(');
    const auto colon = line.find(": ");
    if (function == line.npos || colon == line.npos || function > colon) break;
    const auto words = trim(line.substr(colon + 2));
    if (!words.empty()) last = words;
  }
  return {last, "", 0};
}

}  // namespace

InitFailure init_failure(std::string_view standard_error) {
  const bool is_of_open_mpi = standard_error.find(of_handler) != standard_error.npos ||
                              standard_error.find("MPI_INIT has failed") != standard_error.npos ||
                              standard_error.find("It looks like MPI_INIT failed") != standard_error.npos;
  InitFailure failure = is_of_open_mpi ? of_open_mpi(standard_error) : of_mpich(standard_error);
  failure.reason = printable_line(failure.reason, most_of_a_reason);
  failure.setting = printable_line(failure.setting, 80);
  return failure;
}

}  // namespace muster
