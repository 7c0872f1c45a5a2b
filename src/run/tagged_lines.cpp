#include "run/tagged_lines.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/lists.hpp"

namespace muster {

namespace {

constexpr std::size_t longest_part = 700;        // with the longest name of a host, below what Slurm keeps whole
constexpr std::size_t longest_line = 64u << 10;  // longer lines are not ours
constexpr std::size_t most_text = 16u << 20;     // of one task
constexpr std::size_t most_names = 8;            // that are kept of a task

/// Moves over the number at its front, and blanks before it.
std::string_view take_number(std::string_view& line) {
  const auto start = std::min(line.find_first_not_of(' '), line.size());
  const auto end = std::min(line.find_first_not_of("0123456789", start), line.size());
  const auto number = line.substr(start, end - start);
  line.remove_prefix(end);
  return number;
}

/// Moves over the label of the task at its front. Empty: there is none.
std::string take_label(std::string_view& line) {
  std::string label;
  if (line.starts_with('P')) {
    line.remove_prefix(1);
    label = fmt::format("P{} ", take_number(line));
  }
  const auto number = take_number(line);
  if (number.empty() || !line.starts_with(": ")) return "";
  line.remove_prefix(2);
  return label + std::string(number);
}

}  // namespace

std::string tag_lines(std::string_view node, std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto length = std::min(end, text.size());
    const auto part = text.substr(0, std::min(length, longest_part));
    const bool ends_here = end != std::string_view::npos && part.size() == length;
    lines += fmt::format("@{} {}{}\n", node, ends_here ? '=' : '+', part);
    text.remove_prefix(part.size() + (ends_here ? 1 : 0));
  }
  return lines + fmt::format("@{} .\n", node);
}

void TaggedLines::feed(std::span<const char> bytes) {
  rest_.append(bytes.data(), bytes.size());
  std::size_t from = 0;
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', from)) {
    take(std::string_view(rest_).substr(from, end - from));
    from = end + 1;
  }
  rest_.erase(0, from);
  if (rest_.size() > longest_line) rest_.clear();
}

bool TaggedLines::sign(Task& task, std::string_view node) {
  if (!is_in(node, task.nodes) && task.nodes.size() < most_names) {
    task.nodes.emplace_back(node);
    if (task.nodes.size() == 1) {
      of_node_[task.nodes.front()].push_back(&task);
    } else if (task.nodes.size() == 2) {
      std::erase(of_node_[task.nodes.front()], &task);
      task.text.clear();
      if (!task.is_whole) ++whole_;
    }
  }
  return task.nodes.size() == 1;
}

void TaggedLines::take(std::string_view line) {
  std::string label = take_label(line);
  const auto space = line.find(' ');
  if (label.empty() || !line.starts_with('@') || space == std::string_view::npos || space + 1 >= line.size()) return;
  const auto part = line.substr(space + 2);
  const char mark = line[space + 1];
  if (mark != '+' && mark != '=' && (mark != '.' || !part.empty())) return;
  Task& task = tasks_[std::move(label)];
  if (!sign(task, line.substr(1, space - 1)) || task.is_whole || task.text.size() > most_text) return;
  if (mark == '.') {
    task.is_whole = true;
    ++whole_;
    return;
  }
  task.text += part;
  if (mark == '=') task.text += '\n';
}

std::size_t TaggedLines::tasks_of(const std::string& node) const {
  const auto found = of_node_.find(node);
  return found == of_node_.end() ? 0 : found->second.size();
}

const std::string* TaggedLines::answer_of(const std::string& node) const {
  if (tasks_of(node) != 1) return nullptr;
  const Task& task = *of_node_.find(node)->second.front();
  return task.is_whole ? &task.text : nullptr;
}

std::vector<std::vector<std::string>> TaggedLines::dropped() const {
  std::vector<std::vector<std::string>> found;
  for (const auto& [label, task] : tasks_)
    if (task.nodes.size() > 1) found.push_back(task.nodes);
  return found;
}

}  // namespace muster
