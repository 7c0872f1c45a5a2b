#include "app/runs/action_lines.hpp"

#include "app/runs/node_service.hpp"
#include "base/text.hpp"

namespace muster {

namespace {

constexpr std::size_t most_when_quiet = 10;

void print(const std::string& line) {
  fmt::print(stderr, "muster: {}\n", printable_line(line, 1000));
}

}  // namespace

int lines_beside_report(const RunOptions& options) {
  // Of the history, that it can't be read and that it can't be written; of actions, that the service does not answer.
  const int of_history = options.no_history ? 0 : 2;
  return of_history + (wants_actions(options.night) ? static_cast<int>(most_when_quiet) + 1 : 0);
}

void ActionLines::add(const std::string& line) {
  if (!is_quiet_ || stated_ + 1 < most_when_quiet) {
    ++stated_;
    return print(line);
  }
  ++held_;
  last_ = line;
}

ActionLines::~ActionLines() {
  if (held_ == 1) print(last_);
  if (held_ > 1) print(fmt::format("and {} more lines; actions on nodes: muster history --actions", held_));
}

}  // namespace muster
