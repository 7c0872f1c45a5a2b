/// The lines about nodes that a run drains, resumes or leaves alone: on standard error, and with --quiet within
/// the page that cron mails.
#pragma once

#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <utility>

#include "app/inputs/options.hpp"

namespace muster {

/// Lines of the page of --quiet reserved for messages outside of the report.
[[nodiscard]] int lines_beside_report(const RunOptions& options);

class ActionLines {
 public:
  explicit ActionLines(bool is_quiet) : is_quiet_(is_quiet) {}
  ActionLines(const ActionLines&) = delete;
  ActionLines& operator=(const ActionLines&) = delete;
  /// Prints the last one, or the number of omitted ones.
  ~ActionLines();

  template <class... Values>
  void say(fmt::format_string<Values...> format, Values&&... values) {
    add(fmt::format(format, std::forward<Values>(values)...));
  }

  /// At most this number of nodes that are left alone is printed; a report has the others.
  [[nodiscard]] std::size_t most_left_alone() const { return is_quiet_ ? 3 : 12; }

 private:
  void add(const std::string& line);

  bool is_quiet_;
  std::size_t stated_ = 0;
  std::size_t held_ = 0;  ///< the last of them is `last_`
  std::string last_;
};

}  // namespace muster
